"""What an export has read and which files hold it: one manifest an export that brought something, never changed.

Manifests are numbered from 1 on, and each begins where the one before it ends. So the offsets that come next are in
the last of them, and two exports that run at once both want the same number, which only one of them gets.
"""

import json

from attrs import asdict, define, field, fields

from goqueue.core.errors import GoQueueError

FORMAT_VERSION = 2


class ExportError(GoQueueError):
    """An export cannot be carried out, and why."""


class TopicExportedError(ExportError):
    """The folder holds another topic of that name, which was deleted since."""


@define
class Span:
    """The offsets of a partition that one export read, [first, end), and how many records there were in them."""

    first: int
    end: int
    count: int


@define
class Manifest:
    """One export: which topic, which offsets, which files, and the folder in which they were made."""

    number: int
    topic: str
    staging: str
    spans: dict[int, Span]
    # Paths below the folder of the export, once all is in its place.
    files: list[str]
    # Offsets that were gone before they could be read, [first, end) by partition.
    missed: dict[int, list[int]] = field(factory=dict)
    # The topic's id, which tells it from another of its name; empty where nobody knew.
    topic_id: str = ""
    version: int = FORMAT_VERSION

    @property
    def count(self) -> int:
        """How many records it brought."""
        return sum(span.count for span in self.spans.values())


def encode_manifest(manifest: Manifest) -> bytes:
    """A manifest as JSON, which people and other programs may read."""
    return json.dumps(asdict(manifest), indent=1, sort_keys=True).encode() + b"\n"


def decode_manifest(name: str, content: bytes) -> Manifest:
    """The manifest in a file. Raises ExportError."""
    try:
        said = json.loads(content)
        if said["version"] != FORMAT_VERSION:
            raise ExportError(
                f"{name} has version {said['version']}; this release reads version {FORMAT_VERSION}: export into"
                " another folder"
            )
        known = {one.name: said[one.name] for one in fields(Manifest)}
        known["spans"] = {int(partition): Span(**span) for partition, span in said["spans"].items()}
        known["missed"] = {int(partition): [*bounds] for partition, bounds in said["missed"].items()}
        return Manifest(**known)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExportError(f"{name} is no manifest of an export: {error!r}") from error


def name_of(number: int) -> str:
    """`00000007.json`: sorted by name, manifests are in order."""
    return f"{number:08d}.json"


def number_of(name: str) -> int | None:
    """The number of a manifest's file; None for any other file."""
    stem, dot, ending = name.partition(".")
    return int(stem) if dot and ending == "json" and stem.isascii() and stem.isdigit() else None
