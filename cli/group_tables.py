"""Groups as tables for people, out of what the broker's REST interface answers."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import click

from goqueue.cli.output import counted, print_settings, print_table
from goqueue.core.cluster.durations import format_duration

NONE = "-"
_SECOND = timedelta(seconds=1)


def print_groups(groups: list[dict[str, Any]]) -> None:
    """All groups, a line each."""
    rows = [
        [each["group_id"], each["state"], each["mode"], each["generation"], len(each["members"])] for each in groups
    ]
    print_table(("GROUP", "STATE", "MODE", "GENERATION", "MEMBERS"), rows)


def print_group(found: dict[str, Any], progress: dict[str, Any], now: datetime) -> None:
    """One group: its partitions, with their owners unless messages are shared, its members, its settings."""
    members = found["members"]
    is_shared = found["mode"] == "shared"
    left = sum(lag for known in progress["lag"].values() for lag in known.values() if lag > 0)
    state = f"shared, {found['state']}" if is_shared else found["state"]
    counts = f"{counted(len(members), 'member')}, {counted(left, 'message')} left to {'do' if is_shared else 'read'}"
    click.echo(f"{found['group_id']}: {state}, generation {found['generation']}, {counts}\n")
    print_offsets(progress, None if is_shared else _owners(members))
    click.echo()
    _print_members(members, now, is_shared=is_shared)
    if found.get("expires_at"):
        click.echo(f"\nforgotten at {found['expires_at']} unless somebody uses it")
    click.echo()
    print_settings(found["config"])


def _print_members(members: list[dict[str, Any]], now: datetime, *, is_shared: bool) -> None:
    titles = ["MEMBER", "CLIENT", "INSTANCE", "HEARD OF"]
    rows: list[list[object]] = [
        [
            each["member_id"],
            each["client_id"] or NONE,
            each.get("instance_id") or NONE,
            _ago(each["last_heartbeat"], now),
        ]
        for each in members
    ]
    if not is_shared:
        titles.insert(3, "PARTITIONS")
        for row, each in zip(rows, members, strict=True):
            row.insert(3, _folded(each["assigned_partitions"]) or NONE)
    print_table(titles, rows)


def print_offsets(progress: dict[str, Any], owners: dict[str, str] | None = None) -> None:
    """How far a group is in each partition, and who reads it where that is known."""
    titles = ["TOPIC", "PARTITION", "OFFSET", "LAG"]
    rows: list[list[object]] = []
    for topic, lags in progress["lag"].items():
        for partition, lag in sorted(lags.items(), key=lambda pair: int(pair[0])):
            offset = progress["offsets"].get(topic, {}).get(partition, -1)
            row: list[object] = [topic, int(partition), _known(offset), _known(lag)]
            if owners is not None:
                row.append(owners.get(f"{topic}-{partition}", NONE))
            rows.append(row)
    print_table(titles if owners is None else [*titles, "MEMBER"], rows)


def print_changes(topic: str, changes: dict[str, Any], *, is_dry: bool) -> None:
    """What a reset did, or would do."""
    rows = [[topic, int(key), _known(each["before"]), each["after"]] for key, each in changes["offsets"].items()]
    print_table(("TOPIC", "PARTITION", "BEFORE", "AFTER"), rows)
    if is_dry:
        click.echo("nothing was changed: this was a dry run", err=True)


def print_rebalances(found: dict[str, Any]) -> None:
    """How often partitions were divided anew, why, and how long it took."""
    rows: list[list[object]] = [
        ["rebalances", found["total_rebalances"]],
        ["successful", found["successful_rebalances"]],
        ["failed", found["failed_rebalances"]],
        ["partitions assigned", found["total_partitions_assigned"]],
        ["partitions revoked", found["total_partitions_revoked"]],
        ["revocation timeouts", found["total_revocation_timeouts"]],
        ["last took", format_duration(found["last_rebalance_duration_ms"])],
        ["average", format_duration(found["average_rebalance_duration_ms"])],
        ["last at", found["last_rebalance_at"] or NONE],
    ]
    rows.extend([f"because of {reason}", count] for reason, count in found["rebalances_by_reason"].items())
    print_table(("WHAT", "VALUE"), rows)


def _owners(members: list[dict[str, Any]]) -> dict[str, str]:
    """By partition who reads it, or has yet to let go of it."""
    owners = {name: each["member_id"] for each in members for name in each["assigned_partitions"]}
    leaving = {name: f"{each['member_id']} (letting go)" for each in members for name in each["partitions_to_revoke"]}
    return owners | leaving


def _folded(names: list[str]) -> str:
    """Partitions in few words: `orders 0-3,7; items 0`."""
    numbers: dict[str, list[int]] = {}
    for name in names:
        topic, _, number = name.rpartition("-")
        numbers.setdefault(topic, []).append(int(number))
    return "; ".join(f"{topic} {','.join(_runs(sorted(found)))}" for topic, found in numbers.items())


def _runs(numbers: list[int]) -> Iterator[str]:
    first = 0
    for last, number in enumerate(numbers, 1):
        if last == len(numbers) or numbers[last] != number + 1:
            yield str(number) if last == first + 1 else f"{numbers[first]}-{number}"
            first = last


def _known(number: int | None) -> object:
    return NONE if number is None or number < 0 else number


def _ago(moment: str | None, now: datetime) -> str:
    """How long ago a moment was, in whole seconds; clocks differ, so never less than none."""
    if moment is None:
        return NONE
    return f"{max(0, (now - datetime.fromisoformat(moment)) // _SECOND)}s ago"
