//! The constants of a run: packet sizes, timers, how data is sent, and the reactions to losses and
//! marks.

use super::qcn::Qcn;

/// The reaction to a lost packet, after Fall and Floyd 1996.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery that the first new acknowledgement ends (RFC 2581).
    Reno,
    /// Fast recovery until all packets that were on the way are acknowledged (RFC 6582).
    NewReno,
    /// The same, with the missing packets identified by selective acknowledgements (RFC 6675).
    Sack,
}

/// How the window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Each subflow on its own, by a packet a round trip (RFC 5681).
    Single,
    /// Coupled over a connection's subflows (RFC 6356).
    Linked,
    /// Each subflow on its own, by the time since its last loss (RFC 9438).
    Cubic,
}

/// The sender's reaction to marked packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Half the window, once a round trip (RFC 3168).
    Halve,
    /// By the share of packets that are marked (RFC 8257).
    Proportion,
}

/// How data is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport {
    /// With windows and acknowledgements.
    Tcp,
    /// One packet per interval in ps; with `drawn`, intervals are exponential with this mean.
    Udp {
        /// Picoseconds from packet to packet.
        gap: u64,
        /// Whether gaps are drawn.
        drawn: bool,
    },
}

/// The constants of a run. Times are in ps.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Seed of all random draws.
    pub seed: u64,
    /// How data is sent.
    pub transport: Transport,
    /// How losses are answered.
    pub recovery: Recovery,
    /// The algorithm by which windows grow.
    pub growth: Growth,
    /// The sender's reaction to marked packets.
    pub marks: Marks,
    /// Payload of a full packet, in bytes.
    pub payload: u32,
    /// Bytes of a packet in addition to its payload; an acknowledgement has only these.
    pub overhead: u32,
    /// The most packets of a subflow on the way; a power of two from 64 to 16,384.
    pub most_window: u32,
    /// The initial window in packets.
    pub initial_window: u32,
    /// The shortest retransmission timeout.
    pub least_timeout: u64,
    /// The longest retransmission timeout.
    pub most_timeout: u64,
    /// How long an acknowledgement may wait for a second packet; 0: none waits.
    pub delayed_ack: u64,
    /// Notices of congestion, if queues send any.
    pub qcn: Option<Qcn>,
}
