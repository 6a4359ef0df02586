//! DCell: the structure's own single path, its fault-tolerant routing, and flooding.

mod broadcast;
mod dfr;
mod group;
mod shape;
mod single;
mod statistics;

pub use broadcast::{Broadcast, Delivery, dcell_broadcast};
pub use dfr::{Dfr, DfrOptions};
pub use shape::{Bridge, Hop, Shape};
pub use single::{DcellRouting, dcell_routing};
pub use statistics::{PathStatistics, dfr_statistics, fail_cells, shortest_statistics};
