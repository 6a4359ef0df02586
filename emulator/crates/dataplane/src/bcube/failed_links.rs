//! The database of failed links: hops between servers that were reported as dead. `[bcube §4.2]`

use std::collections::BTreeMap;
use std::time::Duration;

use cubeyard_topology::NodeId;

use crate::protocol::Time;

/// Capacity of the database. When it is full, the hop that expires next is removed.
const MAX_LINKS: usize = 4096;

/// A failed hop between two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedLink {
    /// Both servers, the lower number first.
    pub servers: (NodeId, NodeId),
    /// Time until the entry expires.
    pub expires_in: Duration,
}

/// Failed hops. Each stays until it expires or a probe passes it. A server only detects that it
/// cannot reach a neighbour, not which cable or switch has failed, so a hop is a pair of servers.
#[derive(Debug)]
pub struct FailedLinks {
    lifetime: Duration,
    until: BTreeMap<(NodeId, NodeId), Time>,
}

fn key(a: NodeId, b: NodeId) -> (NodeId, NodeId) {
    (a.min(b), a.max(b))
}

impl FailedLinks {
    /// An empty database, whose entries expire after `lifetime`.
    pub fn new(lifetime: Duration) -> FailedLinks {
        FailedLinks {
            lifetime,
            until: BTreeMap::new(),
        }
    }

    /// Adds a failed hop; returns whether it is new.
    pub fn insert(&mut self, now: Time, a: NodeId, b: NodeId) -> bool {
        if self.until.len() >= MAX_LINKS && !self.until.contains_key(&key(a, b)) {
            let soonest = self.until.iter().min_by_key(|(_, until)| **until);
            if let Some(link) = soonest.map(|(link, _)| *link) {
                self.until.remove(&link);
            }
        }
        self.until.insert(key(a, b), now + self.lifetime).is_none()
    }

    /// Removes a hop that works; returns whether it was in the set.
    pub fn remove(&mut self, a: NodeId, b: NodeId) -> bool {
        self.until.remove(&key(a, b)).is_some()
    }

    /// Removes expired hops; returns whether there were any.
    pub fn expire(&mut self, now: Time) -> bool {
        let before = self.until.len();
        self.until.retain(|_, until| *until > now);
        self.until.len() < before
    }

    /// The time at which the next hop expires.
    pub fn next_timeout(&self) -> Option<Time> {
        self.until.values().min().copied()
    }

    /// Whether the set contains this hop.
    pub fn contains(&self, a: NodeId, b: NodeId) -> bool {
        self.until.contains_key(&key(a, b))
    }

    /// All failed hops, ordered by their servers.
    pub fn list(&self, now: Time) -> Vec<FailedLink> {
        let link = |(&servers, &until): (&(NodeId, NodeId), &Time)| FailedLink {
            servers,
            expires_in: until.saturating_sub(now),
        };
        self.until.iter().map(link).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_link_is_forgotten_after_its_time_or_when_a_probe_came_through() {
        let mut links = FailedLinks::new(20 * SECOND);
        assert!(links.insert(SECOND, 7, 3));
        assert!(!links.insert(2 * SECOND, 3, 7), "both directions are one link");
        assert!(links.insert(SECOND, 4, 5));
        assert_eq!(links.next_timeout(), Some(21 * SECOND));
        assert!(links.expire(21 * SECOND));
        assert!(links.contains(3, 7) && !links.contains(4, 5));
        assert!(links.remove(7, 3) && !links.contains(3, 7));
    }

    #[test]
    fn a_flood_of_reports_makes_the_oldest_give_way() {
        let mut links = FailedLinks::new(SECOND);
        for server in 0..2 * MAX_LINKS as u32 {
            links.insert(Duration::from_millis(u64::from(server)), server, server + 1);
        }
        assert_eq!(links.list(Duration::ZERO).len(), MAX_LINKS);
        assert!(links.contains(2 * MAX_LINKS as u32 - 1, 2 * MAX_LINKS as u32));
    }
}
