"""What a query waits for before anything is read: the imports of the processes that Spark starts for it."""

import subprocess
import sys

HEAVY = ("goqueue.transports", "goqueue.proto", "goqueue.core.node", "goqueue.core.capture", "goqueue.spark.sinking")
PROBE = """
import sys
from goqueue.spark.datasource import GoQueueSource
from goqueue.spark.readers import RecordsReader
print(*[name for name in sys.modules if name.startswith("goqueue")])
"""


def test_reading_a_folder_imports_neither_client_nor_node() -> None:
    ended = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60)
    found = ended.stdout.split()
    assert "goqueue.spark.records.rows" in found
    assert [name for name in found if name.startswith(HEAVY)] == []
