//! Routing schemes by name, and the families that they serve.

use std::fmt;

use cubeyard_topology::{Topology, TopologySpec};

use crate::bcube::{Bsr, BsrGreedy, FixedPath};
use crate::dcell::{DcellRouting, Dfr};
use crate::dragonfly::DragonflyRouting;
use crate::failures::Failures;
use crate::fat_tree::FatTreeRouting;
use crate::k_shortest::KShortest;
use crate::leaf_spine::LeafSpineRouting;
use crate::path::Router;
use crate::shortest::{Choice, Shortest};
use crate::subways::{self, DetourRouting, SubwaysRouting};
use crate::torus::{DimensionOrder, DisjointPaths, Multipath};
use crate::tree::TreeRouting;

/// What chooses among the paths of a scheme. Every scheme states it, and the engines use this
/// instead of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// The router, by the flow's random number: only [`Router::route`] exists.
    Router,
    /// The router, as long as all links have equal capacity; otherwise a source probes its paths
    /// and takes the widest. `paths` names the scheme that lists them. `[bcube §4.2]`
    Probes {
        /// Scheme of the same family with a [`Router::multipath`].
        paths: &'static str,
    },
    /// The caller, flow after flow, by the load of the flows before: [`Router::multipath`] lists
    /// the paths.
    Load,
    /// Controllers that set the weights of the ToRs by their load. `[subways §5.2]`
    Weights,
    /// Controllers that set weights and detours. `[subways §6]`
    Detours,
}

/// A routing scheme a family can use.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// The name in `--routing`.
    pub name: &'static str,
    /// What chooses among its paths.
    pub choice: PathChoice,
    /// One line for people.
    pub summary: &'static str,
    make: fn(&Topology, Failures) -> Option<Box<dyn Router>>,
}

macro_rules! scheme {
    ($name:expr, $choice:expr, shortest $how:ident, $summary:literal) => {
        Scheme {
            name: $name,
            choice: $choice,
            summary: $summary,
            make: |topology, failures| Some(Box::new(Shortest::new(topology, failures, Choice::$how))),
        }
    };
    ($name:expr, k_shortest $k:literal, $summary:literal) => {
        Scheme {
            name: $name,
            choice: PathChoice::Router,
            summary: $summary,
            make: |topology, failures| Some(Box::new(KShortest::new(topology, failures, $name, $k))),
        }
    };
    ($name:expr, $choice:expr, $router:ident :: $make:ident, $summary:literal) => {
        Scheme {
            name: $name,
            choice: $choice,
            summary: $summary,
            make: |topology, failures| {
                $router::$make(topology, failures).map(|router| Box::new(router) as Box<dyn Router>)
            },
        }
    };
}

const BSR_GREEDY: &str = "bsr-greedy";

const BCUBE: &[Scheme] = &[
    scheme!(
        "bsr",
        PathChoice::Probes { paths: BSR_GREEDY },
        Bsr::new,
        "BSR: a random one of the parallel paths that are alive, with substitutes for broken ones. [bcube §4]"
    ),
    scheme!(
        BSR_GREEDY,
        PathChoice::Load,
        BsrGreedy::new,
        "BSR that sees the load: each flow in turn takes the parallel path whose fullest link is least full. [bcube §4]"
    ),
    scheme!(
        "bcube-fixed",
        PathChoice::Router,
        FixedPath::new,
        "BCubeRouting: digits corrected from the highest down; a broken path is a dropped flow. [bcube §3.2]"
    ),
];

const DCELL: &[Scheme] = &[
    scheme!(
        "dfr",
        PathChoice::Router,
        Dfr::new,
        "DFR: DCellRouting with link state inside a DCell_1, local reroute by a proxy and jump-up. [dcell §4.3]"
    ),
    scheme!(
        "dcell",
        PathChoice::Router,
        DcellRouting::new,
        "DCellRouting: the structure's single path; a broken one is a dropped flow. [dcell §4.1]"
    ),
];

const FAT_TREE: &[Scheme] = &[scheme!(
    "fat-tree",
    PathChoice::Router,
    FatTreeRouting::new,
    "A random shortest up-path; a broken one is re-distributed to an available one. [bcube §6]"
)];

const TREE: &[Scheme] = &[scheme!(
    "tree",
    PathChoice::Router,
    TreeRouting::new,
    "The only path, by the common ancestor. [bcube §8]"
)];

const LEAF_SPINE: &[Scheme] = &[scheme!(
    "leaf-spine",
    PathChoice::Router,
    LeafSpineRouting::new,
    "ECMP over spines and super-spines: random links up that lead to the other leaf, then random links down to it. [rfc7938 §6.1]"
)];

/// Schemes of networks without tiers. k is in the name, as a scheme has no settings.
const K_SHORTEST: &[Scheme] = &[
    scheme!("k-shortest", k_shortest 8, "A random one of the 8 shortest live paths of a pair. [jellyfish §5]"),
    scheme!("k-shortest-2", k_shortest 2, "A random one of the 2 shortest live paths of a pair. [jellyfish §5]"),
    scheme!("k-shortest-4", k_shortest 4, "A random one of the 4 shortest live paths of a pair. [jellyfish §5]"),
    scheme!("k-shortest-16", k_shortest 16, "A random one of the 16 shortest live paths of a pair. [jellyfish §5]"),
];

