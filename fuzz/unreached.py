"""What `goqueue sim --coverage` says: the branches of the core that no world has taken, save those that none can take.

`OUT_OF_REACH` says why worlds do not get to some of them. A row is a pattern of places, as in
`core/node.py::Node.ask`, a regular expression that the branch or what it leads to must match, and the reason. What no
row explains is a state that worlds should reach and do not, with these seeds. Not here: how it is measured
(`reach.py`).
"""

import re
from collections import Counter
from fnmatch import fnmatchcase

from goqueue.fuzz.reach import Unreached

_ANYTHING = ""

_IMPORTS = "classes and tables are made once, while modules are imported"
_CAPTURES = "captures are written by --capture, and read by `goqueue replay`"
_TESTS = "only tests ask it"
_TRANSACTIONS = "this release takes no batches of transactions: tests write them, and markers of how they end"
_CONFIRMED = "nobody in the product asks for reads of the metadata that are confirmed: tests and stories do"
_LETTERS = "letters that no node writes: `./dev fuzz` writes them"
_MISFITS = "metadata that no controller agrees on: it comes from another release"
_JAVA = "snappy in blocks, as Java writes it: tests do"
_FOREIGN_FILES = "files that no node writes, with the right sum"

OUT_OF_REACH: tuple[tuple[str, str, str], ...] = (
    ("core/capture/*", _ANYTHING, _CAPTURES),
    ("core/*::*.forget_found", _ANYTHING, _CAPTURES),
    ("core/*::*.check_anew", _ANYTHING, _CAPTURES),
    ("core/node.py::Node.forget_recent", _ANYTHING, _CAPTURES),
    ("core/partition/recent.py::RecentBatches.clear", _ANYTHING, _CAPTURES),
    ("core/replicas/replica_set.py::ReplicaSet.checks_records", _ANYTHING, _CAPTURES),
    ("core/broker/reads.py::Reads.looks_into", _ANYTHING, _CAPTURES),
    ("core/records/record.py::validate_records", _ANYTHING, _CAPTURES),
    ("core/codec/shapes.py::*", _ANYTHING, _IMPORTS),
    ("core/codec/codec.py::*", _ANYTHING, _IMPORTS),
    ("core/records/chosen_crc.py::*", _ANYTHING, _IMPORTS),
    ("core/requests/refusals.py::Code.__new__", _ANYTHING, _IMPORTS),
    ("core/records/batch.py::_known_attributes", _ANYTHING, _IMPORTS),
    ("core/records/compression.py::_words_when_full", _ANYTHING, _IMPORTS),
    ("core/cluster/topic_settings.py::Setting.schema", _ANYTHING, "the OpenAPI document is made of it"),
    ("core/broker/lifecycle.py::Attendance.tenure_until", _ANYTHING, _TESTS),
    ("core/log/cursors.py::Cursors.__len__", _ANYTHING, _TESTS),
    ("core/log/epochs.py::EpochCache.epoch_at", _ANYTHING, _TESTS),
    ("core/client/*::*.check", _ANYTHING, "sessions are inside the library's drivers, where worlds do not look"),
    ("core/client/session.py::Session.hand_in", _ANYTHING, "Spark hands in batches that are built already"),
    ("core/client/record_batch.py::RecordBatch.hold", _ANYTHING, "Spark hands in batches that are built already"),
    ("core/client/fetching.py::*", r"self\.stop\b|stop_ms|\bstop is not None|cursor\.is_done|for cursor in cursors",
     "commands and Spark read up to an end; members of groups read on"),
    ("core/client/fetching.py::Fetching.is_done", _ANYTHING, "commands and Spark read up to an end"),
    ("core/client/fetching.py::Fetching._until", _ANYTHING, "commands and Spark read up to an end"),
    ("core/client/decoding.py::*", r"return None|raise IndexError", "records in spellings that no producer writes"),
    ("core/cluster/agreement.py::Agreement._refuse_strangers", _ANYTHING, "no lone node has a cluster's folder"),
    ("core/cluster/plan.py::plan_create", "AUTOMATIC", "worlds say how many replicas a topic has"),
    ("core/cluster/plan.py::plan_own", "if refusal is not None", "the broker's own topics have settings of its own"),
    ("core/cluster/plan_nodes.py::_stranger", "cluster_id", "a world has one cluster"),
    ("core/broker/lifecycle.py::Attendance.ask", _ANYTHING, "a method of rooms that nobody calls: it fails at once"),
    ("core/groups/plan.py::unused_id", "while", "two random numbers of 64 bits that are equal"),
    ("core/quorum/changing.py::Changing._problem", r"is_alone", "a node that is alone is not asked to change voters"),
    ("core/quorum/reads.py::*", _ANYTHING, _CONFIRMED),
    ("core/quorum/leader.py::Leader._has_lease", _ANYTHING, _CONFIRMED),
    ("core/quorum/leader.py::*", r"self\._reads\b", _CONFIRMED),
    ("core/node.py::Node.*", r"self\._peering is not None.* the end$", "a node that is alone has no peers"),
    ("core/peers/faults.py::*", _ANYTHING, _LETTERS),
    ("core/broker/peering.py::Peering.follow", "misfit", _MISFITS),
    ("core/requests/table.py::*", r"_is_countable|_HISTOGRAMS|return False", "answers that no node writes"),
    ("core/routing/errands.py::PublishErrand.returned", r"len\(results\) !=", "answers that no node writes"),
    ("core/gate/producer_pace.py::*", "late_ns", "producer ids by the thousand: a world has fewer producers"),
    ("core/node.py::Node.ask", "_gate.admit", "producer ids by the thousand: a world has fewer producers"),
    ("core/log/compaction.py::*", r"is_control|is_transactional|_close_transaction", _TRANSACTIONS),
    ("core/log/compaction.py::Compactor._close_transaction", _ANYTHING, _TRANSACTIONS),
    ("core/log/compaction.py::Compactor._is_aborted", _ANYTHING, _TRANSACTIONS),
    ("core/log/compaction.py::_begun", _ANYTHING, _TRANSACTIONS),
    ("core/records/control.py::*", _ANYTHING, _TRANSACTIONS),
    ("core/records/build.py::_finish", "transactional", _TRANSACTIONS),
    ("core/records/build.py::_finish", "append_ms", "times of append, which only other brokers write into batches"),
    ("core/records/compression.py::_xerial_blocks", _ANYTHING, _JAVA),
    ("core/records/compression.py::_decompress_snappy", "for block", _JAVA),
    ("core/records/compression.py::*", r"case Codec\.ZSTD: the end", "there is no codec behind the last"),
    ("core/records/compression.py::*", r"case Codec\.NONE", "nobody compresses by no codec"),
    ("core/records/claims.py::declared_size", r"case Codec\.GZIP", "nobody asks what uncompressed records claim"),
    ("core/log/config.py::LogConfig.*", "problem|found", "settings are checked before they come to a log"),
    ("core/log/index.py::*", "return None", _FOREIGN_FILES),
    ("core/log/index.py::PageTail.add", "ENTRIES_A_PAGE", "an index page holds hundreds of entries"),
    ("core/log/tail.py::SegmentTail._index", "page is not None", "an index page holds hundreds of entries"),
    ("core/log/log.py::Log._flush", r"tail\.pages", "an index page holds hundreds of entries"),
    ("core/log/segment.py::parse_segment_name", "return None", "names of files that no node writes"),
    ("core/log/checkpoint.py::*", "CheckpointError|def __init__", _FOREIGN_FILES),
    ("core/cluster/fits.py::*", _ANYTHING, _MISFITS),
    ("core/secret*.py::*", _ANYTHING, "secrets of settings, which are for connections to the outside"),
    ("core/node.py::Node.*", r"def (is_started|controller|cluster_id|problem|peers|looks_into)\(", "a driver asks it"),
    ("core/broker/metadata_listener.py::MetadataListener.is_settled", _ANYTHING, "a driver asks it"),
    ("core/client/*::*.deadline", _ANYTHING, "the library's drivers ask it; clients of worlds look every few ms"),
    ("core/records/*", r"raise |_corrupt|BatchError", "bytes that no client of worlds sends: `./dev fuzz` does"),
    ("core/*", r"raise (ProtocolError|_?[a-z_]*protocol\w*)", _LETTERS),
    ("core/*", r"raise (CheckpointError|BatchError|SnapshotError)", _FOREIGN_FILES),
    ("core/*", r"raise OffsetOutOfRange", "what nobody in the core asks of a log"),
    ("core/*", r"_version|VERSION", "formats of other releases"),
    ("core/*", r"_[A-Z]+(_[A-Z]+)*_MAX\b|\b[A-Z]+(_[A-Z]+)*_MAX\b", "bounds that a small world does not come near"),
)  # fmt: skip
"""Why worlds do not reach what they do not reach: where, what, why."""


