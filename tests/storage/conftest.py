"""The disks that tests of logs run on."""

from pathlib import Path

import pytest

from goqueue.storage.disk import Disk
from goqueue.storage.files import FileDisk
from goqueue.storage.simulated import SimulatedDisk


@pytest.fixture(params=["simulated", "real"])
def any_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    """A disk of either kind: what is proved with it holds for both."""
    return SimulatedDisk(1) if request.param == "simulated" else FileDisk(str(tmp_path / "data"))
