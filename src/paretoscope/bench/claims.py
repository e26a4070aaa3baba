"""What the paper claims of its experiments, checked on results: each claim holds there or does not.

A claim that is wrong with certified constants, or with the published ones, is listed as such: the page says
what is written here, and a test reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil, log2
from typing import NamedTuple

from paretoscope.bench.figures import short
from paretoscope.bench.printed import MILLISECONDS
from paretoscope.bench.rows import line_of, missed, policies_of, ran, seconds_at, worlds_of
from paretoscope.bench.store import Results

Shelf = Mapping[str, Results]
# "Merely increases", "does not grow": at most this share of the rise of the others.
SLIGHT = 1 / 3
# "Up to 0.5": at least this much.
MUCH = 0.4
# Table 2: times faster than printed, from [100,8,4] on, and for the two small shapes.
LARGE, SMALL = 100.0, 5.0
OF_THE_PAPER = "as published"

CERTIFIED, PRINTED, CODE = "GEGE", "GEGE, printed constants", "GEGE, published code"
FEW = "GEGE, T = 700"
_PUBLISHED, _SMALL = (PRINTED, "GEGE, T = 500"), ("10,2,2", "50,8,2")
_APE, _PAL, _RACING = (f"{name}, reference bonus" for name in ("APE", "PAL", "Racing"))
# Who is compared with whom: a name, in words, ours, theirs.
Match = tuple[str, str, str, tuple[str, ...]]
_ON_NU: tuple[Match, ...] = (
    ("certified", "both certified", CERTIFIED, ("APE",)),
    ("printed", "the paper's constants and bonus", PRINTED, (_APE,)),
)
_ON_NOC: tuple[Match, ...] = (
    ("certified", "GEGE and APE certified, PAL by its theory", CERTIFIED, ("APE", "PAL")),
    ("printed", "the paper's constants, unproven bonuses of the others", PRINTED, (_APE, _PAL)),
    ("code", "as the published code runs it, nothing proven", CODE, (_APE, _PAL)),
)
_ON_ENERGY: tuple[Match, ...] = (
    ("certified", "both certified", CERTIFIED, ("Racing",)),
    ("printed", "the paper's constants, an unproven bonus of Racing", PRINTED, (_RACING,)),
    ("code", "as the published code runs it, nothing proven", CODE, (_RACING,)),
)


class Claim(NamedTuple):
    """A sentence of the paper in our words, whether the results bear it out, and what they are."""

    name: str
    says: str
    holds: bool
    measured: str


def claims(shelf: Shelf) -> list[Claim]:
    """Every claim, in the order of the paper."""
    return [claim for check in _CHECKS for claim in check(shelf)]


def _flat_error(shelf: Shelf) -> Iterable[Claim]:
    """Figure 1: error against K."""
    results, flat, told = shelf["figure1"], [], []
    for policy in ("EGE-SH", "EGE-SR"):
        for world in _worlds_of_both(results, CERTIFIED, policy):
            ours, theirs = (_shares(results, world, p) for p in (CERTIFIED, policy))
            flat.append(ours[-1] - ours[0] < SLIGHT * (theirs[-1] - theirs[0]))
            told.append(
                f"GEGE {ours[0]:.2f} to {ours[-1]:.2f}, {policy} {theirs[0]:.2f} to"
                f" {theirs[-1]:.2f} ({world})"
            )
    says = "GEGE's error merely increases with K, that of EGE-SH and EGE-SR grows much faster"
    yield Claim("error-flat", says, all(flat), _from_to(results, told))


def _flat_pulls(shelf: Shelf) -> Iterable[Claim]:
    """Figure 2: measurements against K, certified and published variants each among themselves."""
    results = shelf["figure2"]
    for name, how, ours, (other,) in _ON_NU:
        grown, told = [], []
        for world in _worlds_of_both(results, ours, other):
            mine, theirs = (_growth(results, world, policy) for policy in (ours, other))
            grown.append(mine - 1.0 < SLIGHT * (theirs - 1.0))
            told.append(f"{ours} {mine:.2f} times, {other} {theirs:.2f} times ({world})")
        says = f"GEGE's measurements do not grow with K, APE's do ({how})"
        yield Claim(f"pulls-flat-{name}", says, all(grown), _from_to(results, told))


def _crossing(shelf: Shelf) -> Iterable[Claim]:
    """Figure 2: who needs fewer at the largest K."""
    results = shelf["figure2"]
    for name, how, ours, (other,) in _ON_NU:
        worlds = _worlds_of_both(results, ours, other)
        pairs = [[_mean(line_of(results, w, p)[-1]) for p in (ours, other)] for w in worlds]
        last = line_of(results, worlds[0], ours)[-1]["K"]
        says = f"at K = {last} GEGE needs fewer measurements than APE ({how})"
        told = "; ".join(
            f"{_size(a)} against {_size(b)} ({w})" for w, (a, b) in zip(worlds, pairs, strict=True)
        )
        yield Claim(f"pulls-last-{name}", says, all(a < b for a, b in pairs), told)


def _noc_error(shelf: Shelf) -> Iterable[Claim]:
    """Figure 3: how much smaller GEGE's error is than EGE-SH's at one budget."""
    results = shelf["figure3"]
    for variant in (OF_THE_PAPER, "sound"):
        best, told = [], []
        for world in _variant(results, variant):
            pairs = _both_ran(results, world, "GEGE", "EGE-SH")
            T, ours, theirs = max(pairs, key=lambda p: p[2] - p[1])
            best.append(theirs - ours)
            told.append(f"{theirs - ours:.2f} at T = {T} ({ours:.2f} to {theirs:.2f}, {world})")
        says = f"on NoC GEGE's error is lower than EGE-SH's by up to 0.5 ({variant})"
        yield Claim(f"noc-error-{_word(variant)}", says, max(best) >= MUCH, "; ".join(told))


def _noc_small(shelf: Shelf) -> Iterable[Claim]:
    """Figure 3: budgets that the others refuse."""
    results = shelf["figure3"]
    world = _variant(results, OF_THE_PAPER)[0]
    least = 259 * ceil(log2(259))
    below = [row for row in line_of(results, world, "EGE-SH") if int(row["T"]) < least]
    ours = [row for row in line_of(results, world, "GEGE") if int(row["T"]) < least]
    holds = bool(below) and not any(map(ran, below)) and all(map(ran, ours))
    told = ", ".join(f"{missed(row).share:.2f} at T = {row['T']}" for row in ours if ran(row))
    says = f"GEGE runs on NoC at budgets below K log2 K = {least}, where EGE-SH cannot"
    yield Claim("noc-small-budget", says, holds, f"EGE-SH refuses; GEGE errs {told} ({world})")


def _noc_pulls(shelf: Shelf) -> Iterable[Claim]:
    """Figure 4: measurements beside APE and PAL."""
    results = shelf["figure4"]
    for variant in (OF_THE_PAPER, "sound"):
        for name, how, ours, others in _ON_NOC:
            said = f"on NoC {ours} needs fewer measurements than APE and PAL ({how}; {variant})"
            worlds = _variant(results, variant)
            yield _fewer(f"noc-pulls-{name}-{_word(variant)}", said, results, worlds, ours, others)


def _energy_error(shelf: Shelf) -> Iterable[Claim]:
    """Figure 6: error at T = 10,000."""
    results = shelf["figure6"]
    for variant in (OF_THE_PAPER, "sound"):
        for other in ("EGE-SH", "Uniform", "OneShot"):
            shares = {
                world: [missed(line_of(results, world, p)[0]) for p in ("GEGE", other)]
                for world in _variant(results, variant)
            }
            holds = all(ours.high < theirs.low for ours, theirs in shares.values())
            told = [f"{a.share:.3f} to {b.share:.3f} ({w})" for w, (a, b) in shares.items()]
            said = f"on energy GEGE's error is below that of {other} ({variant})"
            name = f"energy-error-{other.lower()}-{_word(variant)}"
            yield Claim(name, said, holds, "; ".join(told))


def _energy_small(shelf: Shelf) -> Iterable[Claim]:
    """Figure 6: fewer measurements than candidates."""
    results, told, holds = shelf["figure6"], [], True
    for world in worlds_of(results):
        ours, theirs = (missed(line_of(results, world, p)[0]) for p in (FEW, "Uniform"))
        holds = holds and ours.high < theirs.low
        told.append(f"{ours.share:.2f} to {theirs.share:.2f} ({world})")
    said = "on energy GEGE errs less with T = 700 < K than Uniform with T = 10,000"
    yield Claim("energy-error-small-budget", said, holds, "; ".join(told))


def _energy_pulls(shelf: Shelf) -> Iterable[Claim]:
    """Figure 7: measurements beside Racing."""
    results = shelf["figure7"]
    for variant in (OF_THE_PAPER, "sound"):
        for name, how, ours, others in _ON_ENERGY:
            said = f"on energy {ours} needs fewer measurements than Racing ({how}; {variant})"
            worlds = _variant(results, variant)
            key = f"energy-pulls-{name}-{_word(variant)}"
            yield _fewer(key, said, results, worlds, ours, others)


def _risk(shelf: Shelf) -> Iterable[Claim]:
    """Figures 2, 4 and 7: whether wrong labels are as rare as delta says; exact 95 % limits."""
    rows = [row for name in ("figure2", "figure4", "figure7") for row in shelf[name].rows]
    for name, whom, chosen in _ON_RISK:
        mine = [row for row in rows if ran(row) and chosen(row)]
        over = [row for row in mine if float(row["error_low"]) > _delta(row)]
        told = [
            f"{row['errors']} of {row['runs']} wrong at delta = {_delta(row):g}"
            f" ({row['policy']}, {row['world']})"
            for row in over
        ]
        total = (
            f"{sum(int(r['errors']) for r in mine)} of {sum(int(r['runs']) for r in mine)} wrong"
        )
        yield Claim(f"risk-{name}", whom, not over, "; ".join(told) or f"{total} in all")


def _delta(row: Mapping[str, str]) -> float:
    """The risk that a policy was given."""
    return float(row["goal"].split()[0].removeprefix("delta="))


def _times(shelf: Shelf) -> Iterable[Claim]:
    """Table 2: how many times faster than printed, for the published procedure and for the default."""
    results = shelf["table2"]
    for world in worlds_of(results):
        for policies, name in ((_PUBLISHED, "published"), ((CERTIFIED,), "default")):
            for how in ("alone", "shared"):
                found = _factors(results, world, policies, how)
                yield from _times_claims(found, f"{name}-{how}-{_word(world)}", how, world, name)


def _factors(
    results: Results, world: str, policies: tuple[str, ...], how: str
) -> dict[tuple[str, str], float]:
    """Printed milliseconds over ours, by shape and policy."""
    cells = [(r["shape"], r["policy"], r["goal"].startswith("budget")) for r in results.rows]
    return {
        (shape, policy): MILLISECONDS[shape][budget]
        / (1e3 * seconds_at(results, world, shape, policy)[how]["median"])
        for shape, policy, budget in dict.fromkeys(cells)
        if policy in policies
    }


def _times_claims(
    factors: dict[tuple[str, str], float], name: str, how: str, world: str, which: str
) -> Iterable[Claim]:
    """For large and for small shapes: the least factor of all."""
    for sizes, small, least in (("large", False, LARGE), ("small", True, SMALL)):
        found = {cell: f for cell, f in factors.items() if (cell[0] in _SMALL) is small}
        (shape, policy), worst = min(found.items(), key=lambda item: item[1])
        runs = "runs alone" if how == "alone" else "runs in a series"
        said = f"{least:g} times below the printed times, {sizes} shapes, {runs} ({which}; {world})"
        yield Claim(
            f"times-{sizes}-{name}", said, worst >= least, f"{worst:.3g} ({policy}, [{shape}])"
        )


def _fewer(
    name: str, says: str, results: Results, worlds: list[str], ours: str, others: tuple[str, ...]
) -> Claim:
    """Median measurements of ours below all the others' in all the worlds."""
    holds, told = True, []
    for world in worlds:
        mine, *theirs = (_median(line_of(results, world, p)[0]) for p in (ours, *others))
        holds = holds and mine < min(theirs)
        listed = ", ".join(f"{p} {_size(x)}" for p, x in zip(others, theirs, strict=True))
        told.append(f"{_size(mine)} against {listed} ({world})")
    return Claim(name, says, holds, "; ".join(told))


