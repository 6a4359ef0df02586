//! A service in a process of its user, which may be written in anything: calls go to it over a
//! socket, its answers come back. `[ours]`
//!
//! Nobody waits for a process. Each call is a datagram, which it answers with one: what becomes of
//! the packet, and what it asks for beside that. Until then the packet is the process's, and
//! whatever happens to the process happens to the packets that it has: they are lost and counted.
//! What it may ask for in an answer, a second's calls, and what waits for it are bounded; one that
//! fails, is late or answers nonsense is hung up on, for longer each time.
//!
//! | file | job |
//! |---|---|
//! | `call.rs` | what is said to a process |
//! | `answer.rs` | what it says, read without trust |
//! | `link.rs` | what waits between a service and whoever owns its socket |
//! | `service.rs` | the process as a service of a server |
//!
//! Not here: who owns sockets (`node`), who starts processes and the library that they use (the
//! backend's command line).

mod answer;
mod call;
mod link;
mod service;

pub use link::ProcessLink;
pub use service::ProcessService;
