"""What a run of the benchmarks says, kept until all is measured: one table a reader can take in."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Row:
    """One thing measured: its fastest time, how it was checked, what it is held to, its peers."""

    name: str
    seconds: float
    check: str
    target: str = ""
    met: bool = True
    peers: list[tuple[str, float, str]] = field(default_factory=list)

    def peer(self, name: str, seconds: float, check: str = "") -> float:
        """Another program on the same input; its time as a multiple of ours."""
        ratio = seconds / self.seconds
        self.peers.append((name, ratio, check))
        return ratio

    def hold(self, target: str, met: bool) -> None:
        """A target, and whether it was met in this run."""
        self.target, self.met = target, met

    def lines(self) -> list[str]:
        verdict = f"  {'met' if self.met else 'MISSED'}: {self.target}" if self.target else ""
        head = f"  {self.name:38s} {spoken(self.seconds):>9s}  {self.check:28s}{verdict}"
        rest = [f"      {name:34s} {ratio:8.1f}x  {check}" for name, ratio, check in self.peers]
        return [head.rstrip(), *(line.rstrip() for line in rest)]


def spoken(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{1e6 * seconds:.1f} us"


SECTIONS: dict[str, list[Row]] = {}


def row(section: str, name: str, seconds: float, check: str) -> Row:
    """A new row of the table, under its heading."""
    made = Row(name, seconds, check)
    SECTIONS.setdefault(section, []).append(made)
    return made


def table() -> str:
    """All sections; peers are multiples of our time on the same input in the same run."""
    text = []
    for section, rows in SECTIONS.items():
        text += ["", section, *(line for made in rows for line in made.lines())]
    missed = [made.name for rows in SECTIONS.values() for made in rows if not made.met]
    text += ["", f"{len(missed)} targets missed{': ' + ', '.join(missed) if missed else ''}"]
    return "\n".join(text)
