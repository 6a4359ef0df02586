//! What a server of an emulated network does with packets: the BCube [`header`](mod@header), the software
//! [`forward`]ing engine, the structs shared with the fast path in the kernel, and the per-server protocols.
//!
//! Sans-IO: no sockets, no clock. Bytes and times come in as arguments, packets and decisions go out as values, so
//! that the same code runs in a container and in virtual time inside tests.

pub mod address;
pub mod bsr;
pub mod configuration;
pub mod drops;
pub mod forward;
pub mod header;
mod inner;
mod limit;
mod lru;
pub mod maps;
pub mod protocol;
pub mod route;
