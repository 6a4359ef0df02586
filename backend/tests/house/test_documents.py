"""Commands of the documents: each is parsed, and run unless the line above its block is
`<!-- not run: reason -->`. Some call a server that has a plan and a run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cubeyard.cli.command import app
from tests.conftest import described
from tests.processes import PROGRAM, Server

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"(?:^<!-- not run: ([^\n]+) -->\n)?^```(?:sh|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"<([a-z]\w*)>")
INLINE = re.compile(r"`(?:bin/)?cubeyard ([^`]+)`")
SERVER = "http://127.0.0.1:8080"
OF_A_SERVER = re.compile(rf"{SERVER}|\$(PLAN|EXPERIMENT|RUN|JOB)\b")
SEPARATORS = {"|", "&&", "||", ";", "&", "(", ")"}
QUICK = ("README.md", "docs/tutorials/first-plan.md", "examples/")
"""Documents whose commands every run of the tests has; others are for the long run, as are all that
call a server."""


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

    @property
    def needs_server(self) -> bool:
        return OF_A_SERVER.search(self.text) is not None

    @property
    def is_quick(self) -> bool:
        return self.path.startswith(QUICK) and not self.needs_server


def documents() -> dict[str, str]:
    tracked = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {path: (ROOT / path).read_text() for path in tracked.stdout.split()}


def blocks() -> list[Block]:
    return [
        Block(path, number, match[1] or "", match[2])
        for path, text in documents().items()
        for number, match in enumerate(BLOCK.finditer(text), start=1)
    ]


BLOCKS = blocks()
RUN = [
    pytest.param(block, id=str(block), marks=() if block.is_quick else pytest.mark.long)
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


def test_commands_within_sentences_name_options_that_exist() -> None:
    calls = 0
    for path, text in documents().items():
        for code in INLINE.findall(text):
            words = [] if code.count("'") % 2 else shlex.split(code)
            if not any(word.isupper() for word in words[:1]):
                assert (wrong := wrong_option(words)) is None, f"{path}: `{code}`: {wrong}"
                calls += 1
    assert calls > 20


def test_every_address_of_the_api_in_a_command_exists() -> None:
    patterns = [re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)) for path in described()["paths"]]
    addresses = {
        (str(block), path)
        for block in BLOCKS
        for path in re.findall(r"127\.0\.0\.1:\d+(/api/v1/[^\s'\"?]*)", block.text)
    }
    assert len(addresses) > 10
    for block, path in addresses:
        assert any(pattern.fullmatch(path) for pattern in patterns), f"{block}: {path}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables of the documents' commands for a server with a plan, an experiment, its run
    that has ended, and an export in the background."""
    home = tmp_path_factory.mktemp("home")
    with Server(home) as server:

        def made(path: str, body: object = None) -> str:
            status, answer = server.call("POST", f"/api/v1{path}", body)
            assert status in (200, 201, 202), answer
            return answer["id"]

        topology = {"family": "bcube", "n": 4, "k": 1}
        plan = made("/plans", {"name": "Served", "spec": {"topology": topology}})
        experiment = made("/experiments", {"plan": {"topology": topology}, "workload": {"kind": "all-to-all"}})
        run = made(f"/experiments/{experiment}/runs")
        until = time.monotonic() + 120
        while (state := server.call("GET", f"/api/v1/runs/{run}")[1]["state"]) in ("queued", "running"):
            assert time.monotonic() < until, state
            time.sleep(0.2)
        assert state == "succeeded"
        job = made(f"/plans/{plan}/exports/csv/jobs")
        ids = {"PLAN": plan, "EXPERIMENT": experiment, "RUN": run, "JOB": job}
        yield {**ids, "CUBEYARD_HOME": str(home), "SERVER": server.base}
        server.process.terminate()  # a killed one would leave its PostgreSQL
        server.process.wait(timeout=60)


@pytest.mark.parametrize("block", RUN)
def test_commands_run(block: Block, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for folder in ("examples", "emulator"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/cubeyard").write_text(f'#!/bin/sh\nexec {shlex.join(map(str, PROGRAM))} "$@"\n')
    (tmp_path / "bin/cubeyard").chmod(0o755)
    (tmp_path / "plan.json").write_text('{"topology":{"family":"bcube","n":4,"k":1}}')
    formats = (ROOT / "docs/how-to/import.md").read_text()
    for name, pattern in (("lab.clab.yml", "yaml\n(topology:.*?)"), ("net.graphml", "xml\n(<graphml.*?)")):
        example = re.search(f"```{pattern}```", formats, re.DOTALL)
        assert example is not None
        (tmp_path / name).write_text(example[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUBEYARD_")}
    environment["CUBEYARD_HOME"] = str(tmp_path / "home")
    text = block.text
    if "cubeyard backup " in text:
        text = f"bin/cubeyard db upgrade\n{text}"
    if block.needs_server:
        environment |= request.getfixturevalue("served")
        text = text.replace(SERVER, environment["SERVER"])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'curl() {{ command curl --fail-with-body "$@"; }}\n{text}'],
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_the_python_of_the_readme_runs() -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code[1], "README.md", "exec"), {})
