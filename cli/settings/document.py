"""The broker's YAML file as values by key, each with its line, and all that is wrong with how it is written.

It is read as a tree of nodes and never constructed: what a scalar means is for its key to say (kinds.py), so none of
YAML's surprises (`no`, `010`, `1:30`) gets through. Anchors work; merge keys and tags do not, and are said to be
unknown. Invariant: any bytes give a document; whatever is wrong is in `problems`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field

from goqueue.cli.settings.kinds import LIST, NOTHING, TEXT, shown, written_as
from goqueue.cli.settings.variables import CLOSING, OPENING, Variables

if TYPE_CHECKING:
    from yaml import MappingNode, Node, ScalarNode, SequenceNode

FILE_BYTES_MAX = 256 << 10
# A value that variables had a say in is text, a number or whatever is wanted: quotes around it say nothing.
ANYTHING = "anything"
_STANDARD_TAGS = "tag:yaml.org,2002:"


@define
class Entry:
    """What the file holds under a key; of a list, the items with commas between."""

    # It may be a secret.
    text: str = field(repr=False)
    line: int
    written: str
    variables: list[str]


class Document:
    """A file that was read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: dict[str, Entry] = {}
        self._problems: list[tuple[int, str]] = []

    def report(self, line: int, sentence: str, key: str = "") -> None:
        """Note what is wrong; line 0 is the file as a whole."""
        place = f"{self.name}:{line}" if line else self.name
        self._problems.append((line, f"{place}: {key}: {sentence}" if key else f"{place}: {sentence}"))

    @property
    def problems(self) -> list[str]:
        """All that is wrong, in the order of lines."""
        return [sentence for _, sentence in sorted(self._problems, key=lambda problem: problem[0])]


