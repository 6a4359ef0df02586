//! The published figures: id, title, source and the function that computes each.

use super::{
    Context, Outcome, bcube_fig8, bcube_fig10, bcube_fig11, bcube_links, bcube_packaging, bcube_packets,
    bcube_table1, bcube_table2, camcube, dcell_fig9, dcell_fig12, dcell_table2, dcell_table3,
    serverswitch_fig11, subways,
};
use crate::engine::{EngineKind, PredictError};

pub(super) type Compute = fn(&Context<'_>) -> Result<Outcome, PredictError>;

/// A published figure that can be recomputed.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub id: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    /// Default number of seeds: enough for verdicts that do not depend on the choice of seeds.
    pub seeds: u64,
    pub compute: Compute,
    /// The engine that computes it.
    pub engine: EngineKind,
    /// By default, one of this number of equal parts of the paper's data is simulated; 1: always
    /// all of it.
    pub parts: u64,
}

/// Enough seeds to estimate the spread.
const SEEDS: u64 = 10;

/// For figures that take minutes, or whose spread over seeds is small compared with the distance
/// from the paper's values.
const FEW_SEEDS: u64 = 3;

const fn entry(id: &'static str, title: &'static str, source: &'static str, compute: Compute) -> Entry {
    Entry {
        id,
        title,
        source,
        seeds: FEW_SEEDS,
        compute,
        engine: EngineKind::Flow,
        parts: 1,
    }
}

/// A figure whose verdicts depend on the spread over seeds.
const fn drawn(id: &'static str, title: &'static str, source: &'static str, compute: Compute) -> Entry {
    Entry {
        seeds: SEEDS,
        ..entry(id, title, source, compute)
    }
}

/// A figure that is simulated packet by packet.
const fn packets(id: &'static str, title: &'static str, source: &'static str, compute: Compute) -> Entry {
    Entry {
        engine: EngineKind::Packet,
        ..entry(id, title, source, compute)
    }
}

/// A figure whose packets take long: by default, one of `parts` equal parts of its data is
/// simulated.
const fn brief(parts: u64, entry: Entry) -> Entry {
    Entry { parts, ..entry }
}

/// For the slowest figures: one seed.
const fn once(entry: Entry) -> Entry {
    Entry { seeds: 1, ..entry }
}

