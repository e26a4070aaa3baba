"""One algorithm per file; pure state machines: state in, state out."""

from __future__ import annotations

from paretoscope.policies.ape import APE
from paretoscope.policies.base import (
    Certificate,
    Decision,
    Guarantee,
    Policy,
    StopReason,
    Tally,
    Verdict,
)
from paretoscope.policies.certify import certify
from paretoscope.policies.codec import from_plain, to_plain
from paretoscope.policies.ege import EGESH, EGESR
from paretoscope.policies.epsilon_pal import EpsilonPAL
from paretoscope.policies.fixed import FixedDesign, OneShot
from paretoscope.policies.gege import GEGE
from paretoscope.policies.pal import PAL
from paretoscope.policies.pfiwr import PFIwR
from paretoscope.policies.psips import PSIPS
from paretoscope.policies.race import Race
from paretoscope.policies.racing import Racing
from paretoscope.policies.setting import Noise, Setting
from paretoscope.policies.tracking import Tracking
from paretoscope.policies.uniform import Uniform

__all__ = [
    "APE",
    "EGESH",
    "EGESR",
    "GEGE",
    "PAL",
    "PSIPS",
    "Certificate",
    "Decision",
    "EpsilonPAL",
    "FixedDesign",
    "Guarantee",
    "Noise",
    "OneShot",
    "PFIwR",
    "Policy",
    "Race",
    "Racing",
    "Setting",
    "StopReason",
    "Tally",
    "Tracking",
    "Uniform",
    "Verdict",
    "certify",
    "from_plain",
    "to_plain",
]
