//! The flows of a run: who sends what to whom, and how far they are.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::messages::FlowRow;
use crate::error::{FabricError, Result};
use crate::network::Checked;

/// Port of flow 0; flow i has port FIRST_PORT + i.
const FIRST_PORT: u32 = 5201;
/// Bytes of flows in one datagram, well below what a datagram may hold.
const DATAGRAM_BYTES: usize = 32 * 1024;

/// A flow as the caller describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowJson {
    id: u32,
    source: u32,
    destination: u32,
    proto: Transport,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default, alias = "rate")]
    rate_bits_per_sec: Option<f64>,
    #[serde(default)]
    start_secs: f64,
    #[serde(default)]
    pipeline: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    Tcp,
    Udp,
}

/// Counts of a flow, as its ends told them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    received: u64,
    retransmits: u64,
    path_id: u32,
}

/// What flows carried since the last look, in the workload's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct FlowColumns {
    /// Bytes that arrived.
    pub bytes: Vec<u64>,
    /// Segments sent again.
    pub retransmits: Vec<u64>,
    /// Number of the path in use now; 0 for none.
    pub path: Vec<u32>,
}

/// The flows in the order they were given.
#[derive(Debug, Default)]
pub struct Workload {
    index: BTreeMap<u32, usize>,
    ends: Vec<(usize, usize)>,
    now: Vec<Progress>,
    told: Vec<Progress>,
    /// By server: what its node is told of each flow.
    orders: Vec<Vec<Value>>,
}

impl Workload {
    /// Reads flows and checks them against the network.
    pub fn from_json(network: &Checked, flows: Value) -> Result<Workload> {
        let flows: Vec<FlowJson> = serde_path_to_error::deserialize(flows)
            .map_err(|error| FabricError::malformed(format!("flows{}: {}", error.path(), error.inner())))?;
        let mut workload = Workload {
            orders: vec![Vec::new(); network.network.servers.len()],
            ..Workload::default()
        };
        for (at, flow) in flows.iter().enumerate() {
            workload.add(network, at, flow)?;
        }
        Ok(workload)
    }

    fn add(&mut self, network: &Checked, at: usize, flow: &FlowJson) -> Result<()> {
        let field = |name: &str| format!("flows[{at}].{name}");
        let (source, destination) = (network.server(flow.source)?, network.server(flow.destination)?);
        if source == destination {
            let fix = "leave the flow out";
            return Err(FabricError::bad(
                field("destination"),
                flow.destination,
                "another server than the source",
                fix,
            ));
        }
        let Ok(port) = u16::try_from(FIRST_PORT + flow.id.min(1 << 20)) else {
            let limit = format!("at most {}", u32::from(u16::MAX) - FIRST_PORT);
            return Err(FabricError::bad(
                field("id"),
                flow.id,
                limit,
                "number the flows from 0",
            ));
        };
        if !(0.0..=1e6).contains(&flow.start_secs) {
            return Err(FabricError::bad(
                field("start_secs"),
                flow.start_secs,
                "0 to 1e6",
                "start it earlier",
            ));
        }
        if flow
            .rate_bits_per_sec
            .is_some_and(|rate| !(rate > 0.0 && rate <= 1e12))
        {
            let given = flow.rate_bits_per_sec.unwrap_or_default();
            return Err(FabricError::bad(
                field("rate_bits_per_sec"),
                given,
                "above 0, at most 1e12",
                "leave it out",
            ));
        }
        if self.index.insert(flow.id, at).is_some() {
            return Err(FabricError::bad(
                field("id"),
                flow.id,
                "unlike every other flow's",
                "number each once",
            ));
        }
        let proto = match flow.proto {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        };
        for (role, server, peer) in [("receive", destination, source), ("send", source, destination)] {
            // Only a sender waits for what another flow has received.
            let pipeline = flow.pipeline.filter(|_| role == "send");
            self.orders[server].push(json!({"id": flow.id, "role": role, "peer": network.network.servers[peer].id,
                "peer_ip": network.address(peer), "port": port, "proto": proto, "bytes": flow.bytes,
                "rate_bits_per_sec": flow.rate_bits_per_sec, "start_secs": flow.start_secs, "pipeline": pipeline}));
        }
        self.ends.push((source, destination));
        self.now.push(Progress::default());
        self.told.push(Progress::default());
        Ok(())
    }

    /// How many flows there are.
    pub fn flow_count(&self) -> usize {
        self.ends.len()
    }

    /// What a server's node is told, in datagrams that are short enough.
    pub fn orders(&self, server: usize) -> Vec<Value> {
        let mut datagrams = Vec::new();
        let mut flows = Vec::new();
        let mut bytes = 0;
        for order in self.orders.get(server).into_iter().flatten() {
            let length = order.to_string().len();
            if bytes + length > DATAGRAM_BYTES {
                datagrams.push(json!({"t": "workload", "flows": std::mem::take(&mut flows)}));
                bytes = 0;
            }
            bytes += length;
            flows.push(order.clone());
        }
        if !flows.is_empty() {
            datagrams.push(json!({"t": "workload", "flows": flows}));
        }
        datagrams
    }

    /// Takes in what a node tells of a flow. A node is believed only about flows it is an end of.
    pub fn take(&mut self, server: usize, row: &FlowRow) {
        let Some(&at) = self.index.get(&row.id) else {
            return;
        };
        let (source, destination) = self.ends[at];
        // A node that started anew counts from zero again: what came before stays told.
        if server == destination {
            self.now[at].received = restarted(&mut self.told[at].received, row.bytes);
        } else if server == source {
            self.now[at].retransmits = restarted(&mut self.told[at].retransmits, row.retransmits);
            self.now[at].path_id = row.path_id;
        }
    }

    /// What the flows carried since this was called last.
    pub fn columns(&mut self) -> FlowColumns {
        let mut columns = FlowColumns::default();
        for (now, told) in self.now.iter().zip(&mut self.told) {
            columns.bytes.push(now.received.saturating_sub(told.received));
            columns
                .retransmits
                .push(now.retransmits.saturating_sub(told.retransmits));
            columns.path.push(now.path_id);
            *told = *now;
        }
        columns
    }
}

/// The count now; one that went back starts anew from zero.
fn restarted(told: &mut u64, now: u64) -> u64 {
    if now < *told {
        *told = 0;
    }
    now
}