def read_file(path: str, known: Iterable[str], environment: Mapping[str, str]) -> Document:
    """A file with the keys that are known."""
    document = Document(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        document.report(0, f"cannot be read: {(getattr(error, 'strerror', None) or str(error)).lower()}")
        return document
    return read_document(document, content, known, environment)


def read_document(document: Document, content: bytes, known: Iterable[str], environment: Mapping[str, str]) -> Document:
    """Fill a document from the bytes of its file."""
    if len(content) > FILE_BYTES_MAX:
        document.report(0, f"is larger than {FILE_BYTES_MAX >> 10} KiB, which no such file needs")
        return document
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        document.report(line, f"byte {error.start} is no UTF-8")
        return document
    if OPENING in text or CLOSING in text:
        document.report(0, "holds a private character, U+E000 or U+E001")
        return document
    variables = Variables(environment)
    root = _parsed(document, variables.marked(text))
    if root is not None:
        _Walk(document, variables, known).root(root)
    return document


def _parsed(document: Document, text: str) -> "Node | None":
    """The tree of a text; None for one that is empty, or no YAML."""
    from yaml import MarkedYAMLError, SafeLoader, YAMLError, compose

    try:
        root: Node | None = compose(text, SafeLoader)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = ", ".join(filter(None, (error.context, error.problem)))
        document.report(
            mark.line + 1 if mark else 0, f"this is no YAML: {words.replace(OPENING, '').replace(CLOSING, '')}"
        )
    except (YAMLError, ValueError, OverflowError) as error:
        document.report(0, f"this is no YAML: {' '.join(str(error).split())}")
    except RecursionError:
        document.report(0, "this is nested too deeply")
    else:
        return root
    return None


class _Walk:
    """From nodes to entries, along the sections that are known."""

    def __init__(self, document: Document, variables: Variables, known: Iterable[str]) -> None:
        self._document = document
        self._variables = variables
        # section -> the names in it, in their order; the file as a whole is section "".
        self._sections: dict[str, list[str]] = {}
        self._keys = [*known]
        for key in self._keys:
            parts = key.split(".")
            for depth in range(len(parts)):
                names = self._sections.setdefault(".".join(parts[:depth]), [])
                if parts[depth] not in names:
                    names.append(parts[depth])

    def root(self, node: "Node") -> None:
        """Walk the whole file."""
        self._section("", node)

    def _section(self, section: str, node: "Node") -> None:
        from yaml import MappingNode

        if isinstance(node, MappingNode):
            return self._mapping(section, node)
        if not self._is_nothing(node):
            found, names = self._described(node), ", ".join(self._sections[section])
            what = "expected a section with" if section else "expected a file with the sections"
            self._document.report(_line(node), f"found {found}, {what} {names}", section)
        return None

    def _mapping(self, section: str, node: "MappingNode") -> None:
        seen: dict[str, int] = {}
        for key_node, value in node.value:
            name = self._name(section, key_node)
            if name is None:
                continue
            key = f"{section}.{name}" if section else name
            if name in seen:
                self._document.report(_line(key_node), f"it is given twice, first in line {seen[name]}", key)
            elif name not in self._sections[section]:
                self._document.report(_line(key_node), self._unknown(section, name), key)
            elif key in self._sections:
                self._section(key, value)
            else:
                self._value(key, value)
            seen.setdefault(name, _line(key_node))

    def _name(self, section: str, node: "Node") -> str | None:
        from yaml import ScalarNode

        name = self._variables.restored(node.value) if isinstance(node, ScalarNode) else ""
        if not name or not name.isprintable():
            self._document.report(_line(node), "expected a key", section)
            return None
        return name

    def _unknown(self, section: str, name: str) -> str:
        from difflib import get_close_matches

        names = self._sections[section]
        wanted = {known.lower(): f"{section}.{known}" if section else known for known in names}
        close = get_close_matches(name.lower(), wanted, n=1)
        if close:
            return f"there is no such key; did you mean {wanted[close[0]]}?"
        elsewhere = [key for key in self._keys if key.rpartition(".")[2].lower() == name.lower()]
        if elsewhere:
            return f"there is no such key here; did you mean {elsewhere[0]}?"
        return f"there is no such key; known here are {', '.join(names)}"

    def _value(self, key: str, node: "Node") -> None:
        from yaml import MappingNode, ScalarNode, SequenceNode

        line = _line(node)
        if not node.tag.startswith(_STANDARD_TAGS):
            self._document.report(line, f"tags such as {shown(node.tag)} are not read", key)
        elif isinstance(node, MappingNode):
            self._document.report(line, "found a section, expected a value", key)
        elif isinstance(node, SequenceNode):
            self._list(key, node)
        elif isinstance(node, ScalarNode):
            entry = self._scalar(key, node)
            if entry is not None:
                self._document.entries[key] = entry

    def _list(self, key: str, node: "SequenceNode") -> None:
        from yaml import ScalarNode

        items: list[Entry] = []
        for each in node.value:
            if not isinstance(each, ScalarNode):
                self._document.report(_line(each), f"found {self._described(each)} in a list of values", key)
                return
            item = self._scalar(key, each)
            if item is None:
                return
            items.append(item)
        variables = [name for item in items for name in item.variables]
        self._document.entries[key] = Entry(",".join(item.text for item in items), _line(node), LIST, variables)

    def _scalar(self, key: str, node: "ScalarNode") -> Entry | None:
        filled = self._variables.filled(node.value)
        for problem in filled.problems:
            self._document.report(_line(node), problem, key)
        if filled.problems:
            return None
        written = ANYTHING if filled.has_variables else written_as(filled.text) if node.style is None else TEXT
        return Entry(filled.text, _line(node), written, filled.taken)

    def _is_nothing(self, node: "Node") -> bool:
        from yaml import ScalarNode

        return isinstance(node, ScalarNode) and node.style is None and written_as(node.value) == NOTHING

    def _described(self, node: "Node") -> str:
        from yaml import MappingNode, ScalarNode

        if isinstance(node, ScalarNode):
            return shown(self._variables.restored(node.value))
        return "a section" if isinstance(node, MappingNode) else "a list"


def _line(node: "Node") -> int:
    return int(node.start_mark.line) + 1
