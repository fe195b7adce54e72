"""Who may import whom. The arrows point one way, and each package declares what it takes from outside."""

import sys
from collections.abc import Iterator

import pytest

from tests.architecture.tree import ROOMS, Source, demand, project, sample, sources, verdict

# room -> the rooms below it that it may import. The sizes of the rooms move; the arrows do not.
BELOW = {
    "core": {"core"},
    "proto": {"core", "proto"},
    "storage": {"core", "storage"},
    "transports": {"core", "proto", "storage", "transports"},
    "spark": {"cli", "core", "proto", "storage", "spark", "transports"},
    "cli": {"cli", "core", "proto", "storage", "transports"},
    "goqueue": {"cli", "core", "transports"},
    "fuzz": set(ROOMS),
    "tests": set(ROOMS),
}

# room -> what it may import besides the standard library, installed by the level that runs it.
OUTSIDE = {
    "core": {"attrs", "cramjam", "crc32c", "mmh3"},
    "proto": {"attrs", "betterproto", "grpclib"},
    "storage": {"attrs", "cramjam", "crc32c", "mmh3"},
    "transports": {
        "attrs", "betterproto", "crc32c", "grpclib", "h11", "h2", "hpack", "hyperframe", "msgspec", "outcome", "trio",
    },
    "spark": {"attrs", "click", "crc32c", "mmh3", "numpy", "pandas", "pyarrow", "pyspark", "rich", "trio"},
    "cli": {"attrs", "click", "cramjam", "crc32c", "mmh3", "rich", "trio", "yaml"},
    "goqueue": set(),
    "fuzz": {
        "atheris", "attrs", "betterproto", "click", "coverage", "cramjam", "crc32c", "grpclib", "h11", "mmh3",
        "outcome", "rich", "trio",
    },
    "tests": {
        "aiokafka", "atheris", "attrs", "betterproto", "click", "cramjam", "crc32c", "google", "grpc", "grpc_health",
        "grpc_reflection", "grpc_status", "grpclib", "h11", "h2", "hpack", "httpx", "hyperframe", "hypothesis", "kafka",
        "lz4", "mmh3", "msgspec", "numpy", "packaging", "pandas", "pyarrow", "pyspark", "pytest", "rich",
        "schemathesis", "snappy",
        "tests", "trio", "trustme", "yaml", "zstandard",
    },
}  # fmt: skip


def crossings(source: Source) -> Iterator[str]:
    """Imports of ours that go against the arrows, or by another name than `goqueue.*`."""
    for node, name in source.imports():
        top, _, rest = name.partition(".")
        room = rest.partition(".")[0]
        if name.startswith("."):
            yield f"{source.at(node)} imports {name}: write imports in full, from goqueue down"
        elif top in ROOMS and top != "goqueue":
            yield f"{source.at(node)} imports {name}: its name is goqueue.{name}; installed, there is no other"
        elif top == "goqueue" and room in ROOMS and room not in BELOW[source.room]:
            allowed = ", ".join(sorted(BELOW[source.room] - {source.room})) or "no other package"
            yield (
                f"{source.at(node)} imports {name}: {source.room} may import {allowed}; "
                "move what is shared down, or pass it in from above"
            )


def strangers(source: Source) -> Iterator[str]:
    """Imports from outside that the room does not declare."""
    for node, name in source.imports():
        top = name.partition(".")[0]
        if top in {"", "goqueue"} | OUTSIDE[source.room] or top in sys.stdlib_module_names:
            continue
        yield (
            f"{source.at(node)} imports {name}: {source.room} declares no dependency on {top}; do without, or add it "
            "to OUTSIDE in tests/architecture/test_layers.py and to pyproject.toml, then ./dev lock"
        )


def test_imports_follow_the_arrows() -> None:
    demand(verdict(crossings, sources()))


def test_every_dependency_is_declared_by_its_room() -> None:
    demand(verdict(strangers, sources()))


def test_what_the_rooms_declare_is_installed_with_the_product() -> None:
    declared = " ".join(project()["project"]["dependencies"])
    needed = set().union(*(OUTSIDE[room] for room in ROOMS if room not in {"fuzz", "spark"}))
    missing = sorted(name for name in needed if name not in declared)
    assert not missing, f"add to dependencies in pyproject.toml, then ./dev lock: {', '.join(missing)}"


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("core/x.py", "from goqueue.storage.files import Disk", "core may import no other package"),
        ("storage/x.py", "import goqueue.cli.main", "storage may import core"),
        ("storage/x.py", "from goqueue.transports import runtime", "storage may import core"),
        ("spark/x.py", "from goqueue.fuzz.world import World", "spark may import cli, core"),
        ("cli/x.py", "from goqueue.fuzz.world import World", "cli may import core"),
        ("storage/x.py", "from goqueue import cli", "storage may import core"),
        ("cli/x.py", "from core.errors import GoQueueError", "its name is goqueue.core.errors"),
        ("tests/core/test_x.py", "import storage", "its name is goqueue.storage"),
        ("storage/x.py", "from . import files", "in full"),
    ],
)
def test_an_import_against_the_arrows_is_named(path: str, text: str, said: str) -> None:
    assert said in verdict(crossings, [sample(text, path)])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("storage/x.py", "import rich"),
        ("cli/x.py", "import pytest"),
        ("cli/x.py", "def late():\n    from kafka import KafkaProducer"),
        ("goqueue/__main__.py", "import click"),
    ],
)
def test_a_dependency_nobody_declared_is_named(path: str, text: str) -> None:
    assert "declares no dependency" in verdict(strangers, [sample(text, path)])
