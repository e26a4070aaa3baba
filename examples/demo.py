"""Which compressor settings are worth having? `paretoscope run` on a real program, in under two minutes.

    python examples/demo.py          all of it; --quick takes a shorter text
    python examples/demo.py one TEXT zlib 6 32     one measurement, as the study makes them

Settings of three compressors of the standard library (level and window), two metrics: the time to
compress a generated text (noisy, compared by ratios) and the size of the result (exact). The time is
told in units of a plain run of zlib just before, because the pace of a machine is never quite steady.
"""

from __future__ import annotations

import sys

# The settings: compressor, level, window in kB. For bz2 the level is the window.
SETTINGS = [
    *[("zlib", level, window) for level in (1, 6, 9) for window in (1, 4, 32)],
    *[("bz2", level, 100 * level) for level in (1, 2, 4)],
    *[("lzma", level, window) for level in (0, 1) for window in (16, 256)],
]
# Compressions that make one measurement, whose median counts.
REPEATS = 5
HONEST = """\
What this rests on: times of one machine, in one sitting, in units of a plain
run of zlib just before. The order of measuring is random in blocks, so that a
slow minute meets all settings alike; but where the pace of a machine hits one
kind of work harder than another, measurements are not independent, and no
benchmark is safe from that. Sizes need no such words: they are the same every
time."""


def compress(data: bytes, codec: str, level: int, window: int) -> bytes:
    """The text, compressed; each compressor is imported only where it is used."""
    if codec == "zlib":
        import zlib  # noqa: PLC0415

        packer = zlib.compressobj(level, zlib.DEFLATED, window.bit_length() + 9)
        return packer.compress(data) + packer.flush()
    if codec == "bz2":
        import bz2  # noqa: PLC0415

        return bz2.compress(data, level)
    import lzma  # noqa: PLC0415

    chain = [{"id": lzma.FILTER_LZMA2, "preset": level, "dict_size": window << 10}]
    return lzma.compress(data, filters=chain)


def measure(path: str, codec: str, level: str, window: str) -> None:
    """One measurement: a line of JSON with five times in runs of zlib and the size in kilobytes."""
    import json  # noqa: PLC0415
    import time  # noqa: PLC0415
    import zlib  # noqa: PLC0415

    with open(path, "rb") as file:  # noqa: PTH123  (pathlib takes longer to import than this)
        data = file.read()
    times, packed = [], b""
    for _ in range(REPEATS):
        begun = time.process_time()
        zlib.compress(data)
        between = time.process_time()
        packed = compress(data, codec, int(level), int(window))
        times.append((time.process_time() - between) / (between - begun))
    print(json.dumps({"time": times, "size": len(packed) / 1e3}))


def generated_text(size: int) -> str:
    """Text like a log file: words of very different frequency, and numbers."""
    import random  # noqa: PLC0415

    rng = random.Random(1)  # noqa: S311  (not a secret)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(900)]
    weights = [1 / (k + 1) for k in range(len(words))]
    lines = (
        " ".join(rng.choices(words, weights, k=9)) + f" {rng.randint(0, 10**6)}\n"
        for _ in range(size // 50)
    )
    return "".join(lines)


def main(*, quick: bool) -> int:
    """Write the text and the settings into a new folder, and let the study run."""
    import subprocess  # noqa: PLC0415
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="demo-"))
    (folder / "text").write_text(generated_text(40_000 if quick else 120_000), encoding="ascii")
    rows = "".join(f"{c}-{level}-{k}k,{c},{level},{k}\n" for c, level, k in SETTINGS)
    (folder / "settings.csv").write_text("id,codec,level,window\n" + rows, encoding="ascii")
    program = [sys.executable, "-I", "-S", str(Path(__file__).resolve()), "one", "text"]
    line = [sys.executable, "-m", "paretoscope", "run", "--study", "demo.study", "--time", "100s"]
    line += ["-C", "settings.csv", "-m", "time:min:zlib:log:median", "-m", "size:min:kB:exact"]
    line += ["--epsilon", "time=15%", "--warmup", "1"]
    line += ["--", *program, "{codec}", "{level}", "{window}"]
    done = subprocess.run(line, cwd=folder, check=False)  # noqa: S603  (our own command)
    print(f"\n{HONEST}\n\nAll of it lies in {folder}")
    return 0 if done.returncode == 3 else done.returncode  # 3: no certificate; it was said why


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        measure(*sys.argv[2:])
    else:
        sys.exit(main(quick="--quick" in sys.argv[1:]))
