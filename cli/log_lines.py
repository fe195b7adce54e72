"""What the broker says on standard error: lines for people, or one JSON object a line for what gathers them."""

import json
import logging
import sys
import time


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


def begin_logging(level: str, style: str) -> None:
    """Log to standard error from here on, in this process."""
    lines = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
    lines.setFormatter(JsonLines() if style == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[lines], force=True)
