//! This host: its network namespaces, processes, processors and interfaces, and the features of its
//! kernel.
//!
//! `belonging` proves that a process is of a run. `namespace` and `process` make, find and end
//! namespaces and processes of runs, `strays` ends leftovers of containers. `clock`, `processors`,
//! `probe` and `underlay` measure. `folder` opens and removes without following links. `ethtool`
//! sets offloads, `packet_socket` sends and receives frames.
//!
//! Not here: anything about runs or networks, and netlink, which has its own folder.

pub mod belonging;
pub mod clock;
pub mod ethtool;
pub mod folder;
pub mod namespace;
pub mod packet_socket;
pub mod probe;
pub mod process;
pub mod processors;
pub mod scheduling;
pub mod strays;
pub mod underlay;
