//! The families. Each file holds a family's description, validation, addresses, wiring, closed
//! forms and the rule its certificate checks; this one holds what they have in common.

mod bcube;
mod common;
mod dcell;
mod fat_tree;
mod subways;
mod torus3d;
mod tree;

pub(crate) use common::NamedLink;

use serde_json::Value;

use crate::describe::Description;
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, StructureMetrics};
use crate::spec::TopologySpec;
use crate::topology::{SwitchTier, Topology};

/// What every family answers. `links_at_level`, `expected_degree` and `obeys` are derived
/// independently of `wire`: the certificate compares them.
pub(crate) trait Family {
    fn server_count(&self) -> u32;
    fn server_ports(&self) -> u32;
    fn tiers(&self) -> Vec<SwitchTier>;
    fn level_label(&self, level: u8) -> String;
    fn rates_bits_per_sec(&self) -> Vec<f64>;
    /// Number of links by level, in closed form.
    fn links_at_level(&self) -> Vec<u64>;
    fn wire(&self, links: &mut Links);
    fn write_name(&self, node: NodeId, out: &mut String);
    /// The node a name stands for; may accept spellings that are not canonical.
    fn node_by_name(&self, name: &str) -> Option<NodeId>;
    fn digits(&self, node: NodeId) -> Vec<u32>;
    fn server_port_name(&self, port: u16) -> String {
        format!("eth{port}")
    }
    /// Number of link ends at a node, in closed form.
    fn expected_degree(&self, node: NodeId) -> u32;
    /// Most links between the same two nodes.
    fn trunk_width(&self) -> u32 {
        1
    }
    /// Whether servers forward for others.
    fn relays(&self) -> bool;
    /// Whether all servers look alike, so that one search gives the diameter.
    fn transitive(&self) -> bool;
    /// The wiring rule in words.
    fn rule(&self) -> String;
    /// Whether a link follows the rule, from the names of its ends alone.
    fn obeys(&self, link: &NamedLink) -> bool;
    /// Longest shortest path between servers with every link counted, exact or an upper bound.
    fn diameter_links(&self) -> Metric;
    fn metrics(&self, topology: &Topology) -> StructureMetrics;
}

/// The families a user can choose, in the order of menus.
pub(crate) const DESCRIPTIONS: &[&Description] = &[
    &bcube::DESCRIPTION,
    &dcell::DESCRIPTION,
    &torus3d::DESCRIPTION,
    &subways::DESCRIPTION,
    &fat_tree::DESCRIPTION,
    &tree::DESCRIPTION,
];

pub(crate) fn description(family: &str) -> Option<&'static Description> {
    DESCRIPTIONS
        .iter()
        .copied()
        .find(|description| description.family == family)
}

/// Reads the parameters of a family; types and ranges have been checked.
pub(crate) fn parse(family: &str, parameters: Value) -> Result<TopologySpec, serde_json::Error> {
    use serde_json::from_value;
    Ok(match family {
        "bcube" => TopologySpec::Bcube(from_value(parameters)?),
        "dcell" => TopologySpec::Dcell(from_value(parameters)?),
        "torus3d" => TopologySpec::Torus3d(from_value(parameters)?),
        "subways" => TopologySpec::Subways(from_value(parameters)?),
        "fat_tree" => TopologySpec::FatTree(from_value(parameters)?),
        _ => TopologySpec::Tree(from_value(parameters)?),
    })
}

/// Checks that the parameters fit together; each is in range.
pub(crate) fn validate(spec: &TopologySpec) -> Vec<Finding> {
    match spec {
        TopologySpec::Bcube(spec) => bcube::validate(spec),
        TopologySpec::Dcell(spec) => dcell::validate(spec),
        TopologySpec::Torus3d(spec) => torus3d::validate(spec),
        TopologySpec::FatTree(spec) => fat_tree::validate(spec),
        TopologySpec::Tree(spec) => tree::validate(spec),
        TopologySpec::Subways(spec) => subways::validate(spec),
    }
}

/// Fills in defaults.
pub(crate) fn resolve(spec: &TopologySpec) -> TopologySpec {
    match spec {
        TopologySpec::Bcube(spec) => TopologySpec::Bcube(bcube::resolve(spec)),
        TopologySpec::Dcell(spec) => TopologySpec::Dcell(dcell::resolve(spec)),
        TopologySpec::FatTree(spec) => TopologySpec::FatTree(fat_tree::resolve(spec)),
        TopologySpec::Tree(spec) => TopologySpec::Tree(tree::resolve(spec)),
        TopologySpec::Subways(spec) => TopologySpec::Subways(subways::resolve(spec)),
        TopologySpec::Torus3d(_) => spec.clone(),
    }
}

/// A title for people.
pub(crate) fn title(spec: &TopologySpec) -> String {
    match spec {
        TopologySpec::Bcube(spec) => bcube::title(spec),
        TopologySpec::Dcell(spec) => dcell::title(spec),
        TopologySpec::Torus3d(spec) => torus3d::title(spec),
        TopologySpec::FatTree(spec) => fat_tree::title(spec),
        TopologySpec::Tree(spec) => tree::title(spec),
        TopologySpec::Subways(spec) => subways::title(spec),
    }
}

/// The addressing of a valid, resolved specification.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Bcube(bcube::Bcube),
    Dcell(dcell::Dcell),
    Torus3d(torus3d::Torus3d),
    FatTree(fat_tree::FatTree),
    Tree(tree::Tree),
    Subways(subways::Subways),
}

impl Shape {
    pub fn new(spec: &TopologySpec) -> Shape {
        match spec {
            TopologySpec::Bcube(spec) => Shape::Bcube(bcube::Bcube::new(spec)),
            TopologySpec::Dcell(spec) => Shape::Dcell(dcell::Dcell::new(spec)),
            TopologySpec::Torus3d(spec) => Shape::Torus3d(torus3d::Torus3d::new(spec)),
            TopologySpec::FatTree(spec) => Shape::FatTree(fat_tree::FatTree::new(spec)),
            TopologySpec::Tree(spec) => Shape::Tree(tree::Tree::new(spec)),
            TopologySpec::Subways(spec) => Shape::Subways(subways::shape(spec)),
        }
    }

    pub fn family(&self) -> &dyn Family {
        match self {
            Shape::Bcube(shape) => shape,
            Shape::Dcell(shape) => shape,
            Shape::Torus3d(shape) => shape,
            Shape::FatTree(shape) => shape,
            Shape::Tree(shape) => shape,
            Shape::Subways(shape) => shape,
        }
    }
}
