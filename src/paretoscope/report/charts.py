"""All charts of a view, in the order of the page."""

from __future__ import annotations

from paretoscope.report.front import front
from paretoscope.report.journey import allocation, progress, residuals, timeline
from paretoscope.report.marks import Chart
from paretoscope.report.view import View


def charts(view: View) -> list[Chart]:
    """All pictures that the view has something to show in."""
    made = [front(view), timeline(view), allocation(view), progress(view), residuals(view)]
    return [chart for chart in made if chart is not None]
