//! The socket for callers: one JSON document per line, answers in the same order, frames in
//! between.
//!
//! A request is `{"id": ..., "method": ..., "params": {...}}`; the answer has the same `id` and
//! either `result` or `error` with `code`, `field`, `value`, `limit`, `message` and `fix`. Params
//! of most methods have `run`, the run's id. The caller's user must have prepared the run; root may
//! name any run.
//!
//! | method | params | what it does |
//! |---|---|---|
//! | `probe` | `hosts` | features of this host, and the MTU of the network to these hosts |
//! | `host` | | the monotonic clock, processors and free memory |
//! | `prepare` | `network`, `ends_with_caller` | checks a network and creates the sockets of its nodes; describes the run |
//! | `wire` | `pids`, `containers` or `plain`; `rest_follows` | creates the network, or the part of it at these servers; answers when their nodes are ready |
//! | `workload` | `flows` | replaces the flows |
//! | `start`, `stop` | | starts the flows; stops and forgets them |
//! | `inject`, `recover` | `fault` | puts a fault into effect; ends it, or `"all"` |
//! | `signal` | `server`, `signal`, `beside` | ends, pauses or resumes the node of a server in a pod, and the container beside it |
//! | `inspect` | `server` | the state of a server's node, or the routes of a router |
//! | `tell` | `server`, `service`, `message` | sends a message to a service of a server, which answers by events |
//! | `program` | `program` | loads a user's program into the chip of every server, while packets flow; without `program`, returns the current one |
//! | `chip` | `server`, `request` | sends a request, in hexadecimal digits, to the chip of a server; returns its `answer` |
//! | `subscribe` | | sends every frame on this connection from now on |
//! | `capture` | `target`, `limits`, `parts` | packets of a link or port, as a pcapng file, whole or in parts while it grows |
//! | `destroy` | `strays` | removes the run, and leftovers of these containers |
//! | `reap` | `keep` | destroys all other runs |
//! | `runs` | | describes all runs |
//! | `end` | | ends this program |
//!
//! `socket_file` makes the socket, `server` reads and writes lines, `fabric` dispatches the methods
//! to the runs, `owners` ends runs after their caller has disconnected, `starter` ends the program
//! after its starter has exited, `capture` returns packets of a link, `probes` features of this
//! host. `run/verbs/` implements the methods of runs.

mod capture;
mod fabric;
mod owners;
mod probes;
mod server;
mod socket_file;
mod starter;

pub use fabric::{Caller, Fabric, Options, Rights};
pub use server::{END_SIGNALS, serve, stop_on_signal};
pub use starter::end_after;
