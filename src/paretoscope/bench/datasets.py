"""The two data sets of the paper: on this machine already, or fetched once and checked.

A file is looked for in the folder that is named (``data=``, or the variable ``PARETOSCOPE_DATA``), then
in the cache, then at the address in ``PARETOSCOPE_DATA_URL`` or at its public origin, if it has one.
Whatever is found must have the pinned SHA-256: other numbers would be another experiment.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

from paretoscope.errors import DataError, UsageError

FOLDER, ADDRESS = "PARETOSCOPE_DATA", "PARETOSCOPE_DATA_URL"


@dataclass(frozen=True)
class Dataset:
    """A file, its pinned digest, where it comes from, and how to make it by hand.

    ``origin`` serves the same numbers under other names of columns: they are renamed to ``header``
    before the digest is compared.
    """

    name: str
    sha256: str
    header: tuple[str, ...]
    delimiter: str
    source: str
    origin: str | None = None


NOC = Dataset(
    "noc.csv",
    "6df784c53d285d8e83a4467a5d2732779b78ea45101e82e7b5cf4b998f2870f4",
    ("width", "complexity", "fifo", "multiplier", "energy", "inv_runtime"),
    ";",
    "259 network-on-chip designs of Almer, Topham and Franke (2011), as distributed with the PAL"
    " code of Zuluaga et al. (2013)",
)
ENERGY = Dataset(
    "energy_efficiency.csv",
    "15e6379a535e58321525404c0cb7307c7d701b1f27fa224d831b4dda3054c7de",
    (*(f"X{k}" for k in range(1, 9)), "target_1", "target_2"),
    ",",
    "768 buildings of Tsanas and Xifara (2012), 'Energy efficiency' (ENB2012) at the UCI machine"
    " learning repository, doi 10.24432/C51307, CC BY 4.0",
    "https://archive.ics.uci.edu/static/public/242/data.csv",
)
DATASETS = {dataset.name: dataset for dataset in (NOC, ENERGY)}


def find(dataset: Dataset, folder: str | Path | None = None, *, fetch: bool = True) -> Path:
    """Path of the data set on this machine, checked.

    Parameters
    ----------
    folder : path, optional
        Where the file is; the variable ``PARETOSCOPE_DATA`` by default, then the cache.
    fetch : bool
        Whether it may be downloaded into the cache.

    Raises
    ------
    DataError
        If the file is nowhere, cannot be fetched, or holds something else; with the manual way.
    """
    named = folder or os.environ.get(FOLDER)
    if named is not None:
        path = Path(named) / dataset.name
        if not path.is_file():
            raise DataError(f"{path} does not exist. {by_hand(dataset)}")
        return _checked(path, dataset)
    cached = _cache() / dataset.name
    if cached.is_file():
        return _checked(cached, dataset)
    if not fetch:
        raise DataError(f"{dataset.name} is not on this machine. {by_hand(dataset)}")
    return _fetched(dataset)


def by_hand(dataset: Dataset) -> str:
    """What to do where nothing can be downloaded."""
    return (
        f"Save it as {dataset.name} ({dataset.source}; columns {dataset.delimiter.join(dataset.header)};"
        f" SHA-256 {dataset.sha256[:12]}...) and name its folder: --data FOLDER or {FOLDER}"
    )


def canonical(text: str, dataset: Dataset) -> str:
    """The table under the pinned names of columns, numbers as short as they are: 294.0 is 294.

    The digest of another edition is taken of this.

    Raises
    ------
    DataError
        If it is another table.
    """
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=dataset.delimiter) if row]
    if {len(row) for row in rows} != {len(dataset.header)}:
        raise DataError(f"what was downloaded is no table of {len(dataset.header)} columns")
    try:
        cells = [[f"{float(cell):.10g}" for cell in row] for row in rows[1:]]
    except ValueError as error:
        raise DataError(f"what was downloaded is no table of numbers: {error}") from None
    return "".join(dataset.delimiter.join(row) + "\n" for row in [[*dataset.header], *cells])


def _cache() -> Path:
    """Folder of what was fetched; pooch knows where each system wants it."""
    try:
        import pooch  # noqa: PLC0415  (an extra)
    except ImportError:
        return Path.home() / ".cache" / "paretoscope"
    return Path(pooch.os_cache("paretoscope"))


def _fetched(dataset: Dataset) -> Path:
    """Download to the cache, rename the columns of the origin, compare the digest."""
    mirror = os.environ.get(ADDRESS)
    address = f"{mirror.rstrip('/')}/{dataset.name}" if mirror else dataset.origin
    if address is None:
        raise DataError(f"{dataset.name} has no public address. {by_hand(dataset)}")
    try:
        import pooch  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError(
            f"to fetch {dataset.name} install paretoscope[data]. Or: {by_hand(dataset)}"
        ) from None
    pinned = f"sha256:{dataset.sha256}" if mirror else None  # an origin is checked when renamed
    quiet = pooch.HTTPDownloader(timeout=30)
    try:
        got = pooch.retrieve(
            address, pinned, path=_cache(), fname=f"{dataset.name}.part", downloader=quiet
        )
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())
        raise DataError(f"{address} gave nothing usable ({said}). {by_hand(dataset)}") from None
    part, path = Path(got), _cache() / dataset.name
    text = part.read_text(encoding="utf-8")
    part.unlink()
    made = text if mirror else canonical(text, dataset)
    _check_digest(made.encode(), dataset, address)
    path.write_text(made, encoding="utf-8", newline="")
    return path


def _checked(path: Path, dataset: Dataset) -> Path:
    """The path, if it holds what is pinned."""
    _check_digest(path.read_bytes(), dataset, str(path))
    return path


def _check_digest(content: bytes, dataset: Dataset, where: str) -> None:
    """Refuse other content than the pinned."""
    if hashlib.sha256(content).hexdigest() != dataset.sha256:
        raise DataError(f"{where} is not the pinned {dataset.name}. {by_hand(dataset)}")
