"""The list of figures that are measured here, and the measurement of one. A new figure is a module
with `measure`, and a line below."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from cubeyard.emulation.figures.lab import Json, Lab
    from cubeyard.emulation.figures.rows import Outcome


@dataclass(frozen=True)
class MeasuredFigure:
    """A published figure that is measured with real packets."""

    id: str
    title: str
    source: str
    module: str
    """Name of its module in this folder. It is imported only for measuring, so that listing figures
    imports no emulator."""

    def measure(self, lab: Lab) -> Outcome:
        return import_module(f"{__package__}.{self.module}").measure(lab)

    def document(self, lab: Lab) -> Json:
        """Measures the figure now. Returns a document like those of the engine's own figures.
        Raises CancelledError."""
        outcome = self.measure(lab)
        rows = [row.document() for row in outcome.rows]
        verdicts = Counter(row["verdict"] for row in rows)
        result: Json = {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "rows": rows,
            "verdicts": {item: verdicts[item] for item in ("matches", "within band", "differs")},
            "choices": outcome.choices,
            "series": outcome.series,
            "provenance": {"source": self.source, **lab.provenance()},
        }
        if outcome.axes is not None:
            result["axes"] = dict(zip(("x", "y"), outcome.axes, strict=True))
        return result


FIGURES = (
    MeasuredFigure("bcube-fig9", "Forwarding by MTU, eBPF and user space", "[bcube §7.4, Fig. 9]", "fig9"),
    MeasuredFigure(
        "bcube-fig10-measured", "Throughput of traffic patterns, measured", "[bcube §7.5, Fig. 10]", "fig10"
    ),
    MeasuredFigure("bcube-fig11-measured", "All-to-all in time, measured", "[bcube §7.5, Fig. 11]", "fig11"),
    MeasuredFigure("bcube-failover", "A server on the path goes off", "[bcube §7.5]", "failover"),
    MeasuredFigure("bcube-balance", "Load of the links and what balances it", "[bcube §7.5]", "balance"),
    MeasuredFigure(
        "dcell-fig11-measured", "TCP while a cable and a server fail", "[dcell §7.3, Fig. 11]", "dcell_fig11"
    ),
    MeasuredFigure("dcell-fig12-measured", "All-to-all in time, measured", "[dcell §7.3, Fig. 12]", "dcell_fig12"),
    MeasuredFigure(
        "dcell-table2-measured",
        "Pairs and hops after failures, measured",
        "[dcell §6.1, Table 2]",
        "dcell_table2",
    ),
    MeasuredFigure(
        "camcube-fig1-measured",
        "Throughput over disjoint paths, measured",
        "[camcube §3.1, Fig. 1]",
        "camcube_fig1",
    ),
    MeasuredFigure(
        "camcube-fig2-measured",
        "Links saved by joins along corners, measured",
        "[camcube §3.2, Fig. 2]",
        "camcube_fig2",
    ),
    MeasuredFigure("camcube-fig3-measured", "Hops to a cache hit, measured", "[camcube §3.3, Fig. 3]", "camcube_fig3"),
    MeasuredFigure(
        "camcube-fig4-measured",
        "Packets of the services' own protocols, measured",
        "[camcube §3.5, Fig. 4]",
        "camcube_fig4",
    ),
    MeasuredFigure(
        "camcube-fig5-measured",
        "Links by the number of services on them, measured",
        "[camcube §3.5, Fig. 5]",
        "camcube_fig5",
    ),
    MeasuredFigure(
        "camcube-table1-measured",
        "Links of the aggregation service, measured",
        "[camcube §3.4, Table 1]",
        "camcube_table1",
    ),
    MeasuredFigure(
        "camcube-fig6-measured", "What the extended routing service costs", "[camcube §6, Fig. 6]", "camcube_fig6"
    ),
    MeasuredFigure(
        "serverswitch-bcube", "BCube by the chip's tables over two relays", "[serverswitch §6.2]", "chip_bcube"
    ),
    MeasuredFigure(
        "serverswitch-fig9-measured",
        "Forwarding by packet size, chip and user space, and registers",
        "[serverswitch §6.1, Fig. 9]",
        "chip_fig9",
    ),
    MeasuredFigure(
        "serverswitch-fig10-measured",
        "A cache in the network: traffic saved and CPU",
        "[serverswitch §6.1, Fig. 10]",
        "chip_fig10",
    ),
    MeasuredFigure("subways-upgrade", "Servers get a second port while flows run", "[subways §4.3]", "upgrade"),
    MeasuredFigure(
        "subways-fig8-measured", "A shuffle by job size, measured", "[subways §8.3, Fig. 8]", "subways_fig8"
    ),
    MeasuredFigure("subways-fig9-measured", "A shuffle by upgrade, measured", "[subways §8.4, Fig. 9]", "subways_fig9"),
    MeasuredFigure(
        "subways-fig10-measured", "A shuffle by loop size, measured", "[subways §8.5, Fig. 10]", "subways_fig10"
    ),
    MeasuredFigure(
        "subways-fig11-measured", "A shuffle by ports, measured", "[subways §8.6, Fig. 11]", "subways_fig11"
    ),
    MeasuredFigure(
        "subways-fig12-measured",
        "Memcache throughput by oversubscription, measured",
        "[subways §8.7, Fig. 12]",
        "subways_fig12",
    ),
    MeasuredFigure("subways-fig13-measured", "CPU of a relay by detours", "[subways §8.8, Fig. 13]", "subways_fig13"),
    MeasuredFigure(
        "serverswitch-fig11-measured",
        "A rate that drops and grows again under QCN, measured",
        "[serverswitch §6.3, Fig. 11]",
        "congestion",
    ),
    MeasuredFigure("subways-hot-racks", "Two hot racks and the ToR between them", "[subways §5]", "hot_racks"),
    MeasuredFigure(
        "subways-table5-measured", "Tail completion on the testbed, measured", "[subways §8.2, Table 5]", "table5"
    ),
)


def refuse_unable(settings: Settings) -> None:
    """Raises an error that names each missing capability if this host cannot send real packets."""
    from cubeyard.emulation.deploy.probe import probe

    missing = [
        capability for capability in probe(settings).capabilities if capability.needed and not capability.available
    ]
    if missing:
        message = "; ".join(
            f"{capability.title}: {capability.reason.rstrip('.')}. {capability.fix.rstrip('.')}"
            for capability in missing
        )
        raise ProblemError(503, "cannot-measure", f"This host cannot measure with real packets. {message}.")
