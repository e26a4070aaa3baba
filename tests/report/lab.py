"""Studies to draw: linear truth, plain noise, any names."""

from __future__ import annotations

import numpy as np

import paretoscope as ps

METRICS = [
    ("latency", "min", "ms"),
    ("accuracy", "max", "%"),
    ("memory", "min", "MB"),
    ("energy", "min", "pJ"),
]


def create(K=30, d=2, features=2, names=None, where=None, seed=0, metrics=METRICS, **terms):
    """A study of K candidates, and the true means of its candidates."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (K, features)).round(3)
    means = 5 + 2 * x @ rng.standard_normal((features, d))
    columns = {f"knob{j}": x[:, j].tolist() for j in range(features)}
    study = ps.Study.create(
        where,
        candidates={"id": names or [f"cfg-{k:03d}" for k in range(K)], **columns},
        metrics=[ps.Metric(name, goal, unit=unit) for name, goal, unit in metrics[:d]],
        **({"features": list(columns), "epsilon": 0.3, "seed": 1} | terms),
    )
    return study, means


def rows_of(study, batch, means, noise=0.25, seed=1):
    """What measuring a batch gives."""
    rng = np.random.default_rng([seed, len(batch), batch[0].round])
    index = study.problem.candidates.index
    names = [metric.name for metric in study.problem.metrics]
    return [
        {"uid": r.uid}
        | dict(
            zip(
                names,
                (means[index[r.candidate]] + noise * rng.standard_normal(len(names))).tolist(),
                strict=True,
            )
        )
        for r in batch
    ]


def world(noise=0.25, most=None, **what):
    """A study measured to its end, or for so many rounds."""
    study, means = create(**what)
    done = 0
    while (most is None or done < most) and (batch := study.ask()):
        study.tell(rows_of(study, batch, means, noise))
        done += 1
    return study


# Names that would run, break out or mislead if any of them were taken for anything but text.
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    '"><svg onload=alert(4)>',
    "' onmouseover='alert(5)",
    '" autofocus onfocus=alert(6) x="',
    "javascript:alert(7)",
    "<a href='javascript:alert(8)'>x</a>",
    "<iframe srcdoc='<script>parent.alert(9)</script>'>",
    "{{ 7*7 }}",
    "{% for x in y %}",
    "${alert(10)}",
    "`${alert(11)}`",
    "%{text}",
    "%{customdata}<extra>x</extra>",
    "</title><script>alert(12)</script>",
    "</style><script>alert(13)</script>",
    "<!--<script>alert(14)</script>",
    "--><script>alert(15)</script>",
    "]]><script>alert(16)</script>",
    "<style>@import 'http://127.0.0.1:9/x'</style>",
    "<b>bold</b>",
    "<br>",
    "&lt;script&gt;alert(17)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(18)&#62;",
    "\\u003cscript\\u003ealert(19)\\u003c/script\\u003e",
    "\u2028alert(20)\u2029",
    "\u202egnp.exe",
    "\x1b[31mred",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(A1)",
    "-2+3",
    "a,b;c\td",
    "line one\nline two",
    "'; DROP TABLE events; --",
    "../../etc/passwd",
    "%00",
    "var:accepted",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "<math><mtext></mtext><script>alert(21)</script></math>",
    "<svg><animate onbegin=alert(22) attributeName=x dur=1s>",
    "<details open ontoggle=alert(23)>",
    "<object data='data:text/html,<script>alert(24)</script>'>",
    "<form action='javascript:alert(25)'><button autofocus>",
    "<template><script>alert(26)</script></template>",
    "𝕏 <noscript><p title='</noscript><img src=x onerror=alert(27)>'>",
    "$\\alpha$ $<img src=x onerror=alert(28)>$",
]
assert len(HOSTILE) == len(set(HOSTILE)) == 50