def _ends(values: list[float]) -> tuple[float, float]:
    """First and last."""
    return values[0], values[-1]


def _shares(results: Results, world: str, policy: str) -> list[float]:
    """Errors of a policy along the axis."""
    return [missed(row).share for row in line_of(results, world, policy)]


def _from_to(results: Results, told: list[str]) -> str:
    """Sentences about the first and the last K."""
    first, last = _ends([float(row["K"]) for row in results.rows])
    return f"from K = {first:g} to {last:g}: {'; '.join(told)}"


def _growth(results: Results, world: str, policy: str) -> float:
    """Mean measurements at the largest K over those at the smallest."""
    first, last = _ends([_mean(row) for row in line_of(results, world, policy)])
    return last / first


def _both_ran(results: Results, world: str, a: str, b: str) -> list[tuple[int, float, float]]:
    """Budgets at which both ran, with their errors."""
    lines = zip(line_of(results, world, a), line_of(results, world, b), strict=True)
    return [(int(x["T"]), missed(x).share, missed(y).share) for x, y in lines if ran(x) and ran(y)]


def _worlds_of_both(results: Results, *policies: str) -> list[str]:
    """Worlds in which all of them take part."""
    return [w for w in worlds_of(results) if {*policies} <= {*policies_of(results, w)}]


