"""The checks of the house can fail: each gets an error that it must report."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import WHOLE

TESTS = Path(__file__).resolve().parents[1]
BIN = Path(__file__).resolve().parents[3] / "bin"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), BIN / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


crates = _load("check-crates")
files = _load("check-files")
rooms = _load("check-rooms")


def _metadata(**uses: list[str]) -> dict[str, Any]:
    return {
        "packages": [
            {"name": f"cubeyard-{room}", "dependencies": [{"name": name} for name in names]}
            for room, names in uses.items()
        ]
    }


def test_the_intended_arrows_pass() -> None:
    metadata = _metadata(
        topology=["serde"],
        plan=["cubeyard-topology", "serde_json"],
        python=["cubeyard-plan", "cubeyard-topology", "pyo3", "numpy"],
        node=["cubeyard-dataplane", "cubeyard-topology"],
    )
    assert crates.wrong_arrows(metadata) == []


@pytest.mark.parametrize(
    ("room", "used"),
    [
        ("topology", "cubeyard-plan"),
        ("topology", "cubeyard-routing"),
        ("plan", "cubeyard-sim"),
        ("plan", "cubeyard-routing"),
        ("plan", "cubeyard-python"),
        ("dataplane", "cubeyard-plan"),
        ("node", "cubeyard-fabric"),
        ("sim", "cubeyard-dataplane"),
        ("plan", "pyo3"),
        ("topology", "reqwest"),
        ("attic", "serde"),
    ],
)
def test_an_arrow_in_the_wrong_direction_is_named(room: str, used: str) -> None:
    (sentence,) = crates.wrong_arrows(_metadata(**{room: [used]}))
    assert f"cubeyard-{room}" in sentence


def test_a_file_of_tests_that_no_program_has_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crates, "EMULATOR", tmp_path)
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("all", "golden", "memory", "lost"):
        (tests / f"{name}.rs").write_text("mod golden;\n" if name == "all" else "")
    targets = [{"kind": ["test"], "src_path": str(tests / f"{name}.rs")} for name in ("all", "memory")]
    (sentence,) = crates.tests_left_out({"packages": [{"manifest_path": f"{tmp_path}/Cargo.toml", "targets": targets}]})
    assert sentence.startswith("tests/lost.rs ")


def test_a_crate_built_again_for_other_features_is_named() -> None:
    trees = {
        "python": "serde v1.0.1|derive,std\ncubeyard-sandbox v0.1.0|text\ncubeyard-sim v0.1.0 (here)|",
        "node": "serde v1.0.1|std\ncubeyard-sandbox v0.1.0|\ncubeyard-sim v0.1.0 (here)|",
    }
    (sentence,) = crates.features_that_differ(trees)
    assert sentence.startswith("serde v1.0.1 ")
    assert "cubeyard-python has derive,std" in sentence


@pytest.mark.parametrize(
    ("path", "content", "part"),
    [
        ("a.py", f"x = '/{'root'}/x'\n", "a.py:1: names a folder"),
        ("a.toml", f"x = '/{'home'}/ann/x'\n", "names a folder"),
        ("a.rs", f"\n// {'TO' + 'DO'}\n", "a.rs:2: unfinished"),
        ("a.rs", f"{'todo' + '!'}()\n", "unfinished"),
        ("frontend/package-lock.json", '"resolved": "https://x"\n', "registry"),
        ("a.ts", "x\n" * 601, "601 lines"),
        ("picture.png", "\0" * (1024 * 1024 + 1), "bytes"),
    ],
)
def test_a_file_that_should_not_be_so_is_named(path: str, content: str, part: str) -> None:
    assert any(part in sentence for sentence in files.complaints(path, content.encode()))


def test_an_ordinary_file_passes() -> None:
    assert files.complaints("a.py", b"# /tmp/x, /usr/bin and roots\nx = 1\n") == []


def test_the_tests_that_quick_leaves_out_are_there() -> None:
    assert [part for part in WHOLE if not (TESTS / part).exists()] == []


def test_a_document_that_names_a_missing_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "backend").mkdir()
    (tmp_path / "backend" / "a.py").touch()
    text = "`backend/a.py` `backend/` `backend/<name>.py` `other/x` `a b/c` [x](backend/a.py) [y](https://x.org/y)\n"
    assert files.missing("A.md", text, tmp_path) == []
    (item, two) = files.missing("A.md", "\n`backend/b.py`\n[x](c.md)\n", tmp_path)
    assert item == "A.md:2: names backend/b.py, which is not there"
    assert two.startswith("A.md:3: names c.md")


def test_a_link_of_a_document_counts_from_its_folder_and_leads_to_a_heading(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "A.md").write_text("# A\n\n## Set up, twice\n\n```sh\n# no heading\n```\n")
    text = "# B\n\n[a](../A.md) [b](../A.md#set-up-twice) [c](#b) `docs/` [y](https://x.org/y#z)\n"
    assert files.missing("docs/B.md", text, tmp_path) == []
    wrong = files.missing("docs/B.md", "[a](A.md)\n[b](../A.md#no-heading)\n[c](#d)\n", tmp_path)
    assert [line.partition(" names ")[0].partition(" links ")[0] for line in wrong] == [
        f"docs/B.md:{number}:" for number in (1, 2, 3)
    ]


CATALOG = "pub const PROTOCOLS: &[ProtocolEntry] = &[bcube::ENTRY, NONE, echo::ENTRY];"


def test_the_catalogue_lists_the_protocols() -> None:
    assert rooms.protocols(CATALOG) == ["bcube", "echo"]
    assert rooms.protocols("nothing") == []


def test_a_protocol_that_the_catalogue_does_not_list_is_found() -> None:
    entry, table = "pub const ENTRY: ProtocolEntry = ProtocolEntry {", "pub const ENTRY_BYTES: u32 = 8;"
    files = {
        f"{rooms.DATAPLANE}/src/{name}/mod.rs": text for name, text in (("echo", entry), ("new", entry), ("x", table))
    }
    (sentence,) = rooms.unlisted(files, files.__getitem__, rooms.protocols(CATALOG))
    assert sentence.startswith(f"{rooms.DATAPLANE}/src/new/mod.rs: ")
    assert "new::ENTRY" in sentence


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("emulator/crates/node/src/node.rs", "use cubeyard_dataplane::bcube::Bsr;"),
        ("emulator/crates/node/src/node.rs", "let header = BcubeHeader::new();"),
        ("emulator/crates/fabric/src/links.rs", "//! As BSR wants it."),
        ("emulator/crates/dataplane/src/echo/mod.rs", "//! Like BCube."),
        ("emulator/bpf/common/maps.h", "#define MAX_BCUBE_N 64"),
        ("backend/cubeyard/emulation/network.py", 'FAMILIES = ("bcube", "tree")'),
        ("frontend/src/features/emulation/layout.ts", "if (family === 'bcube') return;"),
    ],
)
def test_a_protocol_named_outside_its_room_is_found(path: str, line: str) -> None:
    (sentence,) = rooms.names_outside(path, f"\n{line}\n", "bcube")
    assert sentence.startswith(f"{path}:2: names bcube")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("emulator/crates/dataplane/src/bcube/mod.rs", "pub struct Bcube;"),
        ("emulator/crates/dataplane/src/catalog.rs", "use crate::bcube;"),
        ("emulator/crates/dataplane/src/lib.rs", "pub mod bcube;"),
        ("emulator/bpf/bcube/header.h", "struct bcube_header {"),
        ("emulator/crates/node/tests/run.rs", 'let name = "bcube";'),
        ("emulator/crates/node/src/node.rs", "#[cfg(test)]\nmod tests { use bcube; }"),
        ("backend/cubeyard/emulation/figures/fig10.py", "BCUBE = 1"),
        ("frontend/src/features/emulation/layout.test.ts", '"bcube"'),
        ("emulator/crates/node/src/node.rs", "// Every 10 s. `[bcube §7.5]`"),
        ("emulator/crates/node/src/node.rs", "let subcubes = 1;"),
    ],
)
def test_a_protocol_may_be_named_in_its_room_and_its_tests(path: str, line: str) -> None:
    assert rooms.names_outside(path, f"{line}\n", "bcube") == []


@pytest.mark.parametrize(
    ("name", "top", "lines"),
    [
        ("mod.rs", "//! One.\n//!\n//! Two.\nuse x;\n", 2),
        ("__init__.py", '"""One.\n\nTwo.\nThree."""\nx = 1\n', 3),
        ("index.ts", "/**\n * One.\n * Two.\n */\nexport {};\n", 2),
        ("README.md", "# One\n\nTwo.\n", 2),
        ("lib.rs", "use x;\n//! Not docs.\n", 0),
    ],
)
def test_the_prose_at_the_top_of_a_folder_is_counted(name: str, top: str, lines: int) -> None:
    assert rooms.top_lines(top) == lines
    result = rooms.undescribed([f"emulator/crates/x/src/{name}", "emulator/crates/x/src/a.rs"], lambda _: top)
    assert len(result) == (name in ("__init__.py", "index.ts") or lines < rooms.LEAST_LINES)


def test_a_rust_module_s_docs_may_stand_beside_its_folder() -> None:
    paths = ["emulator/crates/x/src/m.rs", "emulator/crates/x/src/m/a.rs"]
    assert len(rooms.undescribed(paths, lambda _: "use x;\n")) == 2
    (only,) = rooms.undescribed(paths, lambda path: "//! x\n" * 9 if path.endswith("m.rs") else "")
    assert only.startswith("emulator/crates/x/src:")


def test_scripts_name_their_interpreter() -> None:
    staged = subprocess.run(
        ["git", "ls-files", "-s"], cwd=BIN.parent, capture_output=True, text=True, check=True
    ).stdout
    scripts = [line.split("\t")[1] for line in staged.splitlines() if line.startswith("100755")]
    assert "bin/setup" in scripts
    assert [path for path in scripts if (BIN.parent / path).read_bytes()[:2] != b"#!"] == []


def test_distclean_names_what_is_outside_before_it_removes(tmp_path: Path) -> None:
    for name in ("distclean", "env.sh"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        shutil.copy(BIN / name, tmp_path / "bin" / name)
    home = tmp_path / "my data"
    for folder in (tmp_path / ".setup", tmp_path / "backend/.venv", home / "postgres"):
        folder.mkdir(parents=True)
    (tmp_path / ".setup/packages").write_text("tshark\ngcc\ntshark\n")
    environment = {**os.environ, "HOME": str(tmp_path), "CUBEYARD_HOME": str(home)}
    done = subprocess.run([tmp_path / "bin/distclean"], env=environment, capture_output=True, text=True, check=True)
    assert f"rm -r {str(home).replace(' ', chr(92) + ' ')}\n" in done.stdout
    assert "apt-get remove gcc tshark" in done.stdout
    assert (home / "postgres").is_dir()
    assert not (tmp_path / ".setup").exists()
    assert not (tmp_path / "backend/.venv").exists()
