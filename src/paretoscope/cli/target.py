"""Files that a command is about to write."""

from __future__ import annotations

import os
from pathlib import Path

from paretoscope.errors import UsageError


def check_target(path: str | None, where: str, *, force: bool) -> None:
    """Refuse a target before anything is done: it may hold measurements, or be the study.

    None and "-", which stands for the terminal, are always fine.
    """
    if path is None or path == "-":
        return
    target = Path(path)
    if target.exists() and Path(where).exists() and target.samefile(where):
        raise UsageError(f"{path} is the study itself: give another name")
    if target.exists() and not force:
        raise UsageError(
            f"{path} is there already and may hold measurements: give another name, or --force"
        )
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{path} cannot be written: choose a folder that exists and is yours")
