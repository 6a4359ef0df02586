//! BCubeRouting and BuildPathSet: the digit-correcting paths. `[bcube §3.2, §3.3, Figs 2, 3]`

use cubeyard_topology::NodeId;

use super::shape::{Hop, Hops, Shape};

/// BCubeRouting: appends the hops from `from` to `to`, correcting digits in the order `levels`
/// gives.
pub fn correct_digits(
    shape: &Shape,
    from: NodeId,
    to: NodeId,
    levels: impl Iterator<Item = usize>,
    hops: &mut Hops,
) {
    let mut at = from;
    for level in levels {
        let wanted = shape.digit(to, level);
        if shape.digit(at, level) != wanted {
            at = shape.with_digit(at, level, wanted);
            hops.push(Hop {
                server: at,
                level: level as u8,
            });
        }
    }
}

/// The levels `first, first - 1, ..., 0, k, ..., first + 1`, each once.
pub fn levels_down_from(levels: usize, first: usize) -> impl Iterator<Item = usize> {
    (0..levels).map(move |step| (first + levels - step) % levels)
}

/// The path of BuildPathSet that leaves `source` by `level`; empty only if source and destination
/// agree at that level and it has no other digit.
///
/// Where the digits differ this is DCRouting; where they agree, AltDCRouting through the neighbour
/// whose digit at that level is one more, modulo the digits present (the paper's Fig. 4 takes the
/// same).
pub fn path_leaving_by(shape: &Shape, source: NodeId, destination: NodeId, level: usize, hops: &mut Hops) {
    hops.clear();
    let own = shape.digit(source, level);
    if own != shape.digit(destination, level) {
        correct_digits(
            shape,
            source,
            destination,
            levels_down_from(shape.levels, level),
            hops,
        );
        return;
    }
    let radix = shape.radix[level];
    if radix < 2 {
        return;
    }
    let neighbour = shape.with_digit(source, level, (own + 1) % radix);
    hops.push(Hop {
        server: neighbour,
        level: level as u8,
    });
    let below = (level + shape.levels - 1) % shape.levels;
    correct_digits(
        shape,
        neighbour,
        destination,
        levels_down_from(shape.levels, below),
        hops,
    );
}

/// BuildPathSet: the `k + 1` node-disjoint paths between two different servers, by the level of
/// their first hop, highest first. A level that has a single digit (a partial BCube with one
/// BCube_{k-1}) gives none.
pub fn build_path_set(shape: &Shape, source: NodeId, destination: NodeId) -> Vec<Hops> {
    let mut set = Vec::with_capacity(shape.levels);
    for level in (0..shape.levels).rev() {
        let mut hops = Hops::new();
        path_leaving_by(shape, source, destination, level, &mut hops);
        if !hops.is_empty() {
            set.push(hops);
        }
    }
    set
}
