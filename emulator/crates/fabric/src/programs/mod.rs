//! The eBPF programs of servers and their maps: loading (`object`, `guard`, `fair`, ahead of time
//! in `preload`), attaching, reading and writing (`maps`; `mapped` reads maps in shared memory,
//! `registers` a chip's counters; `called` is the chip that users' programs call). The catalogue
//! lists the programs and maps; the rules of the run decide the entries of the maps. This module
//! does not depend on any protocol.
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
