"""Runs commands, several at once, and says at the end what each took, what failed, and what passed
only when tried again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IN_CI = os.environ.get("CI") == "true"
LAST_LINES, LINE_LENGTH = 25, 400
_printing = threading.Lock()


@dataclass(frozen=True)
class Again:
    """A second try, alone, of what failed: names of the tests that failed, and the command that
    runs just these."""

    names: list[str]
    argv: list[str]


@dataclass(frozen=True)
class Command:
    title: str
    folder: str
    """Where it runs, from the top of the checkout."""
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    again: Callable[[str], Again | None] | None = None
    """From what it said: the second try in CI, where clocks, packets and browsers share the machine
    with others."""
    flaky: Callable[[str], list[str]] | None = None
    """Reads the names of tests that the program repeated itself from its output."""


@dataclass
class Result:
    command: Command
    status: int
    secs: float
    cpu_secs: float
    said: str
    flaky: list[str] = field(default_factory=list)


def say(text: str) -> None:
    """As in `bin/env.sh`: bold on a terminal alone."""
    line = f"==> {text}"
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb":
        line = f"\033[1m{line}\033[0m"
    print(line, file=sys.stderr, flush=True)


def run(command: Command, *, live: bool) -> Result:
    """One command to its end; `live` prints its lines as they come, else all of them when it has
    ended."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as message:
        process = subprocess.Popen(
            list(command.argv), cwd=ROOT / command.folder, env={**os.environ, **command.env}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if live else message, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        # Written to a file, what a process left behind still holds open delays nothing.
        if process.stdout is not None:
            with process.stdout as lines:
                for line in lines:
                    message.write(line)
                    print(line, end="", flush=True)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        message.seek(0)
        text = message.read()
    if not live:
        with _printing:
            say(command.title)
            print(text, end="", flush=True)
    flaky = command.flaky(text) if command.flaky else []
    return Result(command, process.returncode, time.monotonic() - began, usage.ru_utime + usage.ru_stime, text, flaky)


def turn(commands: Sequence[Command], width: int, *, live: bool = True) -> list[Result]:
    """Run commands, `width` at once, then repeat one by one those that failed.

    A single command prints its lines as they come, if `live`."""
    if live and len(commands) == 1:
        say(commands[0].title)
        results = [run(commands[0], live=True)]
    else:
        with ThreadPoolExecutor(width) as pool:
            results = list(pool.map(lambda command: run(command, live=False), commands))
    return [_tried_again(result) for result in results]


def _tried_again(result: Result) -> Result:
    command = result.command
    again = command.again(result.said) if result.status and IN_CI and command.again else None
    if again is None:
        return result
    say(f"{command.title}: what failed again, alone: {', '.join(again.names)}")
    second = run(Command(command.title, command.folder, again.argv, command.env), live=True)
    return Result(
        command, second.status, result.secs + second.secs, result.cpu_secs + second.cpu_secs,
        second.said if second.status else result.said, again.names if second.status == 0 else [],
    )  # fmt: skip


def took(results: Iterable[Result]) -> str:
    """A line a command: seconds by the clock and of CPU time."""
    return "\n".join(
        f"  {result.secs:5.0f} s  {result.cpu_secs:5.0f} s CPU  {result.command.title}" for result in results
    )


def failures(results: Iterable[Result]) -> list[str]:
    """Titles of what failed, after the last lines of each: a log is often kept from its end
    only."""
    failed = [result for result in results if result.status]
    for result in failed:
        say(f"{result.command.title} failed; it ended with")
        for line in result.said.splitlines()[-LAST_LINES:]:
            print(line[:LINE_LENGTH], file=sys.stderr)
    return [result.command.title for result in failed]
