"""Variables of the environment that look like settings of a broker and are none: most likely they are misspelt.

They are warned of and not refused, since an environment is shared: other tools, wrappers and later releases may have
variables of their own. What Kubernetes sets for a service that is called goqueue is left alone.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from goqueue.cli.contexts import API_KEY_VARIABLE, CONTEXT_VARIABLE
from goqueue.cli.contexts import VARIABLE as CONTEXTS_VARIABLE
from goqueue.cli.server import VARIABLE as SERVER_VARIABLE
from goqueue.cli.settings.flags import CONFIG_VARIABLE
from goqueue.cli.settings.keys import FLAGGED, HIDDEN
from goqueue.cli.starting import WAIT_VARIABLE

PREFIX = "GOQUEUE_"
# How the command was typed, where that is not `goqueue`; `./dev run` sets it.
INVOKED_AS_VARIABLE = "GOQUEUE_INVOKED_AS"
OF_COMMANDS = (
    CONFIG_VARIABLE,
    SERVER_VARIABLE,
    CONTEXT_VARIABLE,
    API_KEY_VARIABLE,
    CONTEXTS_VARIABLE,
    WAIT_VARIABLE,
    INVOKED_AS_VARIABLE,
)
_OF_SERVICES = re.compile(r"GOQUEUE_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT)|PORT(_[0-9]+_(TCP|UDP|SCTP))?)(_[A-Z0-9_]+)?")


def unknown_variables(environment: Mapping[str, str], taken: Iterable[str]) -> list[str]:
    """A sentence about each variable that nothing reads; `taken` are those that the broker's file names."""
    known = [*(key.variable for key in (*FLAGGED, *HIDDEN)), *OF_COMMANDS]
    found = sorted(
        name
        for name in environment
        if name.startswith(PREFIX) and name not in {*known, *taken} and not _OF_SERVICES.fullmatch(name)
    )
    return [f"nothing reads the variable {name}{_meant(name, known)}" for name in found]


def _meant(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
