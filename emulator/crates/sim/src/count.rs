//! The number of flows on each link: the only input of the aggregate bottleneck throughput.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cubeyard_routing::{DirectedLink, NoPath, Routed, Router};
use rayon::prelude::*;

use crate::flows::{Batches, Flows};

/// Flows in one piece of parallel work: enough to hide the hand-over, few enough to cancel
/// promptly.
const CHUNK_FLOWS: u64 = 16_384;

/// State that a computation shares with the thread that waits for it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Units of work done so far.
    pub done: AtomicU64,
    /// Total units of work, as far as known.
    pub total: AtomicU64,
    /// Set by other threads to stop the work soon.
    pub cancelled: AtomicBool,
    /// The newest partial result as a JSON document, until it is taken.
    pub partial: Mutex<Option<String>>,
}

impl Progress {
    /// Takes the newest partial result, unless it has been taken.
    pub fn take_partial(&self) -> Option<String> {
        self.slot().take()
    }

    pub(crate) fn show(&self, document: String) {
        *self.slot() = Some(document);
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        // Documents are replaced as a whole, so a panic in another thread leaves no half-written
        // document.
        self.partial
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The work was cancelled from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// The load that a workload puts on a network under one routing scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFlows {
    /// Flows on each direction of each link, two entries a link (`2 * link + direction`).
    pub per_directed_link: Vec<u32>,
    /// Flows that have a path.
    pub flows: u64,
    /// Flows without a path: the following, and those with failed ends.
    pub dropped: u64,
    /// Flows between live servers for which the scheme found no path.
    pub no_path: u64,
    /// Links on all paths together.
    pub total_links: u64,
    /// Links on the longest path.
    pub longest_links: u32,
    /// The largest number of servers on a path, including the destination.
    pub most_hops: u32,
}

impl LinkFlows {
    /// No flow on any of `directed_links`.
    pub fn empty(directed_links: usize) -> LinkFlows {
        LinkFlows {
            per_directed_link: vec![0; directed_links],
            ..LinkFlows::default()
        }
    }

    /// The most loaded direction's flows.
    pub fn most(&self) -> u32 {
        self.per_directed_link.iter().copied().max().unwrap_or(0)
    }

    /// Records one flow: the links of its path, or the reason why it has none. `into_server` marks
    /// the directed links that end at a server; it is empty if the number of hops follows from the
    /// number of links.
    #[inline]
    pub fn enter(&mut self, routed: Result<(), NoPath>, path: &[DirectedLink], into_server: &[bool]) {
        match routed {
            Ok(()) => {
                self.flows += 1;
                self.total_links += path.len() as u64;
                for &link in path {
                    self.per_directed_link[link as usize] += 1;
                }
                self.longest_links = self.longest_links.max(path.len() as u32);
                self.see_hops(path, into_server);
            }
            Err(reason) => self.drop_flow(reason),
        }
    }

    /// Adds a batch of flows: all links at once.
    fn enter_batch(&mut self, routed: &Routed, into_server: &[bool]) {
        self.flows += routed.ends.len() as u64 - routed.dropped.len() as u64;
        self.total_links += routed.links.len() as u64;
        for &link in &routed.links {
            self.per_directed_link[link as usize] += 1;
        }
        for &(_, reason) in &routed.dropped {
            self.drop_flow(reason);
        }
        let starts = std::iter::once(&0).chain(&routed.ends);
        let longest = routed
            .ends
            .iter()
            .zip(starts)
            .map(|(end, start)| end - start)
            .max()
            .unwrap_or(0);
        if !into_server.is_empty() {
            let mut start = 0;
            for &end in &routed.ends {
                self.see_hops(&routed.links[start as usize..end as usize], into_server);
                start = end;
            }
        }
        self.longest_links = self.longest_links.max(longest);
    }

    #[inline]
    fn see_hops(&mut self, path: &[DirectedLink], into_server: &[bool]) {
        if !into_server.is_empty() {
            let entered = path.iter().filter(|&&link| into_server[link as usize]);
            self.most_hops = self.most_hops.max(entered.count() as u32);
        }
    }

    fn drop_flow(&mut self, reason: NoPath) {
        self.dropped += 1;
        self.no_path += u64::from(reason == NoPath::NotFound);
    }

    fn merge(mut self, other: &LinkFlows) -> LinkFlows {
        for (mine, theirs) in self.per_directed_link.iter_mut().zip(&other.per_directed_link) {
            *mine += theirs;
        }
        self.flows += other.flows;
        self.dropped += other.dropped;
        self.no_path += other.no_path;
        self.total_links += other.total_links;
        self.longest_links = self.longest_links.max(other.longest_links);
        self.most_hops = self.most_hops.max(other.most_hops);
        self
    }
}

/// Routes every flow and counts it on the links of its path. Linear in the links of all paths;
/// memory is one counter array a thread. The result does not depend on the number of threads.
///
/// `into_server` is as in [`LinkFlows::enter`].
///
/// A flow whose ends have failed or that finds no path is dropped and counted as such.
pub fn count_links(
    router: &dyn Router,
    flows: &Flows,
    directed_links: usize,
    into_server: &[bool],
    seed: u64,
    progress: &Progress,
) -> Result<LinkFlows, Cancelled> {
    count_range(
        router,
        flows,
        0..flows.len(),
        directed_links,
        into_server,
        seed,
        progress,
    )
}

/// The same in several parts: if `goes_on` rejects the load of the first flows, the others are not
/// routed and there is no load. Loads only grow, so a rejected load stays rejected.
pub(crate) fn count_links_while(
    router: &dyn Router,
    flows: &Flows,
    directed_links: usize,
    seed: u64,
    goes_on: &dyn Fn(&LinkFlows) -> bool,
    progress: &Progress,
) -> Result<Option<LinkFlows>, Cancelled> {
    let total = flows.len();
    let mut load = LinkFlows::empty(directed_links);
    let mut start = 0;
    // Each part is four times the previous one, so that clearly bad candidates are rejected early.
    for end in [total / 64, total / 16, total / 4, total] {
        let part = count_range(router, flows, start..end, directed_links, &[], seed, progress)?;
        load = load.merge(&part);
        start = end;
        if end < total && !goes_on(&load) {
            return Ok(None);
        }
    }
    Ok(Some(load))
}

fn count_range(
    router: &dyn Router,
    flows: &Flows,
    range: Range<u64>,
    directed_links: usize,
    into_server: &[bool],
    seed: u64,
    progress: &Progress,
) -> Result<LinkFlows, Cancelled> {
    let (from, total) = (range.start, range.end);
    let empty = || LinkFlows::empty(directed_links);
    let chunks = (total - from).div_ceil(CHUNK_FLOWS) as usize;
    let counted = (0..chunks)
        .into_par_iter()
        .with_min_len((chunks / 64).max(1))
        .fold(
            || (empty(), Batches::default()),
            |(mut load, mut batches), chunk| {
                if progress.cancelled.load(Ordering::Relaxed) {
                    return (load, batches);
                }
                let start = from + chunk as u64 * CHUNK_FLOWS;
                let range = start..(start + CHUNK_FLOWS).min(total);
                let size = range.end - range.start;
                batches.route(router, flows, range, seed, |_, routed| {
                    load.enter_batch(routed, into_server);
                });
                progress.done.fetch_add(size, Ordering::Relaxed);
                (load, batches)
            },
        )
        .map(|(load, _)| load)
        .reduce(empty, |a, b| a.merge(&b));
    if progress.cancelled.load(Ordering::Relaxed) {
        Err(Cancelled)
    } else {
        Ok(counted)
    }
}
