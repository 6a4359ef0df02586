//! Families of other papers, and networks that a user lists.

use serde::{Deserialize, Serialize};

use super::one;

/// Two-dimensional torus of servers without switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torus2dSpec {
    /// Servers along the first axis.
    pub x: u32,
    /// Servers along the second axis.
    pub y: u32,
}

/// Switches joined at random [jellyfish §3].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JellyfishSpec {
    /// Switches, N.
    pub switches: u32,
    /// Ports of a switch, k.
    pub ports: u32,
    /// Most servers on a switch, k - r.
    pub servers_per_switch: u32,
    /// Servers, spread evenly; `switches * servers_per_switch` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<u32>,
    /// Which of the random networks.
    #[serde(default = "one")]
    pub seed: u32,
    /// Rate of every link, in Gb/s.
    #[serde(default = "ten")]
    pub link_gbps: f64,
}

/// Groups of routers that are joined directly, and every two groups too [dragonfly §3].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DragonflySpec {
    /// Routers of a group.
    pub a: u32,
    /// Servers of a router.
    pub p: u32,
    /// Links of a router to other groups.
    pub h: u32,
    /// Groups; `a h + 1` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// Rate of every link, in Gb/s.
    #[serde(default = "ten")]
    pub link_gbps: f64,
}

/// Any network: its nodes and links as the user lists them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomSpec {
    /// All servers and switches.
    pub nodes: Vec<CustomNode>,
    /// Links between them.
    pub links: Vec<CustomLink>,
    /// Rate of links that set no rate themselves, in Gb/s.
    #[serde(default = "ten")]
    pub link_gbps: f64,
}

/// A node of a custom network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomNode {
    /// Its name, and its host name.
    pub name: String,
    /// Whether the node is a server or a switch.
    pub role: CustomRole,
    /// For a switch: its tier. Default: its distance in links from the nearest server, minus one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
}

/// The role of a node in a custom network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CustomRole {
    /// Sends and receives; forwards nothing.
    Server,
    /// A node that forwards traffic.
    Switch,
}

/// A link of a custom network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomLink {
    /// Name of the node at one end.
    pub a: String,
    /// Name of the node at the other end.
    pub b: String,
    /// Rate of the link, in Gb/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gbps: Option<f64>,
    /// Name of the port at `a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_port: Option<String>,
    /// Name of the port at `b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b_port: Option<String>,
}

fn ten() -> f64 {
    10.0
}
