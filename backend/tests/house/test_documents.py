"""Commands of the documents: each is parsed, and run unless the line above its block is
`<!-- not run: reason -->`."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cubeyard.cli.command import app
from tests.processes import PROGRAM

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"(?:^<!-- not run: ([^\n]+) -->\n)?^```(?:sh|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"<([a-z]\w*)>")
SEPARATORS = {"|", "&&", "||", ";", "&", "(", ")"}
QUICK = ("README.md", "docs/tutorials/", "examples/")
"""Documents whose commands every run of the tests has; others are for the long run."""


@dataclass
class Block:
    path: str
    number: int
    reason: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}-{self.number}"

    @property
    def lines(self) -> list[str]:
        return self.text.replace("\\\n", " ").splitlines()


def blocks() -> list[Block]:
    tracked = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [
        Block(path, number, match[1] or "", match[2])
        for path in tracked.stdout.split()
        for number, match in enumerate(BLOCK.finditer((ROOT / path).read_text()), start=1)
    ]


BLOCKS = blocks()
RUN = [
    pytest.param(block, id=str(block), marks=() if block.path.startswith(QUICK) else pytest.mark.long)
    for block in BLOCKS
    if not block.reason
]


def commands(block: Block) -> list[list[str]]:
    """The simple commands of a block, as lists of words."""
    every: list[list[str]] = []
    for line in block.lines:
        words: list[str] = []
        try:
            split = shlex.split(line, comments=True)
        except ValueError:
            continue  # a string over several lines
        for word in split:
            if word in SEPARATORS:
                every.append(words)
                words = []
            else:
                words.append(word.strip("();") if word.startswith("(") or word.endswith((")", ";")) else word)
        every.append(words)
    return [words for words in every if words]


def wrong_option(words: list[str]) -> str | None:
    """The first word of a call of `cubeyard` that is no command or no option of it."""
    command: Any = get_command(app)
    for word in words:
        name, _, _ = word.partition("=")
        if hasattr(command, "commands"):
            if word.startswith("-"):
                return None
            command = command.get_command(None, word)
            if command is None:
                return word
        elif word.startswith("--") and name not in {
            each for param in command.params for each in param.opts + param.secondary_opts
        }:
            return None if name == "--help" else word
    return None


def test_a_call_with_a_wrong_command_or_option_is_found() -> None:
    assert wrong_option(["predict", "--spec", "x"]) is None
    assert wrong_option(["predikt"]) == "predikt"
    assert wrong_option(["predict", "--spek", "x"]) == "--spek"
    assert wrong_option(["chip", "trace", "--bcube", "4,1"]) is None


def test_every_command_can_be_copied_parsed_and_names_options_that_exist() -> None:
    assert len(BLOCKS) > 40
    calls = 0
    for block in BLOCKS:
        assert not re.search(r"^\s*\$ ", block.text, re.MULTILINE), f"{block}: commands are copied without a $"
        text = PLACEHOLDER.sub(r"\1", block.text).replace(", ...}", "}")
        parsed = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        assert parsed.returncode == 0, f"{block}: {parsed.stderr}"
        for words in commands(block):
            if words[0].removeprefix("bin/") == "cubeyard":
                assert (wrong := wrong_option(words[1:])) is None, f"{block}: {wrong}"
                calls += 1
    assert calls > 60


def test_every_address_of_the_api_in_a_command_exists() -> None:
    described = json.loads((ROOT / "frontend/src/api/openapi.json").read_bytes())["paths"]
    patterns = [re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)) for path in described]
    addresses = {
        (str(block), path)
        for block in BLOCKS
        for path in re.findall(r"127\.0\.0\.1:\d+(/api/v1/[^\s'\"?]*)", block.text)
    }
    assert len(addresses) > 10
    for block, path in addresses:
        assert any(pattern.fullmatch(path) for pattern in patterns), f"{block}: {path}"


@pytest.mark.parametrize("block", RUN)
def test_commands_run(block: Block, tmp_path: Path) -> None:
    for folder in ("examples", "emulator"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/cubeyard").write_text(f'#!/bin/sh\nexec {shlex.join(map(str, PROGRAM))} "$@"\n')
    (tmp_path / "bin/cubeyard").chmod(0o755)
    (tmp_path / "plan.json").write_text('{"topology":{"family":"bcube","n":4,"k":1}}')
    lab = re.search(r"```yaml\n(topology:.*?)```", (ROOT / "docs/how-to/import.md").read_text(), re.DOTALL)
    assert lab is not None
    (tmp_path / "lab.clab.yml").write_text(lab[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUBEYARD_")}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env=environment | {"CUBEYARD_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_the_python_of_the_readme_runs() -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code[1], "README.md", "exec"), {})
