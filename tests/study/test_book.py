from __future__ import annotations

import pytest

from paretoscope.errors import LedgerError
from paretoscope.study.book import Book, Uid, group_members, with_try, without_try

CREATED = {"kind": "created", "definition": {"x": 1}, "at": 5.0}


def book_of(*events):
    book = Book()
    for number, event in enumerate((CREATED, *events), 1):
        book.apply(number, event)
    return book


@pytest.mark.parametrize("text", ["r0c0n0", "q0c12n1", "r31c7n400"])
def test_uids_are_text_and_back(text):
    assert str(Uid.parse(text)) == text


@pytest.mark.parametrize("text", ["", "r0c0", "x0c0n0", "r-1c0n0", "r0c0n0 ", "R0c0n0", "r1.0c0n0"])
def test_other_text_is_no_uid(text):
    assert Uid.parse(text) is None


def test_a_book_begins_with_one_creation():
    with pytest.raises(LedgerError, match="begins with one 'created'"):
        Book().apply(1, {"kind": "told", "rows": [], "by": ""})
    with pytest.raises(LedgerError, match="event 2 is 'created'"):
        book_of(CREATED)
    with pytest.raises(LedgerError, match="unknown kind 'burnt'"):
        book_of({"kind": "burnt"})


def test_a_missed_event_is_noticed():
    book = book_of()
    for number in (1, 3):
        with pytest.raises(LedgerError, match=f"event {number} came after event 1"):
            book.apply(number, {"kind": "surplus", "rows": []})


@pytest.mark.parametrize("text", ["r0c0n0", "q1c2n3", "r0c1n2to4"])
def test_tries_of_a_request(text):
    for tries in (1, 2, 13):
        assert without_try(with_try(text, tries)) == (text, tries)
    assert with_try(text, 1) == text
    assert Uid.parse(with_try("r0c3n1", 2)) == Uid.parse("r0c3n1")
    assert group_members("r0c1n2to4.2") == ["r0c1n2", "r0c1n3", "r0c1n4"]


def test_the_fate_of_a_request():
    asked = {"kind": "asked", "uids": ["r0c0n0", "r0c1n0"], "lease": 60.0, "by": "w", "at": 10.0}
    told = {"kind": "told", "rows": [["r0c0n0", [1.5, None]]], "by": "w", "at": 11.0}
    written_off = {"kind": "withdrawn", "uids": ["r0c1n0"], "reason": "spilt"}
    book = book_of(asked)
    assert book.out("r0c0n0", 70.0)
    assert not book.out("r0c0n0", 70.1)
    assert not book.out("r0c2n0", 10.0)
    book = book_of(asked, told, written_off)
    assert book.values == {"r0c0n0": (1.5, None)}
    assert (book.writer["r0c0n0"], book.reasons["r0c1n0"]) == ("w", "spilt")
    assert all(book.resolved(uid, Uid.parse(uid)) for uid in asked["uids"])
    assert not book.out("r0c1n0", 10.0)
    assert (book.number, book.created, book.touched) == (4, 5.0, ["r0c0n0", "r0c1n0"])


def test_two_failures_bar_a_candidate_from_their_turn_on():
    one = {"kind": "failed", "uids": ["r1c3n0"], "reason": "crash", "by": "", "at": 1.0}
    two = one | {"uids": ["r2c3n5"]}
    assert not book_of(one).barred(Uid.parse("r9c3n0"))
    book = book_of(two, one)
    barred = {text: book.barred(Uid.parse(text)) for text in ("r1c3n0", "r2c3n9", "r3c3n0")}
    assert barred == {"r1c3n0": False, "r2c3n9": True, "r3c3n0": True}
    assert not book.barred(Uid.parse("r3c4n0"))


def test_given_back_corrected_surplus_and_history():
    asked = {"kind": "asked", "uids": ["r0c0n0"], "lease": None, "by": "", "at": 0.0}
    book = book_of(
        asked,
        {"kind": "returned", "uids": ["r0c0n0"], "reason": "lost"},
        {"kind": "corrected", "rows": [["r0c0n0", [2.0]]], "reason": "typo"},
        {"kind": "surplus", "rows": [["r0c0n0", [3.0]]]},
        {"kind": "history", "rows": [[4, [5.0]]]},
    )
    assert not book.asked
    assert book.values == {"r0c0n0": (2.0,)}
    assert (book.surplus, book.history) == ([("r0c0n0", (3.0,))], [(4, (5.0,))])
    assert (book.rewritten, book.corrections) == (True, 1)
