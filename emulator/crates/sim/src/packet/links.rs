//! Links as FIFO queues. Links with equal properties share one record of them; each directed link
//! adds half a cache line of state.
//!
//! A FIFO's departure time is known when a packet enters it, so a packet costs one event per link:
//! its arrival at the next node. The length of the queue follows from the time at which the link
//! becomes free again, so a queue needs no events.
//!
//! Not here: the packets that are on links (`calendar`), when links change (`change`), and the
//! processing of packets that arrive (`core`).

use std::collections::HashMap;

use super::wheel::NEVER;

/// Picoseconds in a second.
pub const SECOND: u64 = 1_000_000_000_000;
/// The fraction bits of [`Link::per_byte`]: exact for usual rates, to a hundred thousandth at 100
/// Tb/s.
const FRACTION: u32 = 20;
/// Marks the absence of a packet.
pub const NONE: u32 = u32::MAX;

/// The properties of one direction of a link, or of a server's processor, which is modelled as a
/// queue like a link. `[ours]`
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// Time on the line of a byte, in 2^-20 ps.
    pub per_byte: u64,
    /// Time per packet in addition to that of its bytes, in ps.
    pub per_packet: u64,
    /// The most work that it accepts, in ps at its rate: the queue, and the packet being sent.
    pub limit: u64,
    /// Time from the last bit sent to the packet's arrival, in ps.
    pub delay: u64,
    /// Waiting work above which packets are marked, in ps; [`NEVER`] disables marking.
    pub mark: u64,
    /// Packets lost at random, in 2^-32.
    pub loss: u32,
    /// Number of active faults that stop all traffic.
    pub dead: u32,
}

/// The state and counters of a directed link: half a cache line, all that a packet uses of it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(super) struct Lane {
    /// The time at which it has sent everything that it accepted, in ps.
    pub busy: u64,
    /// Bytes that it accepted.
    pub bytes: u64,
    /// Total time that its packets waited before their first bit, in 1024 ps.
    pub wait: u64,
    /// Packets that it took, and in the low [`Lane::KIND_BITS`] its kind.
    pub tally: u64,
}

impl Lane {
    /// Bits for the kind of a link: at most 2^24 kinds, which leaves 2^40 packets per link.
    const KIND_BITS: u32 = 24;
    /// One packet in the combined field of kind and packets.
    pub const PACKET: u64 = 1 << Lane::KIND_BITS;

    /// The index of its kind, which has its properties.
    #[inline]
    pub fn kind(&self) -> usize {
        (self.tally & (Lane::PACKET - 1)) as usize
    }

    /// Changes its kind.
    pub fn set_kind(&mut self, kind: usize) {
        self.tally = self.tally & !(Lane::PACKET - 1) | kind as u64;
    }

    /// Work that waits or is being done at `now`, in ps.
    #[inline]
    pub fn backlog(&self, now: u64) -> u64 {
        self.busy.saturating_sub(now)
    }
}

/// The properties of a link that the event loop uses.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Kind {
    pub link: Link,
    /// With a backlog up to this, in ps, no packet is dropped, lost or marked.
    pub calm: u64,
}

/// All links and their properties. Links with equal properties share a record, so that it stays in
/// the cache.
#[derive(Debug, Default)]
pub struct Links {
    pub(super) lanes: Vec<Lane>,
    pub(super) kinds: Vec<Kind>,
    /// Packets that each link dropped or lost.
    pub(super) drops: Vec<u64>,
    known: HashMap<Link, usize>,
}

impl Links {
    /// Bytes of an idle link.
    pub const BYTES_PER_LINK: usize = size_of::<Lane>() + size_of::<u64>();
    /// Bytes of a link with properties of no other link.
    pub const BYTES_PER_KIND: usize = size_of::<Kind>() + size_of::<Link>() + 2 * size_of::<usize>();

    /// Creates links without any packets.
    pub fn new(links: Vec<Link>) -> Links {
        let mut all = Links {
            lanes: vec![Lane::default(); links.len()],
            drops: vec![0; links.len()],
            ..Links::default()
        };
        for (place, link) in links.into_iter().enumerate() {
            all.set(place as u32, link);
        }
        all
    }

    /// Number of links and processors.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The properties of a link.
    pub fn get(&self, link: u32) -> &Link {
        &self.kinds[self.lanes[link as usize].kind()].link
    }

