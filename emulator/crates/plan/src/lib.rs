//! A plan is a pure function of a small spec and a price book: topology -> layout -> wiring -> bill of materials.
//!
//! Everything is columnar (one vector a field) and indices are stable: a device's index is its `NodeId`, a cable's its
//! link index. Nothing here reads a clock, a file or a hash table's order.
#![allow(
    missing_docs,
    reason = "a column's name carries its meaning and unit; what is not plain is documented"
)]

pub mod bom;
pub mod book;
pub mod cost;
pub mod cut_list;
pub mod diff;
pub mod geometry;
pub mod hash;
pub mod layout;
pub mod plan;
pub mod power;
pub mod scene;
pub mod schema;
pub mod selection;
pub mod sheets;
pub mod spec;
pub mod summary;
pub mod wiring;

pub use book::{Book, builtin_book, builtin_books};
pub use layout::{Facing, Layout, Placements, Racks, Site, lay_out};
pub use plan::{Plan, PlanError, plan, read_spec};
pub use spec::PlanSpec;
pub use wiring::{Bundles, COLOURS, Cuts, NO_PART, ROUTES, TrayKind, Trays, Wiring, wire};
