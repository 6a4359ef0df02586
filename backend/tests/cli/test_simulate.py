"""`cubeyard simulate`: the interface for scripts, without a database."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from cubeyard.cli.simulate import growing
from cubeyard.cli.workload import read_workload, workload_of
from cubeyard.engine import Engine
from cubeyard.settings import Settings
from tests.conftest import LONG_RUN
from tests.processes import NO_DATABASE, command
from tests.reading.books import workbook

SMALL = {"family": "bcube", "n": 4, "k": 1}


Json = dict[str, Any]


def cubeyard(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return command(home, "simulate", *arguments, **NO_DATABASE)


def simulated(home: Path, *arguments: str, spec: dict[str, Any] = SMALL) -> dict[str, Any]:
    done = cubeyard(home, "--spec", json.dumps(spec), *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_document_adds_up_and_names_its_choices(tmp_path: Path) -> None:
    document = simulated(
        tmp_path, "--workload", '{"kind":"permutation","bytes":300000}', "--link-gbps", "1", "--seed", "3"
    )
    assert document["flows"] == 16
    times = document["completion_secs"]
    assert 300_000 * 8e-9 < times["median"] <= times["p99"] <= times["max"]
    sizes = document["bytes"]
    assert sizes["sent"] == sizes["received"] + sizes["dropped"] + sizes["in_flight"]
    assert sizes["received"] >= 16 * 300_000
    assert {"drops", "timeouts", "packet_hops"} <= set(document)
    assert "packet_hops_per_cpu_sec" not in document
    choices = document["choices"]
    assert (choices["mtu_bytes"], choices["recovery"], choices["initial_window"]) == (1500, "new-reno", 10)
    assert choices["queue_bytes"] > 0
    heat = document["link_heat"]
    assert len(heat["names"]) == len(heat["links"]) == heat["links_used"]
    assert document["busiest_links"][0]["link"] in heat["names"]
    assert (len(heat["permille"]) - 1) * heat["step_secs"] < document["simulated_secs"]
    assert choices["assumptions"]


def test_the_same_seed_gives_the_same_bytes_and_timing_is_apart(tmp_path: Path) -> None:
    arguments = ("--spec", json.dumps(SMALL), "--bytes", "100000", "--link-gbps", "1", "--json")
    first, second = cubeyard(tmp_path, *arguments), cubeyard(tmp_path, *arguments)
    assert first.returncode == 0
    assert first.stdout == second.stdout
    assert cubeyard(tmp_path, *arguments, "--seed", "8").stdout != first.stdout
    timed = json.loads(cubeyard(tmp_path, *arguments, "--timing").stdout)
    assert timed.pop("packet_hops_per_cpu_sec") > 0
    assert timed == json.loads(first.stdout)


@pytest.mark.long
def test_a_short_timeout_saves_an_incast(tmp_path: Path) -> None:
    arguments = ("--workload", '{"kind":"incast","bytes":32768}', "--link-gbps", "1", "--set", "queue_bytes=32000")
    spec = {"family": "fat_tree", "ports": 8}
    long = simulated(tmp_path, *arguments, spec=spec)
    short = simulated(tmp_path, *arguments, "--set", "rto_min_secs=0.001", spec=spec)
    assert long["timeouts"] > 0
    assert long["completion_secs"]["max"] > 0.2 > short["completion_secs"]["max"]


@pytest.mark.long
def test_sack_and_cubic_are_printed_with_what_they_leave_out(tmp_path: Path) -> None:
    arguments = ("--workload", '{"kind":"incast","bytes":1000000}', "--link-gbps", "1", "--set", "queue_bytes=32000")
    settings = ("--set", "recovery=sack", "--set", "congestion=cubic")
    plain, reported = simulated(tmp_path, *arguments), simulated(tmp_path, *arguments, *settings)
    assert (reported["choices"]["recovery"], reported["choices"]["congestion"]) == ("sack", "cubic")
    for rfc in ("RFC 6675", "RFC 9438"):
        assert any(rfc in assumption for assumption in reported["choices"]["assumptions"])
        assert not any(rfc in assumption for assumption in plain["choices"]["assumptions"])
    # Segments that the receiver has acknowledged are not sent again.
    assert reported["retransmits"] == reported["drops"]
    assert plain["retransmits"] > plain["drops"]
    sizes = reported["bytes"]
    assert sizes["sent"] == sizes["received"] + sizes["dropped"] + sizes["in_flight"]
    done = cubeyard(tmp_path, "--spec", json.dumps(SMALL), *settings, "--set", "coupling=lia")
    assert done.returncode == 2
    assert "coupling lia" in " ".join(done.stderr.decode().split())


@pytest.mark.long
def test_notices_of_congestion_hold_an_incast_back_without_drops(tmp_path: Path) -> None:
    """Target queues of 25 to 200 KB; the output includes the chosen one."""
    arguments = ("--workload", '{"kind":"incast","bytes":2000000}', "--link-gbps", "1", "--set", "queue_bytes=2000000")
    settings = ("--set", "congestion_notices=qcn", "--set", "hop_delay_secs=5e-6")
    reported = [
        simulated(tmp_path, *arguments, *settings, "--set", f"qcn_queue_bytes={queue}") for queue in (25_000, 200_000)
    ]
    for document, queue in zip(reported, (25_000, 200_000), strict=True):
        assert (document["drops"], document["choices"]["qcn_queue_bytes"]) == (0, queue)
        assert document["notices"] > 0
        assert any("802.1Qau" in assumption for assumption in document["choices"]["assumptions"])
    waits = [max(link["mean_wait_secs"] for link in document["busiest_links"]) for document in reported]
    assert waits[0] < waits[1]
    printed = cubeyard(tmp_path, "--spec", json.dumps(SMALL), *arguments, *settings)
    assert b"Congestion notices" in printed.stdout
    refused = cubeyard(tmp_path, "--spec", json.dumps(SMALL), *settings, "--set", "qcn_queue_bytes=10")
    assert refused.returncode == 2
    assert b"packet.qcn_queue_bytes" in refused.stderr


@pytest.mark.long
def test_requests_are_answered_within_a_bound_that_is_told(tmp_path: Path) -> None:
    workload = {"kind": "requests", "count": 50, "rate_per_sec": 1000, "latency_bound_secs": 0.001}
    latency_secs = simulated(tmp_path, "--workload", json.dumps(workload), "--link-gbps", "1")["latency_secs"]
    assert (latency_secs["requests"], latency_secs["unanswered"]) == (15 * 50, 0)
    assert 0 < latency_secs["min"] <= latency_secs["median"] <= latency_secs["p99"] <= latency_secs["max"]
    assert 0 < latency_secs["within_bound"] <= 1
    arguments = ("--spec", json.dumps(SMALL), "--workload", json.dumps(workload), "--link-gbps", "1")
    printed = " ".join(cubeyard(tmp_path, *arguments).stdout.decode().split())
    assert "Latency, median" in printed
    assert "within 0.001 s" in printed
    refused = cubeyard(tmp_path, *arguments, "--bytes", "5")
    assert refused.returncode == 2
    assert b"response_bytes" in refused.stderr


def test_flows_from_a_file_start_and_end_on_their_own(tmp_path: Path) -> None:
    flows, times = tmp_path / "flows.csv", tmp_path / "times.csv"
    flows.write_text("source,destination,bytes,start_secs\n00,01,1000000,0.25\n02,03,5000,0\n")
    document = simulated(tmp_path, "--workload", str(flows), "--link-gbps", "1", "--flows", str(times))
    assert document["workload"] == {"kind": "listed", "flows": 2}
    assert "flow_times" not in document
    with times.open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["source"], row["destination"], row["bytes"]) for row in rows] == [
        ("00", "01", "1000000"),
        ("02", "03", "5000"),
    ]
    assert float(rows[0]["start_secs"]) >= 0.25
    assert float(rows[0]["completion_secs"]) > 0.008
    assert float(rows[1]["completion_secs"]) == document["completion_secs"]["min"]


def test_flows_and_times_as_parquet_are_those_of_csv(tmp_path: Path) -> None:
    rows = {"source": ["00", "02"], "destination": ["01", "03"], "bytes": [1_000_000, 5000], "start_secs": [0.25, 0.0]}
    listed = tmp_path / "flows.parquet"
    parquet.write_table(pyarrow.table(rows), listed)
    plain = tmp_path / "flows.csv"
    plain.write_text("source,destination,bytes,start_secs\n00,01,1000000,0.25\n02,03,5000,0\n")
    ours, other = tmp_path / "ours.parquet", tmp_path / "other.csv"
    document = simulated(tmp_path, "--workload", str(listed), "--link-gbps", "1", "--flows", str(ours))
    assert document == simulated(tmp_path, "--workload", str(plain), "--link-gbps", "1", "--flows", str(other))
    table = parquet.read_table(ours)
    assert str(table.schema.field("completion_secs").type) == "double"
    with other.open() as lines:
        assert [{name: str(value) for name, value in row.items()} for row in table.to_pylist()] == list(
            csv.DictReader(lines)
        )
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".part") == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "columns", "words"),
    [
        ("odd.parquet", {"a": ["00"], "b": ["01"]}, "its columns are a, b"),
        (
            "half.parquet",
            {"source": ["00"], "destination": ["01"], "bytes": [0.5]},
            "line 2, column bytes: '0.5' is not a whole number",
        ),
    ],
)
def test_parquet_that_is_no_workload_is_refused(name: str, columns: Json, words: str, tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table(columns), tmp_path / name)
    done = cubeyard(tmp_path, "--spec", json.dumps(SMALL), "--workload", str(tmp_path / name))
    assert done.returncode == 2
    assert words in " ".join(done.stderr.decode().split())
    (tmp_path / name).write_text("text")
    assert (
        b"not a Parquet file"
        in cubeyard(tmp_path, "--spec", json.dumps(SMALL), "--workload", str(tmp_path / name)).stderr
    )


def test_a_csv_file_grows_while_flows_end(tmp_path: Path) -> None:
    """Simulates the command's writes at each frame of the engine."""
    flows = [["00", "33", 5_000_000, at * 0.05] for at in range(60)]
    experiment = {"engine": "packet", "workload": {"kind": "listed", "flows": flows}, "link_gbps": 1, "packet": {"flow_times": True}}  # fmt: skip
    path = tmp_path / "times.csv"
    write = growing(path)
    assert write is not None
    sizes: list[int] = []

    def on_frame(frame: str) -> None:
        write(frame)
        sizes.append(len(path.read_text().splitlines()) - 1)

    Engine(Settings()).predict_json(SMALL, experiment, None, on_frame)
    assert sizes == sorted(sizes)
    assert any(0 < size < 60 for size in sizes)
    assert growing(tmp_path / "times.parquet") is None


