//! The columns of a tick, ten a second, and the reports of nodes that they come from. Rows have the
//! order of the run's links, servers and flows.
//!
//! A column declares its unit and how it merges, and whether a run's frames have its rows; all
//! readers take this from here. A new number needs its line here, the code that counts it, and the
//! chart that draws it.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::Column;

part! {
    /// Traffic of links since the last tick.
    "links" LinkColumns {
        /// Bytes from a to b, Ethernet headers included.
        tx: Vec<u64> = Sum Bytes,
        /// Bytes from b to a.
        rx: Vec<u64> = Sum Bytes,
        /// Packets sent; each segment of a super-packet counts. First all links from a to b, then
        /// all links from b to a.
        packets: Vec<u64> = Sum Packets,
        /// Packets dropped at full queues or by faults, in the same order.
        drops: Vec<u64> = Sum Packets => "link_drops" Sum "Packets dropped by a full queue or a fault.",
        /// Bytes waiting now, in the same order.
        queue: Vec<u64> = Latest Bytes => "queues" Longest "Bytes that wait at a link's ends.",
    }
}

part! {
    /// Traffic of servers since the last tick.
    "servers" ServerColumns {
        /// Bytes relayed for other servers.
        relayed: Vec<u64> = Sum Bytes,
        /// Bytes that their own applications sent.
        own: Vec<u64> = Sum Bytes,
        /// Share of one processor that their node used over the last second.
        cpu: Vec<f64> = Latest Share,
    }
}

part! {
    /// Bytes and retransmissions of flows since the last tick, in the workload's order.
    "flows" FlowColumns {
        /// Bytes received at the destination.
        bytes: Vec<u64> = Sum Bytes,
        /// Segments that were sent again.
        retransmits: Vec<u64> = Sum Packets => "retransmits" Sum "Segments that were sent again, by row of the flow.",
    }
}

/// Which end of a flow is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The flow starts here.
    Send,
    /// The flow ends here.
    Receive,
}

/// A flow's end so far, as its node reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRow {
    /// The flow's number in the run.
    pub id: u32,
    /// The end of the flow that this node is.
    pub role: Role,
    /// Bytes received (goodput) or sent so far.
    pub bytes: u64,
    /// TCP senders: segments sent again so far.
    pub retransmits: u64,
    /// UDP receivers: datagrams that did not arrive so far.
    pub lost: u64,
    /// Senders: the port that they send from, as soon as they have one.
    #[serde(default)]
    pub source_port: Option<u16>,
    /// MPTCP senders: the current subflows of the connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflows: Vec<SubflowRow>,
    /// Whether it has ended.
    pub done: bool,
    /// Why, unless it carried everything.
    pub reason: Option<String>,
}

/// A subflow of an MPTCP connection, as its sender counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubflowRow {
    /// The addresses that it is from and to.
    pub ips: [Ipv4Addr; 2],
    /// The port that it is sent from.
    pub source_port: u16,
    /// Bytes that have arrived.
    pub bytes: u64,
    /// Number of segments sent again.
    pub retransmits: u64,
}

part! {
    /// The host since the last tick.
    "host" Host {
        /// Share of all processors in use.
        cpu: f64 = Busiest Share,
        /// Share of all processors that the run used over the last second, the kernel's networking
        /// included.
        own_cpu: f64 = Busiest Share,
        /// How long the run's processes waited for a processor, in all; reported once a second.
        wait_secs: f64 = Sum Secs,
        /// How often they waited.
        waits: u64 = Sum Count,
        /// Packets of any program that the kernel dropped because it was behind with its work.
        backlog_drops: u64 = Sum Packets,
    }
}

part! {
    /// The results of clients' requests: in a tick since the last one, from a node since its start.
    "latencies" Latencies {
        /// Requests sent, or due to be.
        asked: u64 = Sum Count,
        /// Those with a whole response.
        answered: u64 = Sum Count,
        /// Those whose response came within the bound.
        within_bound: u64 = Sum Count,
        /// Number of requests that were given up.
        timed_out: u64 = Sum Count,
        /// Sum of the latencies of the answered requests.
        sum_nanos: u64 = Sum Nanos,
        /// The longest of those answered since the last report.
        longest_nanos: u64 = Longest Nanos,
        /// How many latencies are in each bucket that has any, by number of the bucket.
        buckets: Vec<(u16, u64)> = ByKey Count,
    }
}

/// All columns of a tick, by part.
pub const COLUMNS: [&[Column]; 5] = [
    LinkColumns::COLUMNS,
    ServerColumns::COLUMNS,
    FlowColumns::COLUMNS,
    Host::COLUMNS,
    Latencies::COLUMNS,
];
