//! Hellos on the links of a network of routers or chips: they detect a link that drops all traffic
//! while its carrier is up.
//!
//! Each end sends a hello in each round, as a separate Ethernet frame through the link's queue. An
//! end that received no hello for several rounds counts packets: if other packets arrived, a full
//! queue has dropped the hellos and the link works. Otherwise it declares its neighbour dead until
//! the next hello arrives. `[subways §4.2]` requires detection without defining it; rounds and
//! their number are `[ours]`.
//!
//! A hello may carry messages, which `balance/` reads.
//!
//! Not here: the reaction to a dead neighbour (`run/hearing.rs`), and links without a carrier,
//! which the kernel announces.

mod socket;

pub use socket::{HelloSocket, MESSAGE_BYTES};

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::Result;
use crate::links::{self, Site};
use crate::network::{Network, Place};

/// An end of a link on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Index of the link.
    pub link: usize,
    /// Which end of it, 0 or 1.
    pub end: usize,
    /// Number of its interface in its namespace.
    pub index: u32,
}

/// A change of a neighbour's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Hellos from the neighbour have stopped.
    Dead,
    /// A hello from the neighbour has arrived again.
    Alive,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ear {
    /// Rounds without a hello.
    missed: u32,
    /// Packets that had arrived when the first hello was missed.
    packets: Option<u64>,
    is_dead: bool,
}

/// The state of hellos at the ends of all links.
#[derive(Debug)]
pub struct Hellos {
    /// Time between two rounds.
    pub round: Duration,
    limit: u32,
    ears: Vec<[Ear; 2]>,
    /// The ends in each namespace.
    pub lanes: BTreeMap<Site, Vec<Lane>>,
}

impl Hellos {
    /// The state at the start: every neighbour counts as alive. `None` where switches are bridges.
    /// Errors: a setting that is not allowed.
    pub fn of(network: &Network) -> Result<Option<Hellos>> {
        if !network.switches_decide() {
            return Ok(None);
        }
        let values = network.behaviour.values(&network.description)?;
        let mut lanes: BTreeMap<Site, Vec<Lane>> = BTreeMap::new();
        for (link, end) in (0..network.places.len()).flat_map(|link| [(link, 0), (link, 1)]) {
            // Servers connected to chips send no hellos.
            if network.routing.is_none() && !network.places[link].iter().all(Place::is_switch) {
                continue;
            }
            let site = links::kind(network, link).site(network, link, end);
            let index = links::interface(network, link, end);
            lanes.entry(site).or_default().push(Lane { link, end, index });
        }
        Ok(Some(Hellos {
            round: Duration::from_secs_f64(values["hello_secs"]),
            limit: values["dead_after"] as u32,
            ears: vec![[Ear::default(); 2]; network.places.len()],
            lanes,
        }))
    }

    /// Ends a round at one end. `heard` is whether a hello arrived in this round; `packets` counts
    /// all packets that have arrived at the end so far.
    pub fn hear(
        &mut self,
        lane: Lane,
        heard: bool,
        mut packets: impl FnMut() -> Option<u64>,
    ) -> Option<Notice> {
        let ear = &mut self.ears[lane.link][lane.end];
        if heard {
            let was_dead = std::mem::take(ear).is_dead;
            return was_dead.then_some(Notice::Alive);
        }
        if ear.is_dead {
            return None;
        }
        ear.missed += 1;
        if ear.missed == 1 {
            ear.packets = packets();
        }
        if ear.missed < self.limit {
            return None;
        }
        if packets() != ear.packets {
            ear.missed = 0;
            return None;
        }
        ear.is_dead = true;
        Some(Notice::Dead)
    }

    /// Resets a link that has no carrier or has lost an end. When it returns, its neighbours count
    /// as alive.
    pub fn forget(&mut self, link: usize) {
        self.ears[link] = [Ear::default(); 2];
    }

    /// Indices of the links with an end that receives no hellos.
    pub fn dead_links(&self) -> impl Iterator<Item = usize> {
        let ears = self.ears.iter().enumerate();
        ears.filter(|(_, ears)| ears.iter().any(|ear| ear.is_dead))
            .map(|(link, _)| link)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LANE: Lane = Lane {
        link: 1,
        end: 0,
        index: 7,
    };

    fn hellos(limit: u32) -> Hellos {
        Hellos {
            round: Duration::from_millis(50),
            limit,
            ears: vec![[Ear::default(); 2]; 2],
            lanes: BTreeMap::new(),
        }
    }

    proptest! {
        #[test]
        fn an_end_is_dead_from_the_round_in_which_it_has_missed_enough_until_it_hears_a_hello(
            rounds in prop::collection::vec(any::<bool>(), 1..40), limit in 2u32..6,
        ) {
            let mut hellos = hellos(limit);
            let mut missed = 0;
            let mut was_dead = false;
            for heard in rounds {
                let notice = hellos.hear(LANE, heard, || Some(5));
                missed = if heard { 0 } else { missed + 1 };
                let is_dead = missed >= limit || was_dead && !heard;
                let expected = match (was_dead, is_dead) {
                    (false, true) => Some(Notice::Dead),
                    (true, false) => Some(Notice::Alive),
                    _ => None,
                };
                prop_assert_eq!(notice, expected);
                prop_assert_eq!(hellos.dead_links().collect::<Vec<_>>(), if is_dead { vec![1] } else { vec![] });
                was_dead = is_dead;
            }
        }

        #[test]
        fn a_link_that_carries_other_packets_is_never_dead(limit in 2u32..6, rounds in 1u64..60) {
            let mut hellos = hellos(limit);
            let mut packets = 0;
            for _ in 0..rounds {
                let notice = hellos.hear(LANE, false, || { packets += 1; Some(packets) });
                prop_assert_eq!(notice, None);
            }
        }
    }

    #[test]
    fn a_link_that_lost_its_carrier_begins_again() {
        let mut hellos = hellos(3);
        let hear = |hellos: &mut Hellos| hellos.hear(LANE, false, || None);
        assert_eq!(
            [(); 3].map(|()| hear(&mut hellos)),
            [None, None, Some(Notice::Dead)]
        );
        hellos.forget(1);
        assert_eq!(hellos.dead_links().count(), 0);
        assert_eq!(
            [(); 3].map(|()| hear(&mut hellos)),
            [None, None, Some(Notice::Dead)]
        );
    }
}
