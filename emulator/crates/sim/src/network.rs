//! The network that an experiment runs on: a topology, and on first use the racks of its plan.

use std::sync::OnceLock;

use cubeyard_plan::{PlanError, PlanSpec, builtin_book, lay_out, read_spec};
use cubeyard_topology::{NodeId, Topology};

/// The book that a layout takes its sizes from when the spec names none that is built in.
const DEFAULT_BOOK: &str = "current-2026";

/// A rack and the servers and switches in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RackGroup {
    /// The rack's name, as on the plan.
    pub name: String,
    /// Its servers and switches, ascending.
    pub nodes: Vec<NodeId>,
}

/// A built topology with its plan spec; racks are laid out on first use.
#[derive(Debug)]
pub struct Network {
    spec: PlanSpec,
    topology: Topology,
    racks: OnceLock<Vec<RackGroup>>,
}

impl Network {
    /// Reads a topology spec or plan spec and builds its topology.
    ///
    /// # Errors
    ///
    /// The errors in the spec, as findings.
    pub fn open(spec_json: &str) -> Result<Network, PlanError> {
        let spec = read_spec(spec_json)?;
        let topology = Topology::build(&spec.topology)?;
        Ok(Network {
            spec,
            topology,
            racks: OnceLock::new(),
        })
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The plan spec, as it was read.
    pub fn spec(&self) -> &PlanSpec {
        &self.spec
    }

    /// The capacity of every directed link in Gb/s: `override_gbps`, or the plan's own override, or
    /// the topology's.
    pub fn capacity_gbps(&self, override_gbps: Option<f64>) -> Vec<f64> {
        let links = self.topology.links();
        let asked = override_gbps.or(self.spec.cabling.link_gbps);
        (0..links.len() * 2)
            .map(|directed| asked.unwrap_or_else(|| links.rate_bits_per_sec(directed / 2) / 1e9))
            .collect()
    }

    /// The capacity of every directed link in Gb/s if the slowest link has `slowest_gbps` and the
    /// ratios of the plan are kept.
    pub fn scaled_gbps(&self, slowest_gbps: f64) -> Vec<f64> {
        let links = self.topology.links();
        let slowest = links.slowest_bits_per_sec();
        let of = |directed: usize| links.rate_bits_per_sec(directed / 2) / slowest * slowest_gbps;
        (0..links.len() * 2).map(of).collect()
    }

    /// The racks of the plan's layout, in the plan's order.
    pub fn racks(&self) -> &[RackGroup] {
        self.racks.get_or_init(|| {
            let book = self
                .spec
                .catalog
                .as_deref()
                .and_then(builtin_book)
                .or_else(|| builtin_book(DEFAULT_BOOK));
            let Some(book) = book else {
                return Vec::new();
            };
            let layout = lay_out(&self.spec, &self.topology, &book, &mut Vec::new());
            let mut groups: Vec<RackGroup> = layout
                .racks
                .name
                .iter()
                .map(|name| RackGroup {
                    name: name.clone(),
                    nodes: Vec::new(),
                })
                .collect();
            for (node, &rack) in layout.placements.rack.iter().enumerate() {
                if let Some(group) = groups.get_mut(rack as usize) {
                    group.nodes.push(node as NodeId);
                }
            }
            groups
        })
    }

    /// The rack of this name.
    pub fn rack(&self, name: &str) -> Option<&RackGroup> {
        self.racks().iter().find(|rack| rack.name == name)
    }

    /// The servers of a rack, ascending.
    pub fn servers_of<'a>(&'a self, rack: &'a RackGroup) -> impl Iterator<Item = NodeId> + 'a {
        rack.nodes
            .iter()
            .copied()
            .filter(|&node| self.topology.is_server(node))
    }
}
