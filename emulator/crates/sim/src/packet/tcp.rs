//! TCP's reactions: to acknowledgements, to repeated ones, to marks, and to timeouts.
//!
//! Windows and sequence numbers count packets. Tahoe and Reno exist for comparisons; simulations
//! use NewReno or selective acknowledgements. Not here: their scoreboard (`sack`), CUBIC's curve
//! (`cubic`), and receivers (`ends`).

use super::core::Core;
use super::cubic;
use super::flows::{Sender, flag};
use super::links::Header;
use super::rules::{Growth, Marks, Recovery};
use super::wheel::NEVER;

/// Acknowledgements that repeat the last before a packet counts as lost (RFC 5681).
const REPEATS: u16 = 3;
/// The smallest threshold, in packets (RFC 5681).
const LEAST_THRESHOLD: f64 = 2.0;
/// The gain of DCTCP's estimate (RFC 8257).
const SHARE_GAIN: f64 = 1.0 / 16.0;

impl Sender {
    /// The number of packets on the way.
    fn flight(&self) -> f64 {
        f64::from(self.fresh - self.first)
    }

    /// Half of the data on the way (RFC 5681); before NewReno, half of the window if that is less.
    fn half(&self, recovery: Recovery) -> f64 {
        let whole = match recovery {
            Recovery::NewReno | Recovery::Sack => self.flight(),
            Recovery::Reno | Recovery::Tahoe => self.flight().min(self.window),
        };
        (whole / 2.0).max(LEAST_THRESHOLD)
    }
}

impl Core {
    /// Sends packets within the window: repeated packets first, then new ones as long as the
    /// connection has any.
    pub(super) fn fill(&mut self, subflow: u32) {
        if self.rules.recovery == Recovery::Sack {
            self.fill_selectively(subflow);
            return;
        }
        loop {
            let sender = &self.senders[subflow as usize];
            let window = (sender.window as u32).clamp(1, self.rules.most_window);
            if sender.next - sender.first >= window {
                return;
            }
            if !self.may_send(subflow) {
                return;
            }
            let sender = &mut self.senders[subflow as usize];
            let number = sender.next;
            if number < sender.fresh {
                sender.next += 1;
                self.send_again(subflow, number);
            } else if !self.send_fresh(subflow) {
                return;
            }
        }
    }

    /// The same by the number of packets on the way: lost packets first, then new ones.
    fn fill_selectively(&mut self, subflow: u32) {
        loop {
            let sender = &self.senders[subflow as usize];
            let (first, fresh) = (sender.first, sender.fresh);
            let window = (sender.window as u32).clamp(1, self.rules.most_window);
            let pipe = self.boards[subflow as usize].pipe;
            if pipe >= window || !self.may_send(subflow) {
                return;
            }
            let board = &mut self.boards[subflow as usize];
            if let Some(number) = board.next_lost(&self.named, first) {
                self.send_again(subflow, number);
                continue;
            }
            if fresh - first >= self.rules.most_window {
                return;
            }
            if !self.send_fresh(subflow) {
                return;
            }
            self.boards[subflow as usize].send();
        }
    }

    /// Sends the subflow's next fresh packet; false when its connection has none.
    fn send_fresh(&mut self, subflow: u32) -> bool {
        let sender = &mut self.senders[subflow as usize];
        let connection = &mut self.connections[sender.connection as usize];
        if connection.unsent == 0 {
            return false;
        }
        let number = sender.fresh;
        connection.unsent -= 1;
        if connection.unsent == 0 {
            sender.short = number;
        }
        sender.fresh += 1;
        sender.next = sender.fresh;
        if !sender.is(flag::TIMED) {
            sender.flags |= flag::TIMED;
            let clock = &mut self.clocks[subflow as usize];
            clock.sent = self.now;
            clock.number = number;
        }
        self.send(subflow, number);
        true
    }

