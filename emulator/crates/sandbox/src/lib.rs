//! Services that users write, as WebAssembly modules: the room in which they run. Or as processes:
//! what is said to one, and what it may ask for.
//!
//! A module sees nothing but the calls of `imports.rs`: no clock but the one it is told, no file,
//! no socket, no other service. Each call ends by its fuel, an instance has at most so much memory,
//! and what an instance may compute in a second is bounded, so that a service which loops, traps,
//! is late or floods loses its own packets and nobody else's. All of it depends on the times that a
//! call is told alone: the same in a container and in virtual time.
//!
//! | file | job |
//! |---|---|
//! | `module.rs` | a module that was checked, and what is wrong with one that is refused |
//! | `imports.rs` | what a module can ask and do |
//! | `guest.rs` | one instance and the state of its calls |
//! | `account.rs` | what an instance may use up and has counted, in a module or a process |
//! | `budget.rs` | how much an instance may compute, and when one that traps starts again |
//! | `service.rs` | the instance as a service of a server |
//! | `process/` | a process as a service of a server: its calls, its answers, and what becomes of a bad one |
//! | `trial.rs` | a service on every server of a torus in virtual time |
//! | `limits.rs` | every limit |
//!
//! The header and the templates for authors are in the backend's folder of templates. Not here: who
//! carries packets (`dataplane`), and who has sockets (`node`).

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
