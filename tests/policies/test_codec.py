from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

from paretoscope.errors import DataError
from paretoscope.policies import StopReason, Tally, from_plain, to_plain
from paretoscope.testing import World
from tests.contracts.policy import KNOWN_NOISE_ONLY, POLICIES
from tests.policies.drive import study

SETTING = study(K=2)


def there_and_back(value, setting=SETTING):
    return from_plain(json.loads(json.dumps(to_plain(value), allow_nan=False)), setting)


def identical(a, b):
    """Equal in type and in every bit."""
    if isinstance(a, np.ndarray):
        same_kind = isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
        return same_kind and a.tobytes() == b.tobytes() and not b.flags.writeable
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(
            identical(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__
        )
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(identical, a, b))
    return a is b or (type(a) is type(b) and repr(a) == repr(b))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("linear", [True, False])
def test_every_state_comes_back_bit_for_bit(name, linear):
    policy = POLICIES[name]
    world = World(linear=linear, unknown=name not in KNOWN_NOISE_ONLY)
    setting = world.setting()
    state, turn = policy.init(setting), 0
    while turn < 8:
        kept = setting.unstructured if state.setting.free else setting
        back = there_and_back(state, setting)
        assert back.setting is kept
        for field in set(vars(state)) - {"setting"}:
            assert identical(getattr(state, field), getattr(back, field)), field
        if policy.stopped(state) is not None:
            break
        state = policy.observe(state, world.tally(policy.allocate(state), turn))
        turn += 1


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)))
def test_floats_of_any_shape(array):
    back = there_and_back(array)
    assert back.shape == array.shape
    assert np.array_equal(back, array, equal_nan=True)
    finite = ~np.isnan(array)
    assert back[finite].tobytes() == array[finite].tobytes()  # the sign of zero too


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0)))
def test_masks_of_any_shape(array):
    assert identical(array, there_and_back(array))


@given(hnp.arrays(np.int64, 4))
def test_integers_beyond_a_double(array):
    assert identical(array, there_and_back(array))


@pytest.mark.parametrize(
    "value",
    [None, True, 3, "x", 0.1, -0.0, float("inf"), float("-inf"), float("nan"), (1, (2.5, ()))],
)
def test_plain_values(value):
    assert repr(there_and_back(value)) == repr(value)


def test_enums_and_tuples_keep_their_type():
    assert there_and_back(StopReason.SILENT) is StopReason.SILENT
    back = there_and_back(Tally.empty(2, 1))
    assert type(back) is Tally
    assert identical(Tally.empty(2, 1).counts, back.counts)


def test_numpy_scalars_become_python_numbers():
    assert to_plain(np.int64(3)) == 3
    assert to_plain(np.float64("nan")) == {"!": "float", "is": "nan"}


@pytest.mark.parametrize(
    "plain",
    [
        {"!": "os.system"},
        {"!": "Tomorrow", "x": 1},
        {"!": "StopReason", "is": "TOMORROW"},
        {"!": "Tally", "counts": [1]},
        {"x": 1},
    ],
)
def test_what_this_version_does_not_know_is_bad_data(plain):
    with pytest.raises(DataError):
        from_plain(plain, SETTING)


def test_a_state_may_not_hold_anything_else():
    with pytest.raises(TypeError, match="a state may not hold a set"):
        to_plain({1})