    /// The threshold after a loss; CUBIC stores the window at the loss.
    fn lowered(&mut self, subflow: u32, timeout: bool) -> f64 {
        let sender = &self.senders[subflow as usize];
        if self.rules.growth != Growth::Cubic {
            return sender.half(self.rules.recovery);
        }
        self.cubics[subflow as usize].reduce(sender.window, timeout);
        (sender.flight() * cubic::DECREASE).max(LEAST_THRESHOLD)
    }

    /// Sends a packet, and starts the timer if it was off.
    fn send(&mut self, subflow: u32, number: u32) {
        self.emit(subflow, number);
        if self.senders[subflow as usize].deadline == NEVER {
            self.restart_timer(subflow);
        }
    }

    fn send_again(&mut self, subflow: u32, number: u32) {
        let sender = &mut self.senders[subflow as usize];
        // Karn's algorithm: a packet that is sent twice is not timed.
        sender.flags &= !flag::TIMED;
        self.connections[sender.connection as usize].again += 1;
        self.totals.again += 1;
        self.send(subflow, number);
    }

    /// The timer expires one timeout from now.
    fn restart_timer(&mut self, subflow: u32) {
        let deadline = self.now + self.clocks[subflow as usize].timeout;
        self.senders[subflow as usize].deadline = deadline;
        // If the event comes before the deadline, wait again.
        if self.timers.due(subflow) > deadline {
            self.timers.remove(subflow);
            self.timers.push(subflow, deadline);
        }
    }

    /// An acknowledgement has arrived.
    pub(super) fn acknowledged(&mut self, subflow: u32, header: Header) {
        let sender = &mut self.senders[subflow as usize];
        let distance = header.distance_from(sender.first);
        if header.marked() || self.rules.marks == Marks::Proportion {
            self.marked(subflow, header, distance);
        }
        if self.rules.recovery == Recovery::Sack {
            self.score(subflow, header, distance);
        }
        if distance > 0 {
            self.advanced(subflow, distance as u32);
        } else if distance == 0 && self.senders[subflow as usize].fresh > self.senders[subflow as usize].first
        {
            self.repeated(subflow);
        }
    }

    /// Updates the scoreboard by an acknowledgement.
    fn score(&mut self, subflow: u32, header: Header, distance: i32) {
        let sender = &self.senders[subflow as usize];
        let board = &mut self.boards[subflow as usize];
        let first = sender.first + distance.max(0) as u32;
        board.listen();
        if distance > 0 {
            board.advance(&mut self.named, sender.first, first);
        }
        let number = i64::from(sender.first) + i64::from(distance) + i64::from(header.named());
        if header.named() > 0 && (i64::from(first) + 1..i64::from(sender.fresh)).contains(&number) {
            board.name(&mut self.named, first, number as u32);
        }
    }

    /// Starts recovery if the first packet is lost according to the scoreboard (RFC 6675, 5);
    /// during recovery, sends as much as arrives.
    fn recover_selectively(&mut self, subflow: u32, advanced: bool) {
        let sender = &self.senders[subflow as usize];
        let answered = sender.is(flag::RECOVERS) || sender.first < sender.recover;
        if !answered && self.boards[subflow as usize].has_lost(sender.first) {
            let threshold = self.lowered(subflow, false);
            let sender = &mut self.senders[subflow as usize];
            sender.threshold = threshold;
            sender.recover = sender.fresh;
            sender.flags |= flag::RECOVERS;
            self.boards[subflow as usize].recover(sender.fresh - sender.first);
            self.restart_timer(subflow);
        }
        let sender = &mut self.senders[subflow as usize];
        if sender.is(flag::RECOVERS) {
            let board = &self.boards[subflow as usize];
            let allowed = board.allowed(sender.threshold as u32, advanced);
            sender.window = f64::from(board.pipe + allowed);
        }
    }

