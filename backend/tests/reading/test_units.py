"""Amounts with units: every unit means the same on every surface that reads one."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer

from cubeyard.cli.common import size
from cubeyard.cli.emulate import _hypothesis, _rate, _upgrade
from cubeyard.experiments.fault_text import fault_of
from cubeyard.experiments.short import share_of
from cubeyard.notebook.question import faults_of, rate_of
from cubeyard.reading.units import NoAmountError, amount
from cubeyard.topologies.rates import Rates

RATES: dict[str, float | None] = json.loads(
    (Path(__file__).parents[3] / "emulator/crates/topology/tests/rates.json").read_bytes()
)
"""Bits per second of each unit, null for other units; the search is tested with the
same."""
SIZES = {"": 1, "B": 1, "bytes": 1, "kB": 1e3, "KB": 1e3, "kilobytes": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
         "KiB": 2**10, "MiB": 2**20, "mebibyte": 2**20, "GiB": 2**30,
         "b": None, "kb": None, "Mb": None, "Mbit": None, "Gib": None, "k": None, "M": None, "MB/s": None, "s": None}  # fmt: skip
TIMES = {"": 1, "s": 1, "sec": 1, "seconds": 1, "ms": 1e-3, "msec": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6,
         "ns": 1e-9, "min": 60, "minutes": 60, "h": 3600, "m": None, "d": None, "b": None, "%": None}  # fmt: skip
SHARES = {"": 1, "%": 0.01, "s": None, "M": None, "B": None}
Read = Callable[[str], float]


def imported(text: str) -> float:
    read = Rates("bps").of({"speed": text})
    if not isinstance(read, tuple):
        raise NoAmountError(text)
    return read[0] * 1e9


def _share(text: str) -> float:
    read = share_of(f"switches={text}")
    if read is None:
        raise NoAmountError(text)
    return read[1]


SURFACES: dict[str, tuple[dict[str, float | None], list[Read]]] = {
    "rates": (RATES, [
        lambda text: amount(text, "bit/s"), imported,
    ]),
    "rates of people": ({**RATES, "": None}, [
        _rate, lambda text: _hypothesis(f"goodput>={text}")["bound"],
        lambda text: fault_of(f"link-rate:{text}=all links")["rate_bits_per_sec"],
        lambda text: faults_of(f"link-rate:{text}=all links")[0]["rate_bits_per_sec"],
    ]),
    "sizes": (SIZES, [lambda text: amount(text, "bytes"), size]),
    "times": (TIMES, [
        lambda text: amount(text, "s"), lambda text: fault_of(f"link-delay:{text}=all links")["delay_secs"],
        lambda text: fault_of(f"down=all links@{text}")["at_secs"], lambda text: fault_of(f"down=all links@0-{text}")["until_secs"],
        lambda text: _hypothesis(f"goodput>=1M for {text}")["for_secs"], lambda text: _upgrade(f'{{"family":"subways"}}@{text}')["at_secs"],
    ]),
    "shares": (SHARES, [
        lambda text: amount(text, ""), lambda text: rate_of("switches", text), _share,
        lambda text: fault_of(f"link-loss:{text}=all links")["loss_ratio"], lambda text: _hypothesis(f"abt-share>={text}")["bound"],
    ]),
}  # fmt: skip


@pytest.mark.parametrize("amounts", SURFACES)
def test_a_unit_means_the_same_on_every_surface(amounts: str) -> None:
    units, reads = SURFACES[amounts]
    for (unit, factor), read, space in product(units.items(), reads, ("", " ")):
        number = "12.5" if unit == "%" else "0.75" if amounts == "shares" else "1" if amounts == "sizes" else "12.5"
        text = f"{number}{space}{unit}"
        if factor is not None:
            assert read(text) == pytest.approx(float(number) * factor, rel=1e-12), text
            continue
        with pytest.raises((ValueError, typer.Exit, typer.BadParameter)):
            read(text)


@pytest.mark.parametrize(
    ("text", "unit", "says"),
    [
        ("100MB", "bit/s", "100MB is in bytes, and would be 8e+08 b/s"),
        ("12.5 MB/s", "bit/s", "12.5 MB/s is in bytes, and would be 1e+08 b/s"),
        ("20MiB", "bit/s", "Mb/s"),
        ("100Mb", "bytes", "100Mb is in bits, and would be 1.25e+07 B"),
        ("10M", "bytes", "KiB"),
        ("20 m", "s", "min"),
        ("5 s", "", "%"),
    ],
)  # fmt: skip
def test_what_has_another_unit_is_refused_with_those_that_count(text: str, unit: Any, says: str) -> None:
    with pytest.raises(NoAmountError, match="is not an amount") as refused:
        amount(text, unit)
    assert says in str(refused.value)


@pytest.mark.parametrize("text", ["1e400", "1e308 M", "1e-400", "1e-340 G"])
def test_an_amount_that_would_become_infinite_or_nothing_is_refused(text: str) -> None:
    with pytest.raises(NoAmountError, match="is beyond the numbers that are read"):
        amount(text, "bit/s")


def test_a_rate_without_a_unit_is_refused_with_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        _rate("100")
    assert "'100' has no unit. Give 100M for Mb/s, 100G for Gb/s" in " ".join(capsys.readouterr().err.split())


def test_amounts_have_no_noise_of_binary_fractions() -> None:
    assert [amount(text, "") for text in ("57%", "7%", "0.1%", "29 %")] == [0.57, 0.07, 0.001, 0.29]
    assert amount("0.3ms", "s") == 0.0003
