"""States to plain JSON values and back, bit for bit: one codec, no pickle, no eval.

Only dataclasses registered with `plain_state` are known; arrays carry their type and shape, masks are
packed into hexadecimal digits and long arrays into bytes (`packing`), numbers that JSON lacks are
spelled out. The setting is left out: it is handed in again on the way back.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from paretoscope.core.arrays import freeze
from paretoscope.errors import DataError
from paretoscope.policies.base import DecisionBatch, StopReason, Tally
from paretoscope.policies.packing import LONG, pack, unpack
from paretoscope.policies.setting import Setting

C = TypeVar("C", bound=type)
_KNOWN: dict[str, type] = {
    "DecisionBatch": DecisionBatch,
    "StopReason": StopReason,
    "Tally": Tally,
}


def plain_state(cls: C) -> C:
    """Register a dataclass or named tuple as part of a state."""
    _KNOWN[cls.__name__] = cls
    return cls


def to_plain(value: Any) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None only."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Setting):
        return {"!": "Setting", "free": value.free}
    if isinstance(value, float):
        plain = float(value)  # numpy's own doubles are floats that print otherwise
        return plain if math.isfinite(plain) else {"!": "float", "is": repr(plain)}
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if isinstance(value, Enum):
        return {"!": type(value).__name__, "is": value.name}
    if is_dataclass(value) or hasattr(value, "_fields"):
        return {"!": type(value).__name__} | {
            name: to_plain(getattr(value, name)) for name in _names(type(value))
        }
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    raise TypeError(f"a state may not hold a {type(value).__name__}")


def from_plain(plain: Any, setting: Setting) -> Any:
    """The state written by `to_plain`, around the given setting.

    Raises
    ------
    DataError
        If it names a type, a member or a field that this version does not know.
    """
    try:
        return _from_plain(plain, setting)
    except KeyError as missing:
        raise DataError(f"a stored state lacks {missing}: it is of another version") from missing


def _from_plain(plain: Any, setting: Setting) -> Any:
    """`from_plain`, inside."""
    if isinstance(plain, list):
        return tuple(_from_plain(item, setting) for item in plain)
    if not isinstance(plain, dict):
        return plain
    name = plain["!"]
    if name == "Setting":
        return setting.unstructured if plain["free"] else setting
    if name == "float":
        return float(plain["is"])
    if name in {"array", "packed"}:
        return _array(plain) if name == "array" else unpack(plain)
    if name not in _KNOWN:
        raise DataError(f"a stored state names {name!r}, which this version does not know")
    cls = _KNOWN[name]
    if issubclass(cls, Enum):
        return cls[plain["is"]]
    return cls(**{key: _from_plain(plain[key], setting) for key in _names(cls)})


def _names(cls: Any) -> tuple[str, ...]:
    """Fields of a dataclass or named tuple."""
    return tuple(f.name for f in fields(cls)) if is_dataclass(cls) else cls._fields


def _plain_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array with its type and shape; masks packed, the rest as numbers."""
    head: dict[str, Any] = {"!": "array", "type": array.dtype.str, "shape": list(array.shape)}
    if array.dtype == bool:
        return head | {"bits": np.packbits(array).tobytes().hex()}
    if array.size > LONG:
        return {"!": "packed"} | pack(array)
    return head | {"values": [to_plain(item) for item in array.ravel().tolist()]}


def _array(plain: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The array back, read-only."""
    shape = tuple(plain["shape"])
    if "bits" in plain:
        packed = np.frombuffer(bytes.fromhex(plain["bits"]), dtype=np.uint8)
        size = math.prod(shape)
        return freeze(np.unpackbits(packed)[:size].astype(bool).reshape(shape))
    values = [item if not isinstance(item, dict) else float(item["is"]) for item in plain["values"]]
    return freeze(np.array(values, dtype=np.dtype(plain["type"])).reshape(shape))