    /// Handles `packets` newly acknowledged packets.
    fn advanced(&mut self, subflow: u32, packets: u32) {
        let (least, most) = (self.rules.least_timeout, self.rules.most_timeout);
        let sender = &mut self.senders[subflow as usize];
        let clock = &mut self.clocks[subflow as usize];
        sender.first += packets;
        sender.next = sender.next.max(sender.first);
        sender.repeats = 0;
        if sender.is(flag::EXPIRED) {
            sender.flags &= !flag::EXPIRED;
            clock.set_timeout(least, most);
        }
        if sender.is(flag::TIMED) && sender.first > clock.number {
            sender.flags &= !flag::TIMED;
            clock.measure(self.now - clock.sent, least, most);
        }
        let mut restarts = true;
        if sender.is(flag::RECOVERS) {
            let over = sender.first >= sender.recover || self.rules.recovery == Recovery::Reno;
            if self.rules.recovery == Recovery::Sack {
                if over {
                    sender.flags &= !flag::RECOVERS;
                    sender.window = sender.threshold;
                }
            } else if over {
                sender.flags &= !(flag::RECOVERS | flag::PARTIAL);
                // RFC 6582, 3.2, step 3: no burst after recovery.
                let flight = sender.flight().max(1.0) + 1.0;
                sender.window = sender.threshold.min(flight);
                if self.rules.recovery == Recovery::Reno {
                    sender.window = sender.threshold;
                }
            } else {
                sender.window = (sender.window - f64::from(packets)).max(1.0) + 1.0;
                restarts = !sender.is(flag::PARTIAL);
                sender.flags |= flag::PARTIAL;
                let first = sender.first;
                self.send_again(subflow, first);
            }
        } else {
            self.grow(subflow, packets);
        }
        if self.rules.recovery == Recovery::Sack {
            self.recover_selectively(subflow, true);
        }
        let sender = &mut self.senders[subflow as usize];
        if sender.first == sender.fresh {
            sender.deadline = NEVER;
        } else if restarts {
            self.restart_timer(subflow);
        }
        self.fill(subflow);
    }

    /// Grows the window for an acknowledgement of `packets` packets.
    fn grow(&mut self, subflow: u32, packets: u32) {
        let sender = &self.senders[subflow as usize];
        let most = f64::from(self.rules.most_window);
        let window = if sender.window < sender.threshold {
            sender.window + 1.0
        } else if self.rules.growth == Growth::Cubic {
            let round_trip = self.clocks[subflow as usize].smoothed;
            self.cubics[subflow as usize].grow(sender.window, packets, self.now, round_trip)
        } else {
            let alone = 1.0 / sender.window;
            let step = match self.rules.growth {
                Growth::Single | Growth::Cubic => alone,
                Growth::Linked => self.linked_step(sender.connection, packets).min(alone),
            };
            sender.window + step
        };
        self.senders[subflow as usize].window = window.min(most);
    }

    /// The growth of a coupled window per acknowledgement: alpha divided by the sum of all windows.
    /// (RFC 6356, 3 and 4)
    fn linked_step(&self, connection: u32, packets: u32) -> f64 {
        let connection = &self.connections[connection as usize];
        let range = connection.first as usize..connection.first as usize + usize::from(connection.subflows);
        let (mut total, mut best, mut rates) = (0.0, 0.0f64, 0.0);
        for (sender, clock) in self.senders[range.clone()].iter().zip(&self.clocks[range]) {
            let round_trip = clock.smoothed.max(1) as f64;
            total += sender.window;
            best = best.max(sender.window / (round_trip * round_trip));
            rates += sender.window / round_trip;
        }
        let alpha = total * best / (rates * rates);
        alpha * f64::from(packets.min(1)) / total
    }

