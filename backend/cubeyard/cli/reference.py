"""The reference of all commands: Markdown for the documentation, and `cubeyard man`."""

from __future__ import annotations

import re

from cubeyard import __version__

_CODE = re.compile(r"`([^`]+)`")
_ITEM = re.compile(r"\* `(?P<name>[^`]+)`(?:: (?P<text>.*))?")


def markdown() -> str:
    """A section for each command. Imports all of them."""
    from typer import Context
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from cubeyard.cli.command import app

    command = get_command(app)
    return get_docs_for_click(obj=command, ctx=Context(command, info_name="cubeyard"), name="cubeyard")


def man() -> None:
    """Print the man page of all commands: cubeyard man | man -l -"""
    print(roff(markdown()), end="")


def roff(text: str) -> str:
    """The Markdown of `markdown` as a man page."""
    title, _, text = text.partition("\n")
    name = title.removeprefix("# ").strip("`")
    about, _, text = text.strip().partition("\n")
    lines = [
        f'.TH {name.upper()} 1 "" "{name} {__version__}"',
        ".SH NAME",
        f"{name} \\- {_shown(about)}",
        ".SH SYNOPSIS",
    ]
    is_code = False
    for line in text.splitlines():
        item = _ITEM.fullmatch(line)
        if line.startswith("```"):
            is_code = line != "```"
            lines.append(".nf" if is_code else ".fi")
        elif is_code:
            lines.append(_shown(line.removeprefix("$ ")))
        elif heading := re.fullmatch(r"(##+) (.*)", line):
            lines.append(f'{".SH" if len(heading[1]) == 2 else ".SS"} "{_escaped(heading[2].strip("`"))}"')
        elif item is not None:
            lines += [".TP", f".B {_escaped(item['name'])}", _shown(item["text"] or "")]
        elif line:
            lines.append(_shown(line.replace("**", "")))
        else:
            lines.append(".PP")
    return "\n".join(lines) + "\n"


def _shown(line: str) -> str:
    """Text with its code in bold; a line may not begin as a request of roff."""
    return "\\&" + _CODE.sub(r"\\fB\1\\fR", _escaped(line))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
