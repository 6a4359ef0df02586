"""UDP over one chip whose port changes its rate: the chip's CPU reports the queue length to the
source. `[serverswitch §6.3, Fig. 11]`

Rates are a tenth of the testbed's, with the protocol's timers and increments scaled accordingly;
the duration is shorter.
"""

from __future__ import annotations

from itertools import pairwise

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near

SPEC: Json = {"family": "bcube", "n": 4, "k": 1}
SOURCE, CHIP, DESTINATION = "01", "00", "10"
PORT = "00/<1,0>"
LINK_BITS_PER_SEC = 100e6
SCALE = 10
STEPS_MBPS = (1000, 200, 400, 600, 800, 1000)
"""Steps of the rate, scaled to the testbed: 1 Gb/s, then 200 Mb/s more every 20 s."""
STEP_SECS, LEAST_STEP_SECS = 10.0, 4.0
SETTLING = 0.4
"""Share of each step that is excluded from its mean, while the rate still grows."""
FLOWS = 4
"""Number of sending sockets. A packet counts against its socket until it leaves the last queue, so
that one socket alone could not fill a queue."""
QUEUE_KB = 50.0
MTU = 1500
QUESTIONS = {"most": 801.0, "mean": 173.0}
WINDOW_SECS = 0.5
NAME = f"{SOURCE} to {DESTINATION} by {CHIP}"
BUSY = "all three servers share this machine's cores with everything else"
REPLY_MICROS = 23.0
REPLY = (
    "of 37 µs, 18 pass until the marked packet itself has come to the queue, and 16 more until the kernel has left that interrupt for the "
    "thread, which takes 3 (medians of 280 replies in a virtual machine whose two cores had other work, load 5)"
)
CARRIED = "the call that sends a reply brings it to the next server too, and what else waits on that core: all servers are on one machine"
TENTH = "links of a tenth of the rate carry a tenth of the bytes, and a source marks by bytes"


def _step_secs(brevity: float) -> float:
    return max(STEP_SECS * brevity, LEAST_STEP_SECS)


def trial(brevity: float) -> Trial:
    step = _step_secs(brevity)
    faults: list[Json] = [
        {
            "kind": "link-rate",
            "rate_bits_per_sec": mbps * 1e6 / SCALE,
            "target": {"names": [PORT]},
            "at_secs": number * step,
            "until_secs": (number + 1) * step,
        }
        for number, mbps in enumerate(STEPS_MBPS)
        if mbps < STEPS_MBPS[0]
    ]
    return Trial(
        NAME,
        SPEC,
        {"kind": "matrix", "entries": [[SOURCE, DESTINATION, 1.0]] * FLOWS},
        LINK_BITS_PER_SEC,
        {
            "slice": {"servers": [CHIP, SOURCE, DESTINATION]},
            "protocol": "udp",
            "flow_bits_per_sec": 0.95 * LINK_BITS_PER_SEC / FLOWS,
            "seconds": step * len(STEPS_MBPS),
            "settle_secs": 1.5,
            "calibrate_secs": 0.0,
            "mtu": MTU,
            "dataplane": "serverswitch",
            "congestion": {"queue_kb": QUEUE_KB},
        },
        faults=faults,
    )


