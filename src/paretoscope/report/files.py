"""Writing a report to a file, in the format that its name or its caller says."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

from paretoscope.errors import UsageError
from paretoscope.report import figures, page
from paretoscope.study.trace import Snapshot

FORMATS = ("html", "png", "svg")


class Shown(Protocol):
    """A study, as far as a picture needs one."""

    def snapshot(self) -> Snapshot:
        """Everything that is shown."""
        ...


def write(study: Shown, path: str | Path, format: str | None = None) -> Path:  # noqa: A002
    """The report at a path; a file that was there is replaced whole, or not at all."""
    target = Path(path)
    chosen = format or target.suffix.removeprefix(".").lower()
    if chosen not in FORMATS:
        raise UsageError(f"{target.name}: a report is {', '.join(FORMATS)}; give one as format")
    snapshot = study.snapshot()
    if chosen == "html":
        data = page.page_html(snapshot, target.stem).encode()
    else:
        data = figures.drawn(figures.front(snapshot), chosen)
    _replace(target, data)
    return target


def _replace(target: Path, data: bytes) -> None:
    """Write beside the target, then take its place."""
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            file.write(data)
            file.close()
            Path(file.name).chmod(0o666 & ~_umask())
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _umask() -> int:
    """What new files of this process are not allowed."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
