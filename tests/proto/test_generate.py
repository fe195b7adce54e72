"""What is generated from goqueue.proto is what it says, and the writer of codecs knows every type of field."""

from pathlib import Path

import pytest

import goqueue.proto
from goqueue.proto.generate import compile_protos, generated_modules, loaded, settle
from goqueue.proto.generating.codecs import codec_source

FOLDER = Path(goqueue.proto.__file__).parent


def test_generated_code_is_current() -> None:
    for name, text in generated_modules().items():
        assert (FOLDER / name).read_text() == text, "run ./dev proto"


def test_what_is_stale_or_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert settle(tmp_path, {"a.py": "1", "b.py": "2", "c.py": "3"}, []) == 0
    (tmp_path / "a.py").write_text("0")
    (tmp_path / "b.py").unlink()
    assert settle(tmp_path, {"a.py": "1", "b.py": "2", "c.py": "3"}, ["--check"]) == 1
    assert "a.py, b.py in" in capsys.readouterr().err
    assert settle(tmp_path, {"a.py": "0", "c.py": "3"}, ["--check"]) == 0
    assert settle(tmp_path, {}, ["--chekc"]) == 2


@pytest.mark.parametrize(("fields", "said"), [("repeated Node below = 1;", "Node"), ("float size = 1;", "Node.size")])
def test_what_cannot_be_read_safely_gets_no_codec(tmp_path: Path, fields: str, said: str) -> None:
    (tmp_path / "tree.proto").write_text(f'syntax = "proto3"; package tree.v1; message Node {{ {fields} }}')
    compile_protos(tmp_path, ["tree.proto"], tmp_path)
    module = loaded(tmp_path / "tree/v1/__init__.py", "tree_as_generated")
    with pytest.raises(AssertionError, match=said):
        codec_source(module, "tree")
