"""pyproject.toml names every package. An editable install would hide an omission until the first release."""

from pathlib import Path

from tests.architecture.tree import ROOMS, ROOT
from tests.packaging.shipped import folders, modules, present, stated


def test_every_package_of_the_tree_is_shipped() -> None:
    missing = sorted(present() - set(stated()))
    assert not missing, f"add to packages under [tool.setuptools] in pyproject.toml: {missing}"


def test_every_shipped_package_is_in_the_tree() -> None:
    gone = sorted(set(stated()) - present())
    assert not gone, f"these have no __init__.py: write it, or remove them from packages in pyproject.toml: {gone}"


def test_the_list_is_sorted_and_says_nothing_twice() -> None:
    assert stated() == sorted(set(stated())), "sort packages in pyproject.toml"


def test_every_room_is_mapped_to_its_folder() -> None:
    rooms = {room for room in ROOMS if (ROOT / room / "__init__.py").exists()}
    wanted = {"goqueue" if room == "goqueue" else f"goqueue.{room}": room for room in rooms}
    assert folders() == wanted, "package-dir under [tool.setuptools] and the folders at the top differ"


def test_every_folder_with_python_in_it_is_a_package() -> None:
    folders_with_python = {str(Path(module).parent).replace("/", ".") for module in modules() if module.endswith(".py")}
    missing = sorted(folders_with_python - present())
    assert not missing, f"write an __init__.py for {missing}"


def test_a_package_that_is_not_in_the_list_is_found(tmp_path: Path) -> None:
    for folder in ("core", "core/quorum", "goqueue/strange"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("")
    assert present(tmp_path) == {"goqueue.core", "goqueue.core.quorum"}
