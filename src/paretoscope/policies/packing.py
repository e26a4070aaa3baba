"""Long arrays in JSON: their bytes as text, compressed where that pays, bit for bit.

Numbers written one by one take up to 25 letters each and a second per million; as bytes in base64 they
take 11 letters and a few milliseconds. Integers are stored in the smallest type that holds them, so that
a million verdicts are some hundred bytes.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from paretoscope.core.arrays import freeze
from paretoscope.errors import DataError

Array = np.ndarray[Any, Any]
# Arrays longer than this are packed: shorter ones can be read by people.
LONG = 4096
# Bytes that are compressed on trial, and the share they must shrink to: random digits do not.
_TRIAL, _PAYS = 1 << 18, 0.8
# Integers are tried in these types, the smallest first.
_SMALLER = ("<u1", "<i2", "<i4")


def pack(array: Array) -> dict[str, Any]:
    """An array as its type, shape and bytes.

    >>> pack(np.array([1, 0, 1]))
    {'type': '<i8', 'shape': [3], 'stored': '<u1', 'base64': 'AQAB'}
    """
    kind = array.dtype.newbyteorder("<").str
    stored = _narrowest(array) if array.dtype.kind == "i" else kind
    data = np.ascontiguousarray(array, dtype=stored).tobytes()
    head = {"type": kind, "shape": list(array.shape), "stored": stored}
    trial = data[:_TRIAL]
    if len(array) > LONG and len(zlib.compress(trial, 1)) < _PAYS * len(trial):
        return head | {"zlib": b64encode(zlib.compress(data, 1)).decode("ascii")}
    return head | {"base64": b64encode(data).decode("ascii")}


def _narrowest(array: Array) -> str:
    """The smallest type that holds all of some integers."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in _SMALLER:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return kind
    return "<i8"


def unpack(plain: Mapping[str, Any]) -> Array:
    """The array written by `pack`, read-only.

    Raises
    ------
    DataError
        If its bytes are not what its head says.
    """
    try:
        packed = plain.get("base64")
        data = b64decode(packed, validate=True) if packed is not None else _inflated(plain)
        array = np.frombuffer(data, dtype=plain["stored"]).reshape(plain["shape"])
        return freeze(array.astype(plain["type"], copy=False))
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise DataError(f"a packed array is damaged ({error})") from None


def _inflated(plain: Mapping[str, Any]) -> bytes:
    """Compressed bytes, and no more of them than the head promises: a short text must not fill the memory."""
    size = int(np.prod(plain["shape"], dtype=np.int64)) * np.dtype(plain["stored"]).itemsize
    return zlib.decompressobj().decompress(b64decode(plain["zlib"], validate=True), size + 1)
