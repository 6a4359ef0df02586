//! Control messages between neighbours: UDP datagrams between the control addresses of ports.

/// The UDP port of control messages, at both ends.
pub const CONTROL_PORT: u16 = 4790;
/// The UDP port of packets of services, at both ends.
pub const SERVICE_PORT: u16 = 4791;
/// Longest control message of any protocol, in bytes. Longer datagrams are passed on cut to one
/// byte more, so that the protocol sees that they are too long.
pub const MAX_MESSAGE_BYTES: usize = 1024;

/// Seconds of a link's rate that a service sends in its turn, and most bytes of it: a super-packet.
/// `[ours]`
const TURN_SECS: f64 = 0.004;
const MOST_TURN_BYTES: f64 = 65_000.0;

/// Bytes that each service, applications' packets being one, sends in its turn on a link that
/// services share. No super-packet of applications is longer: the kernel's shaper sends it whole
/// and takes nothing off the turns after it. `[ours, measured]`
pub fn turn_bytes(rate_bits_per_sec: f64, mtu: u32) -> u32 {
    let least = 2.0 * f64::from(mtu.max(1500));
    (rate_bits_per_sec / 8.0 * TURN_SECS).clamp(least.min(MOST_TURN_BYTES), MOST_TURN_BYTES) as u32
}
