//! Services that users write: a sandbox for WebAssembly modules, and the protocol for services in
//! processes.
//!
//! A module can only call the functions of `imports.rs`: it has no clock except the time passed to
//! each call, no files, no sockets, and no access to other services. Fuel limits each call, and
//! memory and computation per second are limited for each instance. So a service that loops, traps,
//! is late or floods loses only its own packets. All limits depend only on the times passed to
//! calls, so they work the same in a container and in virtual time.
//!
//! | file | job |
//! |---|---|
//! | `module.rs` | a checked module, and the errors of a rejected one |
//! | `imports.rs` | the functions that a module can call |
//! | `guest.rs` | one instance and the state of its calls |
//! | `account.rs` | budget and counters of an instance, in a module or a process |
//! | `budget.rs` | limits on computation, and the restart after a trap |
//! | `service.rs` | the instance as a service of a server |
//! | `process/` | a process as a service of a server: its calls, its answers, and the handling of a bad one |
//! | `trial.rs` | a service on every server of a torus in virtual time |
//! | `limits.rs` | every limit |
//!
//! The header and the templates for authors are in the backend's folder of templates. Not here:
//! carrying packets (`dataplane`), and sockets (`node`).

mod account;
mod budget;
mod guest;
mod imports;
pub mod limits;
mod module;
mod process;
mod service;
pub mod trial;

#[cfg(feature = "text")]
pub use module::binary;
pub use module::{Flaw, Module};
pub use process::{ProcessLink, ProcessService};
pub use service::UserService;
