//! Packets on links, in the order in which they arrive at the links' ends: one event per packet.
//!
//! A calendar of buckets of a power of two of picoseconds, long enough that almost every packet is
//! due within one turn of the calendar. A packet takes 16 bytes: its position in the routes, its
//! header, its time within the bucket and the next packet in the bucket's list. Packets that wait
//! at a link need no list, because the packets of a FIFO arrive in the order in which they entered
//! it. The packets of the current bucket are sorted in `current`; packets that are due later than
//! one turn wait in a heap. Nothing is allocated once the vectors have grown to what a run needs.
//! `[ours]`
//!
//! Packets of several links that arrive at the same time come in random order (`wheel`), packets of
//! one link in the order of insertion. The caller passes the routes, from which a packet's link is
//! read; they are read only to break ties.
//!
//! Not here: timers (`wheel`), and the links themselves (`links`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::links::{Header, NONE};
use super::wheel::{NEVER, draw};

/// The widest bucket, in bits of picoseconds: offsets within it fit 32 bits.
const MAX_SHIFT: u32 = 31;
/// Buckets at least and at most.
const BUCKETS: (u64, u64) = (1 << 10, 1 << 20);
/// Average number of packets of a bucket in busy times: more packets take longer to sort, and more
/// buckets take more of the cache.
const IN_BUCKET: u64 = 2;
/// The largest such number, accepted for a longer turn.
const MOST_IN_BUCKET: u64 = 32;
/// Lists up to this long are sorted by insertion.
const SHORT: usize = 20;

/// A packet on a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Time of arrival at the link's end, in ps after the start of its bucket.
    offset: u32,
    /// Its position in the routes, which gives the link that it is on.
    pub position: u32,
    /// The packet's header in 32 bits.
    pub header: Header,
    /// The next packet in its bucket, or in the list of free records.
    next: u32,
}

/// A packet of the current bucket.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// Upper half: its time after the start of the bucket. Lower half: the order of its link among
    /// packets of the same time.
    key: u64,
    place: u32,
}

/// All packets that are on links.
#[derive(Debug)]
pub struct Calendar {
    /// Log2 of a bucket's width in picoseconds.
    shift: u32,
    mask: u64,
    /// The bucket whose packets are in `current`.
    now: u64,
    heads: Vec<u32>,
    /// One bit per bucket that is not empty, and one bit per word of these.
    occupied: Vec<u64>,
    upper: Vec<u64>,
    /// Packets of the bucket `now`, the next one last.
    current: Vec<Due>,
    /// Packets that are due later than a turn: time and record.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    packets: Vec<Packet>,
    /// The first free record.
    free: u32,
    used: usize,
    /// Working memory for sorting.
    scratch: Vec<u128>,
}

impl Calendar {
    /// Bytes that a packet takes.
    pub const BYTES_PER_PACKET: usize = size_of::<Packet>();

    /// An empty calendar for packets that arrive `gap` ps apart on average in busy times, and
    /// mostly within `turn` ps.
    pub fn new(gap: u64, turn: u64) -> Calendar {
        let (least, most) = (
            gap.max(1).saturating_mul(IN_BUCKET),
            gap.max(1).saturating_mul(MOST_IN_BUCKET),
        );
        let buckets = (turn / least).clamp(BUCKETS.0, BUCKETS.1).next_power_of_two();
        let width = (turn / buckets).clamp(least, most);
        let words = buckets as usize / 64;
        Calendar {
            shift: width.next_power_of_two().trailing_zeros().min(MAX_SHIFT),
            mask: buckets - 1,
            now: 0,
            heads: vec![NONE; buckets as usize],
            occupied: vec![0; words],
            upper: vec![0; words.div_ceil(64)],
            current: Vec::with_capacity(64),
            far: BinaryHeap::new(),
            packets: Vec::new(),
            free: NONE,
            used: 0,
            scratch: Vec::new(),
        }
    }

    /// Allocates a record for a packet that is not on a link yet. It takes new memory only if there
    /// are more packets than ever before.
    #[inline]
    pub fn take(&mut self, position: u32, header: Header) -> u32 {
        self.used += 1;
        let packet = Packet {
            offset: 0,
            position,
            header,
            next: NONE,
        };
        let place = self.free;
        if let Some(free) = self.packets.get_mut(place as usize) {
            self.free = free.next;
            *free = packet;
            return place;
        }
        self.packets.push(packet);
        (self.packets.len() - 1) as u32
    }

