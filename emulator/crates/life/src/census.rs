//! The parts alive at each point of a curve: servers, connected servers, failed switches and links.

use cubeyard_routing::random::mix;

use crate::ageing::Stretch;
use crate::parts::Parts;

/// Counts at each point of the grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Servers that are up.
    pub servers: Vec<u32>,
    /// Number of these in the largest connected part.
    pub connected: Vec<u32>,
    /// Failed switches, those without power included.
    pub switches_down: Vec<u32>,
    /// Links that have failed by themselves.
    pub links_down: Vec<u32>,
    /// PDUs that have failed.
    pub pdus_down: Vec<u32>,
    /// A fingerprint of the parts that are up: equal fingerprints mean equal states, except with a
    /// chance of 2^-128.
    pub state: Vec<u128>,
}

/// The fingerprint of a part that is up.
fn fingerprint(item: u64) -> u128 {
    u128::from(mix(item)) << 64 | u128::from(mix(!item))
}

impl Census {
    pub fn new(points: usize) -> Census {
        Census {
            servers: vec![0; points],
            connected: vec![0; points],
            switches_down: vec![0; points],
            links_down: vec![0; points],
            pdus_down: vec![0; points],
            state: vec![0; points],
        }
    }

    /// Adds the points of the grid within a period; the last period includes its end. Linear in
    /// nodes, links and points: backwards from its end parts only come alive, so that connected
    /// parts only join.
    pub fn enter(&mut self, stretch: &Stretch, parts: &Parts, months: &[f64], last: bool) {
        let within = |&&month: &&f64| month >= stretch.from && (last || month < stretch.until);
        let first = months.partition_point(|&month| month < stretch.from);
        let points = months[first..].iter().take_while(within).count();
        if points == 0 {
            return;
        }
        let grid = &months[first..first + points];
        // The last point at which each is up, from 1; 0 if it is down at the first.
        let lasts = |down: f64| grid.partition_point(|&month| month < down);
        let node_lasts: Vec<usize> = stretch.node_down.iter().map(|&down| lasts(down)).collect();
        let nodes_by_last = Buckets::new(points, node_lasts.iter().copied());
        let link_lasts: Vec<usize> = stretch.link_down.iter().map(|&down| lasts(down)).collect();
        let usable = parts
            .ends
            .iter()
            .zip(&link_lasts)
            .map(|(&[a, b], &own)| own.min(node_lasts[a as usize]).min(node_lasts[b as usize]));
        let links_by_last = Buckets::new(points, usable);
        let own_links = Buckets::new(points, link_lasts.iter().copied());
        for (point, month) in grid.iter().enumerate() {
            let down = stretch.pdu_down.iter().filter(|&down| down <= month).count();
            self.pdus_down[first + point] = down as u32;
        }
        let mut joined = Joined::new(parts);
        let (mut servers, mut switches, mut links, mut state) = (0, 0, 0, 0);
        for point in (0..points).rev() {
            for &node in nodes_by_last.at(point + 1) {
                state ^= fingerprint(u64::from(node));
                if node < parts.servers {
                    servers += 1;
                    joined.largest = joined.largest.max(1);
                } else {
                    switches += 1;
                }
            }
            for &link in links_by_last.at(point + 1) {
                let [a, b] = parts.ends[link as usize];
                joined.join(a, b);
            }
            let more = own_links.at(point + 1);
            links += more.len() as u32;
            for &link in more {
                state ^= fingerprint(1 << 40 | u64::from(link));
            }
            self.state[first + point] = state;
            self.servers[first + point] = servers;
            self.connected[first + point] = joined.largest;
            self.switches_down[first + point] = parts.switches - switches;
            self.links_down[first + point] = parts.ends.len() as u32 - links;
        }
    }
}

/// Numbers sorted by a small key.
struct Buckets {
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Buckets {
    fn new(most: usize, keys: impl Iterator<Item = usize>) -> Buckets {
        let keys: Vec<usize> = keys.collect();
        let mut starts = vec![0; most + 2];
        for &key in &keys {
            starts[key + 1] += 1;
        }
        for key in 0..=most {
            starts[key + 1] += starts[key];
        }
        let mut next = starts.clone();
        let mut items = vec![0; keys.len()];
        for (item, &key) in keys.iter().enumerate() {
            items[next[key]] = item as u32;
            next[key] += 1;
        }
        Buckets { starts, items }
    }

    fn at(&self, key: usize) -> &[u32] {
        &self.items[self.starts[key]..self.starts[key + 1]]
    }
}

/// Connected parts, which only grow (union by size, paths halved).
struct Joined {
    parent: Vec<u32>,
    servers: Vec<u32>,
    largest: u32,
}

impl Joined {
    fn new(parts: &Parts) -> Joined {
        let nodes = parts.servers + parts.switches;
        Joined {
            parent: (0..nodes).collect(),
            servers: (0..nodes).map(|node| u32::from(node < parts.servers)).collect(),
            largest: 0,
        }
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    fn join(&mut self, a: u32, b: u32) {
        let (mut big, mut small) = (self.root(a), self.root(b));
        if big == small {
            return;
        }
        if self.servers[big as usize] < self.servers[small as usize] {
            (big, small) = (small, big);
        }
        self.parent[small as usize] = big;
        self.servers[big as usize] += self.servers[small as usize];
        self.largest = self.largest.max(self.servers[big as usize]);
    }
}
