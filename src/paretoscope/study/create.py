"""Aliases, to be removed."""

from __future__ import annotations

from paretoscope.study.study import Study

create_study = Study.create
open_study = Study.open
