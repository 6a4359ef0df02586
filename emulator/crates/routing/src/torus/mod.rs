//! CamCube's torus: the routing service, and the services that do their own routing.
//! `[camcube §2.1.2, §3]`
//!
//! Inside: coordinates over a port table (`shape`), the multipath routing service (`multipath`, its
//! walk in `steps`), disjoint paths for TCP/IP (`disjoint`), trees for distribution and aggregation
//! (`tree`, `aggregation`), keys (`keys`) and cache replicas (`cache`).
//!
//! Not here: the number of packets that each service sends; see the figures in `cubeyard-sim`.

mod aggregation;
mod cache;
mod disjoint;
mod keys;
mod multipath;
mod shape;
mod steps;
mod tree;

pub use aggregation::{DimensionOrder, LinkStress, XYZ, aggregation_loads, dimension_order, link_stress};
pub use cache::{CacheHops, Lookups, cache_lookups, nearest_replica, secondary_replicas};
pub use disjoint::{DisjointPaths, disjoint_paths, first_ways, next_way};
pub use keys::KeyMap;
pub use multipath::{Multipath, Saturated, append_shortest, routing_service_loads, saturated_flow};
pub use shape::{Shape, Ties, Ways};
pub use tree::{JoinTree, join_by_corners, join_tree};
