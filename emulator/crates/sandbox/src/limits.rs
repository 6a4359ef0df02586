//! Every limit of services that users write. `[ours]`

use std::time::Duration;

pub use cubeyard_dataplane::service::{
    FIRST_USER_ID as FIRST_ID, MAX_MODULE_BYTES as MODULE_BYTES, MAX_USER_SERVICES as SERVICES,
};

/// Length of the buffer that a module offers for packets and messages, in bytes.
pub const BUFFER_BYTES: usize = 32 * 1024;
/// Most memory of an instance, in bytes.
pub const MEMORY_BYTES: usize = 16 << 20;
/// Most entries of a module's tables.
pub const TABLE_ENTRIES: usize = 4096;
/// Bytes of the stack of a module's calls, in addition to its memory.
pub const STACK_BYTES: usize = 256 * 1024;
/// The deepest recursion.
pub const RECURSION: usize = 512;

/// Fuel of a call: an instruction takes about 1.
pub const CALL_FUEL: u64 = 200_000;
/// Fuel of starting an instance.
pub const START_FUEL: u64 = 1_000_000;
/// Fuel that every call costs.
pub const CALL_BASE_FUEL: u64 = 500;
/// Fuel of an import; each byte that it copies costs 1 more.
pub const IMPORT_FUEL: u64 = 50;
/// Additional fuel of a packet or an answer: about the server's own cost for it.
pub const SEND_FUEL: u64 = 5000;
/// Fuel that an instance gets each second: a hundredth to a tenth of what a core burns, by the
/// instructions.
pub const FUEL_PER_SEC: u64 = 50_000_000;
/// Most fuel that an instance saves up.
pub const FUEL_SAVED: u64 = 20_000_000;

/// Packets that one call may send, copies included.
pub const SENDS: usize = 16;
/// Answers to the outside that an instance gives in a second, and at once.
pub const ANSWERS_PER_SEC: f64 = 50.0;
/// Answers in a burst.
pub const ANSWERS_AT_ONCE: f64 = 100.0;
/// Longest answer, in bytes.
pub const ANSWER_BYTES: usize = 4096;
/// The shortest timer.
pub const SHORTEST_TIMER: Duration = Duration::from_millis(1);

/// Failed calls within [`FAILURES_WITHIN`] after which an instance is stopped.
pub const FAILURES: u32 = 10;
/// The period of [`FAILURES`].
pub const FAILURES_WITHIN: Duration = Duration::from_secs(1);
/// How long an instance is stopped the first time; then twice as long each time.
pub const FIRST_STOP: Duration = Duration::from_secs(1);
/// The longest stop.
pub const LONGEST_STOP: Duration = Duration::from_secs(60);

/// Fuel of a call to a service in a process: it allows 10,000 calls per second.
pub const PROCESS_CALL_FUEL: u64 = 5000;
/// The most calls that a process has not answered yet; further ones are lost.
pub const PROCESS_CALLS: usize = 1024;
/// The most bytes of calls that a process has not read; further calls are lost.
pub const PROCESS_BYTES: usize = 4 << 20;
/// Longest answer of a process to a call, in bytes.
pub const PROCESS_ANSWER_BYTES: usize = 160 * 1024;
/// The most actions in one answer of a process.
pub const PROCESS_ACTIONS: usize = 64;
/// A process without an answer for this long is late: it is disconnected, and its pending calls are
/// lost.
pub const PROCESS_LATE: Duration = Duration::from_secs(2);
/// The same of its first answer: a busy machine starts many processes.
pub const PROCESS_START: Duration = Duration::from_secs(30);