@pytest.mark.long
def test_a_csv_file_of_many_flows_grows_by_parts(tmp_path: Path) -> None:
    """More than a partial frame lists: whole lines are added, each flow once, with the times that
    it has at the end."""
    count = 50_000
    flows = [["00", "33", 1_000, at * 20e-6] for at in range(count)]
    experiment = {"engine": "packet", "workload": {"kind": "listed", "flows": flows}, "link_gbps": 1, "packet": {"flow_times": True}}  # fmt: skip
    path = tmp_path / "times.csv"
    write = growing(path)
    assert write is not None
    sizes: list[int] = []

    def on_frame(frame: str) -> None:
        write(frame)
        if path.exists():
            sizes.append(len(path.read_text().splitlines()) - 1)

    document = json.loads(Engine(Settings()).predict_json(SMALL, experiment, None, on_frame))
    assert sizes == sorted(sizes)
    assert any(20_000 < size < count for size in sizes), sizes
    with path.open() as lines:
        rows = list(csv.DictReader(lines))
    numbers = [int(row["flow"]) for row in rows]
    assert len(set(numbers)) == len(numbers)
    times = document["flow_times"]["completion_secs"]
    assert all(float(row["completion_secs"]) == times[int(row["flow"])] for row in rows)


def test_a_file_for_times_has_a_name_that_says_its_format(tmp_path: Path) -> None:
    done = cubeyard(tmp_path, "--spec", json.dumps(SMALL), "--flows", "times.xls")
    assert done.returncode == 2
    assert ".csv or .parquet" in " ".join(done.stderr.decode().split())