def measure(lab: Lab) -> Outcome:
    result = lab.measure([trial(lab.brevity)])[NAME]
    step = _step_secs(lab.brevity)
    edges = [step * number for number in range(len(STEPS_MBPS) + 1)]
    request = questions(result)
    replies = reply_micros(result)
    rows = []
    for mbps, (begin, end) in zip(STEPS_MBPS, pairwise(edges), strict=True):
        if mbps < STEPS_MBPS[0]:
            rate = result.between(begin + SETTLING * step, end) * SCALE / 1e6
            rows.append(near(f"rate at {mbps} Mb/s from {begin:g} s", "Mb/s", float(mbps), rate, 0.12, BUSY))
    congested = [queue for at, _, queue in request if step * (1 + SETTLING) <= at < edges[-2]]
    queue_kb = sum(congested) / len(congested) / 1e3 if congested else None
    rates = [number for _, number, _ in request]
    x, y = result.curve(WINDOW_SECS)
    return Outcome(
        rows=[
            *rows,
            near("mean queue while congested", "KB", QUEUE_KB, queue_kb, 0.4, BUSY),
            Row("packets dropped at the port", "packets", 0.0, float(dropped(result)), 0.0, 0.0, reason=BUSY),
            Row(
                "queue questions, most in a second",
                "1/s",
                QUESTIONS["most"],
                max(rates, default=None),
                8,
                801,
                1.0,
                TENTH,
            ),
            Row(
                "queue questions, mean",
                "1/s",
                QUESTIONS["mean"],
                sum(rates) / len(rates) if rates else None,
                8,
                173,
                1.0,
                TENTH,
            ),
            Row(
                "reply of the chip's CPU, median", "µs", REPLY_MICROS, replies["median"], 1.0, REPLY_MICROS, 1.0, REPLY
            ),
            Row("reply of the chip's CPU, 99 of 100", "µs", None, replies["p99"], 1.0, 10 * REPLY_MICROS, 1.0, REPLY),
            Row("the same until it is carried on, mean", "µs", None, replies["sent"], 1.0, REPLY_MICROS, 1.0, CARRIED),
        ],
        series=[
            line("rate (Mb/s)", x, [bits * SCALE / 1e6 for bits in y]),
            line("queue (KB)", [at for at, _, _ in request], [queue / 1e3 for *_, queue in request]),
            line("paper: Q_EQ (KB)", [0.0, edges[-1]], [QUEUE_KB, QUEUE_KB], paper=True),
        ],
        axes=("seconds", "rate (Mb/s), queue (KB)"),
        choices=[
            f"links of 100 Mb/s for the testbed's 1 Gb/s, told times ten; steps of {step:g} s instead of 20",
            "the baseline parameters, with timers ten times as long and increments a tenth, as the rate is",
            f"{FLOWS} flows of UDP share the rate, as the kernel lets one socket have no more than 0.1 MB on the way",
            "the source marks packets, the chip of 00 copies them to its CPU, and the CPU answers over the network, as there",
            "a reply is timed from the chip's copy for its CPU, a thread that sleeps until then, until it is handed to the network; the "
            "testbed's is RTT1 - RTT2, on average",
            "one reaction point is for all that leaves by the source's port: it is the class of the port's shaper",
        ],
    )


def questions(measured: Measured) -> list[tuple[float, float, float]]:
    """Per second: the time, the number of questions to the chip's CPU, and the mean queue in bytes
    that it read."""
    servers = measured.network["servers"]
    chip = servers["id"][servers["name"].index(CHIP)]
    return [
        (at_secs, cells["questions"], cells["queue_bytes"])
        for at_secs, server, cells in _told(measured)
        if server == chip
    ]


def reply_micros(measured: Measured) -> dict[str, float | None]:
    """Reaction times of chips' CPUs over all answers: median, 99th percentile, and the mean until
    the network had forwarded a reply."""
    reported = _told(measured)
    if not reported:
        return {"median": None, "p99": None, "sent": None}
    _, _, last = max(reported, key=lambda item: item[0])
    request = sum(cells["questions"] for *_, cells in reported)
    sent = sum(cells["questions"] * cells["sent_micros"] for *_, cells in reported)
    return {
        "median": last["median_so_far_micros"],
        "p99": last["p99_so_far_micros"],
        "sent": sent / request if request else None,
    }


def _told(measured: Measured) -> list[tuple[float, int, dict[str, float]]]:
    """The reports of a server's CPU, each with its time."""
    return [
        (event["at_secs"], event["server"], {cell["name"]: float(cell["value"]) for cell in event["cells"]})
        for event in measured.events
        if event["kind"] == "protocol" and event.get("name") == "queue-questions"
    ]


def dropped(measured: Measured) -> int:
    """Packets dropped by full queues, over all links."""
    return sum(link["ab_drops"] + link["ba_drops"] for link in measured.report["per_link"])
