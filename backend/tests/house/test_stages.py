"""The stages of `make test` (`bin/stages`): the tests that are run and retried, and the final
report."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOP = Path(__file__).resolve().parents[3]
FLAKY = TOP / "docs/contributing/flaky.md"
MOST_FLAKY = 5


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    return _stages("runner")


@pytest.fixture(scope="module")
def table() -> ModuleType:
    return _stages("test")


def _stages(name: str) -> ModuleType:
    """A module of `bin/stages`, which is no package: its files are started as programs."""
    sys.path.insert(0, str(TOP / "bin/stages"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def command(runner: ModuleType, script: str, again: str = "") -> object:
    second = (lambda _said: runner.Again(["tests/test_a.py::test_b"], ["bash", "-c", again])) if again else None
    return runner.Command(f"Runs {script}", ".", ["bash", "-c", script], {}, second)


def test_only_what_failed_is_told_as_failed(runner: ModuleType) -> None:
    results = runner.turn([command(runner, "echo fine"), command(runner, "echo broken; exit 3")], width=2)
    assert [result.status for result in results] == [0, 3]
    assert [result.said for result in results] == ["fine\n", "broken\n"]
    assert runner.failures(results) == ["Runs echo broken; exit 3"]


def test_commands_of_a_turn_run_side_by_side(runner: ModuleType, tmp_path: Path) -> None:
    """Each of the two waits for the other one's file."""
    waits = f"cd {tmp_path}; touch $0; until [ -e $1 ]; do sleep 0.02; done"
    both = [
        runner.Command("One", ".", ["timeout", "20", "bash", "-c", waits, *files]) for files in (("a", "b"), ("b", "a"))
    ]
    results = runner.turn(both, width=2)
    assert [result.status for result in results] == [0, 0]


@pytest.mark.parametrize(("again", "status", "flaky"), [("exit 0", 0, ["tests/test_a.py::test_b"]), ("exit 1", 1, [])])
def test_in_ci_a_failure_is_tried_once_more_and_named(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, again: str, status: int, flaky: list[str]
) -> None:
    monkeypatch.setattr(runner, "IN_CI", True)
    (result,) = runner.turn([command(runner, "exit 1", again)], width=1)
    assert (result.status, result.flaky) == (status, flaky)


def test_elsewhere_the_first_failure_counts(runner: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "IN_CI", False)
    (result,) = runner.turn([command(runner, "exit 1", "exit 0")], width=1)
    assert result.status == 1


def test_what_failed_is_read_from_what_each_program_says(table: ModuleType) -> None:
    commands = table.run
    of_pytest = commands._pytest_again(
        ["pytest"], "FAILED tests/a.py::test_x[1 - 2] - assert 1\nERROR tests/b.py::test_y\n"
    )
    assert of_pytest.names == ["tests/a.py::test_x[1", "tests/b.py::test_y"]  # for people; --last-failed knows them
    of_cargo = commands._rust_again(
        "failures:\n\n---- a::b stdout ----\n\nfailures:\n    a::b\n    c\n\ntest result: FAILED"
    )
    assert of_cargo.names == ["a::b", "c"]
    assert of_cargo.argv[-2:] == ["a::b", "c"]
    of_browser = commands._flaky_journeys(
        "\n  1 flaky\n    [together] › 20-phone.spec.ts:22:1 › every page ───\n  36 passed (5.0m)\n"
    )
    assert of_browser == ["[together] › 20-phone.spec.ts:22:1 › every page ───"]
    for read in (commands._rust_again, lambda said: commands._pytest_again(["pytest"], said)):
        assert read("error: could not compile `cubeyard-sim`") is None


def test_every_test_belongs_to_a_stage(table: ModuleType) -> None:
    assert table.without_a_stage() == []
    assert table.stage_of("e2e/journeys/01-open.spec.ts").name == "journeys"
    assert table.stage_of("e2e/journeys/live/24-emulation.spec.ts").name == "emulation"
    assert table.stage_of("backend/tests/emulation/real/test_kills.py").name == "emulation"
    assert table.stage_of("backend/tests/exports/test_netbox_real.py").name == "netbox"
    assert table.stage_of("backend/tests/exports/test_netbox.py").name == "python"
    assert table.stage_of("migrations/tests/test_new.py") is None


def test_a_stage_beside_others_begins_with_the_first_and_is_waited_for_after_the_last(
    table: ModuleType, tmp_path: Path
) -> None:
    """The guest waits for a file of the last stage, and the first one for a file of the guest."""
    commands, wait = table.run, "until [ -e {} ]; do sleep 0.02; done"

    def stage(name: str, script: str, beside: tuple[str, ...] = ()) -> object:
        command = commands.Command(name, ".", ["timeout", "20", "bash", "-c", f"cd {tmp_path}; {script}"])
        return table.Stage(name, name, None, lambda _: iter([[command]]), beside=beside)

    stages = [
        stage("first", wait.format("guest")),
        stage("guest", f"touch guest; {wait.format('last')}; exit 3", beside=("absent", "first", "last")),
        stage("last", "touch last"),
    ]
    done = table.run_stages(stages, commands.Asked("short", {"first", "guest", "last"}, tmp_path))
    assert {name: [result.status for result in results] for name, (_, results) in done.items()} == {
        "first": [0],
        "last": [0, 3],
    }


def test_words_choose_stages_and_their_run(table: ModuleType) -> None:
    def names(*words: str) -> tuple[list[str], str]:
        stages, which = table.chosen(list(words))
        return [stage.name for stage in stages], which

    short, every = names()[0], names("all")[0]
    assert (short, every) == (
        ["lint", "rust", "page", "python", "deployment", "journeys", "emulation"],
        [*short, "cluster"],
    )
    assert names("all", "journeys") == (["journeys"], "all")
    assert names("python", "rust") == (["rust", "python"], "short")
    with pytest.raises(SystemExit, match="no tests called ruts"):
        names("ruts")


def test_the_list_of_flaky_tests_is_short_and_names_tests(table: ModuleType) -> None:
    lines = [line for line in FLAKY.read_text().splitlines() if line.startswith("- ")]
    assert len(lines) <= MOST_FLAKY
    for line in lines:
        named = re.match(r"- `([^`:]+)", line)
        assert named is not None, line
        assert (TOP / named[1]).exists(), line
