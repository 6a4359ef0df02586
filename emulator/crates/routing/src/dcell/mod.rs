//! DCell: DCellRouting, broadcast, and DFR, its fault-tolerant routing. `[dcell §4]`
//!
//! Inside: addresses over a port table (`shape`), the structure's single path (`single`), link
//! state inside a DCell_b (`group`), DFR's decision at one server (`step`) and its paths (`dfr`),
//! broadcast (`broadcast`), and the path statistics of the paper's tables (`statistics`).
//!
//! Not here: link-state messages between servers; the schemes in this folder see all failures at
//! once.

mod broadcast;
mod dfr;
mod group;
mod near;
mod shape;
mod single;
mod statistics;
mod step;

pub use broadcast::{Broadcast, Delivery, dcell_broadcast};
pub use cubeyard_topology::address::Bridge;
pub use dfr::{Dfr, DfrOptions};
pub use group::Group;
pub use shape::{Hop, Shape};
pub use single::{DcellRouting, dcell_routing};
pub use statistics::{PathStatistics, dfr_statistics, fail_cells, shortest_statistics};
pub use step::{ByHash, DropCause, Here, Leg, Packet, Step, Ties, View};
