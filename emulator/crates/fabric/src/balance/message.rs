//! Encoding of the reports of ToRs to their loop's controller, and of the controller's answers, the
//! weights. `[subways §5.2]` defines the contents; the encoding is `[ours]`.
//!
//! A message contains its kind (1 byte), subject (4), time (4), maker (4), number of pairs (2), a
//! report's three numbers, and the pairs. Where there are detours, a report has twice as many
//! pairs. A rack's detours have paths instead of pairs (`detours`). Numbers are big-endian,
//! quantities IEEE floats of 4 bytes.
//!
//! Not here: the rules on senders and receivers (`agent`).

use cubeyard_topology::NodeId;

use super::detours::{self, ToldDetours};
use super::plan::Plan;

const REPORT: u8 = 1;
const WEIGHTS: u8 = 2;
const DETOURS: u8 = 3;
const REPORT_OF_DETOURS: u8 = 4;
const DETOURS_INWARD: u8 = 5;
const HEADER_BYTES: usize = 15;
const NUMBERS_BYTES: usize = 12;
const PAIR_BYTES: usize = 8;
/// Maximum rate of a link, in bits per second.
pub(super) const MAX_RATE: f32 = 1e13;
/// Rounding tolerance for the sum of a server's weights, which is 1.
const ROUNDING: f32 = 1e-3;

/// A ToR's report on its links.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Number of the ToR.
    pub tor: usize,
    /// When it was made, in milliseconds of the run.
    pub at_millis: u32,
    /// Total capacity of its live uplinks, in bits per second.
    pub capacity: f32,
    /// Utilisation of these uplinks, upwards and downwards, as moving averages.
    pub used: [f32; 2],
    /// By link to a server, as in [`Plan::server_links`]: bits per second from the server and to
    /// it.
    pub carried: Vec<[f32; 2]>,
    /// The part of this traffic that is on detours; empty without detours.
    pub detoured: Vec<[f32; 2]>,
}

/// The weights of one rack's links.
#[derive(Clone, Debug, PartialEq)]
pub struct RackWeights {
    /// Number of the rack.
    pub rack: usize,
    /// When they were set, in milliseconds of the run.
    pub at_millis: u32,
    /// The ToR whose controller has set them.
    pub controller: NodeId,
    /// Weights by link, as in [`Plan::rack_links`]: for sending and for receiving. Each server's
    /// weights add up to 1.
    pub links: Vec<[f32; 2]>,
}

/// A message between nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A ToR's report of its load.
    Report(Report),
    /// Weights of a rack, from a controller.
    Weights(RackWeights),
    /// Detours of a rack, from a controller.
    Detours(ToldDetours),
}

/// The reason why a message is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The message is too short.
    Short,
    /// Unknown kind of message.
    Kind,
    /// Unknown ToR, rack or controller, or a wrong number of pairs.
    Subject,
    /// An invalid counter or weight: NaN, infinite, negative or too large.
    Number,
    /// The weights of a server do not add up to 1, or are all zero.
    Sum,
    /// Detours over nodes that are not neighbours, or over too many relays.
    Way,
}

/// Bytes of a message with this many pairs.
pub fn length(kind_is_report: bool, pairs: usize) -> usize {
    HEADER_BYTES + if kind_is_report { NUMBERS_BYTES } else { 0 } + PAIR_BYTES * pairs
}

/// Bytes of the longest message of a plan.
pub fn longest(plan: &Plan, has_detours: bool) -> usize {
    let most = |lists: &[Vec<usize>]| lists.iter().map(Vec::len).max().unwrap_or(0);
    let (report, detours) = match has_detours {
        true => (2 * most(&plan.server_links), HEADER_BYTES + detours::MAX_BYTES),
        false => (most(&plan.server_links), 0),
    };
    let weights = length(false, most(&plan.rack_links));
    length(true, report).max(weights).max(detours)
}

