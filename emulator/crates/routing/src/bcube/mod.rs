//! BCube: single paths, parallel paths, BSR's choice among them, trees and complete graphs.

mod bsr;
mod cube;
mod live;
mod paths;
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
