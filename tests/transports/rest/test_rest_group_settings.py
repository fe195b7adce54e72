"""The page about REST lists every setting of groups with its default, and bodies know them by their names."""

import json
import re
from pathlib import Path

from goqueue.core.groups.settings import DEFAULTS
from goqueue.transports.rest.group_bodies import SettingsDraft
from goqueue.transports.rest.groups import SHORTHANDS

PAGE = Path(__file__).parents[3] / "docs" / "rest.md"


def test_every_setting_is_listed_with_its_default() -> None:
    section = PAGE.read_text().split("## Group settings")[1].split("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.MULTILINE))
    written = {key: value if isinstance(value, str) else json.dumps(value) for key, value in DEFAULTS.items()}
    assert listed == written


def test_every_setting_may_stand_at_the_top_of_a_body_but_for_the_members_own_word() -> None:
    # A join's `assignor` is what the member asks for, and the group's stands in `config`.
    assert {*SHORTHANDS} == DEFAULTS.keys() - {"assignor"}
    assert set(SettingsDraft.__struct_fields__) == {*SHORTHANDS, "config", "mode"}
