"""Which accuracy, which risk and how many pulls a round of fixed confidence gets.

==========  ======================  ====================  ==============================================================
schedule    accuracy eps_r          risk delta_r          pulls t_r
==========  ======================  ====================  ==============================================================
paper       2^-(r+1)                6 delta / (pi r)^2    32 (1+3 eps_r) sigma^2 h_r / eps_r^2 ln(n d/(2 delta_r))
corrected   2^-(r+1)                6 delta / (pi r)^2    the same with ln(2 n d / delta_r), at least 20 h_r / eps_r^2
authors     2^-(r+1)                6 delta / (pi r)^2    h_r ln(1/delta_r) / eps_r^2
proven      any, chosen beforehand  see `next_risk`       the smallest certified number (see `gege`)
==========  ======================  ====================  ==============================================================

'paper' as printed (algorithm 2 of Kone, Kaufmann, Richert, AISTATS 2025) proves 4 delta only: two sides and n
arms need 2 n d / delta_r inside the logarithm, and the rounding needs 5 h / kappa^2 pulls with kappa = eps_r / 2.
'authors' is what the published code runs; it forgets sigma, the arms and the objectives, and guarantees nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from paretoscope.errors import UsageError

Schedule = Literal["proven", "corrected", "paper", "authors"]


def paper_accuracy(r: int) -> float:
    """eps_r = 2^-(r+1)."""
    return 2.0 ** -(r + 1)


def paper_risk(delta: float, r: int) -> float:
    """delta_r = 6 delta / (pi r)^2, which sums to delta."""
    return 6.0 * delta / (math.pi * r) ** 2


def next_risk(left: float, to_come: int | None) -> float:
    """delta_r from what is left of delta, and how many rounds come after this one.

    Unknown number: a seventh of what is left, so delta/7 (6/7)^(r-1). Early rounds are cheap and the
    last costs most, so risk should not be spent early: 1/(r (r+1)) leaves a 72nd for the eighth round, this
    a 21st, and saves a tenth of the measurements. Known number (an epsilon study ends at eps_r =
    epsilon): each round gets half of what the next one gets; a fiftieth is kept in case pulls of the
    last round are given up and another has to follow.

    >>> [round(next_risk(1.0, k), 2) for k in (None, 0, 1)]
    [0.14, 0.98, 0.33]
    """
    if to_come is None:
        return left / 7.0
    return left * 0.98 / (2.0 ** (to_come + 1) - 1.0)


def look_share(look: int, looks: int) -> float:
    """The part of delta that one of ``looks`` preset looks gets, each 1.15 times the one before.

    A fiftieth is kept in case pulls are given up and more looks have to follow. The factor and twenty
    looks were chosen by measurement (12 unstructured worlds of 48, noise 5 %, tolerances 2 to 10 %):
    1.0, 1.1, 1.25 cost within 3 % of it, doubling 4 to 20 % more.

    >>> round(look_share(20, 20), 3), round(sum(look_share(k, 20) for k in range(1, 21)), 3)
    (0.136, 0.98)
    """
    growth = 1.15
    shares = [growth**k for k in range(looks)]
    return 0.98 * shares[look - 1] / math.fsum(shares)


def round_pulls(
    schedule: Schedule, eps_r: float, delta_r: float, n: int, h: int, d: int, sigma: float
) -> int:
    """t_r of the schedules that state it in closed form (see the table above)."""
    if schedule == "authors":
        return math.ceil(h * math.log(1.0 / delta_r) / eps_r**2)
    scale = 32.0 * (1.0 + 3.0 * eps_r) * sigma**2 * h / eps_r**2
    if schedule == "paper":
        return math.ceil(scale * math.log(n * d / (2.0 * delta_r)))
    if schedule == "corrected":
        pulls = math.ceil(scale * math.log(2.0 * n * d / delta_r))
        return max(pulls, math.ceil(20.0 * h / eps_r**2))
    raise UsageError(
        f"schedule {schedule!r} has no closed form: 'paper', 'corrected' and 'authors' have"
    )


def smallest_certified(
    certified: Callable[[int], bool], guess: int, least: int, slack: int = 0
) -> int:
    """The smallest N found with ``certified(N)``, by doubling steps from a guess, then halving them.

    Rounding makes the certificate slightly irregular in N; the answer is certified itself, and N - 1
    is not (or N is the least allowed). With ``slack`` the search ends that many pulls early.
    """
    high = max(guess, least)
    low = least - 1
    step = first = slack + 1
    while not certified(high):
        low = high
        high += step
        step *= 2
    step = first
    while high - step > low and certified(high - step):
        high -= step
        step *= 2
    low = max(low, high - step)
    while high - low > first:
        middle = (low + high) // 2
        low, high = (low, middle) if certified(middle) else (middle, high)
    return high
