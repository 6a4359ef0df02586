"""Users' services on the command line: a template folder, trials in virtual time, and errors."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from cubeyard.cli.command import app
from cubeyard.cli.modules import NAME, TEMPLATES, size_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "services" / "word-count"
MADE_WITH = "19.1.7"
"""The clang that made the module."""
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


@pytest.mark.long
def test_a_service_of_every_server_is_tried_on_8000() -> None:
    """The cache, of which every server keeps a key and a value somewhere: each is acknowledged,
    over links that carry one packet at a time."""
    done = cubeyard(
        "service", "test", "cache", "--servers", "8000", "--message", "set {key} a", "--seconds", "3", "--json"
    )
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["servers"], report["lost"], report["ended_early"]) == (8000, {}, False)
    assert report["answers"] == 8000
    # The mean of a torus of 20 x 20 x 20 is 15 hops. A value goes to its home, which answers, and
    # from there to eight replicas, a quarter of each axis away: ten ways of 15 hops.
    assert 8000 * 14 * 10 < report["carried"] < 8000 * 16 * 10
    refused = cubeyard("service", "test", "cash")
    assert refused.exit_code == 2
    assert "cache" in " ".join(refused.output.split())


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


@pytest.mark.parametrize("language", ["rust", "c", "zig", "python"])
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
        "zig": ["Makefile", "README.md", "cubeyard.zig", "service.zig"],
        "python": ["README.md", "cubeyard_service.py", "my-service.py"],
    }
    assert files == wanted[language]
    suffixes = (".toml", ".c", ".rs", ".zig", ".py")
    texts = [path.read_text() for path in (tmp_path / "my-service").rglob("*") if path.suffix in suffixes]
    assert any("my-service" in text for text in texts)
    again = cubeyard("service", "new", "my-service")
    assert again.exit_code == 2
    assert "exists already" in again.output
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


def test_the_python_template_does_what_the_module_does_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cubeyard("service", "new", "greeting", "--language", "python")
    words = ("service", "test", "greeting/greeting.py", "--json")
    done = cubeyard(*words)
    assert done.exit_code == 0, done.output
    report, module = (json.loads(item.stdout) for item in (done, cubeyard("service", "test", GREETING, "--json")))
    kept = ("servers", "delivered", "carried", "hops", "lost", "answers", "said")
    assert {name: report[name] for name in kept} == {name: module[name] for name in kept}
    assert report["counters"] == {"counter-0": 27}
    assert json.loads(cubeyard(*words).stdout) == report


EVERYTHING = """
from cubeyard_service import CONSUMED, Service

class Everything(Service):
    def init(self):
        assert self.server.size == (3, 3, 3) and self.server.name == "trial"
        self.seen = []

    def queue(self, number):
        return 100 * (number + 1), number + 1

    def classify(self, packet):
        return packet.colour

    def neighbour(self, port, up):
        assert up and self.server.dist(self.server.here, self.server.neighbour(port)) == 1
        self.seen.append(port)

    def message(self, message):
        assert sorted(self.seen) == [0, 1, 2, 3, 4, 5] and self.server.responsible(self.server.here)
        assert not self.server.send(9, b"")
        self.server.set_timer(5)

    def timer(self):
        for port in self.seen:
            assert self.server.send(port, b"hop", 3) and not self.server.send(port, b"again")
        there = self.server.neighbour_key(self.server.here, 0, True)
        self.server.transmit(b"copy", there, self.server.neighbour_key(there, 1, False), colour=15)

    def packet(self, packet):
        self.server.count(0 if packet.payload == b"hop" else 1)
        return CONSUMED if packet.payload == b"hop" else 0

    def F(self, at, packet):
        return ()
