"""The steps of an export, of which any may be the last one: whatever is left by then is made good by the next export.

1. What the last manifest names and is not in its place yet is put there.
2. Records from where that manifest ends on are written into a folder of this export's own, below `_staging`.
3. What was written is looked at: which offsets of which partitions, in which files.
4. The manifest that says so is committed. This is the moment at which the records are exported: before it nothing of
   them counts, after it all of them do.
5. The files are put in their places, and the folder of the export goes.

So a reader of Parquet, who knows nothing of manifests and passes over names that begin with `_`, sees no record twice
and none of an export that failed. Folders of exports that came to nothing are removed as soon as their number is
another's.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import define, field

from goqueue.spark.exporting.folder import Folder
from goqueue.spark.exporting.manifest import (
    ExportError,
    Manifest,
    Span,
    TopicExportedError,
    decode_manifest,
    encode_manifest,
    name_of,
    number_of,
)

MANIFESTS = "_goqueue"
STAGING = "_staging"
_STAGED = re.compile(r"([0-9]+)-[0-9a-z]+")
_ENDING = ".parquet"


# Writes the records of a topic from some offsets on, below a folder, and says which there were by partition.
Stage: TypeAlias = Callable[[Mapping[int, int], str], dict[int, Span]]


@define
class Exported:
    """What an export brought: no manifest where there was nothing new."""

    manifest: Manifest | None = None
    # How many files of an earlier export were still to be put in their places.
    mended: int = 0
    missed: dict[int, list[int]] = field(factory=dict)


class Export:
    """A folder that a topic is exported into, export after export; `topic_id` is of the topic, if it is known."""

    def __init__(
        self, folder: Folder, topic: str, told: Callable[[str], None] = lambda _: None, *, topic_id: str = ""
    ) -> None:
        self._folder = folder
        self._topic = topic
        self._topic_id = topic_id
        self._told = told

    def last(self) -> Manifest | None:
        """The last manifest. Raises ExportError when it cannot be read, or is another topic's."""
        numbers = [number for name in self._folder.names(MANIFESTS) if (number := number_of(name)) is not None]
        if not numbers:
            return None
        name = f"{MANIFESTS}/{name_of(max(numbers))}"
        manifest = decode_manifest(f"{self._folder.path}/{name}", self._folder.read(name))
        if manifest.topic != self._topic:
            raise ExportError(f"{self._folder.path} holds the topic {manifest.topic!r}, not {self._topic!r}")
        if manifest.topic_id and not self._topic_id:
            raise ExportError(
                f"{self._folder.path} holds the topic {self._topic!r} with the id {manifest.topic_id}, and what is to"
                " be exported does not say which topic it is: export it into another folder, or from the cluster"
            )
        if manifest.topic_id and manifest.topic_id != self._topic_id:
            raise TopicExportedError(
                f"{self._folder.path} holds the topic {self._topic!r} with the id {manifest.topic_id}; it was deleted"
                f" and made again since, and has the id {self._topic_id}: export it into another folder, or move away"
                " what is in this one"
            )
        return manifest

    def ends(self) -> dict[int, int]:
        """The offset at which each partition goes on."""
        last = self.last()
        return {} if last is None else {partition: span.end for partition, span in last.spans.items()}

    def run(self, stage: Stage, beginnings: Mapping[int, int], token: str, *, allow_gaps: bool = False) -> Exported:
        """Export what is new; `beginnings` are the first offsets that each partition still has.

        `token` is unlike that of any other export. Raises ExportError.
        """
        last = self.last()
        mended = self._settle(last)
        ends = {} if last is None else {partition: span.end for partition, span in last.spans.items()}
        missed = self._missed(ends, beginnings, allow_gaps=allow_gaps)
        starts = {partition: max(first, ends.get(partition, first)) for partition, first in beginnings.items()}
        number = 1 if last is None else last.number + 1
        staging = f"{number}-{token}"
        try:
            found = stage(starts, f"{self._folder.path}/{STAGING}/{staging}")
        except Exception as error:
            # Whoever commits a number removes what others have begun under it.
            if name_of(number) in self._folder.names(MANIFESTS):
                raise self._too_slow() from error
            raise
        if not found:
            self._folder.remove(f"{STAGING}/{staging}")
            return Exported(None, mended, missed)
        manifest = self._manifest(number, staging, starts, ends, found, missed)
        manifest.topic_id = self._topic_id
        if not self._folder.commit(f"{MANIFESTS}/{name_of(number)}", encode_manifest(manifest)):
            self._folder.remove(f"{STAGING}/{staging}")
            raise self._too_slow()
        self._settle(manifest)
        return Exported(manifest, mended, missed)

    def _too_slow(self) -> ExportError:
        return ExportError(f"another export into {self._folder.path} was faster; this one has changed nothing")

    def _missed(
        self, ends: Mapping[int, int], beginnings: Mapping[int, int], *, allow_gaps: bool
    ) -> dict[int, list[int]]:
        missed = {
            partition: [end, beginnings[partition]]
            for partition, end in ends.items()
            if beginnings.get(partition, end) > end
        }
        for partition, (first, end) in missed.items():
            words = f"{self._topic}/{partition}: offsets {first} to {end} were removed before they were exported"
            if not allow_gaps:
                raise ExportError(f"{words}; allow gaps to go on without them")
            self._told(words)
        return missed

    def _manifest(
        self,
        number: int,
        staging: str,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        found: Mapping[int, Span],
        missed: dict[int, list[int]],
    ) -> Manifest:
        spans = {partition: Span(end, end, 0) for partition, end in ends.items()}
        for partition, span in found.items():
            if span.first < starts.get(partition, 0):
                raise ExportError(f"{self._topic}/{partition}: offset {span.first} was read, which is exported already")
            spans[partition] = Span(starts.get(partition, span.first), span.end, span.count)
        written = [one for one in self._folder.walk(f"{STAGING}/{staging}") if _is_content(one)]
        return Manifest(number, self._topic, staging, spans, [_final(number, one) for one in written], missed)

    def _settle(self, manifest: Manifest | None) -> int:
        """Put in place what a manifest names, and remove what can never be named by one any more."""
        if manifest is None:
            return 0
        inside = f"{STAGING}/{manifest.staging}"
        waiting = [one for one in self._folder.walk(inside) if _is_content(one)]
        for one in waiting:
            self._folder.move(f"{inside}/{one}", _final(manifest.number, one))
        for name in self._folder.names(STAGING):
            staged = _STAGED.fullmatch(name)
            if staged is not None and int(staged[1]) <= manifest.number:
                self._folder.remove(f"{STAGING}/{name}")
        return len(waiting)


