"""An edge with `WebAccess` in front of it: every request of a port passes here before anything looks at its path.

What a client says of itself is the same in all of its requests, so verdicts are remembered and a request costs a
look-up. Where origins are given, answers to their pages carry the headers of CORS, and so does the answer to a
preflight, the question by which a browser asks first.
"""

from goqueue.transports.rest.edge import Edge, error_answer
from goqueue.transports.rest.exchange import Answer, Question
from goqueue.transports.rest.web_access import Origination, Verdict, WebAccess

REMEMBERED_MAX = 1024
# Longer headers are no browser's, and cost memory.
REMEMBERED_BYTES_MAX = 512
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# What pages may send besides what every page may, and read of an answer besides its body.
SENT = "Authorization, Content-Type, Last-Event-ID, X-API-Key, X-Lenient, X-Tenant-ID"
READ = "Retry-After"
PREFLIGHT_S = 600
VARY = ("Vary", "Origin")


class GuardedEdge:
    """See Edge; hands on to `edge` what `access` lets through."""

    def __init__(self, edge: Edge, access: WebAccess) -> None:
        self._edge = edge
        self._access = access
        self._varies = bool(access.origins)
        self._known: dict[tuple[str | bytes | None, ...], Verdict] = {}

    async def answer(self, question: Question) -> Answer:
        """See Edge."""
        verdict = self._verdict(question)
        refusal = verdict.refusal
        if question.method not in SAFE_METHODS:
            refusal = refusal or verdict.unsafe_refusal
        if refusal is not None:
            return error_answer(refusal)
        if question.method == "OPTIONS" and b"access-control-request-method" in question.headers:
            return await self._preflight(question, verdict)
        answer = await self._edge.answer(question)
        if self._varies:
            answer.headers += self._shared(question) if verdict.is_shared else (VARY,)
        return answer

    def leave(self) -> None:
        """See Edge."""
        self._edge.leave()

    @property
    def remembered(self) -> int:
        """How many verdicts are remembered."""
        return len(self._known)

    def _verdict(self, question: Question) -> Verdict:
        said = question.headers.get
        key = (
            question.host, question.local_host, said(b"origin"),
            said(b"sec-fetch-site"), said(b"sec-fetch-mode"), said(b"sec-fetch-dest"),
        )  # fmt: skip
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._access.judge(_origination(question))
            if sum(len(part) for part in key if part is not None) <= REMEMBERED_BYTES_MAX:
                if len(self._known) >= REMEMBERED_MAX:
                    self._known.clear()
                self._known[key] = verdict
        return verdict

    async def _preflight(self, question: Question, verdict: Verdict) -> Answer:
        answer = await self._edge.answer(question)
        if answer.status >= 400 or not verdict.is_shared:
            return answer
        methods = dict(answer.headers).get("Allow", "")
        answer.headers += (
            *self._shared(question),
            ("Access-Control-Allow-Methods", methods),
            ("Access-Control-Allow-Headers", SENT),
            ("Access-Control-Max-Age", str(PREFLIGHT_S)),
        )
        if question.header(b"access-control-request-private-network") == "true":
            answer.headers += (("Access-Control-Allow-Private-Network", "true"),)
        return answer

    @staticmethod
    def _shared(question: Question) -> tuple[tuple[str, str], ...]:
        origin = question.header(b"origin")
        return (("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", READ), VARY)


def _origination(question: Question) -> Origination:
    said = question.headers.get
    return Origination(
        question.host, question.local_host, said(b"origin", b""),
        said(b"sec-fetch-site", b""), said(b"sec-fetch-mode", b""), said(b"sec-fetch-dest", b""),
    )  # fmt: skip
