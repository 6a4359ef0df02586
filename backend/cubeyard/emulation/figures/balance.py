"""How evenly BSR loads the links in an all-to-all, and what that costs: probes and path changes of
each connection. `[bcube §7.5]`"""

from __future__ import annotations

import numpy as np

from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.testbed import BCUBE, LINKS_CHOICE, SCALE, all_to_all

NAME = "all-to-all"
EVEN = (
    "default paths, taken in turn by address, load every link alike from the start: all links are full, and a flow moves only "
    "to a path that leaves it a tenth of a link more than what it has"
)
RATE = "follows from when it is over: the testbed took 114 s"


def measure(lab: Lab) -> Outcome:
    result = lab.measure([all_to_all(NAME, BCUBE, lab.brevity)])[NAME]
    report, flows = result.report, len(result.report["per_flow"])
    links = np.array([[link["ab_bits_per_sec"], link["ba_bits_per_sec"]] for link in report["per_link"]]) * SCALE / 1e6
    of_link = links.mean(axis=1)
    mean, spread = float(of_link.mean()), float(of_link.std(ddof=1))
    relayed = float(np.mean([server["relayed_bits_per_sec"] for server in report["per_server"]])) * SCALE / 1e6
    probing = report["probing"]
    order = np.sort(of_link)
    return Outcome(
        rows=[
            near("mean throughput of a link", "Mb/s", 626.0, mean, 0.4, RATE),
            Row("its standard deviation over the links", "Mb/s", 23.0, spread, 0.0, 46.0, 1.0),
            Row(
                "deviation over mean",
                "",
                round(23 / 626, 3),
                spread / mean if mean else None,
                0.0,
                2 * 23 / 626,
                0.001,
            ),
            near("each server forwards", "Mb/s", 500.0, relayed, 0.4, RATE),
            near(
                "probings of a connection",
                "",
                9.5,
                probing["rounds"] / flows,
                0.5,
                "about one a second here, with jitter",
            ),
            Row(
                "moves of a connection",
                "",
                2.1,
                report["path_switches"] / flows,
                0.0,
                4.2,
                0.1,
                EVEN,
            ),
            Row(
                "a probing takes",
                "ms",
                13.3,
                probing["mean_secs"] * 1e3,
                0.0,
                26.6,
                0.1,
                "probes wait behind data: in the testbed in switches and CPU, here in queues that hold back 80 ms of each link's rate",
            ),
        ],
        series=[
            line("links, from the least loaded", range(1, len(order) + 1), order.tolist()),
            line("paper: mean", [1, len(order)], [626.0, 626.0], paper=True),
        ],
        axes=("link", "throughput (Mb/s)"),
        choices=[
            LINKS_CHOICE,
            "a link's throughput is the mean of its two directions, headers included, until the last connection ends",
        ],
    )
