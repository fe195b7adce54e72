"""A release gathers what lies in docs/news into CHANGELOG.md, above the releases that are there."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.tree import ROOT

FIRST = "## 0.1.0"


def test_a_release_gathers_the_news_above_those_before_it(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    news = tmp_path / "docs" / "news"
    news.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "news" / "README.md", news)
    (news / "+lanes.changed.md").write_text("Lanes are six.\n")
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.9.9", "--date", "2030-01-31"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    page = (tmp_path / "CHANGELOG.md").read_text()
    built = page.index("## 9.9.9 (2030-01-31)\n\n### Changed\n\n- Lanes are six.\n")
    assert page.index("<!-- releases -->") < built < page.index(FIRST)
    assert [path.name for path in news.iterdir()] == ["README.md"]
