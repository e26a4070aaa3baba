"""The version of the package, in a room of its own: everybody may look at it."""

from __future__ import annotations

__version__ = "0.1.0.dev0"
