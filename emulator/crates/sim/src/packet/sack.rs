//! Selective acknowledgement: the sender's record of arrived packets, and its choice of the next
//! packet. (RFC 6675)
//!
//! A cheap form `[ours]`: an acknowledgement names one packet that has arrived, the one that it
//! answers, instead of blocks of them (RFC 2018); if it is lost, its information is lost too. Only
//! the first two of RFC 6675's rules for the next packet are implemented: packets that count as
//! lost, in order, then new ones. There is no rescue retransmission. In recovery, the sending rate
//! follows the arrivals in proportion to the new window (RFC 9937); otherwise many losses at once
//! would empty the pipe and cause a burst that is lost again. Every packet is examined a fixed
//! number of times on its way through the scoreboard, so the cost of an acknowledgement is
//! proportional to its own packets.
//!
//! Not here: start and end of recovery, and the window then (`tcp`).

use super::flows::Early;
use super::links::NONE;

/// Number of later packets that must arrive before a packet counts as lost. (RFC 6675, 2)
const BEHIND: usize = 3;

/// A subflow's scoreboard. All numbers are of packets.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    /// The page of [`Early`] with the packets acknowledged out of order; [`NONE`]
    /// if there are none.
    page: u32,
    /// Number of packets in it.
    named: u32,
    /// The highest packets that were ever named, descending.
    highest: [u32; BEHIND],
    /// Packets before this number that no acknowledgement named count as lost.
    lost_before: u32,
    /// Lost packets before this number have been sent again.
    again_before: u32,
    /// Estimated number of packets on the way.
    pub pipe: u32,
    /// Packets on the way at the start of this recovery; packets that have arrived since then;
    /// packets sent since then.
    flight: u32,
    arrivals: u32,
    sent: u32,
    /// Packets whose arrival the last acknowledgement reported first.
    news: u32,
    /// Whether it let more packets count as lost.
    worse: bool,
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard {
            page: NONE,
            named: 0,
            highest: [0; BEHIND],
            lost_before: 0,
            again_before: 0,
            pipe: 0,
            flight: 0,
            arrivals: 0,
            sent: 0,
            news: 0,
            worse: false,
        }
    }
}

impl Scoreboard {
    /// Whether a packet has arrived, according to the acknowledgements.
    fn is_named(&self, pages: &Early, number: u32) -> bool {
        self.page != NONE && pages.holds(self.page, number)
    }

    /// A packet is acknowledged or named: it is no longer on the way, unless it was lost and not
    /// sent again.
    fn arrived(&mut self, number: u32) {
        self.news += 1;
        self.arrivals += 1;
        if number >= self.lost_before || number < self.again_before {
            self.pipe -= 1;
        }
    }

    /// An acknowledgement names a packet: unacknowledged packets far enough before it now count as
    /// lost.
    pub fn name(&mut self, pages: &mut Early, first: u32, number: u32) {
        if !pages.set(&mut self.page, number) {
            return;
        }
        self.named += 1;
        self.arrived(number);
        let place = self.highest.iter().position(|&other| number > other);
        if let Some(place) = place {
            self.highest[place..].rotate_right(1);
            self.highest[place] = number;
        }
        if self.named as usize >= BEHIND {
            self.lose(pages, first, self.highest[BEHIND - 1]);
        }
    }

    /// Everything before `before` that is not named counts as lost.
    fn lose(&mut self, pages: &Early, first: u32, before: u32) {
        for number in self.lost_before.max(first)..before {
            if !self.is_named(pages, number) {
                self.pipe -= 1;
                self.worse = true;
            }
        }
        self.lost_before = self.lost_before.max(before);
    }

    /// All packets from `from` to before `first` are acknowledged.
    pub fn advance(&mut self, pages: &mut Early, from: u32, first: u32) {
        for number in from..first {
            if self.page != NONE && pages.clear(self.page, number) {
                self.named -= 1;
            } else {
                self.arrived(number);
            }
        }
        if self.named == 0 && self.page != NONE {
            pages.give(&mut self.page);
        }
    }

    /// Prepares for another acknowledgement.
    pub fn listen(&mut self) {
        (self.news, self.worse) = (0, false);
    }

    /// A packet is sent, for the first time or again.
    pub fn send(&mut self) {
        self.pipe += 1;
        self.sent += 1;
    }

    /// Starts recovery with this number of unacknowledged packets.
    pub fn recover(&mut self, unacknowledged: u32) {
        self.flight = unacknowledged - self.named + self.news;
        (self.arrivals, self.sent) = (self.news, 0);
    }

