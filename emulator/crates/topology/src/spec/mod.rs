//! The specification of a topology: the papers' letters.
//!
//! Inside: one struct for each family and the choice among them (here), and how they are read from
//! JSON with findings instead of errors (`read`; lists of nodes and links: `rows`); families that
//! no paper of the emulator names are in `own`. Limits and defaults come from the families'
//! descriptions.
//!
//! Not here: whether parameters fit together, and defaults that depend on others; each family
//! decides (`crate::family`).

mod own;
mod read;
mod rows;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::family;
use crate::finding::{Finding, TopologyError};

pub use own::{CustomLink, CustomNode, CustomRole, CustomSpec, DragonflySpec, JellyfishSpec, Torus2dSpec};
pub(crate) use rows::{FINDINGS_AT_MOST, TIER_AT_MOST, schema as rows_schema};

/// Largest structure that is built: beyond it adjacency no longer fits 32-bit offsets comfortably
/// and a plan would take minutes.
pub const MAX_LINKS: u64 = 64_000_000;

/// BCube_k of n-port switches [bcube §3.1].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BcubeSpec {
    /// Ports of a switch, and servers of a BCube_0.
    pub n: u32,
    /// Levels above level 0; a server has `k + 1` ports.
    pub k: u32,
    /// Servers, in whole BCube_{k-1}s [bcube §5.1]; all `n^(k+1)` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
}

/// DCell_k of n-port switches [dcell §3].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DcellSpec {
    /// Ports of a switch, and servers of a DCell_0.
    pub n: u32,
    /// Levels above level 0; a server has `k + 1` ports.
    pub k: u32,
    /// Servers, the first in the order of growth; all `t_k` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
    /// The order in which a DCell grows: it determines the addresses of a partial DCell.
    #[serde(default, skip_serializing_if = "DcellGrowth::is_filling")]
    pub growth: DcellGrowth,
}

/// The order in which a DCell grows; a number in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum DcellGrowth {
    /// 0: one sub-DCell is filled after the other, in the order of addresses.
    #[default]
    Filling,
    /// 1: many incomplete sub-DCells that are fully connected [dcell §5].
    TopDown,
}

impl DcellGrowth {
    fn is_filling(&self) -> bool {
        *self == DcellGrowth::Filling
    }
}

impl From<DcellGrowth> for u8 {
    fn from(growth: DcellGrowth) -> u8 {
        growth as u8
    }
}

impl TryFrom<u8> for DcellGrowth {
    type Error = String;

    fn try_from(number: u8) -> Result<DcellGrowth, String> {
        match number {
            0 => Ok(DcellGrowth::Filling),
            1 => Ok(DcellGrowth::TopDown),
            _ => Err(format!("growth {number} is neither 0 nor 1")),
        }
    }
}

/// Three-dimensional torus of servers without switches [camcube §2].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torus3dSpec {
    /// Servers along the first axis.
    pub x: u32,
    /// Servers along the second axis.
    pub y: u32,
    /// Servers along the third axis.
    pub z: u32,
}

/// One rate for all ports, or one per port, in Gb/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GbpsList {
    /// The same rate everywhere.
    One(f64),
    /// A rate per port, port 0 first.
    PerPort(Vec<f64>),
}

/// A fat-tree whose servers connect to several nearby ToR switches [subways §4].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubwaysSpec {
    /// 0: all ports to the own ToR; 1: to ToRs of one cluster; 2: to ToRs of several clusters.
    #[serde(rename = "type")]
    pub wiring_type: u8,
    /// Ports per server.
    pub p: u32,
    /// Downward ports per ToR.
    pub q: u32,
    /// Logical racks (and ToRs) per loop.
    pub l: u32,
    /// Clusters a loop is spread over (type 2).
    #[serde(default = "one")]
    pub c: u32,
    /// Aggregation clusters.
    #[serde(default = "one")]
    pub clusters: u32,
    /// Loops per cluster.
    #[serde(default = "one")]
    pub loops_per_cluster: u32,
    /// Aggregation switches per cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggs_per_cluster: Option<u32>,
    /// Core switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Capacity down over capacity up at a ToR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tor_oversubscription: Option<f64>,
    /// Capacity down over capacity up at an aggregation switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agg_oversubscription: Option<f64>,
    /// Rate of a server port, or of each of the `p` ports, in Gb/s.
    #[serde(default = "ten_gbps")]
    pub server_gbps: GbpsList,
    /// Rate of the server links into each cluster, in Gb/s; overrides `server_gbps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_gbps: Option<Vec<f64>>,
    /// Rate of ToR and aggregation uplinks, in Gb/s.
    #[serde(default = "forty")]
    pub uplink_gbps: f64,
    /// The type before an upgrade to type 2, of a run: ToRs that are in another cluster then have
    /// their uplinks of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_type: Option<u8>,
}

fn one() -> u32 {
    1
}

fn ten_gbps() -> GbpsList {
    GbpsList::One(10.0)
}

fn forty() -> f64 {
    40.0
}

/// Folded Clos of equal switches (BCube §6's five layers of 8-port switches).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FatTreeSpec {
    /// Ports of every switch; even.
    pub ports: u32,
    /// Layers of switches.
    #[serde(default = "three")]
    pub layers: u32,
    /// Servers, in whole edge groups of `ports / 2`; all `2 (ports/2)^layers` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
}

