"""docs/grpc.md is true: its programs are run as they stand there, with modules made as it says."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc

from goqueue.proto import v1
from tests.transports.services.group_member import publish
from tests.transports.services.served_broker import Client, ServedBroker, Setting, with_broker

ROOT = Path(__file__).parents[3]
FIRST_LOOK, MEMBER, WORKER = re.findall(r"```python\n(.*?)```", (ROOT / "docs/grpc.md").read_text(), re.DOTALL)[:3]


def made_modules(folder: Path) -> None:
    """What Google's generator makes of the contract, in a package called queue_v1."""
    package = folder / "queue_v1"
    package.mkdir()
    contract = package / "goqueue.proto"
    contract.write_text((ROOT / "proto/goqueue/v1/goqueue.proto").read_text())
    out = [f"-I{folder}", f"--python_out={folder}", f"--grpc_python_out={folder}"]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *out, str(contract)], check=True, timeout=60)


@contextmanager
def running(folder: Path, program: str, target: str) -> Iterator["subprocess.Popen[str]"]:
    """A program of the page, against this broker."""
    (folder / "program.py").write_text(program.replace("localhost:9000", target))
    command = [sys.executable, "-u", "program.py"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_first_look_publishes_and_reads(tmp_path: Path) -> None:
    made_modules(tmp_path)

    async def scenario(broker: ServedBroker) -> None:
        def work(_client: Client) -> None:
            with running(tmp_path, FIRST_LOOK, broker.target) as process:
                said, _ = process.communicate(timeout=60)
                assert said.endswith("bytes, and on from 1\n")
                assert process.returncode == 0

        await broker.calls(work)

    with_broker(tmp_path / "broker", scenario, Setting(topics=()))


def test_a_member_of_the_page_reads_commits_and_shares(tmp_path: Path) -> None:
    made_modules(tmp_path)

    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            publish(client, 0, b"a", b"b")
            publish(client, 1, b"c")
            with running(tmp_path, MEMBER, broker.target) as first:
                committed(client, 2, 1)
                with running(tmp_path, MEMBER, broker.target):
                    while [len(one.assigned) for one in members(client)] != [1, 1]:
                        time.sleep(0.01)
                    publish(client, 0, b"d")
                    publish(client, 1, b"e")
                    committed(client, 3, 2)
                first.kill()
                assert first.stdout is not None
                assert "orders 1" in first.stdout.read()

        await broker.calls(work)

    with_broker(tmp_path / "broker", scenario)


def test_a_worker_of_the_page_acknowledges_what_it_gets(tmp_path: Path) -> None:
    made_modules(tmp_path)

    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            publish(client, 0, b"a", b"b")
            publish(client, 1, b"c")
            with running(tmp_path, WORKER, broker.target) as process:
                settled(client, 2, 1)
                publish(client, 1, b"d")
                settled(client, 2, 2)
                process.kill()
                assert process.stdout is not None
                said = process.stdout.read()
                assert "orders 0 2 messages" in said
                assert "done: 2" in said

        await broker.calls(work)

    with_broker(tmp_path / "broker", scenario)


def members(client: Client) -> list[v1.GroupMember]:
    """The members of the group of the page."""
    found: list[v1.GroupMember] = client.describe_group(v1.DescribeGroupRequest("billing")).members
    return found


def committed(client: Client, *offsets: int, group: str = "billing") -> None:
    """Wait until the group of the page is there and has come this far."""
    found: list[int] = []
    while found != [*offsets]:
        time.sleep(0.01)
        with suppress(grpc.RpcError):
            reply = client.fetch_offsets(v1.FetchOffsetsRequest(group, ["orders"]))
            found = [each.offset for each in reply.offsets]


def settled(client: Client, *offsets: int) -> None:
    """Wait until all messages below these offsets are settled in the shared group of the page."""
    committed(client, *offsets, group="mail")