    /// Frees the record of a packet that is on no link.
    #[inline]
    pub fn give(&mut self, place: u32) {
        self.used -= 1;
        self.packets[place as usize].next = self.free;
        self.free = place;
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

    /// Number of packets in the calendar.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The largest number of packets at any time.
    pub fn most(&self) -> usize {
        self.packets.len()
    }

    /// A packet arrives at the end of its link at `time`. `time` is not before the last packet
    /// taken out, nor before an `until` at which there was none; and it is after the packets on its
    /// link, unless all of these arrive at the same time.
    #[inline]
    pub fn push(&mut self, place: u32, time: u64, routes: &[u32]) {
        let bucket = time >> self.shift;
        if bucket.wrapping_sub(self.now).wrapping_sub(1) < self.mask {
            self.link(bucket, place, time);
        } else {
            self.push_elsewhere(place, time, routes);
        }
    }

    #[inline]
    fn link(&mut self, bucket: u64, place: u32, time: u64) {
        let slot = (bucket & self.mask) as usize;
        let head = std::mem::replace(&mut self.heads[slot], place);
        let packet = &mut self.packets[place as usize];
        packet.offset = (time & ((1 << self.shift) - 1)) as u32;
        packet.next = head;
        let before = self.occupied[slot / 64];
        self.occupied[slot / 64] = before | 1 << (slot % 64);
        if before == 0 {
            self.upper[slot / 4096] |= 1 << (slot / 64 % 64);
        }
    }

    #[cold]
    fn push_elsewhere(&mut self, place: u32, time: u64, routes: &[u32]) {
        let bucket = time >> self.shift;
        if bucket == self.now {
            self.insert(place, time, routes);
        } else {
            debug_assert!(bucket > self.now, "time does not go back");
            self.far.push(Reverse((time, place)));
        }
    }

    fn insert(&mut self, place: u32, time: u64, routes: &[u32]) {
        let offset = (time & ((1 << self.shift) - 1)) as u32;
        let packet = Packet {
            offset,
            ..self.packets[place as usize]
        };
        let due = self.due(place, packet, routes);
        let index = self.current.partition_point(|other| other.key > due.key);
        self.current.insert(index, due);
    }

    /// A packet's entry in the bucket `now`.
    #[inline]
    fn due(&self, place: u32, packet: Packet, routes: &[u32]) -> Due {
        let time = (self.now << self.shift) | u64::from(packet.offset);
        let drawn = routes[packet.position as usize] ^ draw(time);
        Due {
            key: u64::from(packet.offset) << 32 | u64::from(drawn),
            place,
        }
    }

    /// The time of the next arrival, if that is at `until` or before; otherwise [`NEVER`].
    #[inline]
    pub fn next(&mut self, until: u64, routes: &[u32]) -> u64 {
        if self.current.is_empty() && !self.advance(until, routes) {
            return NEVER;
        }
        match self.current.last() {
            Some(due) if self.time_of(due) <= until => self.time_of(due),
            _ => NEVER,
        }
    }

    #[inline]
    fn time_of(&self, due: &Due) -> u64 {
        (self.now << self.shift) | due.key >> 32
    }

    /// The packet after the one whose time `next` returned, if it can be read without a search.
    #[inline]
    pub fn soon(&self) -> Option<&Packet> {
        let place = if let [.., due, _] = self.current[..] {
            due.place
        } else {
            let slot = (self.now & self.mask) as usize;
            let word = self.occupied[slot / 64] & (u64::MAX << (slot % 64));
            if word == 0 {
                return None;
            }
            self.heads[slot / 64 * 64 + word.trailing_zeros() as usize]
        };
        self.packets.get(place as usize)
    }

    /// Removes the packet whose time `next` returned, and returns it.
    #[inline]
    pub fn pop(&mut self) -> u32 {
        self.current.pop().map_or(NONE, |due| due.place)
    }

    /// The order of the packet whose time `next` returned, among the events of that time.
    pub fn next_drawn(&self) -> u32 {
        self.current.last().map_or(u32::MAX, |due| due.key as u32)
    }

    /// Advances to the next bucket that is not empty and starts at `until` or before; returns
    /// whether there is one. `current` must be empty.
    #[inline]
    fn advance(&mut self, until: u64, routes: &[u32]) -> bool {
        let mut bucket = self.next_bucket();
        if !self.far.is_empty() {
            bucket = self.with_far(bucket, until);
        }
        if bucket > until >> self.shift {
            return false;
        }
        self.now = bucket;
        let slot = (bucket & self.mask) as usize;
        let first = std::mem::replace(&mut self.heads[slot], NONE);
        let word = self.occupied[slot / 64] & !(1 << (slot % 64));
        self.occupied[slot / 64] = word;
        if word == 0 {
            self.upper[slot / 4096] &= !(1 << (slot / 64 % 64));
        }
        let packet = self.packets[first as usize];
        let due = self.due(first, packet, routes);
        if packet.next == NONE {
            self.current.push(due);
            return true;
        }
        let behind = self.packets[packet.next as usize];
        let other = self.due(packet.next, behind, routes);
        // The list is in reverse order of insertion. Packets of one link and time must leave in the
        // order of insertion.
        let swaps = other.key > due.key;
        self.current.push(if swaps { other } else { due });
        self.current.push(if swaps { due } else { other });
        if behind.next != NONE {
            self.gather(behind.next, routes);
        }
        true
    }

    /// Adds the rest of a bucket's list to its first two packets, and sorts.
    fn gather(&mut self, mut place: u32, routes: &[u32]) {
        while place != NONE {
            let packet = self.packets[place as usize];
            self.current.push(self.due(place, packet, routes));
            place = packet.next;
        }
        let current = &mut self.current[..];
        if current.len() > SHORT {
            self.sort_many();
            return;
        }
        for end in 2..current.len() {
            let due = current[end];
            let mut at = end;
            while at > 0 && due.key > current[at - 1].key {
                current[at] = current[at - 1];
                at -= 1;
            }
            current[at] = due;
        }
    }

    fn sort_many(&mut self) {
        let entry = |(index, due): (usize, &Due)| {
            u128::from(due.key) << 64 | u128::from(!(index as u32)) << 32 | u128::from(due.place)
        };
        self.scratch.clear();
        self.scratch.extend(self.current.iter().enumerate().map(entry));
        self.scratch.sort_unstable_by(|a, b| b.cmp(a));
        for (due, &sorted) in self.current.iter_mut().zip(&self.scratch) {
            (due.key, due.place) = ((sorted >> 64) as u64, sorted as u32);
        }
    }

    /// Moves far packets that are due before the bucket's end to the calendar. Returns the next
    /// bucket.
    #[cold]
    fn with_far(&mut self, mut bucket: u64, until: u64) -> u64 {
        while let Some(&Reverse((time, place))) = self.far.peek() {
            let far = time >> self.shift;
            if far > bucket || far > until >> self.shift {
                break;
            }
            self.far.pop();
            if bucket == NEVER {
                // The calendar is empty: it restarts just before this packet. Later insertions are
                // due no earlier.
                self.now = far - 1;
            }
            bucket = far;
            self.link(far, place, time);
        }
        bucket
    }

    /// The first bucket after `now`, within one turn, that is not empty; [`NEVER`]: there is none.
    #[inline]
    fn next_bucket(&self) -> u64 {
        let from = (self.now + 1) & self.mask;
        let word = self.occupied[from as usize / 64] & (u64::MAX << (from % 64));
        if word == 0 {
            return self.bucket_beyond(from as usize);
        }
        let found = from / 64 * 64 + u64::from(word.trailing_zeros());
        self.now + (found.wrapping_sub(self.now) & self.mask)
    }

    /// The same if the word of the slot `from` has none.
    fn bucket_beyond(&self, from: usize) -> u64 {
        let slot_of = |word: usize| word * 64 + self.occupied[word].trailing_zeros() as usize;
        let found = self.word_from(from / 64 + 1).or_else(|| self.word_from(0));
        found.map_or(NEVER, |word| {
            self.now + ((slot_of(word) as u64).wrapping_sub(self.now) & self.mask)
        })
    }

    /// The first word at or after `word` that is not empty.
    fn word_from(&self, word: usize) -> Option<usize> {
        let first = word / 64;
        let masked = self.upper.get(first)? & (u64::MAX << (word % 64));
        if masked != 0 {
            return Some(first * 64 + masked.trailing_zeros() as usize);
        }
        let after = self.upper[first + 1..].iter().position(|&upper| upper != 0)?;
        let found = first + 1 + after;
        Some(found * 64 + self.upper[found].trailing_zeros() as usize)
    }

    /// Every packet on a link, with its time; packets of a link in the order of arrival.
    /// Linear in the packets and the words of buckets.
    pub fn packets(&self) -> Vec<(u64, u32)> {
        let mut all = Vec::with_capacity(self.used);
        let current = self.current.iter().rev();
        all.extend(current.map(|due| (self.time_of(due), due.place)));
        let mut listed = Vec::new();
        for (word, bits) in self.occupied.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
                bits &= bits - 1;
                let bucket = self.now + (slot.wrapping_sub(self.now) & self.mask);
                let mut place = self.heads[slot as usize];
                listed.clear();
                while place != NONE {
                    let packet = self.packets[place as usize];
                    listed.push(((bucket << self.shift) | u64::from(packet.offset), place));
                    place = packet.next;
                }
                all.extend(listed.drain(..).rev());
            }
        }
        all.extend(self.far.iter().map(|Reverse(entry)| *entry));
        // Stable: packets of equal time and link keep their order.
        all.sort_by_key(|&(time, _)| time);
        all
    }

    /// Removes all packets from their links.
    pub fn clear(&mut self) {
        self.current.clear();
        self.far.clear();
        self.heads.fill(NONE);
        self.occupied.fill(0);
        self.upper.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Link `n` is at position `n` of the routes.
    const LINKS: u32 = 8;

    #[derive(Clone, Debug)]
    enum Step {
        /// Put a packet on a link, this number of picoseconds after the last packet that left.
        Push(u32, u64),
        /// Put several packets on links at one time.
        Burst(u64),
        Pop(u64),
        /// All are removed and inserted again.
        Again,
    }

    fn step() -> impl Strategy<Value = Step> {
        let after = prop_oneof![0..5u64, 0..5_000u64, 0..5_000_000u64, 0..5_000_000_000_000u64];
        prop_oneof![
            6 => (0..LINKS, after.clone()).prop_map(|(link, after)| Step::Push(link, after)),
            1 => after.clone().prop_map(Step::Burst),
            6 => after.prop_map(Step::Pop),
            1 => Just(Step::Again),
        ]
    }

    proptest! {
        /// Ordered by time, then by the random order of links, then by insertion.
        #[test]
        fn packets_come_out_in_order(
            gap in prop_oneof![Just(1u64), Just(1_000), Just(1_000_000)],
            turn in prop_oneof![Just(1u64), Just(1_000_000), Just(u64::MAX / 2)],
            steps in proptest::collection::vec(step(), 1..200),
        ) {
            let routes: Vec<u32> = (0..LINKS).collect();
            let mut calendar = Calendar::new(gap, turn);
            let mut expected: Vec<(u64, u32, u32)> = Vec::new();
            let (mut now, mut number) = (0, 1);
            let mut last = [0; LINKS as usize];
            let mut put = |calendar: &mut Calendar, expected: &mut Vec<_>, link: u32, now: u64, after: u64| {
                let time = now + after;
                // A link is a FIFO: packets do not overtake each other; packets with equal times
                // leave together.
                let last = &mut last[link as usize];
                let time = if *last == time && time == now { time } else { time.max(*last + 1) };
                *last = time;
                let place = calendar.take(link, Header::data(number, 1500));
                calendar.push(place, time, &routes);
                expected.push((time, link ^ draw(time), number));
                number += 1;
            };
            for step in steps {
                match step {
                    Step::Push(link, after) => put(&mut calendar, &mut expected, link, now, after),
                    Step::Burst(after) => {
                        (0..40).for_each(|i| put(&mut calendar, &mut expected, i * 5 % LINKS, now, after));
                    }
                    Step::Pop(after) => {
                        let until = now + after;
                        expected.sort_unstable();
                        let first = expected.first().copied().filter(|first| first.0 <= until);
                        prop_assert_eq!(calendar.next(until, &routes), first.map_or(NEVER, |first| first.0));
                        now = first.map_or(until, |first| first.0);
                        if let Some((_, drawn, number)) = first {
                            prop_assert_eq!(calendar.next_drawn(), drawn);
                            let place = calendar.pop();
                            prop_assert_eq!(calendar.get(place).header.number(), number);
                            calendar.give(place);
                            expected.remove(0);
                        }
                    }
                    Step::Again => {
                        let packets = calendar.packets();
                        calendar.clear();
                        for (time, place) in packets {
                            calendar.push(place, time, &routes);
                        }
                    }
                }
                prop_assert_eq!(calendar.used(), expected.len());
            }
        }
    }
}
