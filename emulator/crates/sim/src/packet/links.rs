//! Links as FIFO queues: one record a directed link, and the packets that are on links, in one pool.
//!
//! A FIFO's departure time is known when a packet enters it, so a packet costs one event a link: its arrival at the next
//! node. What waits is known from the time at which the link is free again, so a queue needs no events of its own.
//!
//! Not here: when links change, and what happens to packets that arrive (`core`).

use super::wheel::NEVER;

/// Picoseconds in a second.
pub const SECOND: u64 = 1_000_000_000_000;
/// The fraction bits of [`Link::per_byte`]: exact for usual rates, to a hundred thousandth at 100 Tb/s.
const FRACTION: u32 = 20;
/// No packet.
pub const NONE: u32 = u32::MAX;

/// One direction of a link, or a server's processor, which is a queue like a link. `[ours]`
#[derive(Clone, Debug)]
pub struct Link {
    /// When it has sent all that it took, in ps.
    pub busy: u64,
    /// Time on the line of a byte, in 2^-20 ps.
    pub per_byte: u64,
    /// Time of a packet beside that of its bytes, in ps.
    pub per_packet: u64,
    /// The most work that it takes, in ps at its rate: the queue, and the packet being sent.
    pub limit: u64,
    /// From the last bit sent to the packet's arrival, in ps.
    pub delay: u64,
    /// Waiting work above which packets are marked, in ps; [`NEVER`]: none is.
    pub mark: u64,
    /// The packet that arrives next, and the last one.
    pub head: u32,
    /// See `head`.
    pub tail: u32,
    /// Packets lost at random, in 2^-32.
    pub loss: u32,
    /// How many faults let nothing pass.
    pub dead: u32,
}

/// What a directed link has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Packets that it took.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What they waited before their first bit, all together, in 1024 ps.
    pub wait: u64,
    /// Packets that it did not take or that were lost on it.
    pub drops: u64,
}

impl Link {
    /// An idle link of this rate, with room for `queue_bytes` beside a packet of `packet_bytes` that is being sent.
    pub fn new(rate_bits_per_sec: f64, delay: u64, queue_bytes: u64, packet_bytes: u64) -> Link {
        let mut link = Link {
            busy: 0,
            per_byte: 0,
            per_packet: 0,
            limit: 0,
            delay,
            mark: NEVER,
            head: NONE,
            tail: NONE,
            loss: 0,
            dead: 0,
        };
        link.set_rate(rate_bits_per_sec, queue_bytes, packet_bytes);
        link
    }

    /// A server's processor: each packet takes `cost` ps of it, and `packets` may wait.
    pub fn processor(cost: u64, packets: u64) -> Link {
        Link {
            per_byte: 0,
            per_packet: cost,
            limit: (packets + 1) * cost,
            ..Link::new(1.0, 0, 0, 0)
        }
    }

    /// Sets the rate and what follows from it.
    pub fn set_rate(&mut self, rate_bits_per_sec: f64, queue_bytes: u64, packet_bytes: u64) {
        self.per_byte = (8.0 * SECOND as f64 * f64::from(1 << FRACTION) / rate_bits_per_sec).round() as u64;
        self.limit = self.time_of(queue_bytes + packet_bytes);
    }

    /// Its rate in bit/s.
    pub fn bits_per_sec(&self) -> f64 {
        8.0 * SECOND as f64 * f64::from(1 << FRACTION) / self.per_byte.max(1) as f64
    }

    /// How long so many bytes are on the line, in ps.
    pub fn time_of(&self, bytes: u64) -> u64 {
        u64::try_from((u128::from(bytes) * u128::from(self.per_byte)) >> FRACTION).unwrap_or(NEVER / 4)
    }

    /// How long a packet occupies the link, in ps.
    #[inline]
    pub fn service(&self, bytes: u32) -> u64 {
        ((u64::from(bytes) * self.per_byte) >> FRACTION) + self.per_packet
    }

    /// Work that waits or is being done at `now`, in ps.
    #[inline]
    pub fn backlog(&self, now: u64) -> u64 {
        self.busy.saturating_sub(now)
    }

    /// The same in bytes.
    pub fn backlog_bytes(&self, now: u64) -> u64 {
        let bits = u128::from(self.backlog(now)) << FRACTION;
        bits.checked_div(u128::from(self.per_byte)).unwrap_or_default() as u64
    }
}

/// A packet on a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// When it arrives at the link's end, in ps.
    pub time: u64,
    /// Its place in the routes: the link it is on.
    pub position: u32,
    /// See [`Header`].
    pub header: Header,
}

/// What a packet says, in 32 bits: the low 16 bits of a number, whether it acknowledges, and a mark; data has 14 bits of its
/// size, an acknowledgement the packet that it names there, as all of them have one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header(u32);

