"""The package list as pyproject.toml states it and as the tree has it."""

from pathlib import Path

from tests.architecture.tree import ROOT, project


def folders() -> dict[str, str]:
    """Package at the top -> its folder, as mapped for setuptools."""
    mapped: dict[str, str] = project()["tool"]["setuptools"]["package-dir"]
    return mapped


def stated() -> list[str]:
    """Packages that pyproject.toml says are shipped."""
    packages: list[str] = project()["tool"]["setuptools"]["packages"]
    return packages


def present(root: Path = ROOT) -> set[str]:
    """Packages that the tree has: folders of the rooms with an `__init__.py`."""
    found = set()
    for package, folder in folders().items():
        for opening in (root / folder).glob("**/__init__.py"):
            inside = opening.parent.relative_to(root / folder).parts
            if package != "goqueue" or not inside:
                found.add(".".join((package, *inside)))
    return found


def modules(root: Path = ROOT) -> set[str]:
    """Files that an installation must hold, by their path in site-packages."""
    found = {"goqueue/py.typed"}
    for package, patterns in project()["tool"]["setuptools"]["package-data"].items():
        if package != "goqueue":
            inside = package.removeprefix("goqueue.").replace(".", "/")
            found |= {
                f"goqueue/{path.relative_to(root)}" for pattern in patterns for path in (root / inside).glob(pattern)
            }
    for package, folder in folders().items():
        inside = package.replace(".", "/")
        pattern = "*.py" if package == "goqueue" else "**/*.py"
        found |= {f"{inside}/{path.relative_to(root / folder)}" for path in (root / folder).glob(pattern)}
    return found
