//! A source route: up to eight next hops, each in one byte [bcube §7.1].

use cubeyard_routing::bcube::Shape;
use cubeyard_topology::NodeId;

use super::nha::Nha;

/// One to eight next hops, from the source to the destination. Hops past the end are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceRoute {
    hops: [Nha; SourceRoute::MAX_HOPS],
    count: u8,
}

impl SourceRoute {
    /// Maximum number of hops in a header: the longest path of a BCube_3, 2(k+1) [bcube §3.2].
    pub const MAX_HOPS: usize = 8;

    /// A route with these hops; `None` without any, or with more than [`SourceRoute::MAX_HOPS`].
    pub fn new(hops: impl IntoIterator<Item = Nha>) -> Option<SourceRoute> {
        let mut route = SourceRoute {
            hops: [Nha::default(); SourceRoute::MAX_HOPS],
            count: 0,
        };
        for hop in hops {
            *route.hops.get_mut(usize::from(route.count))? = hop;
            route.count += 1;
        }
        (route.count > 0).then_some(route)
    }

    /// The route from `source` through these servers, the last of which is the destination. `None`
    /// if consecutive servers are no neighbours, the route is too long, or its bytes cannot name a
    /// level or digit.
    pub fn through(shape: &Shape, source: NodeId, servers: &[NodeId]) -> Option<SourceRoute> {
        let mut from = source;
        let mut hops = Vec::with_capacity(servers.len());
        for &to in servers {
            let mut differing =
                (0..shape.levels).filter(|&level| shape.digit(from, level) != shape.digit(to, level));
            let (Some(level), None) = (differing.next(), differing.next()) else {
                return None;
            };
            hops.push(Nha::new(level as u32, shape.digit(to, level))?);
            from = to;
        }
        SourceRoute::new(hops)
    }

    /// The servers after `source` on the route, the last of which is the destination. `None` if a
    /// hop names a level or digit that the structure lacks.
    pub fn servers(&self, shape: &Shape, source: NodeId) -> Option<Vec<NodeId>> {
        let mut at = source;
        self.hops()
            .iter()
            .map(|hop| {
                let level = hop.level() as usize;
                let known = level < shape.levels && hop.digit() < shape.radix[level];
                at = known.then(|| shape.with_digit(at, level, hop.digit()))?;
                (at < shape.servers()).then_some(at)
            })
            .collect()
    }

    /// The hops, at least one.
    pub fn hops(&self) -> &[Nha] {
        &self.hops[..usize::from(self.count)]
    }

    /// The eight bytes of the header's NHA array.
    pub fn bytes(&self) -> [u8; SourceRoute::MAX_HOPS] {
        self.hops.map(|hop| hop.0)
    }
}

/// A source route with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberedPath {
    /// The hops of the path.
    pub route: SourceRoute,
    /// The number of the path; see [`path_id`].
    pub id: u32,
}

impl NumberedPath {
    /// The path from one server to another along `route`.
    pub fn new(source: NodeId, destination: NodeId, route: SourceRoute) -> NumberedPath {
        NumberedPath {
            route,
            id: path_id(source, destination, &route),
        }
    }
}

/// The number of a path: FNV-1a of its ends and hops, so that all servers compute the same number
/// without exchanging it. The number is never 0, which means no path. `[ours]`
pub fn path_id(source: NodeId, destination: NodeId, route: &SourceRoute) -> u32 {
    let ends = [source, destination].into_iter().flat_map(u32::to_be_bytes);
    let hops = route.hops().iter().map(|hop| hop.0);
    let hash = ends.chain(hops).fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.max(1)
}
