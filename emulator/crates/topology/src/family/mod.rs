//! The topology families.
//!
//! Each file holds one family: its description (parameters, limits, presets), validation, names,
//! wiring, closed forms and the rule that its certificate checks. All implement the trait
//! [`Family`]. Everything that another crate needs from a family is a method there, so a new family
//! does not compile until it is complete. `common` has shared code.
//!
//! The rule that the certificate checks is derived from names alone, not from the code that wires.
//!
//! Not here: arithmetic on addresses that routing needs too (`address/`), layout policies and
//! routing schemes.

mod bcube;
mod common;
mod custom;
mod dcell;
mod dragonfly;
mod fat_tree;
mod irregular;
mod jellyfish;
mod leaf_spine;
mod subways;
mod torus2d;
mod torus3d;
mod tree;

pub(crate) use common::NamedLink;

use crate::describe::Description;
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::TopologySpec;
use crate::topology::{Picture, SwitchTier, Topology};

/// The methods of a family. `links_at_level`, `expected_degree` and `obeys` are derived
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
    /// The node with this name; may accept spellings that are not canonical.
    fn node_by_name(&self, name: &str) -> Option<NodeId>;
    fn digits(&self, node: NodeId) -> Vec<u32>;
    /// How a diagram arranges nodes by their digits.
    fn picture(&self) -> Picture {
        Picture::Tiers
    }
    fn server_port_name(&self, port: u16) -> String {
        format!("eth{port}")
    }
    /// The name of a port of this node, if the specification sets one.
    fn own_port_name(&self, _node: NodeId, _port: u16) -> Option<String> {
        None
    }
    /// Whether names are host names already, because the user gave them.
    fn names_are_host_names(&self) -> bool {
        false
    }
    /// Whether packets go up through tiers of switches and then down; otherwise they take shortest
    /// paths.
    fn has_tiers(&self) -> bool {
        true
    }
    /// The highest level of the structures of the same kind that this one is made of, itself
    /// included; `None` for a family that is not made of smaller ones.
    fn smaller_structures(&self) -> Option<u32> {
        None
    }
    /// The servers of the structure with levels 0 to `level` that holds this server; all from the
    /// family's own k on, and for a family without smaller structures.
    fn structure_around(&self, _server: NodeId, _level: u32) -> Vec<NodeId> {
        (0..self.server_count()).collect()
    }
    /// Number of link ends at a node, in closed form.
    fn expected_degree(&self, node: NodeId) -> u32;
    /// Most links between the same two nodes.
    fn trunk_width(&self) -> u32 {
        1
    }
    /// Whether servers forward for others.
    fn relays(&self) -> bool;
    /// How the family's paper counts the length of a path.
    fn path_measure(&self) -> PathMeasure;
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
    &leaf_spine::DESCRIPTION,
    &torus2d::DESCRIPTION,
    &jellyfish::DESCRIPTION,
    &dragonfly::DESCRIPTION,
    &custom::DESCRIPTION,
];

pub(crate) fn description(family: &str) -> Option<&'static Description> {
    DESCRIPTIONS
        .iter()
        .copied()
        .find(|description| description.family == family)
}

/// Checks that the parameters fit together; each is in range.
pub(crate) fn validate(spec: &TopologySpec) -> Vec<Finding> {
    match spec {
        TopologySpec::Bcube(spec) => bcube::validate(spec),
        TopologySpec::Dcell(spec) => dcell::validate(spec),
        TopologySpec::Torus3d(spec) => torus3d::validate(spec),
        TopologySpec::FatTree(spec) => fat_tree::validate(spec),
        TopologySpec::Tree(spec) => tree::validate(spec),
        TopologySpec::LeafSpine(spec) => leaf_spine::validate(spec),
        TopologySpec::Torus2d(spec) => torus2d::validate(spec),
        TopologySpec::Jellyfish(spec) => jellyfish::validate(spec),
        TopologySpec::Dragonfly(spec) => dragonfly::validate(spec),
        TopologySpec::Custom(spec) => custom::validate(spec),
        TopologySpec::Subways(spec) => subways::validate(spec),
    }
}

/// Returns the specification with all defaults filled in.
pub(crate) fn resolve(spec: &TopologySpec) -> TopologySpec {
    match spec {
        TopologySpec::Bcube(spec) => TopologySpec::Bcube(bcube::resolve(spec)),
        TopologySpec::Dcell(spec) => TopologySpec::Dcell(dcell::resolve(spec)),
        TopologySpec::FatTree(spec) => TopologySpec::FatTree(fat_tree::resolve(spec)),
        TopologySpec::Tree(spec) => TopologySpec::Tree(tree::resolve(spec)),
        TopologySpec::Subways(spec) => TopologySpec::Subways(subways::resolve(spec)),
        TopologySpec::Jellyfish(spec) => TopologySpec::Jellyfish(jellyfish::resolve(spec)),
        TopologySpec::Dragonfly(spec) => TopologySpec::Dragonfly(dragonfly::resolve(spec)),
        TopologySpec::Custom(spec) => TopologySpec::Custom(custom::resolve(spec)),
        TopologySpec::Torus2d(_) | TopologySpec::Torus3d(_) | TopologySpec::LeafSpine(_) => spec.clone(),
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
        TopologySpec::LeafSpine(spec) => leaf_spine::title(spec),
        TopologySpec::Torus2d(spec) => torus2d::title(spec),
        TopologySpec::Jellyfish(spec) => jellyfish::title(spec),
        TopologySpec::Dragonfly(spec) => dragonfly::title(spec),
        TopologySpec::Custom(spec) => custom::title(spec),
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
    LeafSpine(leaf_spine::LeafSpine),
    Jellyfish(jellyfish::Jellyfish),
    Dragonfly(dragonfly::Dragonfly),
    Custom(custom::Custom),
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
            TopologySpec::LeafSpine(spec) => Shape::LeafSpine(leaf_spine::LeafSpine::new(spec)),
            TopologySpec::Torus2d(spec) => Shape::Torus3d(torus2d::shape(spec)),
            TopologySpec::Jellyfish(spec) => Shape::Jellyfish(jellyfish::Jellyfish::new(spec)),
            TopologySpec::Dragonfly(spec) => Shape::Dragonfly(dragonfly::Dragonfly::new(spec)),
            TopologySpec::Custom(spec) => Shape::Custom(custom::Custom::new(spec)),
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
            Shape::LeafSpine(shape) => shape,
            Shape::Jellyfish(shape) => shape,
            Shape::Dragonfly(shape) => shape,
            Shape::Custom(shape) => shape,
            Shape::Subways(shape) => shape,
        }
    }
}
