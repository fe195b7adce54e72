"""How far a stream of messages has come, on a terminal's standard error: messages, bytes, and their rates."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn


class Meter:
    """A line that moves while its block lasts, and is gone afterwards."""

    def __init__(self, verb: str, total_bytes: int | None) -> None:
        columns = (
            TextColumn(verb),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TextColumn("{task.fields[messages]:,} messages"),
        )
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("", total=total_bytes, messages=0)
        self._messages = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def advance(self, messages: int, size: int) -> None:
        """So many more, of so many bytes."""
        self._messages += messages
        self._progress.update(self._task, advance=size, messages=self._messages)
