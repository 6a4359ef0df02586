"""Writes the documentation as HTML: the tutorial, the reference of `cubeyard.notebook` from its
docstrings, and that of the command line from its options. `make-docs.py FOLDER`; the pages load
nothing from the network."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

import pdoc
from pdoc.render_helpers import to_html
from typer.cli import get_docs_for_click
from typer.main import get_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = (("index.html", "Tutorial"), ("cubeyard/notebook.html", "Python API"), ("commands.html", "Command line"))
STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;max-width:56rem;margin:0 auto;padding:1rem}
pre{overflow-x:auto;padding:.75rem;border:1px solid #8884;border-radius:6px}
code{font-size:.9em}nav a{margin-right:1rem}h1,h2,h3{line-height:1.25}
"""


def commands() -> str:
    """Every command and option, as Markdown."""
    from click import Context

    from cubeyard.cli.command import app

    command = get_command(app)
    return get_docs_for_click(obj=command, ctx=Context(command, info_name="cubeyard"), name="cubeyard")


def page(title: str, markdown: str) -> str:
    links = "".join(f'<a href="{path}">{escape(name)}</a>' for path, name in PAGES)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Cubeyard: {escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><nav>{links}</nav><main>{to_html(markdown)}</main></body></html>\n"
    )


def write(out: Path) -> None:
    """All pages, into a folder that is made."""
    out.mkdir(parents=True, exist_ok=True)
    pdoc.render.configure(docformat="markdown", search=False, show_source=False)
    pdoc.pdoc("cubeyard.notebook", output_directory=out)
    # The tutorial replaces pdoc's index of modules.
    (out / "index.html").write_text(page("Notebooks", (ROOT / "docs/notebooks.md").read_text()))
    (out / "commands.html").write_text(page("Command line", commands()))


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make-docs.py FOLDER", file=sys.stderr)
        return 2
    write(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
