"""Contexts: names for brokers, in a file of the user's, so that an address is typed once.

The file is YAML, `~/.goqueue/config.yaml` unless GOQUEUE_CLI_CONFIG names another. It may hold keys that are not known
here, at any place; they are kept. It may hold API keys, so only its owner can read it from the first write on. A write
replaces the file as a whole or leaves it alone.
"""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from attrs import define

from goqueue.cli.endings import WRONG, Ending

VARIABLE = "GOQUEUE_CLI_CONFIG"
CONTEXT_VARIABLE = "GOQUEUE_CONTEXT"
API_KEY_VARIABLE = "GOQUEUE_API_KEY"
CURRENT, CONTEXTS, SERVER, API_KEY = "currentContext", "contexts", "server", "apiKey"
REDACTED = "REDACTED"
_FILE_BYTES_MAX = 256 << 10
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@define
class Context:
    """A name for a broker."""

    name: str
    server: str
    api_key: str = ""


class ContextFile:
    """The file as it was read, and as it will be written."""

    def __init__(self, path: Path, content: dict[Any, Any]) -> None:
        self.path = path
        self.content = content

    @property
    def current(self) -> str:
        """The name of the context that is used unless another is asked for; "" for none."""
        return str(self.content.get(CURRENT) or "")

    @property
    def names(self) -> list[str]:
        """All contexts, in the order of the file."""
        return [*self._contexts()]

    def context(self, name: str) -> Context:
        """A context; raises Ending if there is none of that name, or it names no broker."""
        found = self._contexts().get(name)
        if found is None:
            known = ", ".join(self.names)
            raise Ending(
                f"there is no context {name!r}; {f'known are {known}' if known else 'none was made yet'}", WRONG
            )
        server, api_key = found.get(SERVER), found.get(API_KEY) or ""
        if not isinstance(server, str) or not isinstance(api_key, str):
            raise Ending(f"{self.path}: context {name!r} has no {SERVER}, or one that is no text", WRONG)
        return Context(name, server, api_key)

    def put(self, context: Context) -> None:
        """Make or change a context; keys that are not known here stay."""
        if not _NAME.fullmatch(context.name):
            raise Ending(
                f"{context.name!r} is no name; up to 100 letters, digits, dots, dashes and underscores are", WRONG
            )
        contexts = self.content[CONTEXTS] = self._contexts()
        written = contexts.setdefault(context.name, {})
        written[SERVER] = context.server
        if context.api_key:
            written[API_KEY] = context.api_key
        else:
            written.pop(API_KEY, None)

    def use(self, name: str) -> None:
        """Make a context the current one."""
        self.content[CURRENT] = self.context(name).name

    def remove(self, name: str) -> None:
        """Forget a context; if it was the current one, there is none."""
        if name not in self._contexts():
            self.context(name)
        del self.content[CONTEXTS][name]
        if self.current == name:
            del self.content[CURRENT]

    def redacted(self) -> dict[Any, Any]:
        """All that the file holds, without keys that must stay secret."""
        hidden = {
            name: {key: REDACTED if key == API_KEY and value else value for key, value in each.items()}
            for name, each in self._contexts().items()
        }
        return {**self.content, CONTEXTS: hidden} if hidden else {**self.content}

    def write(self) -> None:
        """Put the file in place as a whole, readable for its owner alone."""
        from yaml import safe_dump

        text = safe_dump(self.content, sort_keys=False, allow_unicode=True)
        # A link, as people have who keep such files elsewhere, stays one.
        target = self.path.resolve()
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=target.parent, prefix=f"{target.name}.", delete=False) as file:
                try:
                    # Such files are made with mode 0600.
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                    Path(file.name).replace(target)
                except BaseException:
                    Path(file.name).unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise Ending(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _contexts(self) -> dict[Any, dict[Any, Any]]:
        found = self.content.get(CONTEXTS) or {}
        if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
            raise Ending(f"{self.path}: {CONTEXTS} is not made of names, each with its {SERVER}", WRONG)
        return found


def contexts_path() -> Path:
    """Where the file is, or would be."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    try:
        return Path.home() / ".goqueue" / "config.yaml"
    except RuntimeError as error:
        raise Ending(f"nobody knows the home folder of this user; {VARIABLE} can name a file", WRONG) from error


def read_contexts() -> ContextFile:
    """The file, empty if there is none. Raises Ending if it cannot be read, or is no such file."""
    path = contexts_path()
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return ContextFile(path, {})
    except (OSError, ValueError) as error:
        raise Ending(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}", WRONG) from error
    if len(content) > _FILE_BYTES_MAX:
        raise Ending(f"{path} is larger than {_FILE_BYTES_MAX >> 10} KiB, which no such file needs", WRONG)
    return ContextFile(path, _parsed(path, content))


def _parsed(path: Path, content: bytes) -> dict[Any, Any]:
    # A command that needs no context does not wait for this import.
    from yaml import YAMLError, safe_load

    try:
        found = safe_load(content.decode())
    except (YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise Ending(f"{path} is no YAML: {' '.join(str(error).split())}", WRONG) from error
    if found is not None and not isinstance(found, dict):
        raise Ending(f"{path} holds no keys; it should hold {CONTEXTS} and {CURRENT}", WRONG)
    return found or {}
