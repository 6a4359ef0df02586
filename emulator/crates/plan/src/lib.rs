//! A plan is a pure function of a small spec and a price book: topology -> layout -> wiring -> bill of materials.
//!
//! Everything is columnar (one vector a field) and indices are stable: a device's index is its `NodeId`, a cable's its
//! link index. Nothing here reads a clock, a file or a hash table's order.

pub mod layout;
pub mod spec;
pub mod wiring;

pub use layout::{ChosenParts, Facing, Layout, NO_PART, Placements, Racks, Site};
pub use spec::PlanSpec;
pub use wiring::{Bundles, COLOURS, Cuts, ROUTES, TrayKind, Trays, Wiring};
