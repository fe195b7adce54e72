"""GoQueue: a distributed, persistent message queue.

This folder is only the package's face. The code lives in the folders beside it: `core`, `storage`, `cli`, …,
imported as `goqueue.core` and so on. The links here serve tools that read the tree without running it; at run time
the shim below makes a checkout look like an installed package. Start reading at `docs/architecture.md`.
"""

from pathlib import Path

__version__ = "0.1.0"

# In a checkout the rooms are the folders beside this one; putting them first gives tracebacks their real paths.
# In site-packages `core` is a real folder here, and the shim stays out of the way.
_here = Path(__file__).parent
if (_here / "core").is_symlink() or not (_here / "core").exists():
    __path__.insert(0, str(_here.parent))
