"""The process in which libFuzzer runs one target, since it ends the process that it runs in.

`session.py` starts it, as a module with the arguments of `main`, reads its progress from what libFuzzer prints, and
knows by its exit status whether there was a finding. An input that fails is made smaller here and written among the
findings; one that kills the process is left by libFuzzer in `room`.
"""

import sys
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from random import Random
from resource import RUSAGE_SELF, getrusage

import atheris

from goqueue.fuzz.bytes.bounds import check_bounds
from goqueue.fuzz.bytes.shrinking import shrink
from goqueue.fuzz.bytes.target import Target
from goqueue.fuzz.bytes.targets import load

# Far above the bound on processor time: this one only ends what would never end.
_HANG_SECONDS = 60
_MEMORY_MIB_MAX = 1024


def main(arguments: list[str]) -> None:
    """Fuzz until the time is over or something is found: `TARGET SECONDS SEED ROOM CORPUS FINDINGS`."""
    name, seconds, seed, room, corpus, findings = arguments
    _import_guides()
    target = load(name)
    seeds = Path(room, "seeds")
    seeds.mkdir()
    for number, content in enumerate(target.seeds()):
        Path(seeds, str(number)).write_bytes(content)

    def run(content: bytes) -> None:
        try:
            check_bounds(target.check, content)
        except Exception:
            _keep(target, content, Path(findings))
            raise

    options = [
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={target.size_max}",
        f"-timeout={_HANG_SECONDS}",
        # What the process that began this one took at most counts as taken by this one: it outlives the exec.
        f"-rss_limit_mb={_MEMORY_MIB_MAX + getrusage(RUSAGE_SELF).ru_maxrss // 1024}",
        f"-artifact_prefix={room}/killer-",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, corpus, str(seeds)], run, custom_mutator=_mutator(target))
    atheris.Fuzz()


def _import_guides() -> None:
    """Import what is to lead the search, so that atheris sees every branch of it: the core, and recovery."""
    # It looks at the first part of a name only, so what must stay as it is gets imported before or after, not within.
    with atheris.instrument_imports(include=["goqueue"]):
        core = import_module("goqueue.core")
        for module in walk_packages(core.__path__, "goqueue.core."):
            import_module(module.name)
        import_module("goqueue.storage.recovery")


def _mutator(target: Target) -> object:
    def havoc(content: bytes, size_max: int, random: Random) -> bytes:  # noqa: ARG001 - libFuzzer draws by itself
        return bytes(atheris.Mutate(content, size_max))

    def mutate(content: bytes, size_max: int, seed: int) -> bytes:
        return target.mutate(content, size_max, Random(seed), havoc)

    return mutate


def _keep(target: Target, content: bytes, findings: Path) -> None:
    smallest = shrink(target.check, content, target.smaller) if _fails(target, content) else content
    findings.mkdir(parents=True, exist_ok=True)
    Path(findings, f"{target.name}-{sha256(smallest).hexdigest()[:12]}").write_bytes(smallest)


def _fails(target: Target, content: bytes) -> bool:
    """Whether the check itself fails, and not only its cost, which nothing here makes smaller."""
    try:
        target.check(content)
    except Exception:  # noqa: BLE001 - any error is a failure of the check
        return True
    return False


if __name__ == "__main__":
    main(sys.argv[1:])
