"""Writes the modules beside it from `goqueue/v1/goqueue.proto`: `./dev proto`; with `--check` it only compares.

It needs the development level, which has protoc and betterproto's plugin, and no part of the product imports it. Three
modules come of a .proto file: betterproto's classes, the descriptor set for reflection, and the strict codec, whose
source is made of the classes just generated and not of those that are imported here already. The functions are shared
with whoever else has .proto files.
"""

import base64
import importlib.util
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from types import ModuleType

from goqueue.proto.generating.codecs import codec_source

HERE = Path(__file__).parent
SOURCE = "goqueue/v1/goqueue.proto"
GENERATED = f"# Generated from {SOURCE} by ./dev proto. Edit that instead."
_LINE = 110


def compile_protos(folder: Path, files: list[str], room: Path) -> bytes:
    """Compile .proto files of a folder into a room for the plugin's output; the descriptor set comes back."""
    descriptors = room / "descriptors.pb"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_betterproto_out={room}"]
    plugin = Path(sys.executable).parent / "protoc-gen-python_betterproto"
    options = [
        f"--plugin=protoc-gen-python_betterproto={plugin}",
        "--python_betterproto_opt=typing.310",
        f"--descriptor_set_out={descriptors}",
        "--include_imports",
    ]
    subprocess.run([*command, *options, *files], check=True, capture_output=True)  # noqa: S603
    return descriptors.read_bytes()


def loaded(path: Path, name: str) -> ModuleType:
    """A module from a file that nobody imports; betterproto looks its classes' modules up by name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def descriptors_source(descriptors: bytes) -> str:
    """A module that holds a descriptor set."""
    lines = textwrap.wrap(base64.b64encode(descriptors).decode(), _LINE)
    text = "\n".join(f'    "{line}"' for line in lines)
    return f"import base64\n\nDESCRIPTORS = base64.b64decode(\n{text}\n)\n"


def generated_modules() -> dict[str, str]:
    """Every module that belongs beside this one, by file name."""
    with tempfile.TemporaryDirectory() as made:
        room = Path(made)
        descriptors = compile_protos(HERE, [SOURCE], room)
        classes = room / "goqueue/v1/__init__.py"
        codec = codec_source(loaded(classes, "goqueue_v1_as_generated"), "goqueue.proto.v1")
        texts = {"v1": classes.read_text(), "v1_codec": codec, "v1_descriptors": descriptors_source(descriptors)}
    return {f"{name}.py": f"{GENERATED}\n{text}" for name, text in texts.items()}


def settle(folder: Path, modules: dict[str, str], arguments: list[str]) -> int:
    """Write generated modules into their folder, or with `--check` name those that differ; the exit status."""
    known = {name: folder / name for name in modules}
    stale = [name for name, path in known.items() if not path.exists() or path.read_text() != modules[name]]
    if arguments == ["--check"]:
        if stale:
            sys.stderr.write(f"not what the .proto files say: {', '.join(stale)} in {folder}; run ./dev proto\n")
        return int(bool(stale))
    if arguments:
        sys.stderr.write("the one argument there is: --check\n")
        return 2
    for name in stale:
        known[name].write_text(modules[name])
    return 0


if __name__ == "__main__":
    sys.exit(settle(HERE, generated_modules(), sys.argv[1:]))
