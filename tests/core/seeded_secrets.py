"""Secrets that are the same in every run, for tests of the core."""

from random import Random

from goqueue.core.queues.receipts import Seal
from goqueue.core.services.secret_names import SECRET_BYTES
from goqueue.core.services.secrets import Secrets


def seeded_secrets(seed: int = 0) -> Secrets:
    """A source of secrets that draws the same each time."""
    return Secrets(Random(f"secrets/{seed}").randbytes)


def seal_of(secret: bytes, group: str, topic: str, partition: int, topic_id: int = 0) -> Seal:
    """The seal of a queue whose ledger holds this secret."""
    secrets = seeded_secrets()
    return Seal(secrets, secrets.key(secret.ljust(SECRET_BYTES)), group, topic, partition, topic_id)
