//! Control messages between neighbours: UDP datagrams between the control addresses of ports.

/// The UDP port of control messages, at both ends.
pub const CONTROL_PORT: u16 = 4790;
/// The UDP port of packets of services, at both ends.
pub const SERVICE_PORT: u16 = 4791;
/// Longest control message of any protocol, in bytes. A longer datagram is cut to one byte more
/// than this, so that the protocol can detect it.
pub const MAX_MESSAGE_BYTES: usize = 1024;

/// A service's turn: this many seconds of the link's rate, but at most the bytes of a super-packet.
/// `[ours]`
const TURN_SECS: f64 = 0.004;
const MOST_TURN_BYTES: f64 = 65_000.0;

/// Bytes that each service sends per turn on a shared link; packets of applications count as one
/// service. Super-packets of applications must not be longer: the kernel's shaper sends them whole,
/// without shortening the following turns. `[ours, measured]`
pub fn turn_bytes(rate_bits_per_sec: f64, mtu: u32) -> u32 {
    let least = 2.0 * f64::from(mtu.max(1500));
    (rate_bits_per_sec / 8.0 * TURN_SECS).clamp(least.min(MOST_TURN_BYTES), MOST_TURN_BYTES) as u32
}