def why_not(branch: Unreached) -> str:
    """Why worlds do not reach a branch; empty where they should."""
    place, text = f"{branch.path}::{branch.function}", f"{branch.source} {branch.then}"
    for where, what, why in OUT_OF_REACH:
        if fnmatchcase(place, where) and re.search(what, text):
            return why
    return ""


def told(branches: list[Unreached]) -> str:
    """What is unexplained by file and function, and how much each reason explains, for people."""
    lines: list[str] = []
    path = function = ""
    reasons: Counter[str] = Counter()
    for branch in branches:
        why = why_not(branch)
        if why:
            reasons[why] += 1
            continue
        if branch.path != path:
            path, function = branch.path, ""
            lines.append(path)
        if branch.is_function:
            lines.append(f"  {branch.function}, line {branch.line}: never called")
            continue
        if branch.function != function:
            function = branch.function
            lines.append(f"  {function}")
        lines.append(f"    {branch.line}: {branch.source}\n      never leads to {_where(branch)}")
    unexplained = len(branches) - reasons.total()
    lines.append(f"{unexplained} branches and functions of the core were never reached.")
    lines.append(f"{reasons.total()} more were not, and that is explained:")
    lines += [f"  {count:4} {why}" for why, count in reasons.most_common()]
    return "\n".join(lines)


def _where(branch: Unreached) -> str:
    return f"{branch.then_line}: {branch.then}" if branch.then_line else branch.then
