//! The switching chip of ServerSwitch as a model that people can program and step through
//! `[serverswitch §3.2, §3.3.2, §4.1]`. Sans-IO: packets come in as bytes, copies go out through a
//! callback; no sockets, no clock.
//!
//! | file | job |
//! |---|---|
//! | `profile.rs` | the chip's resources: sizes of tables, ports, limits of a profile |
//! | `udlk.rs` | user-defined lookup keys, of bytes of the packet and its port of arrival |
//! | `action.rs` | the actions of entries on packets |
//! | `program.rs`, `entries.rs` | the tables that a user fills, checked entry by entry and as a whole |
//! | `tcam.rs` | the TCAM executed (tuple space over masks, pruned by a bit vector), and the plain reference |
//! | `compile.rs` | a program as tables for the chip in the kernel |
//! | `tables.rs` | a checked program, ready for packets |
//! | `frame.rs`, `parser.rs`, `modify.rs` | a packet's bytes, the parsers, and the modifiers |
//! | `pipeline.rs` | the chip: one packet from port to port |
//! | `registers.rs` | counters and switches by name |
//! | `driver.rs` | the paper's API, with the queue of packets for the CPU |
//! | `overlay.rs` | the entries that calls have set over a running chip's program |
//! | `api.rs` | the same API as bytes on a socket: requests, answers and their costs |
//! | `trace.rs` | the path of a packet through the chip, stage by stage |
//! | `text/` | programs as text that reads like the paper's Fig. 6 |
//! | `document.rs`, `diff.rs` | programs as JSON; the differences between two |
//! | `portland/` | PortLand on 20 chips in virtual time |
//! | `bcube.rs`, `walk.rs` | the paper's BCube program for every server, and a packet's path through their chips |
//!
//! Not here: the programs in TC eBPF that execute compiled tables (`bpf/serverswitch`), and queues
//! of real ports. Runs with chips are `dataplane`'s: BCube's forwardings `serverswitch` and
//! `serverswitch-software`.

pub mod action;
pub mod api;
pub mod bcube;
pub mod compile;
pub mod diff;
pub mod document;
pub mod driver;
mod entries;
mod flaw;
pub mod frame;
mod malformed;
mod modify;
mod overlay;
pub mod parser;
mod pipeline;
pub mod portland;
mod profile;
mod program;
mod registers;
mod tables;
pub mod tcam;
pub mod text;
pub mod trace;
pub mod udlk;
pub mod walk;

pub use action::{Action, Forward, Mpls, Tunnel};
pub use driver::ServerSwitch;
pub use entries::{Entry, Mac, Place, Prefix, Table, Vif, read_bytes};
pub use flaw::Flaw;
pub use frame::Frame;
pub use overlay::Overlay;
pub use pipeline::{Chip, DiscardReason, Leaving, Verdict};
pub use profile::{CPU_PORTS, EXTERNAL_PORTS, MAX_FRAME_BYTES, PORTS, Profile};
pub use program::Program;
pub use registers::{COUNTERS, Counters, Register};
pub use udlk::{Field, Key, Udlk};
