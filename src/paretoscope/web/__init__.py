"""Studies in a browser, live while others measure: starlette behind uvicorn (the extra ``web``).

The room looks in through `Study.snapshot`, and changes a study only by the same calls as everybody
else: ask, tell, release, withdraw. Nothing above the command line needs it.
"""

from __future__ import annotations

from paretoscope.web.app import application
from paretoscope.web.guard import Rules
from paretoscope.web.server import serve
from paretoscope.web.shelf import Shelf

__all__ = ["Rules", "Shelf", "application", "serve"]
