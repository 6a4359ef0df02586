//! This host: its network namespaces, processes, processors and interfaces, and what its kernel
//! supports.
//!
//! `belonging` proves that a process is of a run. `namespace`, `process` and `strays` make, find
//! and end what a run needs. `clock`, `processors`, `probe` and `underlay` measure. `folder` opens
//! and removes without following links. `ethtool` sets offloads, `packet_socket` sends and receives
//! frames.
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
