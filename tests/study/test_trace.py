"""The snapshot that pictures are made of."""

from __future__ import annotations

import numpy as np

from tests.study.lab import Clock, finish, fresh, linear_world, measured, metrics


def rounds_by_hand(study):
    """Measurements by round and candidate, from the ledger's own words."""
    counts = {}
    for _, event in study.ledger.read():
        for uid, _ in event["rows"] if event["kind"] == "told" else ():
            turn, rest = uid[1:].split("c")
            key = int(turn), int(rest.split("n")[0])
            counts[key] = counts.get(key, 0) + 1
    return counts


def test_rounds_hold_what_the_ledger_holds():
    study = fresh(epsilon=0.1)
    finish(study)
    snapshot = study.snapshot()
    made = {(t, k): n for (t, k), n in np.ndenumerate(snapshot.rounds) if n}
    assert made == rounds_by_hand(study)
    assert (snapshot.rounds.sum(axis=0) == snapshot.status.result.counts).all()
    assert snapshot.events == len(study.ledger.read())


def test_decisions_are_counted_when_they_were_made():
    study = fresh(epsilon=0.1)
    seen = []
    while batch := study.ask():
        study.tell([measured(request) for request in batch])
        seen.append(len(study.result().margins))
    decided = study.snapshot().decided.tolist()
    assert decided[: len(seen)] == seen
    assert decided[-1] == len(study.result().margins)


def test_residuals_are_of_unit_size_by_their_definition():
    columns, means = linear_world(K=12)
    study = fresh(candidates=columns, features=["a", "b"], metrics=metrics(), epsilon=0.1)
    finish(study, means=means)
    found = study.snapshot().residuals
    result, X = study.result(), study.problem.features.X
    n = result.counts.astype(float)
    rows = {}
    for _, event in study.ledger.read():
        for uid, values in event["rows"] if event["kind"] == "told" else ():
            rows.setdefault(int(uid.split("c")[1].split("n")[0]), []).append(values)
    means_seen = {k: np.mean(v, axis=0) for k, v in rows.items()}
    inverse = np.linalg.inv((X * n[:, None]).T @ X)
    for row, k in enumerate(found.candidates.tolist()):
        fit = X[k] @ inverse @ sum(X[j] * n[j] * means_seen[j][0] for j in means_seen)
        sd = result.found.sigma[0] * np.sqrt(1 / n[k] - X[k] @ inverse @ X[k])
        np.testing.assert_allclose(found.fitted[row, 0], fit, atol=1e-9)
        np.testing.assert_allclose(found.scaled[row, 0], (means_seen[k][0] - fit) / sd, rtol=1e-6)


def test_without_features_there_are_no_residuals():
    study = fresh(epsilon=0.1)
    finish(study)
    assert study.snapshot().residuals is None


def test_requests_that_are_out_say_who_has_them():
    study = fresh(epsilon=0.1)
    clock = study.clock = Clock()
    study.ask(2, by="Ann", lease=60)
    (first, second) = study.snapshot().out
    assert (first.by, first.at, first.lease) == ("Ann", 1000.0, 60)
    study.tell([measured(second.request)])
    assert [held.request for held in study.snapshot().out] == [first.request]
    clock.now = 1061.0
    assert study.snapshot().out == ()
