"""The counters of `bin/check-words.py`: their matches, that moving text changes none, and how
numbers are lowered."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

TOP = Path(__file__).resolve().parents[3]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_words", TOP / "bin/check-words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(TOP / "bin"))
    sys.modules["check_words"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


words = _load()

EXAMPLES = [
    ("headless-what", "What is more is lost and counted.", "Excess packets are dropped and counted."),
    ("headless-what", "Sends again what was lost.", "Sends lost packets again."),
    ("headless-those", "One that fails is hung up for longer.", "Failing processes are disconnected."),
    ("headless-those", "It reads those that wait as one.", "It merges queued ticks."),
    ("fronted-of", "Of several exchanges the shortest counts.", "The exchange with the shortest round trip counts."),
    ("so-many", "Up to so many flows are listed.", "Up to this number of flows is listed."),
    ("so-many", "Each has a queue of its own.", "Each has its own queue, as many as it has ports."),
    ("told-said", "Times are told as of the whole.", "Times are scaled to the full data set."),
    ("beside", "The paper's numbers beside ours.", "The paper's numbers compared with ours."),
    ("anew", "The plan is computed anew.", "The plan is computed again."),
    ("anew", "Whoever listens gets it.", "All subscribers get it."),
    ("stands-in", "The price comes to 3 dollars.", "The price is 3 dollars."),
    ("stands-in", "A leg of one that is there hangs.", "A plugged trunk may have an unconnected leg."),
    ("stands-in", "The run was over before it.", "The run ended before this fault was due."),
    ("is-to-be", "The run is to say whether it held.", "Test a hypothesis."),
    ("is-to-be", "Its length has to be known.", "A length is required."),
    ("knows-wants", "The run knows its plan.", "The run refers to its plan."),
    ("mend", "Faults are mended at the end.", "Faults recover at the end."),
    ("hung-up", "To half the round trip, give or take.", "To about half the round trip."),
]


def _found(text: str, path: str = "a.md") -> Counter[str]:
    return Counter(name for name, _ in words.hits(path, text))


@pytest.mark.parametrize(("name", "now", "better"), EXAMPLES)
def test_a_pattern_matches_the_dialect_and_not_its_rewrite(name: str, now: str, better: str) -> None:
    assert _found(f"{now}\n")[name] == 1
    assert _found(f"{better}\n") == {}


def test_every_pattern_has_an_example() -> None:
    assert {name for name, *_ in EXAMPLES} == set(words.patterns.PATTERNS)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# Title\n\n- Names are\n  told.\n"),
        ("a.py", '"""The names are\ntold."""\n'),
        ("a.py", "x = 1  # Names are told.\n"),
        ("a.py", "def f():\n    # Names are\n    # told.\n    return 1\n"),
        ("a.py", 'raise ValueError(f"The names of {x} are told.")\n'),
        ("a.rs", "/// The names are\n/// told.\nfn f() {}\n"),
        ("a.rs", 'error!("the names of {} are told", x)\n'),
        ("a.tsx", "const a = <p>The names are always told</p>;\n"),
        ("a.ts", "/**\n * Names are\n * told.\n */\n"),
        ("a.css", "/* Names are told. */\n"),
        ("bin/a", "#!/bin/sh\n# Names are told.\n"),
    ],
)
def test_prose_is_read_wherever_it_is_written(path: str, text: str) -> None:
    assert _found(text, path) == {"told-said": 1}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "```\nNames are told.\n```\n\nA field `told`.\n"),
        ("a.py", 'x = {"told": 1}\ny = run.told\n'),
        ("a.py", 'x = "SELECT told, beside FROM names WHERE a"\n'),
        ("a.rs", 'struct Latencies {\n    pub asked: u64,\n}\nlet x = r#"// told"#;\n'),
        ("a.ts", "interface Ticks {\n  asked?: number;\n}\nconst x = `a${told ? `b` : ''}// told`;\n"),
        ("frontend/src/api/schema.d.ts", "/** Names are told by the run. */\n"),
    ],
)
def test_names_on_the_wire_and_code_are_no_prose(path: str, text: str) -> None:
    assert _found(text, path) == {}


def test_names_in_code_are_counted() -> None:
    assert _found("for one in rows:\n    print(one.one, anyone)\n", "a.py") == {"name-one": 2}
    assert _found("fn knock(room: &str) {}\n", "a.rs") == {"name-knock": 1, "name-room": 1}


def test_short_docs_and_long_lines_are_counted() -> None:
    assert _found("/// Its port.\npub port: u16,\n/// The port of\n/// the first server.\n", "a.rs") == {"doc-short": 1}
    assert _found('class A:\n    """Some words here."""\n', "a.py") == {"doc-short": 1}
    long = "word " * 21
    assert _found(f"{long}\n\n| {long}|\n\nhttps://{'a' * 120}\n") == {"line-long": 1}
    assert _found(f"// {long}\nlet x = 1; {'y' * 120}\n", "a.rs") == {"line-long": 1}


def test_the_lowest_number_holds_after_a_merge() -> None:
    numbers = words.committed("anew 9\nanew 7\n<<<<<<< ours\nbeside 3\n=======\nbeside 4\n>>>>>>> theirs\nother 1\n")
    assert numbers == {"anew": 7, "beside": 3}
    assert words.lowered(Counter(anew=8, beside=2), numbers)["anew"] == 7
    assert words.lowered(Counter(anew=8, beside=2), numbers)["beside"] == 2


def test_a_number_far_above_its_count_has_to_go_down() -> None:
    numbers = dict.fromkeys(words.ADVICE, 1000)
    counts = Counter(dict.fromkeys(words.ADVICE, 980))
    assert words.to_lower(counts, numbers) == []
    counts["anew"] = 979
    assert words.to_lower(counts, numbers) == ["anew"]
    assert words.to_lower(counts, {**numbers, "beside": 1000, "anew": 979}) == []


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one sentence that is counted, and its numbers."""
    monkeypatch.setattr(words, "ROOT", tmp_path)
    # Patched modules do not reach other processes.
    monkeypatch.setattr(words, "counts_of", lambda paths: sum(map(words._count_file, paths), Counter()))
    (tmp_path / "bin/words").mkdir(parents=True)
    (tmp_path / "a.py").write_text("# The names are told.\n")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", "-A")
    assert words.main(["--lower"]) == 0
    _commit(tmp_path)
    return tmp_path