    /// Changes the properties of a link.
    ///
    /// # Panics
    ///
    /// If there are 2^24 kinds of links.
    pub fn set(&mut self, link: u32, like: Link) {
        let lane = &mut self.lanes[link as usize];
        if self.kinds.get(lane.kind()).is_some_and(|kind| kind.link == like) {
            return;
        }
        let kind = self.known.get(&like).copied().unwrap_or_else(|| {
            let kind = self.kinds.len();
            assert!(
                (kind as u64) < Lane::PACKET,
                "a simulation has fewer kinds of links than 2^24"
            );
            self.known.insert(like.clone(), kind);
            let calm = if like.dead > 0 || like.loss > 0 {
                0
            } else {
                like.limit.min(like.mark)
            };
            self.kinds.push(Kind { link: like, calm });
            kind
        });
        lane.set_kind(kind);
    }

    /// Changes the properties of a link for packets that enter it from now on.
    pub fn change(&mut self, link: u32, change: impl FnOnce(&mut Link)) {
        let mut like = self.get(link).clone();
        change(&mut like);
        self.set(link, like);
    }

    /// The counters of a link.
    pub fn count(&self, link: u32) -> LinkCount {
        let lane = &self.lanes[link as usize];
        LinkCount {
            packets: lane.tally / Lane::PACKET,
            bytes: lane.bytes,
            wait: lane.wait,
            drops: self.drops[link as usize],
        }
    }

    /// The bytes that wait or are being sent at `now`.
    pub fn backlog_bytes(&self, link: u32, now: u64) -> u64 {
        self.get(link).bytes_in(self.lanes[link as usize].backlog(now))
    }
}

/// The counters of a directed link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Packets that it accepted.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Total time that they waited before their first bit, in 1024 ps.
    pub wait: u64,
    /// Packets that it dropped or lost.
    pub drops: u64,
}

impl Link {
    /// An idle link of this rate, whose queue holds `queue_bytes` in addition to a packet of
    /// `packet_bytes` that is being sent.
    pub fn new(rate_bits_per_sec: f64, delay: u64, queue_bytes: u64, packet_bytes: u64) -> Link {
        let mut link = Link {
            per_byte: 0,
            per_packet: 0,
            limit: 0,
            delay,
            mark: NEVER,
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

    /// Sets the rate and the fields that depend on it.
    pub fn set_rate(&mut self, rate_bits_per_sec: f64, queue_bytes: u64, packet_bytes: u64) {
        self.per_byte = (8.0 * SECOND as f64 * f64::from(1 << FRACTION) / rate_bits_per_sec).round() as u64;
        self.limit = self.time_of(queue_bytes + packet_bytes);
    }

    /// Its rate in bit/s.
    pub fn bits_per_sec(&self) -> f64 {
        8.0 * SECOND as f64 * f64::from(1 << FRACTION) / self.per_byte.max(1) as f64
    }

    /// The transmission time of `bytes` bytes, in ps.
    pub fn time_of(&self, bytes: u64) -> u64 {
        u64::try_from((u128::from(bytes) * u128::from(self.per_byte)) >> FRACTION).unwrap_or(NEVER / 4)
    }

    /// Time that a packet occupies the link, in ps.
    #[inline]
    pub fn service(&self, bytes: u32) -> u64 {
        ((u64::from(bytes) * self.per_byte) >> FRACTION) + self.per_packet
    }

    /// The bytes that are sent in a time of `work` ps.
    pub fn bytes_in(&self, work: u64) -> u64 {
        let bits = u128::from(work) << FRACTION;
        bits.checked_div(u128::from(self.per_byte)).unwrap_or_default() as u64
    }
}

/// A packet's header in 32 bits: the low 16 bits of a number, an acknowledgement flag, and a mark.
/// The remaining 14 bits are the size of a data packet; acknowledgements all have one size and
/// store the packet that they name.
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

    /// An acknowledgement of all data packets before `number`, which echoes a mark, and names the
    /// packet `named` behind that one; 0 for none.
    #[inline]
    pub fn ack(number: u32, named: u32, marked: bool) -> Header {
        Header(number & 0xffff | named << 16 | Header::ACK | if marked { Header::MARK } else { 0 })
    }

    /// The low 16 bits of the packet's number.
    #[inline]
    pub fn number(self) -> u32 {
        self.0 & 0xffff
    }

    /// The difference between the packet's number and a nearby number.
    #[inline]
    pub fn distance_from(self, number: u32) -> i32 {
        i32::from((self.0 as u16).wrapping_sub(number as u16) as i16)
    }

    /// The size of a data packet on the line.
    #[inline]
    pub fn bytes(self) -> u32 {
        self.0 >> 16 & Header::MAX_BYTES
    }

    /// The distance from the acknowledged packets to the packet that an acknowledgement names; 0 if
    /// it names none.
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

    /// The same header with a mark.
    #[inline]
    #[must_use]
    pub fn mark(self) -> Header {
        Header(self.0 | Header::MARK)
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
