"""What a read may leave out instead of failing, and then only says in the log."""

from attrs import define


@define
class Leniency:
    """Damaged batches, records that are gone, and what was not read of a topic that was made again since."""

    skip_damaged: bool = False
    skip_missing: bool = False
    restart_replaced: bool = False