impl Message {
    /// Appends the encoded message.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let (kind, subject, at_millis, maker, count) = match self {
            Message::Report(report) => {
                let kind = if report.detoured.is_empty() {
                    REPORT
                } else {
                    REPORT_OF_DETOURS
                };
                (kind, report.tor, report.at_millis, 0, report.carried.len())
            }
            Message::Weights(told) => (
                WEIGHTS,
                told.rack,
                told.at_millis,
                told.controller,
                told.links.len(),
            ),
            Message::Detours(told) => (
                if told.side == 0 { DETOURS } else { DETOURS_INWARD },
                told.rack,
                told.at_millis,
                told.controller,
                told.ways.detours.len(),
            ),
        };
        bytes.push(kind);
        for word in [subject as u32, at_millis, maker] {
            bytes.extend_from_slice(&word.to_be_bytes());
        }
        bytes.extend_from_slice(&(count as u16).to_be_bytes());
        if let Message::Report(report) = self {
            for number in [report.capacity, report.used[0], report.used[1]] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
        }
        let pairs = match self {
            Message::Report(report) => [&report.carried[..], &report.detoured[..]],
            Message::Weights(weights) => [&weights.links[..], &[]],
            Message::Detours(told) => return told.write(bytes),
        };
        for number in pairs.into_iter().flatten().flatten() {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Takes the first message from `bytes` and checks it against the plan.
    ///
    /// # Errors
    ///
    /// The reason why the message is rejected. The rest of `bytes` is then unusable.
    pub fn read(bytes: &mut &[u8], plan: &Plan) -> Result<Message, Refusal> {
        let [kind] = take(bytes)?;
        if !(REPORT..=DETOURS_INWARD).contains(&kind) {
            return Err(Refusal::Kind);
        }
        let is_report = kind == REPORT || kind == REPORT_OF_DETOURS;
        let subject = u32::from_be_bytes(take(bytes)?) as usize;
        let at_millis = u32::from_be_bytes(take(bytes)?);
        let maker = u32::from_be_bytes(take(bytes)?);
        let pairs = usize::from(u16::from_be_bytes(take(bytes)?));
        let lists = if is_report {
            &plan.server_links
        } else {
            &plan.rack_links
        };
        let has_ways = kind == DETOURS || kind == DETOURS_INWARD;
        let has_all = |links: &Vec<usize>| links.len() == pairs || has_ways;
        if !lists.get(subject).is_some_and(has_all) {
            return Err(Refusal::Subject);
        }
        if is_report {
            let capacity = number(bytes, MAX_RATE)?;
            let used = [number(bytes, 1.0)?, number(bytes, 1.0)?];
            let carried = read_pairs(bytes, pairs, MAX_RATE)?;
            let further = if kind == REPORT { 0 } else { pairs };
            let detoured = read_pairs(bytes, further, MAX_RATE)?;
            return Ok(Message::Report(Report {
                tor: subject,
                at_millis,
                capacity,
                used,
                carried,
                detoured,
            }));
        }
        let in_loop = plan.tor(maker).map(|tor| plan.loop_of(tor));
        if in_loop != Some(plan.loop_of(subject)) {
            return Err(Refusal::Subject);
        }
        if has_ways {
            let side = usize::from(kind == DETOURS_INWARD);
            let detours = ToldDetours::read(bytes, plan, (side, subject, at_millis, maker), pairs)?;
            return Ok(Message::Detours(detours));
        }
        let links = read_pairs(bytes, pairs, 1.0)?;
        for of_server in links.chunks(plan.racks.ring.ports) {
            for side in 0..2 {
                let sum: f32 = of_server.iter().map(|pair| pair[side]).sum();
                if (sum - 1.0).abs() > ROUNDING {
                    return Err(Refusal::Sum);
                }
            }
        }
        Ok(Message::Weights(RackWeights {
            rack: subject,
            at_millis,
            controller: maker,
            links,
        }))
    }
}

pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Refusal> {
    let (first, rest) = bytes.split_first_chunk().ok_or(Refusal::Short)?;
    *bytes = rest;
    Ok(*first)
}

pub(super) fn number(bytes: &mut &[u8], most: f32) -> Result<f32, Refusal> {
    let number = f32::from_be_bytes(take(bytes)?);
    // A NaN fails this test, as it is in no range.
    if (0.0..=most).contains(&number) {
        Ok(number)
    } else {
        Err(Refusal::Number)
    }
}

fn read_pairs(bytes: &mut &[u8], pairs: usize, most: f32) -> Result<Vec<[f32; 2]>, Refusal> {
    (0..pairs)
        .map(|_| Ok([number(bytes, most)?, number(bytes, most)?]))
        .collect()
}
