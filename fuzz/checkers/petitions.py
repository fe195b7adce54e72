"""What nobody may have is refused with a code that says that nothing was done, and nothing has come of it.

Nothing that was only ever named in vain is there, and all settings that are agreed on are ones that can be asked for.
"""

from goqueue.core.cluster.topic_settings import settings_problems
from goqueue.core.groups.settings import setting_problem
from goqueue.core.requests.groups import CommittedOffsets, GroupReply
from goqueue.core.requests.messages import PublishReply
from goqueue.core.requests.queues import WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import TopicReply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.workloads.petitions import VAIN


class PetitionsRefused(Checker):
    """Looks at what petitioners are answered, and at what everybody is shown."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """A petition is refused, and no answer shows what was asked for in vain."""
        self._check_shown(reply)
        if not self.sight.is_petition(asked):
            return
        refusals = _refusals(reply)
        if refusals is None:
            raise Violation(f"what nobody may have was granted: {asked.request}, answered by {reply}"[:500])
        for refusal in refusals:
            if refusal.code is Code.DUPLICATE or not refusal.message:
                raise Violation(f"what nobody may have was refused as {refusal}: {asked.request}"[:500])

    def _check_shown(self, reply: Reply) -> None:
        for one in reply if isinstance(reply, list) else [reply]:
            if isinstance(one, TopicReply) and (VAIN in one.name or settings_problems(one.config)):
                raise Violation(f"there is a topic that nobody may make: {one}"[:500])
            if isinstance(one, GroupReply) and (VAIN in one.group or setting_problem(one.config)):
                raise Violation(f"there is a group that nobody may make: {one}"[:500])

    def ended(self) -> None:
        """Nothing is agreed on that could not be asked for."""
        for name, topic in self.sight.topics().items():
            if VAIN in name or settings_problems({**topic.config}):
                raise Violation(f"topic {name} is agreed on with {topic.config}")


def _refusals(reply: Reply) -> list[Refusal] | None:
    """What an answer refuses, where that is all that was asked for; None where anything was granted."""
    if isinstance(reply, Refusal):
        return [reply]
    if isinstance(reply, PublishReply):
        refused = [one for one in reply.results if isinstance(one, Refusal)]
        return refused if len(refused) == len(reply.results) else None
    if isinstance(reply, CommittedOffsets) and reply.refusals:
        return [one.refusal for one in reply.refusals]
    if isinstance(reply, WorkDone) and not reply.done:
        return [one.refusal for one in reply.refusals] or None
    return None
