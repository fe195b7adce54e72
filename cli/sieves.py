"""Which dead letters a command means: `--reason`, `--group`, `--key`, `--header`, `--since` and `--until`.

A letter is meant that fits all that is given. What stands here is what the broker is sent; it does the looking.
"""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import TypeVar
from urllib.parse import urlencode

import click
from attrs import define

from goqueue.cli.group import complete_group
from goqueue.cli.moments import past_given, spelled

REASONS = ("max_attempts", "rejected", "expired")

T = TypeVar("T")


@define
class Sieve:
    """Filters as they were given: words by field, and headers that are to be there."""

    words: dict[str, str]
    headers: dict[str, str]

    def fields(self) -> dict[str, object]:
        """The filters in the body of a request."""
        return {**self.words, "headers": self.headers} if self.headers else {**self.words}

    def query(self, **more: object) -> str:
        """The filters, and more, behind a path."""
        pairs: list[tuple[str, object]] = [*self.words.items(), *more.items()]
        pairs.extend(("header", f"{name}={value}") for name, value in self.headers.items())
        return f"?{urlencode(pairs)}" if pairs else ""


def sieve_options(command: Callable[..., T]) -> Callable[..., T]:
    """The options that choose letters; the command gets them as `sieve`."""

    @wraps(command)
    def sieved(
        reason: str | None,
        group: str | None,
        key: str | None,
        headers: tuple[str, ...],
        since: datetime | None,
        until: datetime | None,
        **rest: object,
    ) -> T:
        words = {"reason": reason, "group": group, "key": key}
        words |= {name: spelled(moment) for name, moment in (("since", since), ("until", until)) if moment}
        given = {name: word for name, word in words.items() if word is not None}
        return command(sieve=Sieve(given, _headers(headers)), **rest)

    chosen: Callable[..., T] = sieved
    for option in reversed(
        (
            click.option("--reason", type=click.Choice(REASONS), help="Only letters that died of this."),
            click.option("-g", "--group", shell_complete=complete_group, help="Only those that died in this group."),
            click.option("-k", "--key", help="Only those with this key."),
            click.option(
                "-H", "--header", "headers", multiple=True, metavar="NAME=VALUE",
                help="Only those with this header; may be repeated.",
            ),
            click.option(
                "--since", type=past_given, metavar="TIME", help="Only those that died since: 2h, 12:00, or RFC 3339."
            ),
            click.option("--until", type=past_given, metavar="TIME", help="Only those that died before that."),
        )
    ):  # fmt: skip
        chosen = option(chosen)
    return chosen


def _headers(pairs: tuple[str, ...]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise click.UsageError(f"{pair!r} is no header; write it like name=value")
        if name in headers:
            raise click.UsageError(f"header {name} is given twice")
        headers[name] = value
    return headers
