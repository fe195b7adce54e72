"""What the broker logs, on standard error or in a file: lines for people, or one JSON object a line for programs."""

import json
import logging
import logging.handlers
import os
import sys
import time
from io import BufferedWriter, FileIO, TextIOWrapper

from goqueue.storage.private_files import open_or_make_file


class JsonLines(logging.Formatter):
    """Each record as one object: time, level, logger, message, and error with its traceback if there was one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record on one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        said = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return json.dumps(said)


class PrivateFile(logging.handlers.RotatingFileHandler):
    """A log file that nobody but the broker's user may read, like all that lies beside it in a data folder."""

    def _open(self) -> TextIOWrapper:
        descriptor = open_or_make_file(self.baseFilename, os.O_WRONLY | os.O_APPEND)
        return TextIOWrapper(BufferedWriter(FileIO(descriptor, self.mode)), self.encoding, self.errors)


# A log file is turned over at this size, and so many older ones stay.
FILE_BYTES = 16 << 20
FILES_KEPT = 3


def begin_logging(level: str, style: str, path: str = "") -> None:
    """Log from here on, in this process: to standard error, or to a file that is turned over. Raises OSError."""
    lines: logging.Handler = logging.StreamHandler(sys.stderr)
    if path:
        lines = PrivateFile(path, maxBytes=FILE_BYTES, backupCount=FILES_KEPT)
    text = logging.Formatter("%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
    lines.setFormatter(JsonLines() if style == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[lines], force=True)
