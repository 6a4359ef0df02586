"""`cubeyard predict`, `figures` and `figure`: the interface for scripts, without a database."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from cubeyard.cli.faults import read_fault
from cubeyard.cli.workload import workload_of
from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.reports.session import AMOUNTS
from tests.conftest import PAPER
from tests.processes import NO_DATABASE, command

SMALL = {"family": "bcube", "n": 4, "k": 1}


def cubeyard(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return command(home, *arguments, **NO_DATABASE)


def predicted(home: Path, spec: dict[str, Any], *arguments: str) -> dict[str, Any]:
    done = cubeyard(home, "predict", "--spec", json.dumps(spec), *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_papers_container_carries_its_closed_form(tmp_path: Path) -> None:
    document = predicted(
        tmp_path, PAPER, "--workload", "all-to-all", "--routing", "bcube-fixed", "--link-gbps", "1", "--seed", "7"
    )
    assert document["flows"] == 2048 * 2047
    assert document["dropped_flows"] == 0
    assert document["max_link_flows"] == 1792
    assert document["abt_gbps"] == pytest.approx(2048 * 2047 / 1792)
    assert {"min", "max", "mean"} <= set(document["link_flows_by_level"]["3"])
    assert set(document["link_flows_by_level"]) == {"0", "1", "2", "3"}
    assert document["path_hops"]["max"] == 4
    assert document["routing"] == "bcube-fixed"
    assert document["seed"] == 7
    assert document["engine_version"]


def test_failures_drop_flows_and_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    arguments = ("predict", "--spec", json.dumps(SMALL), "--fail", "servers=0.25", "--seed", "3", "--json")
    first, second = cubeyard(tmp_path, *arguments), cubeyard(tmp_path, *arguments)
    assert first.stdout == second.stdout
    document = json.loads(first.stdout)
    assert document["failures"]["servers"] == 4
    assert document["flows"] == 12 * 11
    assert document["flows"] + document["dropped_flows"] == 16 * 15
    assert document["routing"] == "bsr"


def test_a_matrix_comes_from_a_csv_file(tmp_path: Path) -> None:
    file = tmp_path / "traffic.csv"
    file.write_text("source,destination,weight\n00,11,2\n11,22,0\n33,00,1.5\n")
    document = predicted(tmp_path, SMALL, "--workload", str(file))
    assert document["flows"] == 2
    for corner in ("", "server"):
        assert workload_of(f"{corner},a,b\na,0,1\nb,2,-0.0\n") == {
            "kind": "matrix",
            "servers": ["a", "b"],
            "rows": [[0.0, 1.0], [2.0, 0.0]],
        }
    assert workload_of("a,b\nb,a\n")["entries"] == [("a", "b", 1.0), ("b", "a", 1.0)]
    with pytest.raises(ValueError, match="Line 2, column weight"):
        workload_of("a,b,1\na,b,many\n")
    for text in ("Nodes 4\nConnections 2\n0->1 start 0\n", "source,destination\n,b\n", "a b 10 0.5\n"):
        with pytest.raises(ValueError, match="The cell is empty"):
            workload_of(text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--workload", "all-to-some"), b"one-to-several"),
        (("--routing", "warp"), b"bcube-fixed"),
        (("--fail", "switches=2"), b"switches=0.1"),
        (("--fail", "some of them"), b"selector"),
        (("--fault", "link-rate=00/<0,0>"), b"link-rate:10M=00/<0,0>"),
        (("--fault", "link-delay:1ms=00/<0,0>"), b"link-loss"),
        (("--fault", "server-off=00/<0,0>"), b"affects no server"),
        (("--fault", "down=00@0~1"), b"Only an emulation repeats"),
        (("--link-gbps", "0"), b"link_gbps is 0; it must be above 0 and at most 1000000."),
        (("--link-gbps", "nan"), b"--link-gbps is nan. Give a finite number."),
        (("--flow-gigabits", "inf"), b"--flow-gigabits is inf."),
        (("--workload", "none.csv"), b"none.csv cannot be opened: No such file or directory. Give"),
    ],
)
def test_what_is_not_possible_says_what_is(tmp_path: Path, arguments: tuple[str, ...], says: bytes) -> None:
    done = cubeyard(tmp_path, "predict", "--spec", json.dumps(SMALL), *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert b"Traceback" not in done.stderr
    assert b" at line " not in done.stderr


def test_a_link_carries_less_as_an_emulation_would_be_told(tmp_path: Path) -> None:
    fixed = ("--routing", "bcube-fixed", "--link-gbps", "1")
    document = predicted(
        tmp_path, SMALL, *fixed, "--fault", "link-rate:0.1G=10% of links", "--fault", "link-loss:50%=all links"
    )
    assert document["failures"]["degraded_links"] == 32
    assert document["abt_gbps"] == pytest.approx(1)
    message = cubeyard(tmp_path, "predict", "--spec", json.dumps(SMALL), "--fault", "link-loss:5%=2 links")
    assert b"Carrying less" in message.stdout


@pytest.mark.parametrize(
    ("name", "option"), [("predict", ("--fail", "links=5%")), ("simulate", ("--fault", "down=5% of links"))]
)
def test_a_share_that_is_none_is_named(tmp_path: Path, name: str, option: tuple[str, str]) -> None:
    tree = {"family": "leaf_spine", "leaves": 2, "spines": 1, "servers_per_leaf": 1}
    done = cubeyard(tmp_path, name, "--spec", json.dumps(tree), *option)
    assert done.returncode == 0, done.stderr
    assert f"{option[1]}: this affects nothing" in done.stderr.decode()
    assert b"affects nothing" not in cubeyard(tmp_path, name, "--spec", json.dumps(tree), option[0], "all links").stderr


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("cable-pulled=00/<0,0>@10-20", ("cable-pulled", {"names": ["00/<0,0>"]}, 10.0, 20.0, {})),
        ("server-killed=10% of servers@5", ("server-killed", {"selector": "10% of servers"}, 5.0, None, {})),
        ("link-rate:10Mbit/s=00/<0,0>", ("link-rate", {"names": ["00/<0,0>"]}, 0.0, None, {"rate_bits_per_sec": 1e7})),
        ("link-loss:5%=2 links@1-2.5", ("link-loss", {"selector": "2 links"}, 1.0, 2.5, {"loss_ratio": 0.05})),
        ("link-delay:20ms=00/<0,0>", ("link-delay", {"names": ["00/<0,0>"]}, 0.0, None, {"delay_secs": 0.02})),
    ],
)
def test_a_fault_is_read_from_a_line(text: str, read: tuple[Any, ...]) -> None:
    kind, target, at_secs, until_secs, parameter = read
    wanted = {"kind": kind, "target": target, "at_secs": at_secs, "until_secs": until_secs, **parameter}
    assert read_fault(text) == wanted
    assert read_fault(json.dumps(wanted)) == wanted


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cable-pulled", "KIND=TARGET"),
        ("cable-pulled=00/<0,0>@1.2.3", "KIND=TARGET"),
        ("cable-pulled=00/<0,0>@3-x", "KIND=TARGET"),
        ("link-loss:1.2.3%=00/<0,0>", "like 5%"),
        ("link-rate=00/<0,0>", "link-rate:10M=00/<0,0>"),
        ("link-rate:10%=00/<0,0>", "10% is not valid as rate_bits_per_sec"),
        ("link-loss:many=00/<0,0>", "like 5%"),
        ("down:10M=00/<0,0>", "takes no amount"),
        ("{", "not JSON"),
    ],
)
def test_text_that_is_no_fault_is_refused_with_an_example(
    text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        read_fault(text)
    assert says in capsys.readouterr().err


def test_every_amount_of_a_fault_can_be_written_and_is_reported() -> None:
    """A parameter in a new unit is added to `amount.rs` of the engine and to `AMOUNTS`."""
    examples = {"bit/s": "10M", "": "5%", "s": "20ms"}
    for kind in KINDS.values():
        amounts = ",".join(examples[parameter.unit] for parameter in kind.parameters)
        fault = read_fault(f"{kind.name}{':' if amounts else ''}{amounts}=00/<0,0>")
        for parameter in kind.parameters:
            assert parameter.minimum <= fault[parameter.name] <= parameter.maximum, kind.name
            assert AMOUNTS[parameter.unit](fault[parameter.name]), kind.name


def test_people_get_words(tmp_path: Path) -> None:
    done = cubeyard(tmp_path, "predict", "--spec", json.dumps(SMALL), "--fail", "rack R00")
    assert done.returncode == 0, done.stderr
    done = cubeyard(tmp_path, "predict", "--spec", json.dumps(SMALL))
    assert b"Aggregate bottleneck throughput" in done.stdout
    done = cubeyard(tmp_path, "figure", "bcube-table2")
    assert b"4,161" in done.stdout


def test_figures_are_listed_and_recomputed(tmp_path: Path) -> None:
    ids = json.loads(cubeyard(tmp_path, "figures", "--json").stdout)
    assert {"bcube-table1", "bcube-table2", "bcube-fig8-server", "bcube-fig8-switch", "subways-table2"} <= set(ids)
    document = json.loads(cubeyard(tmp_path, "figure", "subways-table2", "--json", "--seeds", "2").stdout)
    assert document["id"] == "subways-table2"
    assert [row["ours"] for row in document["rows"]] == pytest.approx([4, 6, 14, 34])
    assert all(row["verdict"] == "matches" for row in document["rows"])
    assert {"name", "paper", "ours", "unit", "low", "high", "verdict"} <= set(document["rows"][0])
    refused = cubeyard(tmp_path, "figure", "bcube-fig99")
    assert refused.returncode == 2
    assert b"bcube-table1" in refused.stderr


def test_all_seeds_are_shown_and_one_twice_is_refused(tmp_path: Path) -> None:
    words = ("predict", "--spec", json.dumps(SMALL), "--workload", "random-pairs")
    shown = cubeyard(tmp_path, *words, "--seed", "2", "--seed", "5").stdout.decode()
    assert "All seeds" in shown
    for seed in (2, 5):
        document = predicted(tmp_path, SMALL, "--workload", "random-pairs", "--seed", str(seed))
        row = next(line.split() for line in shown.splitlines() if line.split()[:1] == [str(seed)])
        assert float(row[1].replace(",", "")) == pytest.approx(document["abt_gbps"], rel=1e-5)
    for seeds in (("--seed", "2", "--seed", "2"), ("--seed", str(2**53))):
        assert cubeyard(tmp_path, *words, *seeds).returncode == 2
