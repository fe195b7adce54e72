"""The page about topics lists every setting with its default."""

import json
import re
from pathlib import Path

from goqueue.core.cluster.topic_settings import SETTINGS

PAGE = Path(__file__).parents[3] / "docs" / "rest.md"


def test_every_setting_is_listed_with_its_default() -> None:
    section = PAGE.read_text().split("## Topic settings")[1].split("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.MULTILINE))
    assert listed == {key: written(setting.default) for key, setting in SETTINGS.items()}


def written(default: object) -> str:
    """A default as a body has it; of a text without the quotes, unless there is nothing between them."""
    return default if isinstance(default, str) and default else json.dumps(default)
