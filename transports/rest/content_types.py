"""Which content types of a body are JSON.

It has to be said: a browser sends a form or plain text for the page of any site without asking first, and JSON only
after a preflight, which is answered to the origins that were given and to no others.
"""

from functools import lru_cache

from goqueue.transports.rest.errors import RestError

UNSUPPORTED = 415
SHOWN_MAX = 100


def check_content_type(written: bytes) -> None:
    """Raise RestError for a body whose type, as the header has it, is not JSON."""
    if not _is_json(written):
        found = repr(written.decode("latin-1")[:SHOWN_MAX]) if written else "missing"
        said = (
            f"the content type is {found}, and the body must be JSON: send the header "
            "content-type: application/json, with curl -H 'content-type: application/json'"
        )
        raise RestError(UNSUPPORTED, "unsupported_media_type", said, "content-type")


@lru_cache(64)
def _is_json(written: bytes) -> bool:
    kind = written.partition(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))
