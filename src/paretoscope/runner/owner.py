"""Who holds a request: a run says its machine and process, so that a later one knows if it died."""

from __future__ import annotations

import itertools
import os
import re
import socket
from pathlib import Path

_NAME = re.compile(r"run (\S+) (\d+)\.(\d+)\.(\d+)")
_count = itertools.count(1)
_here: set[str] = set()  # runs of this process that are under way


def _begun(pid: int) -> int:
    """When a process began, in ticks of its system; 0 where that is not told."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def enter() -> str:
    """A name for a run that begins now."""
    pid = os.getpid()
    host = re.sub(r"\s", "-", socket.gethostname()) or "-"
    name = f"run {host} {pid}.{_begun(pid)}.{next(_count)}"
    _here.add(name)
    return name


def leave(name: str) -> None:
    """The run of this name is over."""
    _here.discard(name)


def is_run(name: str) -> bool:
    """Whether a request is held by a run, and not by a person."""
    return _NAME.fullmatch(name) is not None


def is_dead(name: str) -> bool:
    """Whether a name is that of a run which is known to be over; of another machine nobody knows."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] != (re.sub(r"\s", "-", socket.gethostname()) or "-"):
        return False
    pid, begun = int(found[2]), int(found[3])
    if pid == os.getpid() and begun == _begun(pid):
        return name not in _here
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _begun(pid) != begun
