//! CamCube's torus: the routing service, and the four services that route for themselves. `[camcube §3]`

mod aggregation;
mod cache;
mod disjoint;
mod keys;
mod multipath;
mod shape;
mod tree;

pub use aggregation::{DimensionOrder, LinkStress, aggregation_loads, link_stress};
pub use cache::{CacheHops, cache_lookups, nearest_replica, secondary_replicas};
pub use disjoint::{DisjointPaths, disjoint_paths};
pub use keys::KeyMap;
pub use multipath::{Multipath, Saturated, routing_service_loads, saturated_flow};
pub use shape::{Shape, Ties};
pub use tree::{JoinTree, join_by_corners, join_tree};
