"""``python -m paretoscope`` is the command ``paretoscope``."""

from __future__ import annotations

from paretoscope.cli import main

if __name__ == "__main__":
    main(prog_name="paretoscope")
