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
//! | `probe` | `hosts` | says what this host supports, and what the network to these hosts carries |
//! | `host` | | the monotonic clock, processors and free memory |
//! | `prepare` | `network`, `ends_with_caller` | checks a network and makes the sockets of its nodes; describes the run |
//! | `wire` | `pids`, `containers` or `plain`; `rest_follows` | makes the network, or the part of it that these servers have; answers when their nodes are ready |
//! | `workload` | `flows` | replaces the flows |
//! | `start`, `stop` | | starts the flows; stops and forgets them |
//! | `inject`, `recover` | `fault` | puts a fault into effect; ends it, or `"all"` |
//! | `signal` | `server`, `signal`, `beside` | ends, pauses or resumes the node of a server in a pod, and the container beside it |
//! | `inspect` | `server` | what a server's node knows, or the routes of a router |
//! | `tell` | `server`, `service`, `message` | sends a message to a service of a server, which answers by events |
//! | `program` | `program` | puts a user's program into the chip of every server, while packets flow; without one tells what they run |
//! | `chip` | `server`, `request` | sends a request, in hexadecimal digits, to the chip of a server; returns its `answer` |
//! | `subscribe` | | sends every frame on this connection from now on |
//! | `capture` | `target`, `limits`, `parts` | packets of a link or port, as a pcapng file, whole or in parts while it grows |
//! | `destroy` | `strays` | removes the run, and what an engine has left of these containers |
//! | `reap` | `keep` | destroys all runs but these |
//! | `runs` | | describes all runs |
//! | `end` | | ends this program |
//!
//! `socket_file` makes the socket, `server` reads and writes lines,
//! `fabric` dispatches the methods to the runs, `owners` ends runs whose caller is gone,
//! `starter` the program whose starter is gone,
//! `capture` returns packets of a link. What a method does to a run is in `run/verbs/`.

mod capture;
mod fabric;
mod owners;
mod server;
mod socket_file;
mod starter;

pub use fabric::{Caller, Fabric, Options, Rights};
pub use server::{END_SIGNALS, serve, stop_on_signal};
pub use starter::end_after;