/// All figures, in the papers' order.
pub(super) const ENTRIES: &[Entry] = &[
    entry(
        "bcube-table1",
        "Performance of BCube and other structures",
        "[bcube §8, Table 1]",
        bcube_table1::compute,
    ),
    entry(
        "bcube-table2",
        "Cost, power and wires for 2,048 servers",
        "[bcube §8, Table 2]",
        bcube_table2::compute,
    ),
    entry(
        "bcube-fig8-server",
        "ABT under server failures",
        "[bcube §6, Fig. 8(a)]",
        bcube_fig8::servers,
    ),
    entry(
        "bcube-fig8-switch",
        "ABT under switch failures",
        "[bcube §6, Fig. 8(b)]",
        bcube_fig8::switches,
    ),
    entry(
        "bcube-links",
        "Flows on the links of a partial DCell",
        "[bcube §6]",
        bcube_links::compute,
    ),
    drawn(
        "bcube-fig10",
        "Throughput of traffic patterns",
        "[bcube §7.5, Fig. 10]",
        bcube_fig10::compute,
    ),
    drawn(
        "bcube-fig11",
        "All-to-all in time",
        "[bcube §7.5, Fig. 11]",
        bcube_fig11::compute,
    ),
    brief(
        20,
        packets(
            "bcube-fig10-packets",
            "Throughput of traffic patterns, packet by packet",
            "[bcube §7.5, Fig. 10]",
            bcube_packets::fig10,
        ),
    ),
    brief(
        20,
        packets(
            "bcube-fig11-packets",
            "All-to-all in time, packet by packet",
            "[bcube §7.5, Fig. 11]",
            bcube_packets::fig11,
        ),
    ),
    entry(
        "bcube-packaging",
        "Packaging and wiring of a container",
        "[bcube §5.2]",
        bcube_packaging::compute,
    ),
    drawn(
        "dcell-table2",
        "Path lengths of DFR and shortest paths",
        "[dcell §6.1, Table 2]",
        dcell_table2::compute,
    ),
    entry(
        "dcell-table3",
        "DCell's structure and others",
        "[dcell §8, Table 3]",
        dcell_table3::compute,
    ),
    entry(
        "dcell-fig9",
        "Path failures in partial DCells",
        "[dcell §6.2, Fig. 9]",
        dcell_fig9::compute,
    ),
    entry(
        "dcell-fig12",
        "All-to-all in time",
        "[dcell §7.3, Fig. 12]",
        dcell_fig12::compute,
    ),
    once(brief(
        200,
        packets(
            "dcell-fig12-packets",
            "All-to-all in time, packet by packet",
            "[dcell §7.3, Fig. 12]",
            dcell_fig12::packets,
        ),
    )),
    entry(
        "camcube-structure",
        "Path lengths and links of the simulated networks",
        "[camcube §2]",
        camcube::structure::compute,
    ),
    entry(
        "camcube-fig1",
        "Link-disjoint paths of the TCP/IP service and their gain",
        "[camcube §3.1, Fig. 1]",
        camcube::fig1::compute,
    ),
    drawn(
        "camcube-fig2",
        "Links saved by the VM distribution service",
        "[camcube §3.2, Fig. 2]",
        camcube::fig2::compute,
    ),
    entry(
        "camcube-fig3",
        "Hops to a cache hit",
        "[camcube §3.3, Fig. 3]",
        camcube::fig3::compute,
    ),
    entry(
        "camcube-fig4",
        "Packets of the services' own protocols",
        "[camcube §3.5, Fig. 4]",
        camcube::fig4::compute,
    ),
    drawn(
        "camcube-fig5",
        "Links by the number of services on them",
        "[camcube §3.5, Fig. 5]",
        camcube::fig5::compute,
    ),
    drawn(
        "camcube-table1",
        "Links of the aggregation service",
        "[camcube §3.4, Table 1]",
        camcube::table1::compute,
    ),
    packets(
        "serverswitch-fig11",
        "QCN while a port's rate changes",
        "[serverswitch §6.3, Fig. 11]",
        serverswitch_fig11::compute,
    ),
    entry(
        "subways-table2",
        "Longest wires, side to side",
        "[subways §7.2.1, Table 2]",
        subways::wires::table2,
    ),
    entry(
        "subways-table3",
        "Longest wires, paired rows",
        "[subways §7.2.2, Table 3]",
        subways::wires::table3,
    ),
    entry(
        "subways-table4",
        "Longest wires, inter-chassis",
        "[subways §7.2.3, Table 4]",
        subways::wires::table4,
    ),
    drawn(
        "subways-table5",
        "Tail completion on the testbed",
        "[subways §8.2, Table 5]",
        subways::table5::compute,
    ),
    packets(
        "subways-table5-packets",
        "Tail completion on the testbed, packet by packet",
        "[subways §8.2, Table 5]",
        subways::table5_packets::compute,
    ),
    entry(
        "subways-fig8",
        "Speedup of a shuffle by job size",
        "[subways §8.3, Fig. 8]",
        subways::fig8::compute,
    ),
    once(brief(
        20,
        packets(
            "subways-fig8-packets",
            "Speedup of a shuffle by job size, packet by packet",
            "[subways §8.3, Fig. 8]",
            subways::packets::fig8,
        ),
    )),
    entry(
        "subways-fig9",
        "Upgrade paths",
        "[subways §8.4, Fig. 9]",
        subways::fig9::compute,
    ),
    once(brief(
        20,
        packets(
            "subways-fig9-packets",
            "Upgrade paths, packet by packet",
            "[subways §8.4, Fig. 9]",
            subways::packets::fig9,
        ),
    )),
    entry(
        "subways-fig10",
        "Speedup of a shuffle by loop size",
        "[subways §8.5, Fig. 10]",
        subways::fig10::compute,
    ),
    once(brief(
        20,
        packets(
            "subways-fig10-packets",
            "Speedup of a shuffle by loop size, packet by packet",
            "[subways §8.5, Fig. 10]",
            subways::packets::fig10,
        ),
    )),
    entry(
        "subways-fig11",
        "Speedup of a shuffle by ports per server",
        "[subways §8.6, Fig. 11]",
        subways::fig11::compute,
    ),
    once(brief(
        20,
        packets(
            "subways-fig11-packets",
            "Speedup of a shuffle by ports per server, packet by packet",
            "[subways §8.6, Fig. 11]",
            subways::packets::fig11,
        ),
    )),
    entry(
        "subways-fig12",
        "Memcache throughput by oversubscription",
        "[subways §8.7, Fig. 12]",
        subways::fig12::compute,
    ),
    once(packets(
        "subways-fig12-packets",
        "Memcache throughput by oversubscription, packet by packet",
        "[subways §8.7, Fig. 12]",
        subways::fig12_packets::compute,
    )),
];
