"""How the documents are built: `make docs`, warnings are errors."""

from __future__ import annotations

import io
from pathlib import Path

from sphinx.application import Sphinx

from paretoscope import __version__

project = "paretoscope"
author = "the paretoscope authors"
copyright = "the paretoscope authors"  # noqa: A001  (the name that Sphinx reads)
release = version = __version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = False

autodoc_typehints = "none"  # shapes stand in the docstrings, and say more
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

html_theme = "alabaster"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_theme_options = {
    "description": "The Pareto set, from few measurements, with a guarantee that holds.",
    "fixed_sidebar": True,
    "page_width": "1080px",
    "sidebar_width": "240px",
    "font_family": "system-ui, sans-serif",
    "head_font_family": "system-ui, sans-serif",
    "code_font_size": "0.86em",
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}

HERE = Path(__file__).parent


def write_commands(app: Sphinx) -> None:
    """The help of every command, as the command itself prints it: this page cannot be out of date."""
    del app
    import click  # noqa: PLC0415  (only this page needs it)

    from paretoscope.cli import COMMANDS, main  # noqa: PLC0415

    out = io.StringIO()
    out.write(
        "# The command line\n\nEvery command works on the study alone; `--json` is everywhere.\n"
    )
    top = click.Context(main, info_name="paretoscope")
    out.write(f"\n```text\n{main.get_help(top)}\n```\n")
    for name in COMMANDS:
        command = main.get_command(top, name)
        assert command is not None
        with click.Context(command, info_name=name, parent=top, max_content_width=88) as context:
            out.write(f"\n## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    path = HERE / "reference" / "commands.md"
    if not path.exists() or path.read_text(encoding="utf-8") != out.getvalue():
        path.write_text(out.getvalue(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Write the page of commands before anything is read."""
    app.connect("builder-inited", write_commands)
