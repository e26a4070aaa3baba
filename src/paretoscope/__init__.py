"""Find the Pareto set among candidates with noisy metrics, with a guarantee that holds.

The door is lazy: importing this package imports nothing else; each name loads its room when it is
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from paretoscope.version import __version__

if TYPE_CHECKING:
    from paretoscope import core, errors, policies, sim, study, testing
    from paretoscope.bulk import product
    from paretoscope.errors import (
        DataError,
        LedgerError,
        NumericalError,
        ParetoscopeError,
        UsageError,
    )
    from paretoscope.policies.ape import APE
    from paretoscope.policies.certify import certify
    from paretoscope.policies.ege import EGESH, EGESR
    from paretoscope.policies.epsilon_pal import EpsilonPAL
    from paretoscope.policies.fixed import FixedDesign, OneShot
    from paretoscope.policies.gege import GEGE
    from paretoscope.policies.pal import PAL
    from paretoscope.policies.pfiwr import PFIwR
    from paretoscope.policies.psips import PSIPS
    from paretoscope.policies.race import Race
    from paretoscope.policies.racing import Racing
    from paretoscope.policies.tracking import Tracking
    from paretoscope.policies.uniform import Uniform
    from paretoscope.study import Metric, Study

_ROOMS = {
    "core": "paretoscope.core",
    "errors": "paretoscope.errors",
    "policies": "paretoscope.policies",
    # goes unnamed above: `study` passes here on its way to pictures, and must not import them
    "report": "paretoscope.report",
    "sim": "paretoscope.sim",
    "study": "paretoscope.study",
    "testing": "paretoscope.testing",
}
_NAMES = {
    "DataError": "paretoscope.errors",
    "LedgerError": "paretoscope.errors",
    "NumericalError": "paretoscope.errors",
    "Metric": "paretoscope.study",
    "ParetoscopeError": "paretoscope.errors",
    "Study": "paretoscope.study",
    "UsageError": "paretoscope.errors",
    "APE": "paretoscope.policies.ape",
    "certify": "paretoscope.policies.certify",
    "EGESH": "paretoscope.policies.ege",
    "EGESR": "paretoscope.policies.ege",
    "EpsilonPAL": "paretoscope.policies.epsilon_pal",
    "FixedDesign": "paretoscope.policies.fixed",
    "GEGE": "paretoscope.policies.gege",
    "OneShot": "paretoscope.policies.fixed",
    "PAL": "paretoscope.policies.pal",
    "PFIwR": "paretoscope.policies.pfiwr",
    "PSIPS": "paretoscope.policies.psips",
    "Race": "paretoscope.policies.race",
    "Racing": "paretoscope.policies.racing",
    "Tracking": "paretoscope.policies.tracking",
    "Uniform": "paretoscope.policies.uniform",
    "product": "paretoscope.bulk",
}

__all__ = [
    "APE",
    "EGESH",
    "EGESR",
    "GEGE",
    "PAL",
    "PSIPS",
    "DataError",
    "EpsilonPAL",
    "FixedDesign",
    "LedgerError",
    "Metric",
    "NumericalError",
    "OneShot",
    "PFIwR",
    "ParetoscopeError",
    "Race",
    "Racing",
    "Study",
    "Tracking",
    "Uniform",
    "UsageError",
    "__version__",
    "certify",
    "core",
    "errors",
    "policies",
    "product",
    "sim",
    "study",
    "testing",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  (whatever the name stands for)
    """Load a public name when it is first used."""
    if name in _ROOMS:
        value = import_module(_ROOMS[name])
    elif name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
    else:
        raise AttributeError(f"paretoscope has no {name!r}: see paretoscope.__all__")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
