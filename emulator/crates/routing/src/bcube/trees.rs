//! Structures that speed up one-to-several and one-to-all traffic: complete graphs and spanning
//! trees. `[bcube §3.4, §3.5]`

use cubeyard_topology::NodeId;

use super::shape::{Hop, Hops, Shape};

/// An edge of a server spanning tree: `parent` sends to `child` through their shared switch at
/// `level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEdge {
    /// Nearer to the source.
    pub parent: NodeId,
    /// Farther from the source.
    pub child: NodeId,
    /// The digit in which the two differ.
    pub level: u8,
}

/// BuildMultipleSPTs: `k + 1` edge-disjoint server spanning trees from `source`, one for each
/// level, each an edge list in which every parent comes before its children. `[bcube §3.5, Fig. 5]`
///
/// Repaired: as printed, the first chain of Part I runs on into the source; there (`dim == level`)
/// the loop must stop one step earlier, at `n - 2` servers. Disjoint are the directed server-switch
/// links; for `n = 2` a link serves both directions of two trees. A level with a single digit
/// present (a partial BCube with one BCube_{k-1}) has no tree.
pub fn spanning_trees(shape: &Shape, source: NodeId) -> Vec<Vec<TreeEdge>> {
    (0..shape.levels)
        .filter(|&level| shape.radix[level] > 1)
        .map(|level| spanning_tree(shape, source, level))
        .collect()
}

fn spanning_tree(shape: &Shape, source: NodeId, level: usize) -> Vec<TreeEdge> {
    let step = |server: NodeId, dim: usize, by: u32| {
        let radix = shape.radix[dim];
        shape.with_digit(server, dim, (shape.digit(server, dim) + by) % radix)
    };
    let root = step(source, level, 1);
    let mut edges = vec![TreeEdge {
        parent: source,
        child: root,
        level: level as u8,
    }];
    let mut members = vec![root];
    // Part I: from each member a chain along the next dimension, wrapping from `level` upwards.
    for i in 0..shape.levels {
        let dim = (level + i) % shape.levels;
        let chain = shape.radix[dim] - if dim == level { 2 } else { 1 };
        for m in 0..members.len() {
            let mut parent = members[m];
            for _ in 0..chain {
                let child = step(parent, dim, 1);
                edges.push(TreeEdge {
                    parent,
                    child,
                    level: dim as u8,
                });
                members.push(child);
                parent = child;
            }
        }
    }
    // Part II: the servers that share the source's digit at `level` are children of the neighbour
    // whose digit is one less.
    for server in 0..shape.servers() {
        if server != source && shape.digit(server, level) == shape.digit(source, level) {
            let parent = step(server, level, shape.radix[level] - 1);
            edges.push(TreeEdge {
                parent,
                child: server,
                level: level as u8,
            });
        }
    }
    edges
}

/// An edge-disjoint complete graph: its servers, and for each pair the path of at most two hops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompleteGraph {
    /// The source first, then its chosen neighbour at each level.
    pub servers: Vec<NodeId>,
    /// `(from, to, hops)` for every pair, indices into `servers`, `from < to`.
    pub edges: Vec<(usize, usize, Hops)>,
}

/// The complete graph of `source` and one neighbour a level, `digits[i]` being the neighbour's
/// digit at level `i`. `None` where a digit is the source's own or not present.
/// `[bcube §3.4, Theorem 4]`
pub fn complete_graph(shape: &Shape, source: NodeId, digits: &[u32]) -> Option<CompleteGraph> {
    let valid = digits.len() == shape.levels
        && digits
            .iter()
            .enumerate()
            .all(|(level, &digit)| digit < shape.radix[level] && digit != shape.digit(source, level));
    if !valid {
        return None;
    }
    let mut servers = vec![source];
    servers.extend(
        digits
            .iter()
            .enumerate()
            .map(|(level, &digit)| shape.with_digit(source, level, digit)),
    );
    let mut edges = Vec::new();
    for (level, &neighbour) in servers.iter().enumerate().skip(1) {
        edges.push((
            0,
            level,
            vec![Hop {
                server: neighbour,
                level: (level - 1) as u8,
            }],
        ));
    }
    for low in 0..shape.levels {
        for high in low + 1..shape.levels {
            // d_low to d_high by d'_low: the level-high link of d_low, the level-low link of
            // d_high.
            let between = shape.with_digit(servers[low + 1], high, digits[high]);
            let hops = vec![
                Hop {
                    server: between,
                    level: high as u8,
                },
                Hop {
                    server: servers[high + 1],
                    level: low as u8,
                },
            ];
            edges.push((low + 1, high + 1, hops));
        }
    }
    Some(CompleteGraph { servers, edges })
}
