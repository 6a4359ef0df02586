//! Exact max-min fair rates by progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2).

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::paths::Paths;

/// The max-min fair rate of every flow, in the unit of `capacity` (per directed link). A dropped
/// flow gets 0; a flow that crosses no link is not limited and gets infinity.
///
/// All rates rise together until a link is full; the flows on it keep their rate, and the others
/// continue to rise. Every flow's path and every link's list of flows is read once: linear in the
/// links of all paths, plus a heap of links. The order of work is fixed, so the result is the same
/// to the last bit.
pub fn max_min_rates(paths: &Paths, capacity: &[f64]) -> Vec<f64> {
    let mut rates = vec![f64::INFINITY; paths.len()];
    for &flow in &paths.dropped {
        rates[flow as usize] = 0.0;
    }
    let (starts, flows_on) = flows_by_link(paths, capacity.len());
    let on = |link: usize| &flows_on[starts[link] as usize..starts[link + 1] as usize];
    let mut links: Vec<Filling> = (0..capacity.len())
        .map(|link| Filling {
            left: capacity[link],
            rising: on(link).len() as u32,
        })
        .collect();
    let mut heap: BinaryHeap<Share> = (0..capacity.len())
        .filter(|&link| links[link].rising > 0)
        .map(|link| Share {
            rate: links[link].share(),
            link: link as u32,
        })
        .collect();
    // Every link checks each of its flows. One bit per flow fits in the L1 or L2 cache; a rate per
    // flow would not. [measured]
    let mut settled = vec![0u64; paths.len().div_ceil(64)];
    let (mut fresh, mut crossed) = ([0; BATCH], Vec::with_capacity(BATCH * BLOCK));
    while let Some(mut top) = heap.peek_mut() {
        let Share { rate, link } = *top;
        let at = link as usize;
        // Shares only grow while other links fill: an outdated share is put back with its present
        // value.
        let present = links[at].share().max(0.0);
        if links[at].rising > 0 && present > rate {
            top.rate = present;
            continue;
        }
        PeekMut::pop(top);
        let mut chunks = on(at).chunks(BATCH);
        // If none of its flows rises, the rest of the list is settled.
        while links[at].rising > 0
            && let Some(flows) = chunks.next()
        {
            let fresh = settle(flows, &mut settled, &mut fresh);
            for &flow in fresh {
                rates[flow as usize] = rate;
            }
            gather(paths, fresh, &mut crossed);
            for &crossed in &crossed {
                let crossed = &mut links[crossed as usize];
                crossed.left -= rate;
                crossed.rising -= 1;
            }
        }
    }
    rates
}

/// Flows settled at a time: their paths are read together, to overlap the memory accesses.
/// `[measured]`
const BATCH: usize = 64;

/// Links of a path copied at once, needed or not.
const BLOCK: usize = 12;

/// The flows of `flows` that had no rate yet, each once, in ascending order; marks them as settled.
/// `kept` stores them. `flows` ascend. Written without a branch, because the branch would be
/// unpredictable.
fn settle<'a>(flows: &[u32], settled: &mut [u64], kept: &'a mut [u32; BATCH]) -> &'a [u32] {
    let (mut count, mut before) = (0, u32::MAX);
    for &flow in flows {
        kept[count % BATCH] = flow;
        let bit = settled[flow as usize / 64] >> (flow % 64) & 1;
        count += usize::from(bit == 0 && flow != before);
        before = flow;
    }
    let kept = &kept[..count];
    for &flow in kept {
        settled[flow as usize / 64] |= 1 << (flow % 64);
    }
    kept
}

/// The links of these flows' paths, one path after another. They are copied in blocks, so that path
/// lengths cause no mispredicted branches and paths need not wait for each other.
fn gather(paths: &Paths, flows: &[u32], crossed: &mut Vec<u32>) {
    let mut spans = [(0, 0); BATCH];
    for (span, &flow) in spans.iter_mut().zip(flows) {
        *span = (paths.offsets[flow as usize], paths.offsets[flow as usize + 1]);
    }
    crossed.clear();
    for &(start, end) in &spans[..flows.len()] {
        let (start, end) = (start as usize, end as usize);
        let length = crossed.len() + end - start;
        match paths.links[start..].first_chunk::<BLOCK>() {
            Some(block) if end - start <= BLOCK => {
                crossed.extend_from_slice(block);
                crossed.truncate(length);
            }
            _ => crossed.extend_from_slice(&paths.links[start..end]),
        }
    }
}

/// A link while rates rise.
#[derive(Clone, Copy)]
struct Filling {
    /// The capacity that flows with final rates leave.
    left: f64,
    /// Flows that still rise.
    rising: u32,
}

impl Filling {
    /// The rate that each remaining flow would get if this link alone limited it.
    fn share(self) -> f64 {
        self.left / f64::from(self.rising)
    }
}

/// The flows on every directed link in compressed rows (row starts, flows), by counting.
pub fn flows_by_link(paths: &Paths, links: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; links + 1];
    for &link in &paths.links {
        starts[link as usize + 1] += 1;
    }
    for link in 0..links {
        starts[link + 1] += starts[link];
    }
    let mut next = starts.clone();
    let mut flows_on = vec![0u32; paths.links.len()];
    for flow in 0..paths.len() {
        for &link in paths.path(flow) {
            flows_on[next[link as usize] as usize] = flow as u32;
            next[link as usize] += 1;
        }
    }
    (starts, flows_on)
}

/// A link's equal share among its rising flows; the heap gives the least first, ties by link.
#[derive(Clone, Copy, Debug)]
struct Share {
    rate: f64,
    link: u32,
}

impl Ord for Share {
    fn cmp(&self, other: &Share) -> Ordering {
        other
            .rate
            .total_cmp(&self.rate)
            .then_with(|| other.link.cmp(&self.link))
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Share) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Share) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Share {}
