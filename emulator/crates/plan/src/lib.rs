//! A plan is a pure function of a small spec and a price book: topology -> layout -> wiring -> bill
//! of materials.
//!
//! Inside: the spec with its checks (`spec`, `schema`), parts and their choice (`book`,
//! `books/*.json`, `choice`, `selection`), positions of devices (`layout/`), cables, trays and
//! bundles (`wiring/`), IPv4 addresses (`addresses`), what to buy (`bom`, `cut_list`, `cost`,
//! `power`), what the enclosure takes (`enclosure`), the work order between two plans (`diff/`),
//! how hard wiring is to put up and to grow (`lifecycle`), and the documents (`summary`, `scene`,
//! `sheets`). `plan` runs them in order.
//!
//! Everything is columnar (one vector a field) and indices are stable: a device's index is its
//! `NodeId`, a cable's its link index. Nothing here reads a clock, a file or a hash table's order.
//!
//! Not here: files of any format (the backend's exports), and traffic.
#![allow(
    missing_docs,
    reason = "a column's name carries its meaning and unit; what is not plain is documented"
)]

pub mod addresses;
pub mod bom;
pub mod book;
pub mod choice;
pub mod cost;
pub mod cut_list;
pub mod diff;
pub mod enclosure;
pub mod geometry;
pub mod hash;
pub mod layout;
pub mod lifecycle;
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
