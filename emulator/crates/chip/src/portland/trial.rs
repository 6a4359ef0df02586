//! One question to the network, for people: the ARP exchange and the path of a packet from one host
//! to another, before and after something fails.

use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;
use serde::Serialize;

use super::host::{Arp, ip_of};
use super::network::{DETECTION_MICROS, Network};
use crate::flaw::Flaw;
use crate::trace::Trace;

/// The payload of the packet.
const PAYLOAD: &[u8] = b"cubeyard";

/// One switch on a packet's way.
#[derive(Clone, Debug, Serialize)]
pub struct Visit {
    /// The name of the switch.
    pub switch: String,
    /// When, from the beginning.
    pub at_micros: u64,
    /// The kind of packet: `arp` or `packet`.
    pub kind: &'static str,
    /// The trace of the packet through the chip.
    pub trace: Trace,
}

/// A packet that was sent.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The state of the network: `nothing` failed, `failed` before neighbours detected it,
    /// `rerouted` after.
    pub state: &'static str,
    /// When it was sent.
    pub at_micros: u64,
    /// The switches that it and the ARP before it passed.
    pub visits: Vec<Visit>,
    /// Whether the destination got it, byte for byte.
    pub arrived: bool,
}

/// The result of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The source's address and PMAC.
    pub from: (Ipv4Addr, String),
    /// Address and name of the destination.
    pub to: (Ipv4Addr, String),
    /// The packets in order.
    pub attempts: Vec<Attempt>,
    /// Pairs of hosts, of all 240, that reach each other at the end.
    pub pairs: u32,
}

/// Sends from one host to another, with a source port that chooses among equal ways; `failures`
/// (switches by name, links by two names with `/` between) happen after the first packet. Errors:
/// no such host, the same twice, no such switch or link.
pub fn trial(from: &str, to: &str, source_port: u16, failures: &[String]) -> Result<Trial, Flaw> {
    let mut network = Network::new();
    let (source, target) = (host(&network, "from", from)?, host(&network, "to", to)?);
    if source == target {
        return Err(Flaw::new(
            "same-host",
            "to",
            to,
            "another host than from",
            "Take two different hosts.",
        ));
    }
    let mut attempts = vec![attempt(&mut network, source, target, source_port, "nothing")];
    if !failures.is_empty() {
        for failure in failures {
            fail(&mut network, failure)?;
        }
        attempts.push(attempt(&mut network, source, target, source_port, "failed"));
        let _ = network.run();
        attempts.push(attempt(&mut network, source, target, source_port, "rerouted"));
    }
    let pairs = pairs(&mut network);
    let pmac = |host| {
        network
            .pmac_of(host)
            .map_or(String::new(), |pmac| pmac.to_string())
    };
    Ok(Trial {
        from: (ip_of(source), pmac(source)),
        to: (ip_of(target), pmac(target)),
        attempts,
        pairs,
    })
}

fn node(network: &Network, field: &str, name: &str) -> Result<NodeId, Flaw> {
    let topology = network.tree().topology();
    topology.node_by_name(name).ok_or_else(|| {
        let (hosts, switches) = (network.tree().hosts(), network.tree().switches());
        let named = |range: std::ops::Range<NodeId>| {
            let names: Vec<String> = range.map(|node| topology.node_name(node)).collect();
            names.join(", ")
        };
        let limit = match field {
            "fail" => format!("one of {}", named(switches)),
            _ => format!("one of {}", named(hosts)),
        };
        Flaw::new(
            "no-node",
            field,
            format!("\"{name}\""),
            limit,
            "Take a name of the fat-tree of four ports.",
        )
    })
}

fn host(network: &Network, field: &str, name: &str) -> Result<NodeId, Flaw> {
    let found = node(network, field, name)?;
    let fix = "Take a host.";
    let is_host = network.tree().hosts().contains(&found);
    is_host
        .then_some(found)
        .ok_or_else(|| Flaw::new("no-host", field, format!("\"{name}\""), "a host", fix))
}

fn fail(network: &mut Network, failure: &str) -> Result<(), Flaw> {
    if let Some((a, b)) = failure.split_once('/') {
        let (a, b) = (node(network, "fail", a)?, node(network, "fail", b)?);
        return network.set_link(a, b, false);
    }
    let failed = node(network, "fail", failure)?;
    network.set_node(failed, false);
    Ok(())
}

fn attempt(
    network: &mut Network,
    from: NodeId,
    to: NodeId,
    source_port: u16,
    state: &'static str,
) -> Attempt {
    let at_micros = network.now_micros();
    let known = network.clone();
    network.passed = Some(Vec::new());
    network.send(from, to, source_port, PAYLOAD);
    // Before the failure is found, and long enough for ARP.
    let delivered = network.run_until(at_micros + DETECTION_MICROS / 2);
    let passed = network.passed.take().unwrap_or_default();
    let arrived = delivered
        .iter()
        .any(|item| (item.host, &*item.payload) == (to, PAYLOAD));
    // Chips of hosts that were just met have changed since: a trace of a packet is by the tables at
    // its end, of ARP by those before.
    let visits = passed.into_iter().filter_map(|item| {
        let is_arp = Arp::read(&item.frame).is_some();
        let mut chip = if is_arp {
            known.chip_of(item.switch)
        } else {
            network.chip_of(item.switch)
        }?;
        Some(Visit {
            switch: network.tree().topology().node_name(item.switch),
            at_micros: item.at_micros,
            kind: if is_arp { "arp" } else { "packet" },
            trace: chip.trace(item.in_port, &item.frame).ok()?,
        })
    });
    let visits = visits.collect();
    Attempt {
        state,
        at_micros,
        visits,
        arrived,
    }
}

/// How many pairs of hosts reach each other now.
fn pairs(network: &mut Network) -> u32 {
    let hosts = network.tree().hosts();
    let _ = network.run();
    for from in hosts.clone() {
        for to in hosts.clone().filter(|&to| to != from) {
            network.send(from, to, 1, &[from as u8, to as u8]);
        }
    }
    let delivered = network.run();
    let mut pairs: Vec<(NodeId, Ipv4Addr)> = delivered.iter().map(|item| (item.host, item.from)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.len() as u32
}