def _variant(results: Results, variant: str) -> list[str]:
    """Worlds of a variant of a data set."""
    return [world for world in worlds_of(results) if f" {variant}," in world]


def _word(variant: str) -> str:
    """A variant in the name of a claim."""
    return variant.rsplit(maxsplit=1)[-1]


def _mean(row: Mapping[str, str]) -> float:
    """Mean measurements."""
    return float(row["pulls_mean"])


def _median(row: Mapping[str, str]) -> float:
    """Median measurements."""
    return float(row["pulls_median"])


def _size(value: float) -> str:
    """Three digits."""
    return short(float(f"{value:.3g}"))


_ON_RISK: tuple[tuple[str, str, Callable[[Mapping[str, str]], bool]], ...] = (
    (
        "certified",
        "every certified policy gives a wrong label with probability at most delta",
        lambda row: row["certified"] == "true",
    ),
    (
        "printed",
        "so does GEGE with the constants that the paper prints",
        lambda row: row["policy"] == PRINTED,
    ),
    (
        "code",
        "so does GEGE with the round sizes of the published code",
        lambda row: row["policy"] == CODE,
    ),
)
_CHECKS: tuple[Callable[[Shelf], Iterable[Claim]], ...] = (
    _flat_error,
    _flat_pulls,
    _crossing,
    _noc_error,
    _noc_small,
    _noc_pulls,
    _energy_error,
    _energy_small,
    _energy_pulls,
    _risk,
    _times,
)
