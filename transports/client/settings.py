"""Settings of topics and groups as Python has them, and as they travel: text, numbers, timedeltas, flags.

None takes a setting back to its default. What may be set to what is for the broker to say.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeAlias

import betterproto

from goqueue.core.cluster.durations import format_duration
from goqueue.proto import v1
from goqueue.transports.client.times import MILLISECOND

SettingGiven: TypeAlias = str | int | float | bool | timedelta | None
SettingFound: TypeAlias = str | int | float | bool


def settings_given(config: Mapping[str, SettingGiven]) -> dict[str, v1.Setting]:
    """Settings for the broker; raises TypeError for a value that is none."""
    return {key: _setting(key, value) for key, value in config.items()}


def settings_found(config: Mapping[str, v1.Setting]) -> dict[str, SettingFound]:
    """Settings that the broker told."""
    return {key: _value(setting) for key, setting in config.items()}


def _value(setting: v1.Setting) -> SettingFound:
    value: SettingFound | None = betterproto.which_one_of(setting, "value")[1]
    return "" if value is None else value


def _setting(key: str, value: SettingGiven) -> v1.Setting:
    if value is None:
        return v1.Setting(reset=True)
    if isinstance(value, bool):
        return v1.Setting(flag=value)
    if isinstance(value, int):
        return v1.Setting(number=value)
    if isinstance(value, float):
        return v1.Setting(fraction=value)
    if isinstance(value, timedelta):
        return v1.Setting(text=format_duration(value // MILLISECOND))
    if isinstance(value, str):
        return v1.Setting(text=value)
    raise TypeError(f"the setting {key} is text, a number, a timedelta or None, not {type(value).__name__}")
