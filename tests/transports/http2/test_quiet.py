"""hyperframe describes frames briefly, and h2 still asks it to."""

import subprocess
import sys

from hyperframe.frame import DataFrame

from goqueue.transports.http2.connection import Connection

COUNT = """
from h2.config import H2Configuration
from h2.connection import H2Connection
from hyperframe.frame import Frame
described = []
Frame.__repr__ = lambda frame: described.append(frame) or ""
server, client = H2Connection(H2Configuration(client_side=False)), H2Connection()
server.initiate_connection()
client.initiate_connection()
server.receive_data(client.data_to_send())
print(len(described))
"""


def test_a_frame_is_described_without_its_body() -> None:
    assert Connection.__doc__, "importing it is enough"
    frame = DataFrame(7)
    frame.data = bytes(1 << 20)
    assert repr(frame) == "DataFrame(stream_id=7)"


def test_h2_still_describes_every_frame_to_nobody() -> None:
    ran = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert int(ran.stdout) > 0, "h2 describes frames no more: remove transports/http2/quiet.py and this test"