def test_what_is_too_much_or_zero_is_refused_with_its_limit(tmp_path: Path) -> None:
    for arguments, words in [
        (("--bytes", "1000000000000"), ("workload.bytes", "Estimate", "limit is")),
        (("--workload", '{"kind":"random-pairs","count":10000000}'), ("10000000 flows", "Estimate")),
        (("--link-gbps", "0"), ("link_gbps", "above 0")),
        (("--set", "hop_delay_secs=0"), ("packet.hop_delay_secs", "is 0", "Give")),
        (("--set", "colour=red"), ("packet", "colour")),
        (("--fault", "server-frozen=1 server@1"), ("server-frozen", "Choose one of")),
    ]:
        done = cubeyard(tmp_path, "--spec", json.dumps(SMALL), *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        reported = " ".join(done.stderr.decode().split())
        assert all(word in reported for word in words), reported
        assert "Traceback" not in reported


names = st.text("0123456789<>,-", min_size=1, max_size=8).filter(lambda name: name.strip() and name != "source")


@given(
    st.lists(
        st.tuples(names, names, st.integers(1, 10**12), st.floats(0, 1e6, allow_nan=False)), min_size=1, max_size=20
    )
)
def test_flows_of_csv_come_back(flows: list[tuple[str, str, int, float]]) -> None:
    lines = ["source,destination,bytes,start_secs"]
    lines += [f'"{source}","{destination}",{size},{start!r}' for source, destination, size, start in flows]
    expected = [(source.strip(), destination.strip(), size, start) for source, destination, size, start in flows]
    assert workload_of("\n".join(lines)) == {"kind": "listed", "flows": expected}


@pytest.mark.parametrize(
    ("text", "workload"),
    [
        (
            "source;destination;bytes;start_secs\nh0-0;h1-1;1000;0,5\n",
            {"kind": "listed", "flows": [("h0-0", "h1-1", 1000, 0.5)]},
        ),
        ("Bytes\tDestination\tSource\n1000\tb\ta\n", {"kind": "listed", "flows": [("a", "b", 1000, 0.0)]}),
        ("a;b;10;0,25\n", {"kind": "listed", "flows": [("a", "b", 10, 0.25)]}),
        ("# made\nsource,destination,bytes\na,b,10\n# end\n", {"kind": "listed", "flows": [("a", "b", 10, 0.0)]}),
        ("source;destination;weight\na;b;1,5\n", {"kind": "matrix", "entries": [("a", "b", 1.5)]}),
        (";a;b\na;0;1,5\nb;2;0\n", {"kind": "matrix", "servers": ["a", "b"], "rows": [[0.0, 1.5], [2.0, 0.0]]}),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_flows_and_matrices_are_read_as_other_tables(
    text: str, workload: dict[str, object], encoding: str, tmp_path: Path
) -> None:
    file = tmp_path / "flows.csv"
    file.write_bytes(text.encode(encoding))
    assert read_workload(str(file)) == workload


SIZE_NAMES = {
    "bytes": 1, "Bytes": 1, "size_bytes": 1, "kilobytes": 1000, "size_kB": 1000, "KB": 1000, "Size (MB)": 10**6, "flow_size_MiB": 2**20,
    "bits": 1 / 8, "size_kilobits": 125, "Mbit": 125_000, "sizeBytes": 1,
}  # fmt: skip
START_NAMES = {"start_secs": 1.0, "Start_Secs": 1.0, "start_s": 1.0, "start_ms": 1e-3, "start (ms)": 1e-3, "startUs": 1e-6, "at_ns": 1e-9, "start_min": 60.0}  # fmt: skip


PAIRS = [(*size, *start) for size in SIZE_NAMES.items() for start in START_NAMES.items()]


@pytest.mark.parametrize(
    ("size", "of_size", "start", "of_start"),
    PAIRS if LONG_RUN else PAIRS[::7],  # each name of either
)
def test_columns_mean_their_names_in_any_order_and_format(
    size: str, of_size: float, start: str, of_start: float, tmp_path: Path
) -> None:
    columns = {"Source": ["a", "b"], size: [1000, 2_000_000], "DST": ["b", "a"], start: [5, 0]}
    wanted = [("a", "b", int(1000 * of_size), 5 * of_start), ("b", "a", int(2_000_000 * of_size), 0.0)]
    for names in (list(columns), list(reversed(columns))):
        table = pyarrow.table({name: columns[name] for name in names})
        parquet.write_table(table, tmp_path / "flows.parquet")
        (tmp_path / "flows.csv").write_text(
            "\n".join([",".join(names), *(",".join(str(columns[name][i]) for name in names) for i in range(2))])
        )
        (tmp_path / "flows.txt").write_bytes((tmp_path / "flows.csv").read_bytes())
        (tmp_path / "flows.xlsx").write_bytes(
            workbook([names, *([columns[name][i] for name in names] for i in range(2))])
        )
        for file in ("flows.csv", "flows.parquet", "flows.txt", "flows.xlsx"):
            assert read_workload(str(tmp_path / file)) == {
                "kind": "listed",
                "flows": [(*ends, size_bytes, pytest.approx(at)) for *ends, size_bytes, at in wanted],
            }


def test_other_files_are_named_and_json_is_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data, says in (
        ("a.csv", b"\x1f\x8b\x08", "gzip"),
        ("b.tsv", b"PAR1", "Parquet"),
        ("c.xls", b"%PDF", "PDF"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(typer.Exit):
            read_workload(str(tmp_path / name))
        assert says in capsys.readouterr().err
    (tmp_path / "d.json").write_bytes('{"kind": "permutation"}'.encode("utf-16"))
    assert read_workload(str(tmp_path / "d.json")) == {"kind": "permutation"}


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("source,destination,gbps", "'gbps' is no column"),
        ("source,destination,bytes,end_secs", "'end_secs' is no column"),
        ("flow_id,source,destination,bytes", "'flow_id' is no column"),
        ("source,destination,bytes,priority,colour", "'priority', 'colour' are no columns"),
        ("source,destination,size_mb", "mb may be bits or bytes"),
        ("source,destination,size", "size needs a unit"),
        ("source,destination,bytes,start", "start needs a unit"),
        ("source,destination,bytes,kilobytes", "'bytes' and 'kilobytes' are both the size"),
        ("source,destination,bytes,weight", "sizes and weights"),
        ("source,destination,start_ms", "starts and no sizes"),
        ("origin,target2,bytes", "'bytes' where a number is expected"),
    ],
)
def test_a_column_that_is_not_known_is_refused_by_name(
    header: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = header.split(",")
    row = ["a" if name in ("source", "origin", "flow_id") else "b" if "t" in name[:6] and not name.startswith("st") else "1" for name in names]  # fmt: skip
    (tmp_path / "flows.csv").write_text(f"{header}\n{','.join(row)}\n")
    parquet.write_table(pyarrow.table({name: [cell] for name, cell in zip(names, row, strict=True)}), tmp_path / "flows.parquet")  # fmt: skip
    for file in ("flows.csv", "flows.parquet") if "origin" not in header else ("flows.csv",):
        with pytest.raises(typer.Exit):
            read_workload(str(tmp_path / file))
        assert says in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "text", ["", "\n \n", "source,destination,bytes\n", "SRC;DST\n", "source,destination,weight\n\n", "\ufeffsource,destination,bytes,start_secs"]
)  # fmt: skip
def test_a_file_without_flows_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flows.csv").write_text(text)
    with pytest.raises(typer.Exit):
        read_workload(str(tmp_path / "flows.csv"))
    assert "no flows" in " ".join(capsys.readouterr().err.split())


def test_numbers_of_rows_from_pandas_are_no_column(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(",source,destination,bytes\n0,a,b,10\n")
    assert read_workload(str(tmp_path / "flows.csv")) == {"kind": "listed", "flows": [("a", "b", 10, 0.0)]}


@pytest.mark.parametrize("line", ["00,01,0,0", "00,01,1.5,0", "00,01,many,0", "00,01", "00,01,1,2,3"])
def test_a_line_that_is_no_flow_is_named(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "flows.csv"
    file.write_text(f"source,destination,bytes,start_secs\n00,02,1,0\n{line}\n")
    with pytest.raises(typer.Exit):
        read_workload(str(file))
    assert "line 3" in " ".join(capsys.readouterr().err.split())