fn three() -> u32 {
    3
}

/// Plain tree of edge and root switches (BCube §8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSpec {
    /// Server ports of an edge switch, its dedicated uplink not counted.
    pub edge_ports: u32,
    /// Downward ports of a root switch; as many as `edge_ports` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_ports: Option<u32>,
    /// Servers.
    pub servers: u32,
}

/// Every leaf is wired to every spine, and with super-spines every spine of every pod to each of
/// them [rfc7938 §3.2].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeafSpineSpec {
    /// Leaf switches of a pod.
    pub leaves: u32,
    /// Spine switches of a pod.
    pub spines: u32,
    /// Servers on a leaf, one port each.
    pub servers_per_leaf: u32,
    /// Links from each leaf to each spine.
    #[serde(default = "one")]
    pub uplinks_per_spine: u32,
    /// Rate of a server's port, in Gb/s.
    #[serde(default = "ten")]
    pub server_gbps: f64,
    /// Rate of a link between leaf and spine, in Gb/s.
    #[serde(default = "forty")]
    pub uplink_gbps: f64,
    /// Super-spine switches; without them there are two tiers and one pod.
    // A value equal to its default is omitted when serialized: networks of two tiers keep their
    // bytes, and with them the hashes of their plans.
    #[serde(default, skip_serializing_if = "is_default::<0>")]
    pub super_spines: u32,
    /// Number of pods, which are leaf-spine networks joined by the super-spines.
    #[serde(default = "one", skip_serializing_if = "is_default::<1>")]
    pub pods: u32,
    /// Links from each spine to each super-spine.
    #[serde(default = "one", skip_serializing_if = "is_default::<1>")]
    pub uplinks_per_super_spine: u32,
    /// Rate of a link between spine and super-spine, in Gb/s.
    #[serde(default = "hundred", skip_serializing_if = "is_hundred")]
    pub spine_uplink_gbps: f64,
}

fn ten() -> f64 {
    10.0
}

fn hundred() -> f64 {
    100.0
}

fn is_default<const DEFAULT: u32>(value: &u32) -> bool {
    *value == DEFAULT
}

fn is_hundred(value: &f64) -> bool {
    *value == hundred()
}

/// A specification of any family, tagged by `family`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub enum TopologySpec {
    /// BCube.
    Bcube(BcubeSpec),
    /// DCell.
    Dcell(DcellSpec),
    /// The torus of CamCube.
    #[serde(rename = "torus3d")]
    Torus3d(Torus3dSpec),
    /// Subways.
    Subways(SubwaysSpec),
    /// Fat-tree.
    FatTree(FatTreeSpec),
    /// Two-level tree.
    Tree(TreeSpec),
    /// Leaf-spine.
    LeafSpine(LeafSpineSpec),
    /// Two-dimensional torus.
    #[serde(rename = "torus2d")]
    Torus2d(Torus2dSpec),
    /// Jellyfish.
    Jellyfish(JellyfishSpec),
    /// Dragonfly.
    Dragonfly(DragonflySpec),
    /// Nodes and links as listed.
    Custom(CustomSpec),
}

impl<'de> Deserialize<'de> for TopologySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        TopologySpec::from_json(&value).map_err(serde::de::Error::custom)
    }
}

impl TopologySpec {
    /// Reads a specification. Errors name the field, the value, the limit and a fix; parameters are
    /// in range afterwards, though they may still not fit together (see
    /// [`TopologySpec::validate`]).
    pub fn from_json(value: &Value) -> Result<TopologySpec, TopologyError> {
        read::from_json(value)
    }

    /// The tag, as in JSON.
    pub fn family(&self) -> &'static str {
        match self {
            TopologySpec::Bcube(_) => "bcube",
            TopologySpec::Dcell(_) => "dcell",
            TopologySpec::Torus3d(_) => "torus3d",
            TopologySpec::Subways(_) => "subways",
            TopologySpec::FatTree(_) => "fat_tree",
            TopologySpec::Tree(_) => "tree",
            TopologySpec::LeafSpine(_) => "leaf_spine",
            TopologySpec::Torus2d(_) => "torus2d",
            TopologySpec::Jellyfish(_) => "jellyfish",
            TopologySpec::Dragonfly(_) => "dragonfly",
            TopologySpec::Custom(_) => "custom",
        }
    }

    /// All errors and warnings about it. Without errors among the findings, it can be built.
    pub fn validate(&self) -> Vec<Finding> {
        // The same range checks as for JSON, for specifications made in Rust.
        if let (Ok(Value::Object(fields)), Some(description)) =
            (serde_json::to_value(self), family::description(self.family()))
        {
            let findings = read::check_fields(description, &fields);
            if findings.iter().any(Finding::is_error) {
                return findings;
            }
        }
        family::validate(self)
    }

    /// The same specification with every default filled in. Meaningful when `validate` has no
    /// errors.
    #[must_use]
    pub fn resolve(&self) -> TopologySpec {
        family::resolve(self)
    }

    /// A short title for people, for example `Partial BCube(8,3)`.
    pub fn title(&self) -> String {
        family::title(self)
    }
}
