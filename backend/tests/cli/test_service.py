"""Services of one's own on the command line: a folder to begin with, trials in virtual time, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from cubeyard.cli.command import app
from cubeyard.cli.modules import NAME, TEMPLATES, size_of

GREETING = str(TEMPLATES / "greeting.wat")
SPEC = '{"family": "torus3d", "x": 3, "y": 3, "z": 3}'


def cubeyard(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("servers", [27, 1000])
def test_a_trial_says_what_was_delivered(servers: int) -> None:
    done = cubeyard("service", "test", GREETING, "--servers", str(servers), "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["servers"], report["delivered"], report["lost"]) == (servers, servers, {})
    assert sum(int(hops) * packets for hops, packets in report["hops"].items()) == report["carried"]
    assert report["calls"] > 0
    assert report["fuel"] > report["calls"]


def test_a_trial_in_words_and_one_that_delivers_nothing() -> None:
    done = cubeyard("service", "test", GREETING, "--message", "1,1,1 deep blue")
    assert done.exit_code == 0
    assert "27 packets delivered" in done.stdout
    assert "(1,1,1)  deep blue" in done.stdout
    assert cubeyard("service", "test", GREETING, "--message", "").exit_code == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing", "not WebAssembly"),
        ("(module)", "does not export its memory"),
        ('(module (memory (export "memory") 1))', "does not export buffer"),
        ('(module (import "wasi" "x" (func)) (memory (export "memory") 1))', "does not export buffer"),
    ],
)
def test_what_is_no_service_is_refused_with_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "service.wat"
    file.write_text(text)
    done = cubeyard("service", "test", str(file))
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_what_does_not_fit_a_trial_is_refused(tmp_path: Path) -> None:
    for words in (["--servers", "1"], ["--servers", "8001"], ["--servers", "12000"], ["--seconds", "1e9"]):
        assert cubeyard("service", "test", GREETING, *words).exit_code == 2
    assert cubeyard("service", "test", str(tmp_path / "none.wasm")).exit_code == 2


def test_what_fails_in_virtual_time_starts_no_server(tmp_path: Path) -> None:
    done = cubeyard("service", "run", GREETING, "--message", "")
    assert done.exit_code == 1
    assert "no server was started" in done.output
    assert cubeyard("service", "run", GREETING, "--servers", "12001").exit_code == 2
    assert cubeyard("service", "run", str(tmp_path / "none.wasm")).exit_code == 2
    refused = cubeyard("service", "run", GREETING, "--mode", "machines")
    assert refused.exit_code == 2
    assert "emulation.mode" in refused.output


@pytest.mark.parametrize("language", ["rust", "c"])
def test_a_new_service_has_all_files_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cubeyard("service", "new", "my-service", "--language", language)
    assert done.exit_code == 0, done.output
    files = sorted(path.name for path in (tmp_path / "my-service").rglob("*") if path.is_file())
    wanted = {
        "rust": ["Cargo.toml", "README.md", "config.toml", "cubeyard.rs", "lib.rs"],
        "c": ["Makefile", "README.md", "cubeyard.h", "service.c"],
    }
    assert files == wanted[language]
    texts = [path.read_text() for path in (tmp_path / "my-service").rglob("*") if path.suffix in (".toml", ".c", ".rs")]
    assert any("my-service" in text for text in texts)
    again = cubeyard("service", "new", "my-service")
    assert again.exit_code == 2
    assert "is there already" in again.output
    assert cubeyard("service", "new", "../other").exit_code == 2


def test_bad_files_and_messages_of_services_are_refused(tmp_path: Path) -> None:
    def emulate(*words: str) -> str:
        done = cubeyard("emulate", "--spec", SPEC, *words)
        assert done.exit_code == 2, done.output
        return " ".join(done.output.split())

    assert "cannot be read" in emulate("--service-file", str(tmp_path / "none.wasm"))
    bad = tmp_path / "bad.wat"
    bad.write_text("(module)")
    assert "does not export its memory" in emulate("--service-file", str(bad))
    assert "already" in emulate("--service-file", f"cache={GREETING}")
    assert "NAME=TEXT" in emulate("--service-file", GREETING, "--service-message", "hello")
    (tmp_path / "123.wat").write_text("(module)")
    assert "gives no name" in emulate("--service-file", str(tmp_path / "123.wat"))


def built(folder: Path, *command: str) -> Result:
    """A trial of a template that was built as its README says."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (module,) = (*folder.glob("*.wasm"), *folder.glob("target/*/release/*.wasm"))
    return cubeyard("service", "test", str(module), "--json")


def rust_builds_modules() -> bool:
    if shutil.which("rustc") is None:
        return False
    found = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(found, "lib", "rustlib", "wasm32-unknown-unknown").is_dir()


@pytest.mark.skipif(not rust_builds_modules(), reason="needs: rustup target add wasm32-unknown-unknown")
def test_the_rust_template_builds_and_delivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cubeyard("service", "new", "my-service")
    done = built(tmp_path / "my-service", "cargo", "build", "--release", "--offline")
    assert (done.exit_code, json.loads(done.stdout)["delivered"]) == (0, 27)


@pytest.mark.skipif(not (shutil.which("clang") and shutil.which("wasm-ld")), reason="needs clang and lld")
def test_the_c_template_builds_and_delivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cubeyard("service", "new", "my-service", "--language", "c")
    done = built(tmp_path / "my-service", "make")
    assert (done.exit_code, json.loads(done.stdout)["delivered"]) == (0, 27)


@given(st.integers(2, 200))
def test_the_sides_of_a_torus_multiply_to_its_servers(servers: int) -> None:
    x, y, z = size_of(servers)
    assert x * y * z == servers
    assert x >= y >= z


@given(st.text(max_size=40))
def test_names_have_no_paths_in_them(name: str) -> None:
    if NAME.fullmatch(name):
        assert Path(name).name == name.strip() == name
