//! A built structure: nodes, names, ports, links.

use serde::Serialize;

use crate::certificate::{self, Certificate};
use crate::family::{Family, Shape};
use crate::finding::{Finding, TopologyError};
use crate::graph::{Csr, Links, NodeId};
use crate::metrics::{PathMeasure, StructureMetrics};
use crate::spec::TopologySpec;

/// Switches of one level and role; their ids are contiguous.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchTier {
    /// Level of the switches.
    pub level: u8,
    /// `mini-switch`, `tor`, `aggregation`, `core`, `edge`, `root`, `leaf`, `spine`, `super-spine`,
    /// `switch`, `router`, or `tier-0` and so on.
    pub role: &'static str,
    /// The first switch's id.
    pub first: NodeId,
    /// Number of switches.
    pub count: u32,
    /// Ports of each, uplinks included.
    pub ports: u32,
    /// Fastest rate among the downward ports.
    pub port_rate_bits_per_sec: f64,
    /// Number of `ports` that are dedicated uplinks (the last ones); 0 if any port can be an
    /// uplink.
    pub uplink_ports: u32,
    /// Rate of the dedicated uplinks; 0 when there are none.
    pub uplink_rate_bits_per_sec: f64,
}

/// How a diagram of the wiring arranges nodes by their digits. `[ours]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Picture {
    /// Servers in one row; switches of level 0 below it, those of higher levels above it.
    Rows,
    /// Servers that share all but their last digit around the switch with the shared digits, and
    /// such groups in a ring, digit by digit.
    Rings,
    /// The last digit chooses a plane, the first two the column and the row in it.
    Planes,
    /// Servers in one row, switches in rows above it by level.
    Tiers,
}

/// A structure with its addresses and links.
#[derive(Clone, Debug)]
pub struct Topology {
    spec: TopologySpec,
    shape: Shape,
    server_count: u32,
    tiers: Vec<SwitchTier>,
    links: Links,
}

impl Topology {
    /// Builds the structure in time linear in its links.
    pub fn build(spec: &TopologySpec) -> Result<Topology, TopologyError> {
        let findings = spec.validate();
        if findings.iter().any(Finding::is_error) {
            return Err(TopologyError { findings });
        }
        let spec = spec.resolve();
        let shape = Shape::new(&spec);
        let family = shape.family();
        let links_expected: u64 = family.links_at_level().iter().sum();
        let mut links = Links::with_capacity(links_expected as usize, family.rates_bits_per_sec());
        family.wire(&mut links);
        let (server_count, tiers) = (family.server_count(), family.tiers());
        Ok(Topology {
            spec,
            server_count,
            tiers,
            links,
            shape,
        })
    }

    /// The same addresses and ports with other links, for example links as found on site; the
    /// certificate then shows whether the wiring follows the family's rules.
    #[must_use]
    pub fn with_links(self, links: Links) -> Topology {
        Topology { links, ..self }
    }

    /// The specification, with all defaults filled in.
    pub fn spec(&self) -> &TopologySpec {
        &self.spec
    }

    /// Number of servers; their ids are `0..server_count`.
    pub fn server_count(&self) -> u32 {
        self.server_count
    }

    /// Number of switches; their ids follow the servers'.
    pub fn switch_count(&self) -> u32 {
        self.tiers.iter().map(|tier| tier.count).sum()
    }

    /// Number of servers and switches together.
    pub fn node_count(&self) -> u32 {
        self.server_count + self.switch_count()
    }

    /// Whether the node is a server.
    pub fn is_server(&self, node: NodeId) -> bool {
        node < self.server_count
    }

    /// The switches, tier by tier in id order.
    pub fn tiers(&self) -> &[SwitchTier] {
        &self.tiers
    }

    /// The tier of a switch; `None` for a server.
    pub fn tier_of(&self, node: NodeId) -> Option<&SwitchTier> {
        let index = self.tiers.partition_point(|tier| tier.first <= node);
        self.tiers[..index]
            .last()
            .filter(|tier| node - tier.first < tier.count)
    }

    /// Whether servers forward for others.
    pub fn servers_relay(&self) -> bool {
        self.family().relays()
    }

    /// Whether switches form tiers and every link joins two tiers, so that a path goes up and then
    /// down. In the other switched families (Jellyfish, Dragonfly, custom) paths are shortest
    /// paths.
    pub fn has_tiers(&self) -> bool {
        self.family().has_tiers()
    }

    /// How the family's own paper counts the length of a path.
    pub fn path_measure(&self) -> PathMeasure {
        self.family().path_measure()
    }

    /// Network ports a server has.
    pub fn server_ports(&self) -> u32 {
        self.family().server_ports()
    }

    /// Ports of a node.
    pub fn port_count(&self, node: NodeId) -> u32 {
        self.tier_of(node)
            .map_or_else(|| self.server_ports(), |tier| tier.ports)
    }

    /// Number of link levels.
    pub fn level_count(&self) -> usize {
        self.family().links_at_level().len()
    }

    /// A name of a link level for users.
    pub fn level_label(&self, level: u8) -> String {
        self.family().level_label(level)
    }

    /// All links. The index of a link is its identity.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// Number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Adjacency; built at each call.
    pub fn adjacency(&self) -> Csr {
        Csr::new(self.node_count(), &self.links)
    }

    /// The node's name: the same in every table, label, export and run.
    pub fn node_name(&self, node: NodeId) -> String {
        let mut name = String::new();
        self.write_name(node, &mut name);
        name
    }

    /// Appends the node's name.
    pub fn write_name(&self, node: NodeId, out: &mut String) {
        self.family().write_name(node, out);
    }

    /// The node with exactly this name or host name.
    pub fn node_by_name(&self, name: &str) -> Option<NodeId> {
        let Some(node) = self.family().node_by_name(name) else {
            return self.node_by_host_name(name);
        };
        // Only the canonical spelling is a name: "<3,01>" or "[02]" must not find a node.
        (node < self.node_count() && self.node_name(node) == name).then_some(node)
    }

    /// Name of a port: `P0` on a switch, `eth0` (torus: `x+`) on a server.
    pub fn port_name(&self, node: NodeId, port: u16) -> String {
        if let Some(own) = self.family().own_port_name(node, port) {
            own
        } else if self.is_server(node) {
            self.family().server_port_name(port)
        } else {
            format!("P{port}")
        }
    }

    /// The address of a node, most significant digit first. Switches carry the digits of their
    /// name.
    pub fn digits(&self, node: NodeId) -> Vec<u32> {
        self.family().digits(node)
    }

    /// How a diagram arranges the nodes by their digits.
    pub fn picture(&self) -> Picture {
        self.family().picture()
    }

    /// Re-derives every rule from names, ports and closed forms, and lists the checks with their
    /// results.
    pub fn certificate(&self) -> Certificate {
        certificate::certify(self)
    }

    /// Closed forms of the structure.
    pub fn metrics(&self) -> StructureMetrics {
        self.family().metrics(self)
    }

    pub(crate) fn family(&self) -> &dyn Family {
        self.shape.family()
    }
}