    /// The number of packets that may be sent after the last acknowledgement in recovery, towards a
    /// window of `threshold`. (RFC 9937, 5)
    pub fn allowed(&self, threshold: u32, advanced: bool) -> u32 {
        let owed = self.arrivals.saturating_sub(self.sent);
        let allowed = if self.pipe > threshold {
            let share = u64::from(self.arrivals) * u64::from(threshold);
            (share.div_ceil(u64::from(self.flight.max(1))) as u32).saturating_sub(self.sent)
        } else {
            let safe = advanced && !self.worse;
            (threshold - self.pipe).min(owed.max(self.news) + u32::from(safe))
        };
        // The first lost packet is sent regardless of the number of packets on the way.
        allowed.max(u32::from(self.sent == 0))
    }

    /// Whether the first packet that is not acknowledged counts as lost.
    pub fn has_lost(&self, first: u32) -> bool {
        self.lost_before > first
    }

    /// The next packet to send again, which counts as sent from now on.
    pub fn next_lost(&mut self, pages: &Early, first: u32) -> Option<u32> {
        let mut number = self.again_before.max(first);
        while number < self.lost_before && self.is_named(pages, number) {
            number += 1;
        }
        let found = number < self.lost_before;
        self.again_before = number + u32::from(found);
        if found {
            self.send();
        }
        found.then_some(number)
    }

    /// The timer has expired: every packet before `fresh` that no acknowledgement named counts as
    /// lost, including packets that were sent again.
    pub fn time_out(&mut self, first: u32, fresh: u32) {
        self.lost_before = fresh;
        self.again_before = first;
        self.pipe = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A simple version of the sender's scoreboard, written as RFC 6675 defines it.
    #[derive(Default)]
    struct Naive {
        named: BTreeSet<u32>,
        lost: BTreeSet<u32>,
        again: BTreeSet<u32>,
    }

    impl Naive {
        fn lose(&mut self, first: u32, fresh: u32) {
            let lost = (first..fresh).filter(|&number| {
                !self.named.contains(&number) && self.named.range(number..).count() >= BEHIND
            });
            let lost: Vec<u32> = lost.collect();
            self.lost.extend(lost);
        }

        fn pipe(&self, first: u32, fresh: u32) -> u32 {
            let counts = |number: &u32| {
                !self.named.contains(number) && (!self.lost.contains(number) || self.again.contains(number))
            };
            (first..fresh).filter(counts).count() as u32
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send,
        Name(f64),
        Advance(f64),
        Again,
        TimeOut,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => Just(Step::Send),
            4 => (0.0..1.0).prop_map(Step::Name),
            1 => (0.0..1.0).prop_map(Step::Advance),
            3 => Just(Step::Again),
            1 => Just(Step::TimeOut),
        ]
    }

    proptest! {
        #[test]
        fn the_scoreboard_knows_what_the_standard_says(steps in proptest::collection::vec(step(), 1..400)) {
            let mut pages = Early::new(64);
            let (mut board, mut naive) = (Scoreboard::default(), Naive::default());
            let (mut first, mut fresh) = (0u32, 0u32);
            for step in steps {
                match step {
                    Step::Send if fresh - first < 64 => {
                        fresh += 1;
                        board.send();
                    }
                    Step::Name(place) if fresh - first > 1 => {
                        let number = first + 1 + (place * f64::from(fresh - first - 1)) as u32;
                        board.name(&mut pages, first, number);
                        naive.named.insert(number);
                        naive.lose(first, fresh);
                    }
                    Step::Advance(place) if fresh > first => {
                        let mut to = first + 1 + (place * f64::from(fresh - first - 1)) as u32;
                        // A receiver acknowledges all that it has in a row.
                        while naive.named.contains(&to) {
                            to += 1;
                        }
                        board.advance(&mut pages, first, to);
                        naive.named.retain(|&number| number >= to);
                        first = to;
                    }
                    Step::Again => {
                        let mut lost = naive.lost.iter().copied();
                        let expected = lost.find(|number| {
                            *number >= first && !naive.named.contains(number) && !naive.again.contains(number)
                        });
                        prop_assert_eq!(board.next_lost(&pages, first), expected);
                        naive.again.extend(expected);
                    }
                    Step::TimeOut => {
                        board.time_out(first, fresh);
                        naive.lost.extend(first..fresh);
                        naive.again.clear();
                    }
                    _ => {}
                }
                prop_assert_eq!(board.pipe, naive.pipe(first, fresh));
                prop_assert_eq!(
                    board.has_lost(first),
                    naive.lost.range(first..).next().is_some()
                );
            }
        }
    }
}
