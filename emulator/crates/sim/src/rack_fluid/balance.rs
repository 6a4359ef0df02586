//! The division of a rack's traffic among its paths to the backbone, and its adjustment by load.
//! `[subways §5.2]`

use cubeyard_routing::subways::{AGGRESSIVENESS, LEAST_SHARE, rebind_probabilities};

use super::network::{RackNetwork, Way};

/// A path between a rack and the backbone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exit {
    /// The ToR on the backbone's side.
    pub tor: usize,
    /// The rack's port at which it starts.
    pub port: usize,
    /// Links crossed, in either order.
    pub links: Vec<usize>,
    /// Whether other racks relay.
    pub detour: bool,
    /// The link whose load is the path's utilisation: the ToR's uplinks, or a detour's allowance.
    pub measured: usize,
}

/// A rack's paths in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Exits {
    pub ways: Vec<Exit>,
    /// The share of its backbone flows on each exit.
    pub share: Vec<f64>,
    /// Gigabits on each in the present period; at its end, Gb/s.
    pub sent: Vec<f64>,
}

impl Exits {
    /// Paths straight over its ToRs, with shares by the rates of its links (2/7 and 5/7 with 10 and
    /// 25 Gb/s). `[subways §4.3]`
    pub fn straight(network: &RackNetwork, rack: usize, way: Way) -> Exits {
        let ways: Vec<Exit> = network
            .tors_of(rack)
            .into_iter()
            .enumerate()
            .map(|(port, tor)| Exit {
                tor,
                port,
                links: vec![network.access(rack, port, way), network.uplinks(tor, way)],
                detour: false,
                measured: network.uplinks(tor, way),
            })
            .collect();
        let rate = |exit: &Exit| network.capacity_gbps()[exit.links[0]];
        let total: f64 = ways.iter().map(rate).sum();
        let share = ways.iter().map(|exit| rate(exit) / total).collect();
        let sent = vec![0.0; ways.len()];
        Exits { ways, share, sent }
    }

    /// Replaces the exits: remaining exits keep their share, new ones start with the least share.
    pub fn change(&mut self, ways: Vec<Exit>) {
        let share = |exit: &Exit| {
            let known = self.ways.iter().position(|other| other.links == exit.links);
            known.map_or(0.0, |at| self.share[at]).max(LEAST_SHARE)
        };
        let share: Vec<f64> = ways.iter().map(share).collect();
        let total: f64 = share.iter().sum();
        self.share = share.into_iter().map(|share| share / total).collect();
        self.sent = vec![0.0; ways.len()];
        self.ways = ways;
    }

    /// Adjusts shares by the measured load. Without traffic they stay.
    pub fn rebind(&mut self, network: &RackNetwork, rack: usize, way: Way, measured: Measured<'_>) {
        if self.sent.iter().sum::<f64>() <= 0.0 {
            return;
        }
        let capacity: Vec<f64> = self
            .ways
            .iter()
            .map(|exit| measured.capacity[exit.measured])
            .collect();
        let used: Vec<f64> = self
            .ways
            .iter()
            .zip(&capacity)
            .map(|(exit, capacity)| (measured.used[exit.measured] / capacity.max(f64::MIN_POSITIVE)).min(1.0))
            .collect();
        let link: Vec<f64> = self
            .ways
            .iter()
            .map(|exit| network.capacity_gbps()[network.access(rack, exit.port, way)])
            .collect();
        let shares: Vec<f64> = self
            .sent
            .iter()
            .zip(&link)
            .map(|(sent, link)| sent / link)
            .collect();
        self.share = rebind_probabilities(&capacity, &used, &shares, &link, AGGRESSIVENESS);
    }
}

/// The controllers' counters for a period, by link in Gb/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured<'a> {
    pub used: &'a [f64],
    pub capacity: &'a [f64],
}