"""


def test_a_python_service_has_the_whole_api(tmp_path: Path) -> None:
    file = tmp_path / "everything.py"
    file.write_text(EVERYTHING)
    done = cubeyard("service", "test", str(file), "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["lost"], report["delivered"]) == (0, {}, 27), report
    assert report["counters"]["counter-0"] == 6 * 27


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while True: pass", "it loops"),
        ("import os; os._exit(3)", "ended with code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL"),
    ],
)
def test_a_python_service_that_loops_or_dies_ends_its_trial_in_words(tmp_path: Path, body: str, said: str) -> None:
    file = tmp_path / "bad.py"
    file.write_text(
        f"from cubeyard_service import Service\nclass Bad(Service):\n    def F(self, at, packet):\n        return ()\n    def message(self, _):\n        {body}\n"
    )
    done = cubeyard("service", "test", str(file), "--servers", "2")
    assert done.exit_code == 1
    assert said in " ".join(done.output.split())


def test_what_a_python_service_raises_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "raises.py"
    file.write_text(
        "from cubeyard_service import Service\nclass One(Service):\n    def F(self, at, packet):\n        return ()\n"
        "    def message(self, _):\n        1 / 0\n"
    )
    done = cubeyard("service", "test", str(file), "--servers", "2", "--json")
    assert (done.exit_code, json.loads(done.stdout)["lost"]) == (1, {"lost-failed": 2})
    # A module that is not a service fails at its first call.
    for text in ("print('no service')", "from cubeyard_service import Service\nclass NoF(Service): pass\n"):
        file.write_text(text)
        done = cubeyard("service", "test", str(file), "--servers", "2", "--json")
        assert done.exit_code == 1
        assert json.loads(done.stdout)["lost"]["lost-failed"] > 0


def test_the_example_of_a_whole_service_is_of_its_sources_and_counts_words() -> None:
    """A test of the engine, `virtual/tests/word_count_module.rs`, compares it with the built-in
    service."""
    sources = (EXAMPLE / "service.c").read_bytes() + (TEMPLATES / "cubeyard.h").read_bytes()
    kept = (EXAMPLE / "word-count.wasm.sources").read_text().strip()
    assert kept == hashlib.sha256(sources).hexdigest(), "run make in its folder"
    words = ("--message", "count 1 2,1,0 full\ntwo words", "--json")
    done = cubeyard("service", "test", str(EXAMPLE / "word-count.wasm"), *words)
    report = json.loads(done.stdout)
    assert (done.exit_code, report["lost"], report["carried"], report["delivered"]) == (0, {}, 26, 0)
    assert [said[1:] for said in report["said"]] == [["(2,1,0)", "1 27\ntwo 27\nwords 27\n"]]


def test_the_example_s_sources_make_the_module_that_is_kept(tmp_path: Path) -> None:
    """By its own Makefile, with the clang that makes the programs of the kernel, and the linker of
    the Rust toolchain."""
    clang = next((result for name in ("clang-19", "clang") if (result := shutil.which(name))), None)
    version = subprocess.run([clang, "-dumpversion"], capture_output=True, text=True, check=True) if clang else None
    if version is None or version.stdout.strip() != MADE_WITH:
        pytest.skip(
            f"no clang {MADE_WITH}; another version makes other code. The module is of its sources: a test before this one"
        )
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    (linker,) = Path(sysroot).glob("lib/rustlib/*/bin/rust-lld")
    made = tmp_path / "made.wasm"
    words = [f"OUT={made}", f"CC={clang}", f"LINKER={linker} -flavor wasm"]
    subprocess.run(["make", "--silent", "-C", str(EXAMPLE), *words], capture_output=True, check=True)
    assert made.read_bytes() == (EXAMPLE / "word-count.wasm").read_bytes()
    kept = (EXAMPLE / "word-count.wasm.sources").read_text()
    assert Path(f"{made}.sources").read_text() == kept


def test_zig_declares_what_the_header_does() -> None:
    c_types = {"cube_key": "Key", "unsigned": "u32", "int": "i32", "long long": "i64", "unsigned long long": "u64",
               "void": "void", "const void *": "[*]const u8"}  # fmt: skip
    header = (TEMPLATES / "cubeyard.h").read_text()
    declared = {}
    for name, result, words in re.findall(r'CUBE_IMPORT\("(\w+)"\) ([\w ]+?) cube_\w+\((.*?)\);', header):
        parameters = [] if words == "void" else [re.fullmatch(r"(.*?)\w+", word.strip()) for word in words.split(",")]
        declared[name] = ([c_types[parameter[1].strip()] for parameter in parameters if parameter], c_types[result])
    zig = (TEMPLATES / "cubeyard.zig").read_text()
    matches = {
        name: ([word.split(":")[1].strip() for word in words.split(",") if word], result)
        for name, words, result in re.findall(r'extern "cubeyard" fn (\w+)\((.*?)\) (\w+);', zig)
    }
    assert len(declared) > 20
    assert matches == declared
    assert "export fn buffer()" in zig


def built(folder: Path, *command: str) -> Result:
    """A trial of a template that was built as in its README."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (module,) = (*folder.glob("*.wasm"), *folder.glob("target/*/release/*.wasm"))
    return cubeyard("service", "test", str(module), "--json")


def rust_builds_modules() -> bool:
    if shutil.which("rustc") is None:
        return False
    result = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(result, "lib", "rustlib", "wasm32-unknown-unknown").is_dir()


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
