"""Servers to test: the real command in a process of its own, and whoever calls it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import uuid
import zlib
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import quote, urlsplit

import numpy as np

import paretoscope as ps

SIGMA = 0.3


@contextmanager
def serving(*places, allow_write=True, **more):
    """A server of these places, started by the command; where it is."""
    options = [] if not allow_write else ["--allow-write"]
    options += [
        text for key, value in more.items() for text in (f"--{key}", *filter(None, [value]))
    ]
    command = [sys.executable, "-W", "error", "-m", "paretoscope", "serve", *map(str, places)]
    with subprocess.Popen(
        [*command, "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    ) as process:
        said = ""
        while not said.endswith("}\n") and (line := process.stdout.readline()):
            said += line
        try:
            yield Site(json.loads(said), process)
        finally:
            process.terminate()
            process.wait(timeout=20)
            said = process.stderr.read().splitlines()
            # uvicorn's word for what h11 refuses, which some tests send
            errors = [line for line in said if not line.endswith("Invalid HTTP request received.")]
        assert not errors, errors


class Site:
    """Where a server is, and plain requests to it."""

    def __init__(self, said, process):
        self.address, self.link, self.process = said["address"], said["link"], process
        self.host = urlsplit(self.address).netloc

    def at(self, name):
        return f"{self.address}s/{quote(name, safe='')}/"

    def call(self, method, path, body=None, **headers):
        """Status, headers and body of one request; its Host and Origin are ours unless given."""
        line = HTTPConnection("127.0.0.1", urlsplit(self.address).port, timeout=20)
        given = {"Host": self.host} | {k.replace("_", "-"): v for k, v in headers.items()}
        try:
            line.request(method, path, body, {k: v for k, v in given.items() if v is not None})
            answer = line.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            line.close()

    def secret(self, path, **headers):
        """What the page of a study gives to its own forms."""
        page = self.call("GET", path, **headers)[2].decode()
        return re.search(r'name="csrf-token" content="([^"]+)"', page)[1]

    def write(self, path, data, page, **headers):
        """A POST as the page itself makes it; JSON, or a form with a file."""
        own = {"Origin": self.address.rstrip("/"), "X_CSRF_Token": self.secret(page)}
        if isinstance(data, dict):
            body, kind = json.dumps(data), "application/json"
        else:
            body, kind = data
        return self.call("POST", path, body, **{**own, "Content_Type": kind, **headers})


def form(file, sheet, **fields):
    """Body and type of an upload form."""
    mark = uuid.uuid4().hex
    lines = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'
        for k, v in fields.items()
    ]
    head = f'--{mark}\r\nContent-Disposition: form-data; name="{file}"; filename="x.csv"\r\n\r\n'
    body = "".join(lines).encode() + head.encode() + sheet + f"\r\n--{mark}--\r\n".encode()
    return body, f"multipart/form-data; boundary={mark}"


# ---------------------------------------------------------------- a laboratory


def means(x):
    """True means of a candidate with two parameters."""
    return 5 + x @ np.array([[2.0, -1.0], [-1.0, 3.0]])


def candidates(K=12, seed=0):
    """A table of candidates as CSV."""
    x = np.random.default_rng(seed).uniform(-1, 1, (K, 2)).round(3)
    return "id,a,b\n" + "".join(f"c{k:02d},{a},{b}\n" for k, (a, b) in enumerate(x.tolist()))


def measure(uid, a, b):
    """The values of a request, the same whoever measures it."""
    luck = np.random.default_rng(zlib.crc32(uid.encode())).standard_normal(2)
    cost, gain = (means(np.array([float(a), float(b)])) + SIGMA * luck).tolist()
    return {"cost": round(cost, 4), "gain": round(gain, 4)}


def filled(text):
    """A sheet with its metrics filled in."""
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    for row in rows:
        row.update(measure(row["uid"], row["a"], row["b"]))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def study(path, K=12, **terms):
    """A study of the laboratory."""
    x = list(csv.DictReader(io.StringIO(candidates(K))))
    columns = {name: [row[name] for row in x] for name in ("id", "a", "b")}
    metrics = [
        ps.Metric("cost", "min", unit="EUR", sigma=SIGMA),
        ps.Metric("gain", "max", sigma=SIGMA),
    ]
    given = {"features": ["a", "b"], "epsilon": 0.3, "seed": 1} | terms
    return ps.Study.create(path, candidates=columns, metrics=metrics, **given)


def rows_of(study, batch):
    """What measuring a batch gives."""
    described = [(r.uid, study.described(r.candidate)) for r in batch]
    return [{"uid": uid, **measure(uid, row["a"], row["b"])} for uid, row in described]
