"""What a read may leave out instead of failing, and then only says in the log."""

from attrs import define


@define
class Leniency:
    """Damaged batches, and records that are gone."""

    skip_damaged: bool = False
    skip_missing: bool = False
