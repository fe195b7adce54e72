"""What is to be said of a history: valid, invalid or unknown, why, and how much there was to look at."""

from collections.abc import Sequence
from enum import StrEnum

from attrs import define, field

from goqueue.fuzz.histories.narration import narrate
from goqueue.fuzz.histories.operation import History, Operation

# Of each anomaly so many findings are told in full.
SHOWN_MAX = 3


class Result(StrEnum):
    """Whether a correct broker may have done what clients saw."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


@define
class Finding:
    """Something that no correct broker does: its name, a sentence, and the operations that show it, in order."""

    anomaly: str
    sentence: str
    operations: Sequence[Operation] = ()

    def text(self) -> str:
        """The finding in plain words, a line for each operation."""
        ordered = sorted(dict.fromkeys(self.operations), key=lambda one: one.serial)
        return "\n".join([f"{self.anomaly}: {self.sentence}", *(f"    {narrate(one)}" for one in ordered)])


@define
class Count:
    """How often a verb ended how."""

    ok: int = 0
    fail: int = 0
    info: int = 0


@define
class Verdict:
    """What all checkers say together; `doubts` are what they could not judge and why."""

    findings: list[Finding] = field(factory=list)
    doubts: list[str] = field(factory=list)
    # Parts of the history of which some things are not promised, so that they were not asked for.
    exempt: list[str] = field(factory=list)
    counts: dict[str, Count] = field(factory=dict)

    @property
    def result(self) -> Result:
        """Invalid if anything was found, unknown if something could not be judged, and else valid."""
        if self.findings:
            return Result.INVALID
        return Result.UNKNOWN if self.doubts else Result.VALID

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "result": str(self.result),
            "findings": [
                {
                    "anomaly": one.anomaly,
                    "sentence": one.sentence,
                    "operations": sorted({operation.serial for operation in one.operations}),
                }
                for one in self.findings
            ],
            "doubts": self.doubts,
            "exempt": self.exempt,
            "counts": {verb: {"ok": one.ok, "fail": one.fail, "info": one.info} for verb, one in self.counts.items()},
        }

    def text(self) -> str:
        """The same for people: the verdict, what was found with the operations involved, and the counts."""
        lines = [f"verdict: {self.result}"]
        by_anomaly: dict[str, list[Finding]] = {}
        for one in self.findings:
            by_anomaly.setdefault(one.anomaly, []).append(one)
        for anomaly, found in by_anomaly.items():
            lines += [one.text() for one in found[:SHOWN_MAX]]
            if len(found) > SHOWN_MAX:
                lines.append(f"    {anomaly}: {len(found) - SHOWN_MAX} more of these")
        lines += [f"not judged: {doubt}" for doubt in self.doubts]
        lines += [f"not promised: {part}" for part in self.exempt]
        lines.append(f"{'operation':<15}{'ok':>9}{'failed':>9}{'unknown':>9}")
        lines += [f"{verb:<15}{one.ok:>9}{one.fail:>9}{one.info:>9}" for verb, one in sorted(self.counts.items())]
        return "\n".join(lines)


def count(history: History) -> dict[str, Count]:
    """How many operations of each verb ended how."""
    counts: dict[str, Count] = {}
    for operation in history.operations:
        one = counts.setdefault(str(operation.verb), Count())
        setattr(one, operation.end, getattr(one, operation.end) + 1)
    return counts