    /// An acknowledgement repeats the last one: packets arrive behind a gap.
    fn repeated(&mut self, subflow: u32) {
        let recovery = self.rules.recovery;
        if recovery == Recovery::Sack {
            self.recover_selectively(subflow, false);
            self.fill(subflow);
            return;
        }
        let sender = &mut self.senders[subflow as usize];
        if sender.is(flag::RECOVERS) {
            sender.window = (sender.window + 1.0).min(2.0 * f64::from(self.rules.most_window));
            self.fill(subflow);
            return;
        }
        sender.repeats = sender.repeats.saturating_add(1);
        // Duplicate acknowledgements for packets sent before the last recovery carry no new
        // information. (RFC 6582, 3.2, step 2)
        let told = sender.first > sender.recover || sender.recover == 0;
        if sender.repeats != REPEATS || !told {
            return;
        }
        let threshold = self.lowered(subflow, false);
        let sender = &mut self.senders[subflow as usize];
        sender.threshold = threshold;
        if recovery != Recovery::Reno {
            sender.recover = sender.fresh;
        }
        let first = sender.first;
        if recovery == Recovery::Tahoe {
            sender.window = 1.0;
            sender.next = first;
            self.restart_timer(subflow);
            self.fill(subflow);
        } else {
            sender.window = sender.threshold + f64::from(REPEATS);
            sender.flags |= flag::RECOVERS;
            sender.flags &= !flag::PARTIAL;
            self.send_again(subflow, first);
            self.restart_timer(subflow);
            self.fill(subflow);
        }
    }

    /// No acknowledgement arrived in time: all packets in flight count as lost.
    pub(super) fn timed_out(&mut self, subflow: u32) {
        let (most, recovery) = (self.rules.most_timeout, self.rules.recovery);
        let sender = &mut self.senders[subflow as usize];
        sender.deadline = NEVER;
        if sender.first == sender.fresh {
            return;
        }
        if !sender.is(flag::EXPIRED) {
            // In recovery, more data is on the way than the path holds: keep the threshold from the
            // start of recovery, as Linux does.
            let most = if sender.is(flag::RECOVERS) {
                sender.threshold
            } else {
                f64::INFINITY
            };
            let threshold = self.lowered(subflow, true).min(most);
            self.senders[subflow as usize].threshold = threshold;
        }
        let sender = &mut self.senders[subflow as usize];
        sender.flags |= flag::EXPIRED;
        sender.flags &= !(flag::RECOVERS | flag::PARTIAL | flag::TIMED);
        sender.window = 1.0;
        sender.recover = sender.fresh;
        sender.repeats = 0;
        if recovery == Recovery::Sack {
            self.boards[subflow as usize].time_out(sender.first, sender.fresh);
        } else {
            sender.next = sender.first;
        }
        let clock = &mut self.clocks[subflow as usize];
        // Backed off until something new is acknowledged, as by TCP with timestamps. (RFC 6298,
        // 5.5; RFC 7323)
        clock.timeout = (clock.timeout * 2).min(most);
        self.connections[sender.connection as usize].timeouts += 1;
        self.totals.timeouts += 1;
        self.fill(subflow);
    }

    /// Handles the mark of an acknowledgement; DCTCP also counts acknowledgements without a mark.
    fn marked(&mut self, subflow: u32, header: Header, distance: i32) {
        let sender = &mut self.senders[subflow as usize];
        let clock = &mut self.clocks[subflow as usize];
        let acked = sender.first + distance.max(0) as u32;
        let mut share = 1.0;
        if self.rules.marks == Marks::Proportion {
            let counts = &mut self.shares[subflow as usize];
            counts.acked += distance.max(1) as u32;
            counts.marked += if header.marked() {
                distance.max(1) as u32
            } else {
                0
            };
            if acked >= counts.until {
                let seen = f64::from(counts.marked) / f64::from(counts.acked);
                counts.share += SHARE_GAIN * (seen - counts.share);
                (counts.acked, counts.marked, counts.until) = (0, 0, sender.fresh);
            }
            share = counts.share;
        }
        // Once a window, and not during the reaction to a loss.
        if header.marked() && acked >= clock.marks_from && !sender.is(flag::RECOVERS) {
            clock.marks_from = sender.fresh;
            let kept = if self.rules.growth == Growth::Cubic && self.rules.marks == Marks::Halve {
                self.cubics[subflow as usize].reduce(sender.window, false);
                cubic::DECREASE
            } else {
                1.0 - share / 2.0
            };
            sender.threshold = (sender.window * kept).max(LEAST_THRESHOLD);
            sender.window = sender.threshold;
        }
    }
}
