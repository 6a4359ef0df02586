//! The load of directed links over time: frames of virtual time of equal length, at most
//! [`MOST_FRAMES`].
//!
//! As with the columns of `samples`, frames are short at first; when there are too many, each two
//! are replaced by their mean. A link takes memory once it has carried a packet:
//! [`BYTES_PER_USED_LINK`], for a run of any length. `[ours]`

use serde_json::{Value, json};

use super::choices::link_name;
use super::core::Core;
use super::links::NONE;
use cubeyard_topology::Topology;

/// The most frames; once reached, at least half of this number remain.
pub const MOST_FRAMES: usize = 64;
/// The most links in a document: those that carried the most bytes.
pub const MOST_LINKS: usize = 4096;
/// Values of a document at most. With more links, frames are joined to stay within it.
pub const MOST_VALUES: usize = 65_536;
/// Memory of a link that has carried a packet.
pub const BYTES_PER_USED_LINK: usize = MOST_FRAMES * size_of::<u16>() + size_of::<u64>() + size_of::<u32>();
/// Memory of every directed link.
pub const BYTES_PER_LINK: usize = size_of::<u32>();
/// A share of 1.
const FULL: f64 = u16::MAX as f64;

/// The frames so far.
#[derive(Debug)]
pub struct Heat {
    /// Length of a frame, in ps.
    step: u64,
    frames: usize,
    /// Indexed by directed link.
    slots: Vec<u32>,
    /// The link of each slot.
    links: Vec<u32>,
    /// Bytes put on the line until the end of the last frame.
    carried: Vec<u64>,
    /// [`MOST_FRAMES`] a slot: the share of the link's rate that it carried, in 1 / 65535.
    shares: Vec<u16>,
}

/// Bytes that a link has put on the line: the bytes that it accepted, minus those that wait or are
/// being sent.
fn put_on_line(core: &Core, link: u32) -> u64 {
    let waiting = core.links.backlog_bytes(link, core.now);
    core.links.count(link).bytes.saturating_sub(waiting)
}

/// The share of the rate that `bytes` take in a time of `ps`. After a change of the rate it can
/// exceed 1 for a moment.
fn share_of(bytes: u64, gbps: f64, ps: u64) -> f64 {
    (bytes as f64 * 8e3 / (gbps * ps as f64)).min(1.0)
}

impl Heat {
    /// An empty record for this number of directed links; frames have `step` ps at first.
    pub fn new(step: u64, links: u32) -> Heat {
        Heat {
            step: step.max(1),
            frames: 0,
            slots: vec![NONE; links as usize],
            links: Vec::new(),
            carried: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// End of the next frame, in ps.
    pub fn next(&self) -> u64 {
        self.step * (self.frames as u64 + 1)
    }

    /// Ends a frame now. Linear in the directed links. `gbps` has their rates before faults.
    pub fn take(&mut self, core: &Core, gbps: &[f64]) {
        for link in 0..self.slots.len() as u32 {
            if core.links.count(link).packets == 0 {
                continue;
            }
            let slot = self.slot(link);
            let carried = put_on_line(core, link).max(self.carried[slot]);
            let share = share_of(carried - self.carried[slot], gbps[link as usize], self.step);
            self.carried[slot] = carried;
            self.shares[slot * MOST_FRAMES + self.frames] = (share * FULL).round() as u16;
        }
        self.frames += 1;
        if self.frames == MOST_FRAMES {
            self.join_pairs();
        }
    }

    fn slot(&mut self, link: u32) -> usize {
        let slot = &mut self.slots[link as usize];
        if *slot == NONE {
            *slot = self.links.len() as u32;
            self.links.push(link);
            self.carried.push(0);
            self.shares.resize(self.links.len() * MOST_FRAMES, 0);
        }
        *slot as usize
    }

    fn join_pairs(&mut self) {
        self.step *= 2;
        self.frames = MOST_FRAMES / 2;
        for shares in self.shares.chunks_exact_mut(MOST_FRAMES) {
            for frame in 0..MOST_FRAMES / 2 {
                let sum = u32::from(shares[2 * frame]) + u32::from(shares[2 * frame + 1]);
                shares[frame] = sum.div_ceil(2) as u16;
            }
            shares[MOST_FRAMES / 2..].fill(0);
        }
    }

    /// `{step_secs, links_used, links, permille}`: frame `i` ends at `(i + 1) * step_secs`, the
    /// last one now; a row of `permille` has a number for each of `links`, directed, `2 * cable`
    /// from the cable's first end to its second and one more for the other direction.
    pub fn document(&self, core: &Core, gbps: &[f64]) -> Value {
        let mut busiest: Vec<u32> = (0..self.slots.len() as u32)
            .filter(|&link| core.links.count(link).packets > 0)
            .collect();
        let used = busiest.len();
        busiest.sort_by_key(|&link| (std::cmp::Reverse(core.links.count(link).bytes), link));
        busiest.truncate(MOST_LINKS);
        busiest.sort_unstable();
        let last = core.now - (self.step * self.frames as u64).min(core.now);
        let rows = self.frames + usize::from(last > 0);
        let mut joined = 1;
        while rows.div_ceil(joined) * busiest.len() > MOST_VALUES {
            joined *= 2;
        }
        let mut permille: Vec<Vec<u16>> = vec![Vec::with_capacity(busiest.len()); rows.div_ceil(joined)];
        for &link in &busiest {
            for (frame, row) in permille.iter_mut().enumerate() {
                let (mut carried, mut secs) = (0.0, 0.0);
                for part in frame * joined..((frame + 1) * joined).min(rows) {
                    let (share, length) = self.part(core, gbps, link, part, last);
                    carried += share * length;
                    secs += length;
                }
                row.push((1000.0 * carried / secs).round() as u16);
            }
        }
        json!({
            "step_secs": (self.step * joined as u64) as f64 / super::links::SECOND as f64,
            "links_used": used,
            "links": busiest,
            "permille": permille,
        })
    }

    /// A link's share in a frame, and the frame's length in ps; the complete frames are followed by
    /// an unfinished one of `last` ps.
    fn part(&self, core: &Core, gbps: &[f64], link: u32, frame: usize, last: u64) -> (f64, f64) {
        let slot = self.slots[link as usize];
        if frame == self.frames {
            let before = self.carried.get(slot as usize).copied().unwrap_or_default();
            let bytes = put_on_line(core, link).saturating_sub(before);
            return (share_of(bytes, gbps[link as usize], last), last as f64);
        }
        let at = slot as usize * MOST_FRAMES + frame;
        let share = if slot == NONE { 0 } else { self.shares[at] };
        (f64::from(share) / FULL, self.step as f64)
    }
}

/// The names of a document's links, in their order.
pub fn names(document: &Value, topology: &Topology) -> Vec<String> {
    let links = document["links"].as_array().into_iter().flatten();
    links
        .filter_map(|link| Some(link_name(topology, u32::try_from(link.as_u64()?).ok()?)))
        .collect()
}
