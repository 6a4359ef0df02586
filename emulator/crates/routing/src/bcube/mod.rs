//! BCube: source routing over parallel paths. `[bcube §3, §4]`
//!
//! Inside: addresses over a port table (`shape`), BCubeRouting and the parallel paths (`paths`),
//! BSR (`bsr`) with the substitutes for broken paths (`substitute`), what a source's probes find
//! (`probe`, over `cube`, `planes` and `live`), fast walks of all paths between two servers
//! (`walk`), and the edge-disjoint spanning trees for one-to-all (`trees`).
//!
//! Not here: the messages by which a source probes in a running network; they are the dataplane's.

mod bsr;
mod cube;
mod live;
mod paths;
mod planes;
mod probe;
mod shape;
mod substitute;
mod trees;
mod walk;

pub use bsr::{Bsr, BsrGreedy, FixedPath, GoodPaths, good_paths};
pub use live::Live;
pub use paths::{build_path_set, correct_digits, levels_down_from, path_leaving_by};
pub use shape::{Hop, Hops, Shape};
pub use substitute::{Taken, find_substitute, shortest_parallel};
pub use trees::{CompleteGraph, TreeEdge, complete_graph, spanning_trees};