def _git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def _commit(folder: Path) -> None:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "a change")


def test_a_moved_file_changes_no_count(checkout: Path) -> None:
    (checkout / "b").mkdir()
    _git(checkout, "mv", "a.py", "b/c.py")
    assert words.main([]) == 0


@pytest.mark.parametrize("committed", [False, True])
def test_a_new_riddle_fails_with_its_place(checkout: Path, capsys: pytest.CaptureFixture[str], committed: bool) -> None:
    (checkout / "a.py").write_text("x = 1\n\n# The hosts are told.\n")
    (checkout / "b.py").write_text("# The names are told.\n")
    _git(checkout, "add", "-A")
    if committed:
        _commit(checkout)
    assert words.main([]) == 1
    printed = capsys.readouterr().err
    assert "told-said: 2, at most 1" in printed
    assert "a.py:3: # The hosts are told." in printed
    assert "b.py" not in printed  # the sentence moved there
    assert words.main(["--lower"]) == 1
    assert words.committed((checkout / words.COUNTS).read_text())["told-said"] == 1


def test_lowering_writes_the_numbers(checkout: Path) -> None:
    (checkout / "a.py").write_text("x = 1\n")
    assert words.main([]) == 0  # one is within the slack
    assert words.main(["--lower"]) == 0
    assert words.committed((checkout / words.COUNTS).read_text())["told-said"] == 0


WRAPPED = (
    "A sentence that is longer than a line may be, so that it has to go on below it, with",
    "an-uninterrupted-word.",
)
LONG = " ".join(WRAPPED)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.md", f"- {LONG}\n- next", "- {}\n  {}\n- next"),
        ("a.md", f"```\n{LONG}\n```\n", None),
        ("a.py", f'def a():\n    """{LONG}"""\n', 'def a():\n    """{}\n    {}"""\n'),
        ("a.py", f"x = 1  # {LONG}\n", None),
        ("a.py", f'x = "{LONG}"\n', None),
        ("a.rs", f"/// {LONG}\n/// It goes on.\nfn a() {{}}\n", "/// {}\n/// {} It goes on.\nfn a() {{}}\n"),
        ("a.ts", f"/** {LONG} */\nconst a = 1;\n", "/**\n * {}\n * {}\n */\nconst a = 1;\n"),
        ("a", f"#!/usr/bin/env bash\n# {LONG}\n", "#!/usr/bin/env bash\n# {}\n# {}\n"),
        ("a", f"# {LONG}\n# shellcheck source=b\n", "# {}\n# {}\n# shellcheck source=b\n"),
        ("a.ts", f"// biome-ignore lint/x: {LONG}\n", None),
        ("a.ts", f"// {LONG}\n// biome-ignore lint/x: y\n", "// {}\n// {}\n// biome-ignore lint/x: y\n"),
        ("a.c", f"/* {LONG} */\n", "/*\n * {}\n * {}\n */\n"),
    ],
)
def test_long_prose_is_wrapped_and_nothing_else(path: str, before: str, after: str | None) -> None:
    expected = before if after is None else after.format(*WRAPPED)
    assert words.wrap.wrapped(path, before) == expected
    assert words.wrap.wrapped(path, expected) == expected