const DRAGONFLY: &[Scheme] = &[
    scheme!(
        "dragonfly-minimal",
        PathChoice::Router,
        DragonflyRouting::minimal,
        "By a link between the two groups, with at most one link before and after it. [dragonfly §4.1]"
    ),
    scheme!(
        "dragonfly-valiant",
        PathChoice::Router,
        DragonflyRouting::valiant,
        "Valiant's: minimal to a random third group, then minimal to the destination. [dragonfly §4.1]"
    ),
];

const TORUS: &[Scheme] = &[
    scheme!(
        "torus-multipath",
        PathChoice::Router,
        Multipath::new,
        "CamCube's routing service: every hop takes a random link on a shortest live path. [camcube §2.1.2]"
    ),
    scheme!(
        "torus-tcp",
        PathChoice::Router,
        DisjointPaths::new,
        "CamCube's TCP/IP service: a random one of at least three link-disjoint paths. [camcube §3.1]"
    ),
    scheme!(
        "torus-dimension",
        PathChoice::Router,
        DimensionOrder::new,
        "CamCube's aggregation service: x, then y, then z, the same path for every flow. [camcube §3.4]"
    ),
];

const SUBWAYS: &[Scheme] = &[
    scheme!(
        "subways-ecmp",
        PathChoice::Router,
        SubwaysRouting::equal,
        "A shared ToR if one exists, else a random ToR of each end; random paths between them. [subways §4.2]"
    ),
    scheme!(
        "subways-wcmp",
        PathChoice::Router,
        SubwaysRouting::by_rate,
        "The same, with each end's ToRs drawn in proportion to its links' rates. [subways §4.3]"
    ),
    scheme!(
        subways::ADAPTIVE,
        PathChoice::Weights,
        SubwaysRouting::adaptive,
        "The same with weights that follow the ToRs' load: flows are rebound until it settles. [subways §5.2]"
    ),
    scheme!(
        subways::DETOUR,
        PathChoice::Detours,
        DetourRouting::unplanned,
        "Adaptive weights, and detours around hot racks by servers of their neighbours. [subways §6]"
    ),
];

const ANY: &[Scheme] = &[
    scheme!("shortest", PathChoice::Router, shortest First, "Link state: one shortest live path a pair."),
    scheme!("ecmp", PathChoice::Router, shortest Equal, "Equal-cost multipath: a random one of the shortest live next hops at every node."),
    scheme!("wcmp", PathChoice::Router, shortest ByRate, "Weighted-cost multipath: next hops drawn in proportion to their links' rates. [subways §4.3]"),
];

/// Further schemes of a family, after those for any network.
fn further(spec: &TopologySpec) -> &'static [Scheme] {
    match spec {
        TopologySpec::Custom(_) => K_SHORTEST,
        _ => &[],
    }
}

fn own(spec: &TopologySpec) -> &'static [Scheme] {
    match spec {
        TopologySpec::Bcube(_) => BCUBE,
        TopologySpec::Dcell(_) => DCELL,
        TopologySpec::FatTree(_) => FAT_TREE,
        TopologySpec::Tree(_) => TREE,
        TopologySpec::LeafSpine(_) => LEAF_SPINE,
        TopologySpec::Torus2d(_) | TopologySpec::Torus3d(_) => TORUS,
        TopologySpec::Jellyfish(_) => K_SHORTEST,
        TopologySpec::Dragonfly(_) => DRAGONFLY,
        TopologySpec::Custom(_) => &[],
        TopologySpec::Subways(_) => SUBWAYS,
    }
}

/// The schemes that serve a topology, its own ones first.
pub fn schemes_for(spec: &TopologySpec) -> impl Iterator<Item = &'static Scheme> {
    own(spec).iter().chain(ANY).chain(further(spec))
}

/// Name and one-line description of every scheme that serves a topology, its paper's own first.
pub fn names_for(spec: &TopologySpec) -> Vec<(&'static str, &'static str)> {
    schemes_for(spec)
        .map(|scheme| (scheme.name, scheme.summary))
        .collect()
}

/// The scheme a topology's own paper uses.
pub fn default_for(spec: &TopologySpec) -> &'static str {
    own(spec).first().map_or("ecmp", |scheme| scheme.name)
}

/// The scheme of this name, if it serves the topology.
pub fn scheme(name: &str, spec: &TopologySpec) -> Option<&'static Scheme> {
    schemes_for(spec).find(|scheme| scheme.name == name)
}

/// A routing scheme that does not exist for the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingError {
    /// The name that the caller gave.
    pub name: String,
    /// The family of the topology.
    pub family: &'static str,
    /// The names that serve it.
    pub valid: Vec<&'static str>,
}

impl fmt::Display for RoutingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "routing is {:?}, which a {} topology does not know. Use one of: {}.",
            self.name,
            self.family,
            self.valid.join(", ")
        )
    }
}

impl std::error::Error for RoutingError {}

/// The scheme called `name` on one topology with one set of failures.
pub fn router(name: &str, topology: &Topology, failures: Failures) -> Result<Box<dyn Router>, RoutingError> {
    let spec = topology.spec();
    scheme(name, spec)
        .and_then(|scheme| (scheme.make)(topology, failures))
        .ok_or_else(|| RoutingError {
            name: name.to_owned(),
            family: spec.family(),
            valid: schemes_for(spec).map(|scheme| scheme.name).collect(),
        })
}
