//! Control messages between neighbours: UDP datagrams between the control addresses of ports.

/// The UDP port of control messages, at both ends.
pub const CONTROL_PORT: u16 = 4790;
/// The UDP port of packets of services, at both ends.
pub const SERVICE_PORT: u16 = 4791;
/// Longest control message of any protocol, in bytes. Longer datagrams are passed on cut to one byte more, so that
/// the protocol sees that they are too long.
pub const MAX_MESSAGE_BYTES: usize = 1024;
