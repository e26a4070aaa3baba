"""Numbers that the paper prints: table 2, milliseconds of one run by shape, on a laptop with an ARM processor."""

from __future__ import annotations

# (delta = 0.1, T = 500)
MILLISECONDS: dict[str, tuple[float, float]] = {
    "10,2,2": (6.0, 217.0),
    "50,8,2": (7.0, 464.0),
    "100,8,4": (545.0, 791.0),
    "200,8,8": (768.0, 1139.0),
    "500,8,8": (1013.0, 2425.0),
}
