//! All flows' paths in two flat arrays: no object per flow.

use cubeyard_routing::Router;
use rayon::prelude::*;

use crate::count::{Cancelled, Progress};
use crate::flows::{Batches, Flows};

/// Flows in one piece of parallel work.
const CHUNK_FLOWS: u64 = 65_536;

/// The directed links of every flow's path in compressed rows: flow `f` crosses
/// `links[offsets[f]..offsets[f + 1]]`. A dropped flow has no links, and is marked in `dropped`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Row starts; one more than there are flows.
    pub offsets: Vec<u32>,
    /// Directed links, path after path.
    pub links: Vec<u32>,
    /// Indices of flows without a path, ascending.
    pub dropped: Vec<u32>,
}

impl Paths {
    /// Number of flows, dropped ones included.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no flows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The directed links of one flow's path.
    #[inline]
    pub fn path(&self, flow: usize) -> &[u32] {
        &self.links[self.offsets[flow] as usize..self.offsets[flow + 1] as usize]
    }

    /// Routes every flow of a workload. Linear in the links of all paths; 4 bytes per link and 4
    /// per flow.
    pub fn route(
        router: &dyn Router,
        flows: &Flows,
        seed: u64,
        progress: &Progress,
    ) -> Result<Paths, Cancelled> {
        use std::sync::atomic::Ordering;
        let total = flows.len();
        let chunks: Vec<Option<Chunk>> = (0..total.div_ceil(CHUNK_FLOWS))
            .into_par_iter()
            .map(|chunk| {
                if progress.cancelled.load(Ordering::Relaxed) {
                    return None;
                }
                let range = chunk * CHUNK_FLOWS..((chunk + 1) * CHUNK_FLOWS).min(total);
                let size = range.end - range.start;
                let mut piece = Chunk::default();
                Batches::default().route(router, flows, range, seed, |first, routed| {
                    let base = piece.links.len() as u32;
                    piece.links.extend_from_slice(&routed.links);
                    piece.ends.extend(routed.ends.iter().map(|end| base + end));
                    let dropped = routed.dropped.iter().map(|&(place, _)| first as u32 + place);
                    piece.dropped.extend(dropped);
                });
                // A vector grown by doubling may hold twice what it needs; all pieces are held at
                // once.
                piece.links.shrink_to_fit();
                progress.done.fetch_add(size, Ordering::Relaxed);
                Some(piece)
            })
            .collect();
        let mut offsets = Vec::with_capacity(total as usize + 1);
        offsets.push(0u32);
        let mut links = Vec::with_capacity(chunks.iter().flatten().map(|piece| piece.links.len()).sum());
        let mut dropped = Vec::new();
        for piece in chunks {
            let piece = piece.ok_or(Cancelled)?;
            let base = links.len() as u32;
            offsets.extend(piece.ends.iter().map(|end| base + end));
            links.extend_from_slice(&piece.links);
            dropped.extend_from_slice(&piece.dropped);
        }
        Ok(Paths {
            offsets,
            links,
            dropped,
        })
    }
}

#[derive(Default)]
struct Chunk {
    links: Vec<u32>,
    ends: Vec<u32>,
    dropped: Vec<u32>,
}
