//! Network structures for container data centers: who is wired to whom, on which port.
//!
//! A [`TopologySpec`] (the papers' letters) becomes a [`Topology`]: names, port numbers, links in
//! columns, a wiring [`Certificate`] that re-derives every rule, and closed-form
//! [`StructureMetrics`].
//!
//! Inside: the specification with its checks (`spec`, `describe`, `finding`), one file or folder
//! for each family (`family/`), address arithmetic that routing uses too (`address/`), what clients
//! of requests draw (`asking`), the built structure (`topology`, `graph`, `size`, `metrics`), its
//! certificate, parts of it (`slice`), faults (`fault`), and amounts with units (`amount`).
//!
//! Pure and deterministic: no clock, no randomness, no IO. Not here: paths, places, prices.

pub mod address;
pub mod amount;
pub mod asking;
mod bfs;
mod certificate;
mod describe;
mod family;
pub mod fault;
mod finding;
mod graph;
mod host_name;
mod metrics;
pub mod random;
mod size;
mod slice;
mod spec;
mod topology;

pub use certificate::{Certificate, Check};
pub use describe::{families, json_schema};
pub use finding::{Finding, Severity, TopologyError, number_text};
pub use graph::{Csr, Links, NodeId};
pub use host_name::HOST_NAME_MAX_CHARACTERS;
pub use metrics::{Metric, PathMeasure, StructureMetrics};
pub use size::Size;
pub use slice::{Part, Slice, SliceOfServers, SliceWithin};
pub use spec::{
    BcubeSpec, CustomLink, CustomNode, CustomRole, CustomSpec, DcellGrowth, DcellSpec, DragonflySpec,
    FatTreeSpec, GbpsList, JellyfishSpec, LeafSpineSpec, MAX_LINKS, SubwaysSpec, TopologySpec, Torus2dSpec,
    Torus3dSpec, TreeSpec,
};
pub use topology::{Picture, SwitchTier, Topology};