def exported_id(folder: Folder) -> str:
    """The id of the topic that a folder holds; empty where nobody knew, or where it is no export.

    Raises ExportError.
    """
    numbers = [number for name in folder.names(MANIFESTS) if (number := number_of(name)) is not None]
    name = f"{MANIFESTS}/{name_of(max(numbers, default=0))}"
    return decode_manifest(f"{folder.path}/{name}", folder.read(name)).topic_id if numbers else ""


def unfinished(folder: Folder) -> int:
    """How many files of exports that are committed are not in their places yet; an export puts them there."""
    committed = {number for name in folder.names(MANIFESTS) if (number := number_of(name)) is not None}
    found = 0
    for name in folder.names(STAGING):
        staged = _STAGED.fullmatch(name)
        if staged is None or int(staged[1]) not in committed:
            continue
        manifest = decode_manifest(name, folder.read(f"{MANIFESTS}/{name_of(int(staged[1]))}"))
        if manifest.staging == name:
            found += sum(map(_is_content, folder.walk(f"{STAGING}/{name}")))
    return found


def _is_content(path: str) -> bool:
    return path.endswith(_ENDING) and not path.rpartition("/")[2].startswith((".", "_"))


def _final(number: int, path: str) -> str:
    """Where a file of an export goes: into the folder of its date and hour, under a name that no other export gives."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{number:08d}-{name}"
