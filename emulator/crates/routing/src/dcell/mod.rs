//! DCell: the structure's own single path.

mod shape;
mod single;

pub use shape::{Bridge, Hop, Shape};
pub use single::{DcellRouting, dcell_routing};
