//! Flows: one small packet every few milliseconds finds the path; the rate is the max-min fair
//! share along it.

use std::time::Duration;

use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::frame::ETHERNET_BYTES;
use cubeyard_dataplane::protocol::Time;
use cubeyard_topology::NodeId;

/// A flow and what became of its packets.
#[derive(Clone, Debug)]
pub struct FlowState {
    /// The five-tuple of the flow.
    pub flow: Flow,
    /// The server that sends.
    pub source: NodeId,
    /// Its rate at the latest measurement.
    pub rate_bits_per_sec: f64,
    /// It never sends more than this.
    pub most_bits_per_sec: f64,
    /// When its latest packet arrived.
    pub arrived_at: Option<Time>,
    /// Longest time without a packet so far.
    pub longest_gap: Duration,
    /// The servers that its latest packet visited, up to where it arrived or was lost.
    pub path: Vec<NodeId>,
    /// The directed links that its latest packet took.
    pub links: Vec<usize>,
}

impl FlowState {
    /// A flow that has sent nothing so far.
    pub fn new(flow: Flow, source: NodeId, most_bits_per_sec: f64) -> FlowState {
        FlowState {
            flow,
            source,
            rate_bits_per_sec: 0.0,
            most_bits_per_sec,
            arrived_at: None,
            longest_gap: Duration::ZERO,
            path: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Takes note of a packet that arrived.
    pub fn on_arrival(&mut self, now: Time) {
        let gap = now - self.arrived_at.unwrap_or(now);
        self.longest_gap = self.longest_gap.max(gap);
        self.arrived_at = Some(now);
    }
}

/// The shortest packet of a flow: Ethernet, IPv4 and two ports.
pub fn packet(flow: &Flow) -> Vec<u8> {
    const PACKET_BYTES: usize = 28;
    let mut frame = vec![0; ETHERNET_BYTES + PACKET_BYTES];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = &mut frame[ETHERNET_BYTES..];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(PACKET_BYTES as u16).to_be_bytes());
    ip[8] = 64;
    ip[9] = flow.proto;
    ip[12..16].copy_from_slice(&flow.src);
    ip[16..20].copy_from_slice(&flow.dst);
    ip[20..22].copy_from_slice(&flow.sport);
    ip[22..24].copy_from_slice(&flow.dport);
    frame
}

/// Max-min fair shares: fills the directed links of the flows step by step. Each flow has its
/// `links` and its maximum rate, in shares of a link. Returns each flow's share and the rest of
/// each link. O(flows² × path) in the worst case.
pub fn fair_shares(flows: &[(&[usize], f64)], link_count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut left = vec![1.0f64; link_count];
    let mut shares = vec![0.0; flows.len()];
    let mut open: Vec<usize> = (0..flows.len())
        .filter(|&flow| !flows[flow].0.is_empty())
        .collect();
    while !open.is_empty() {
        let mut users = vec![0u32; link_count];
        let used = open.iter().flat_map(|&flow| flows[flow].0);
        used.for_each(|&link| users[link] += 1);
        let share = |link: usize| left[link] / f64::from(users[link]);
        let used = (0..link_count).filter(|&link| users[link] > 0);
        let Some(tightest) = used.min_by(|&a, &b| share(a).total_cmp(&share(b))) else {
            break;
        };
        let level = share(tightest);
        // Flows that want less than the least share get what they want; else the tightest link is
        // given away.
        let modest = open.iter().any(|&flow| flows[flow].1 < level);
        let (settled, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|&&flow| {
            let (links, most) = flows[flow];
            if modest {
                most < level
            } else {
                links.contains(&tightest)
            }
        });
        for flow in settled {
            shares[flow] = level.min(flows[flow].1);
            flows[flow].0.iter().for_each(|&link| left[link] -= shares[flow]);
        }
        open = rest;
    }
    (shares, left)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The definition: no link exceeds its capacity, and every flow below its maximum has a
        /// full link on which no flow gets more.
        #[test]
        fn shares_are_max_min_fair(paths in prop::collection::vec(prop::collection::btree_set(0usize..6, 1..4), 1..12), most in prop::collection::vec(0.01..1.5f64, 12)) {
            let paths: Vec<Vec<usize>> = paths.into_iter().map(|path| path.into_iter().collect()).collect();
            let flows: Vec<(&[usize], f64)> = paths.iter().map(|path| &path[..]).zip(most).collect();
            let (shares, left) = fair_shares(&flows, 6);
            prop_assert!(left.iter().all(|&left| left > -1e-9));
            for (flow, &(links, most)) in flows.iter().enumerate() {
                let bottleneck = |&&link: &&usize| {
                    left[link] < 1e-9 && flows.iter().zip(&shares).all(|((others, _), &share)| !others.contains(&link) || share <= shares[flow] + 1e-9)
                };
                prop_assert!(shares[flow] > most - 1e-9 || links.iter().any(|link| bottleneck(&link)), "flow {}", flow);
            }
        }
    }
}
