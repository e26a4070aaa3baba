"""What every ledger promises, checked through `append` and `read` alone."""

from __future__ import annotations

import math
import struct
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretoscope.errors import Conflict, LedgerError, UsageError
from paretoscope.ledger import Ledger
from tests.ledger import workers

TEXTS = [
    "",
    "é ß 中文 🧪",
    "\x00\x1f\x7f\u2028\ufeff",
    'quote " \\ back',
    "'; DROP TABLE events; --",
]
FLOATS = [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 2.0**53 + 2, 1e-7, 123456789.123456789]
NOT_JSON = [
    {"y": math.nan},
    {"y": [1.0, math.inf]},
    {"y": b"bytes"},
    {"y": {1, 2}},
    {"y": "\ud800"},
    {("a", "b"): 1},
    ["a list"],
    None,
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)  # fmt: skip
RECORDS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), VALUES, max_size=4)


def bits(value):
    return struct.pack(">d", value)


def last_of(ledger):
    return len(ledger.read())


def keeps_the_protocol(ledger):
    assert isinstance(ledger, Ledger)
    assert "secret" not in repr(ledger)


def numbers_from_one(ledger):
    assert ledger.read() == []
    assert ledger.append([{"a": 1}, {"b": 2}], expect=0) == 2
    assert ledger.append([{"c": 3}], expect=2) == 3
    assert ledger.append([{"d": 4}], expect=None) == 4
    events = [(1, {"a": 1}), (2, {"b": 2}), (3, {"c": 3}), (4, {"d": 4})]
    for after in range(6):
        assert ledger.read(after) == events[after:]


def appends_nothing_when_nothing_is_given(ledger):
    assert ledger.append([], expect=0) == 0
    ledger.append([{}], expect=0)
    assert ledger.append([], expect=None) == 1
    with pytest.raises(Conflict):
        ledger.append([], expect=0)


def refuses_who_has_not_read_everything(ledger):
    ledger.append([{"a": 1}, {"b": 2}], expect=None)
    before = ledger.read()
    for expect in (0, 1, 3):
        with pytest.raises(Conflict, match=f"number 2, not {expect}"):
            ledger.append([{"late": True}], expect=expect)
    assert ledger.read() == before
    assert ledger.append([{"c": 3}], expect=2) == 3


def stores_all_or_nothing(ledger):
    for bad in NOT_JSON:
        with pytest.raises(UsageError, match="a record must"):
            ledger.append([{"good": 1}, bad, {"good": 2}], expect=None)
    assert ledger.read() == []
    with pytest.raises(UsageError, match="after = -1"):
        ledger.read(-1)


def keeps_text(ledger):
    records = [{text: text, "list": [text]} for text in TEXTS]
    ledger.append(records, expect=0)
    assert [event for _, event in ledger.read()] == records


def keeps_floats_bit_for_bit(ledger):
    ledger.append([{"y": FLOATS}], expect=0)
    ((_, event),) = ledger.read()
    assert [bits(value) for value in event["y"]] == [bits(value) for value in FLOATS]


def keeps_any_record(ledger):
    @settings(max_examples=40)
    @given(st.lists(RECORDS, max_size=3))
    def check(records):
        last = last_of(ledger)
        assert ledger.append(records, expect=last) == last + len(records)
        returned = [event for _, event in ledger.read(last)]
        assert returned == records
        assert repr(returned) == repr([sort(record) for record in records])  # types and signs too

    check()


def sort(value):
    """The canonical order of the keys, in which records come back."""
    if isinstance(value, dict):
        return {key: sort(value[key]) for key in sorted(value)}
    return [sort(inner) for inner in value] if isinstance(value, list) else value


def keeps_large_records(ledger):
    large = {"text": "ü" * 3_000_000, "list": list(range(100_000))}
    ledger.append([large, {"small": 1}], expect=0)
    assert ledger.read() == [(1, large), (2, {"small": 1})]


def never_shares_memory(ledger):
    record = {"list": [1]}
    ledger.append([record], expect=0)
    record["list"].append(2)
    ledger.read()[0][1]["list"].append(3)
    assert ledger.read() == [(1, {"list": [1]})]


def serves_threads(ledger):
    names = range(4)
    threads = [Thread(target=workers.report, args=(ledger, name, 20)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    workers.check_reports(ledger.read(), names, 20)


def ends_when_closed(ledger):
    with ledger:
        ledger.append([{"a": 1}], expect=0)
    ledger.close()
    for use in (ledger.read, lambda: ledger.append([], expect=None)):
        with pytest.raises(LedgerError, match="closed"):
            use()


CHECKS = [
    keeps_the_protocol, numbers_from_one, appends_nothing_when_nothing_is_given,
    refuses_who_has_not_read_everything, stores_all_or_nothing, keeps_text,
    keeps_floats_bit_for_bit, keeps_any_record, keeps_large_records, never_shares_memory,
    serves_threads, ends_when_closed,
]  # fmt: skip


# ---------------------------------------------------------------- stores that outlive a process


def comes_back(store):
    with store(create=True) as ledger:
        ledger.append([{"a": 0.1}], expect=0)
    for create in (False, True):  # creating what exists opens it
        with store(create=create) as ledger:
            assert ledger.read() == [(1, {"a": 0.1})]


def refuses_what_does_not_exist(store):
    with pytest.raises(LedgerError, match="create the study first"):
        store(create=False)
    with pytest.raises(LedgerError, match="create the study first"):
        store(create=False)  # the first attempt has not created it


def shows_what_others_append(store):
    with store(create=True) as one, store(create=False) as other:
        one.append([{"by": "one"}], expect=0)
        with pytest.raises(Conflict):
            other.append([{"by": "other"}], expect=0)
        assert other.append([{"by": "other"}], expect=1) == 2
        assert one.read(after=1) == [(2, {"by": "other"})]


def survives_a_fork(store):
    with store(create=True) as ledger:
        ledger.append([{"by": "parent"}], expect=0)
        child = workers.fork(workers.report, ledger, "child", 5)
        workers.report(ledger, "parent again", 5)
        workers.all_succeed([child])
        assert ledger.append([{"by": "parent"}], expect=11) == 12
        assert sum(event["by"] == "child" for _, event in ledger.read()) == 5
        assert workers.exit_code(workers.fork(ledger.close)) == 0
        assert len(ledger.read()) == 12


def is_created_once_by_many_who_report(store):
    """Eight processes create the same fresh store at once, and each reports fifty times."""
    children = [workers.fork(workers.create_and_report, store.where, name, 50) for name in range(8)]
    workers.all_succeed(children)
    with store(create=False) as ledger:
        workers.check_reports(ledger.read(), range(8), 50)


STORE_CHECKS = [
    comes_back, refuses_what_does_not_exist, shows_what_others_append, survives_a_fork,
    is_created_once_by_many_who_report,
]  # fmt: skip
