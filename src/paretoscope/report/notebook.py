"""What a notebook shows of a study or a result: the certificate in words, and who is not out."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from paretoscope.report import words
from paretoscope.report.palette import LOOKS
from paretoscope.study.result import Result
from paretoscope.study.speech import SHORT, count, estimates

# Rows of the table; a notebook scrolls badly.
_MOST = 30


def study_html(study: Any) -> str:  # noqa: ANN401  (whatever has a snapshot)
    """The certificate, the candidates that are not out, and how to see more."""
    snapshot = study.snapshot()
    made = words.headline(snapshot)
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in made.said)
    return f"<div><h4>{escape(made.title)}</h4>{said}{_table(snapshot.status.result)}</div>"


def result_html(result: Result) -> str:
    """Whether it is certified, why, and the candidates that are not out."""
    title = "Certified" if result.certified else "Not certified"
    reason = escape(result.certificate.reason)
    return f"<div><h4>{title}</h4><p>{reason}.</p>{_table(result)}</div>"


def _table(result: Result) -> str:
    """Candidates in, near and undecided with their estimates, at most `_MOST`."""
    verdict = result.verdict
    kept = np.concatenate([np.flatnonzero(mask) for mask in (verdict.answer, verdict.undecided)])
    heads = ["candidate", "verdict", "n", *(m.name for m in result.problem.metrics)]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    rows = "".join(_row(result, k) for k in kept[:_MOST].tolist())
    rest = result.problem.K - min(len(kept), _MOST)
    more = f"<p>{count(rest, 'candidate')} not listed.</p>" if rest else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _row(result: Result, k: int) -> str:
    """One candidate."""
    word = result.status[k]
    cells = [
        result.problem.candidates.ids[k],
        f"{LOOKS[word].glyph} {SHORT[word]}",
        str(int(result.counts[k])),
        *estimates(result, k),
    ]
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
