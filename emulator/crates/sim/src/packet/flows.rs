//! The state of flows, in columns of records: the fields that a packet's arrival uses share one
//! cache line.
//!
//! A connection sends its data over one subflow, or several (MPTCP). A subflow has its own TCP
//! state, or is a UDP sender. Packets of a subflow are numbered from 0.

use super::links::NONE;
use super::wheel::NEVER;

/// The sending half of a subflow.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The congestion window, in packets.
    pub window: f64,
    /// The slow-start threshold: above it the window grows by one packet a round trip.
    pub threshold: f64,
    /// When the retransmission timer expires; [`NEVER`] while it is off.
    pub deadline: u64,
    /// The first packet that is not acknowledged.
    pub first: u32,
    /// The next one to send.
    pub next: u32,
    /// The first one that was never sent.
    pub fresh: u32,
    /// Recovery ends when all packets before this number are acknowledged.
    pub recover: u32,
    /// The start of its route; [`NONE`] while it has none.
    pub path: u32,
    /// The connection of the subflow.
    pub connection: u32,
    /// The number of its packet that is shorter than the others; [`NONE`]: it has none.
    pub short: u32,
    /// Consecutive acknowledgements that repeat the last.
    pub repeats: u16,
    /// Bits of [`flag`].
    pub flags: u8,
}

/// Bits of [`Sender::flags`].
pub mod flag {
    /// The subflow has started.
    pub const STARTED: u8 = 1;
    /// The subflow is in fast recovery.
    pub const RECOVERS: u8 = 2;
    /// A partial acknowledgement has arrived in this recovery.
    pub const PARTIAL: u8 = 4;
    /// The round trip of packet `Clock::number` is being timed.
    pub const TIMED: u8 = 8;
    /// The timer has expired since the last new acknowledgement.
    pub const EXPIRED: u8 = 16;
}

impl Sender {
    /// A sender that has not started.
    pub fn new(connection: u32, path: u32, initial_window: f64) -> Sender {
        Sender {
            window: initial_window,
            threshold: f64::INFINITY,
            deadline: NEVER,
            first: 0,
            next: 0,
            fresh: 0,
            recover: 0,
            path,
            connection,
            short: NONE,
            repeats: 0,
            flags: 0,
        }
    }

    /// Whether a flag is set.
    #[inline]
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A subflow's estimate of its round trip (RFC 6298), in ps.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The smoothed round-trip time.
    pub smoothed: u64,
    /// The mean deviation of the round-trip time.
    pub deviation: u64,
    /// The retransmission timeout, backed off.
    pub timeout: u64,
    /// When the timed packet was sent.
    pub sent: u64,
    /// The number of the packet that is timed.
    pub number: u32,
    /// Marks count again when all packets before this number are acknowledged.
    pub marks_from: u32,
}

impl Clock {
    /// The estimate after a handshake over an idle path: a single measurement. `[ours]`
    pub fn new(round_trip: u64, least: u64, most: u64) -> Clock {
        let mut clock = Clock {
            smoothed: round_trip,
            deviation: round_trip / 2,
            timeout: 0,
            sent: 0,
            number: 0,
            marks_from: 0,
        };
        clock.set_timeout(least, most);
        clock
    }

    /// Adds a measurement. (RFC 6298, 2.3)
    pub fn measure(&mut self, round_trip: u64, least: u64, most: u64) {
        self.deviation = (3 * self.deviation + self.smoothed.abs_diff(round_trip)) / 4;
        self.smoothed = (7 * self.smoothed + round_trip) / 8;
        self.set_timeout(least, most);
    }

    /// Sets the timeout from the measured round trips, without back-off.
    pub fn set_timeout(&mut self, least: u64, most: u64) {
        self.timeout = (self.smoothed + 4 * self.deviation).clamp(least, most);
    }
}

/// The receiving half of a subflow.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The first packet that has not arrived.
    pub next: u32,
    /// The start of the route of its acknowledgements; [`NONE`] while it has none.
    pub path: u32,
    /// The page of [`Early`] with the packets that have arrived beyond `next`; [`NONE`] if there
    /// are none.
    pub page: u32,
    /// Number of packets on that page.
    pub early: u16,
    /// Packets that wait to be acknowledged.
    pub owed: u16,
}

/// One connection: the data of one flow of the workload.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Start in ps; [`NEVER`] while it waits for another flow.
    pub start: u64,
    /// Time at which its last byte arrived; [`NEVER`] before.
    pub end: u64,
    /// Number of packets in total.
    pub packets: u32,
    /// Packets that no subflow has taken yet.
    pub unsent: u32,
    /// Packets that have not arrived (for UDP: that have neither arrived nor been lost).
    pub missing: u32,
    /// Its first subflow; the others follow.
    pub first: u32,
    /// Packets of it that were lost.
    pub drops: u32,
    /// Number of packets sent again.
    pub again: u32,
    /// Number of expired timers.
    pub timeouts: u32,
    /// The connection that starts when it ends; [`NONE`] if there is none.
    pub then: u32,
    /// The delay after that end, in ps.
    pub pause: u64,
    /// Payload of its last packet, in bytes.
    pub last_bytes: u16,
    /// Number of its subflows.
    pub subflows: u16,
    /// It is the response to the connection before it.
    pub answers: bool,
}

impl Connection {
    /// The data in bytes, with `payload` bytes in a full packet.
    pub fn bytes(&self, payload: u64) -> u64 {
        u64::from(self.packets - 1) * payload + u64::from(self.last_bytes)
    }
}

/// Packets that arrived out of order, or (at the sender) were acknowledged so: pages of bits, one
/// for each subflow that has any.
#[derive(Debug)]
pub struct Early {
    words: Vec<u64>,
    free: Vec<u32>,
    size: usize,
}

impl Early {
    /// For subflows that have at most `window` packets on the way, a power of two of at least 64.
    pub fn new(window: u32) -> Early {
        Early {
            words: Vec::new(),
            free: Vec::new(),
            size: window as usize / 64,
        }
    }

    /// Notes a packet, and returns whether it is new. Takes a page if `page` is none.
    pub fn set(&mut self, page: &mut u32, number: u32) -> bool {
        if *page == NONE {
            *page = self.free.pop().unwrap_or_else(|| {
                self.words.resize(self.words.len() + self.size, 0);
                (self.words.len() / self.size - 1) as u32
            });
        }
        let (word, bit) = self.place(*page, number);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Removes the note of a packet, and returns whether it had one.
    pub fn clear(&mut self, page: u32, number: u32) -> bool {
        let (word, bit) = self.place(page, number);
        let there = self.words[word] & bit != 0;
        self.words[word] &= !bit;
        there
    }

    /// Whether a packet is noted.
    #[inline]
    pub fn holds(&self, page: u32, number: u32) -> bool {
        let (word, bit) = self.place(page, number);
        self.words[word] & bit != 0
    }

    /// Frees an empty page.
    pub fn give(&mut self, page: &mut u32) {
        self.free.push(std::mem::replace(page, NONE));
    }

    #[inline]
    fn place(&self, page: u32, number: u32) -> (usize, u64) {
        let bit = number as usize & (self.size * 64 - 1);
        (page as usize * self.size + bit / 64, 1 << (bit % 64))
    }
}
