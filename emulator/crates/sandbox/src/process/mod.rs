//! A service in a user's process, in any programming language: calls and answers are sent over a
//! socket. `[ours]`
//!
//! The server never blocks on a process. Each call is a datagram, answered by another: the decision
//! on the packet, and further actions. Until the answer arrives, the process holds the packet; if
//! the process dies, its packets are lost and counted. The actions per answer, the calls per second
//! and the waiting calls are limited. A process that fails, is late or sends an invalid answer is
//! disconnected, with exponential back-off.
//!
//! | file | job |
//! |---|---|
//! | `call.rs` | calls to a process |
//! | `answer.rs` | its answers, fully checked |
//! | `link.rs` | the queue between a service and the owner of its socket |
//! | `service.rs` | the process as a service of a server |
//!
//! Not here: the sockets (`node`), starting processes, and the library that they use (the backend's
//! command line).

mod answer;
mod call;
mod link;
mod service;

pub use link::ProcessLink;
pub use service::ProcessService;