impl Header {
    /// The largest packet in bytes.
    pub const MAX_BYTES: u32 = (1 << 14) - 1;
    const ACK: u32 = 1 << 30;
    const MARK: u32 = 1 << 31;

    /// A data packet with this number.
    #[inline]
    pub fn data(number: u32, bytes: u32) -> Header {
        Header(number & 0xffff | bytes << 16)
    }

    /// An acknowledgement of all data packets before `number`, which echoes a mark, and names the packet `named` behind that
    /// one; 0 for none.
    #[inline]
    pub fn ack(number: u32, named: u32, marked: bool) -> Header {
        Header(number & 0xffff | named << 16 | Header::ACK | if marked { Header::MARK } else { 0 })
    }

    /// The low 16 bits of the packet's number.
    #[inline]
    pub fn number(self) -> u32 {
        self.0 & 0xffff
    }

    /// How far the packet's number is from a number near it.
    #[inline]
    pub fn distance_from(self, number: u32) -> i32 {
        i32::from((self.0 as u16).wrapping_sub(number as u16) as i16)
    }

    /// The size of a data packet on the line.
    #[inline]
    pub fn bytes(self) -> u32 {
        self.0 >> 16 & Header::MAX_BYTES
    }

    /// How far behind the acknowledged packets the one is that an acknowledgement names; 0: it names none.
    #[inline]
    pub fn named(self) -> u32 {
        self.bytes()
    }

    /// Whether it is an acknowledgement.
    #[inline]
    pub fn is_ack(self) -> bool {
        self.0 & Header::ACK != 0
    }

    /// Whether a queue has marked it, or the packet that it acknowledges.
    #[inline]
    pub fn marked(self) -> bool {
        self.0 & Header::MARK != 0
    }

    /// The same, marked.
    #[inline]
    #[must_use]
    pub fn mark(self) -> Header {
        Header(self.0 | Header::MARK)
    }
}

/// All packets that are on links: 16 bytes a packet, and 4 for its successor on the same link.
#[derive(Debug, Default)]
pub struct Pool {
    packets: Vec<Packet>,
    next: Vec<u32>,
    /// The first free place.
    free: Option<u32>,
    used: usize,
}

impl Pool {
    /// Bytes that a packet takes.
    pub const BYTES_PER_PACKET: usize = size_of::<Packet>() + size_of::<u32>();

    /// A place for a packet. It takes memory only when more packets are on links than ever before.
    #[inline]
    pub fn take(&mut self, packet: Packet) -> u32 {
        self.used += 1;
        if let Some(place) = self.free {
            let next = self.next[place as usize];
            self.free = (next != NONE).then_some(next);
            self.packets[place as usize] = packet;
            self.next[place as usize] = NONE;
            return place;
        }
        self.packets.push(packet);
        self.next.push(NONE);
        (self.packets.len() - 1) as u32
    }

    /// Gives a place back.
    #[inline]
    pub fn give(&mut self, place: u32) {
        self.used -= 1;
        self.next[place as usize] = self.free.unwrap_or(NONE);
        self.free = Some(place);
    }

    /// The packet at a place.
    #[inline]
    pub fn get(&self, place: u32) -> Packet {
        self.packets[place as usize]
    }

    /// The packet at a place, to change.
    #[inline]
    pub fn get_mut(&mut self, place: u32) -> &mut Packet {
        &mut self.packets[place as usize]
    }

    /// The packet behind one on the same link.
    #[inline]
    pub fn next(&self, place: u32) -> u32 {
        self.next[place as usize]
    }

    /// Says which packet is behind one.
    #[inline]
    pub fn set_next(&mut self, place: u32, next: u32) {
        self.next[place as usize] = next;
    }

    /// How many packets are on links.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The most packets that there were at a time.
    pub fn most(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_keeps_what_it_is_given(number in 0..u32::MAX, bytes in 1..=Header::MAX_BYTES, marked: bool, near in -16_000..16_000i32) {
            let data = Header::data(number, bytes);
            prop_assert_eq!((data.bytes(), data.is_ack(), data.marked()), (bytes, false, false));
            prop_assert!(data.mark().marked() && data.mark().bytes() == bytes);
            let ack = Header::ack(number, bytes, marked);
            prop_assert_eq!((ack.named(), ack.is_ack(), ack.marked()), (bytes, true, marked));
            prop_assert_eq!(ack.distance_from(number.wrapping_sub(near as u32)), near);
        }

        #[test]
        fn time_on_the_line_is_exact_to_a_picosecond_or_a_hundred_thousandth(gbps in 1e-5..1e5f64, bytes in 1..16_383u32) {
            let link = Link::new(gbps * 1e9, 0, 0, 1500);
            let exact = f64::from(bytes) * 8e3 / gbps;
            prop_assert!((link.service(bytes) as f64 - exact).abs() <= 1.0 + exact * 1e-5, "{} for {exact}", link.service(bytes));
        }
    }
}
