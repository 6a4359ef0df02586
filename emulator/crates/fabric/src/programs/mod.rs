//! The eBPF programs of servers and their maps: loading (`object`, `guard`, `fair`, ahead of time
//! in `preload`), attaching, reading and writing (`maps`; what user space reads in place by
//! `mapped`, a chip's counters of it by `registers`; a chip as users' programs call it by
//! `called`). Which programs and maps there are the catalogue says; which entries the maps hold is
//! decided by the rules of the run. No protocol is named here.
//!
//! Not here: the programs themselves, which are in `emulator/bpf/` and compiled into the catalogue,
//! and the checks of what a node may write (`run/inbox.rs`).

mod called;
pub mod fair;
mod guard;
mod mapped;
mod maps;
mod object;
mod preload;
mod queue;
mod registers;

pub use called::CalledChip;
pub use guard::Guard;
pub use object::{Programs, Questions};
pub use preload::Preloaded;
pub use queue::{QueueReader, Queues};
