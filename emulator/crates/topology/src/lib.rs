//! Network structures for container data centers: who is wired to whom, on which port.
//!
//! A [`TopologySpec`] (the papers' letters) becomes a [`Topology`]: addresses, port numbers, links in
//! columns, a wiring [`Certificate`] that re-derives every rule, and closed-form [`StructureMetrics`].
//! Pure and deterministic: no clock, no randomness, no IO.

mod bfs;
mod certificate;
mod describe;
mod family;
mod finding;
mod graph;
mod metrics;
mod size;
mod spec;
mod topology;

pub use certificate::{Certificate, Check};
pub use describe::{families, json_schema};
pub use finding::{Finding, Severity, TopologyError};
pub use graph::{Csr, Links, NodeId};
pub use metrics::{Metric, StructureMetrics};
pub use size::Size;
pub use spec::{
    BcubeSpec, DcellSpec, FatTreeSpec, GbpsList, MAX_LINKS, SubwaysSpec, TopologySpec, Torus3dSpec, TreeSpec,
};
pub use topology::{SwitchTier, Topology};
