"""What went wrong in Spark, told in the sentence of whoever raised it, without the stacks of Java and Python around it.

An error of ours that was raised in a task, or in the process that plans for a source, comes back as text: a traceback
within an exception of Spark's. Its last line that names an error of ours is what the user is to read. What Spark itself
objects to has a sentence, too, as its first line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from goqueue.cli.endings import Ending

_OURS = re.compile(r"^goqueue\.[\w.]+\.(\w+): (.+)$", re.MULTILINE)
_THEIRS = re.compile(r"^[\w.]+(?:Error|Exception): (.+)$", re.MULTILINE)


@contextmanager
def plainly() -> Iterator[None]:
    """Ends the command with a sentence where Spark, or the system, failed in the block. Raises Ending."""
    try:
        yield
    except OSError as error:
        said = error.strerror or str(error)
        raise Ending(f"{error.filename}: {said}" if error.filename else said) from error
    except Exception as error:
        # What Spark does not translate is raised by its bridge to Java.
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise Ending(sentence_of(str(error))) from error


def sentence_of(text: str) -> str:
    """What a text with tracebacks in it comes to."""
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1][1])
    theirs = _THEIRS.findall(text)
    if "Traceback" in text and theirs:
        return str(theirs[-1])
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].strip() if lines else "Spark failed and does not say why"
