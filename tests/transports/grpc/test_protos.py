"""What is generated from .proto files is what the files say.

`python -m tests.transports.grpc.test_protos` writes the test's own module again.
"""

from pathlib import Path

import goqueue.transports.grpc.protos
from goqueue.proto.generate import compile_protos
from goqueue.transports.grpc.protos.generate import GENERATED, generated_modules

HERE = Path(__file__).parent
ECHO = HERE / "echo_messages.py"


def echo_module(room: Path) -> str:
    """The module that belongs to echo.proto."""
    compile_protos(HERE, ["echo.proto"], room)
    return f"{GENERATED}\n{(room / 'goqueue/testing/v1/__init__.py').read_text()}"


def test_grpcs_own_messages_are_current() -> None:
    folder = Path(goqueue.transports.grpc.protos.__file__).parent
    for name, text in generated_modules().items():
        assert (folder / name).read_text() == text, "run ./dev proto"


def test_the_tests_messages_are_current(tmp_path: Path) -> None:
    assert ECHO.read_text() == echo_module(tmp_path), "run python -m tests.transports.grpc.test_protos"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        ECHO.write_text(echo_module(Path(made)))
