//! The loops' detour schedulers over time. `[subways §6]`

use cubeyard_routing::subways::{DetourPath, HOT, HotSpots, LIMITS, plan_detours};

use super::balance::{Exit, Exits};
use super::network::{RackNetwork, Way};

/// A hot ToR stays so for at least this long (`T_duration`).
const DURATION_SECS: f64 = 0.1;
/// The schedulers of all loops for one direction.
#[derive(Debug)]
pub(super) struct Schedulers {
    way: Way,
    spots: Vec<HotSpots>,
}

impl Schedulers {
    pub fn new(network: &RackNetwork, way: Way) -> Schedulers {
        let loops = network.racks.loops();
        Schedulers {
            way,
            spots: vec![HotSpots::new(network.racks.ring.size, HOT, DURATION_SECS); loops],
        }
    }

    /// Plans the next period's detours from this period's traffic: sets each rack's paths in
    /// `exits`, and appends to `capacity` one link for the allowance of each ToR that takes
    /// detours.
    ///
    /// A ToR's utilisation is the value without detours: traffic that a rack has sent by detour
    /// counts at its own ToRs. The free capacity of a source's links is their rate minus its
    /// traffic without detours; traffic over shared ToRs is assumed to yield. `[ours]`
    pub fn plan(
        &mut self,
        now_secs: f64,
        network: &RackNetwork,
        exits: &mut [[Exits; 2]],
        capacity: &mut Vec<f64>,
    ) {
        let (ring, way) = (network.racks.ring, self.way);
        let loops = exits.chunks_exact_mut(ring.size).zip(&mut self.spots);
        for (number, (exits, spots)) in loops.enumerate() {
            let first = number * ring.size;
            let seen = Seen::of(network, first, exits, way);
            let hot = spots.observe(now_secs, &seen.utilisation);
            let plan = plan_detours(ring, &hot, &seen.left_over, &seen.link_capacity, LIMITS);
            for (place, own) in exits.iter_mut().enumerate() {
                let mut ways = Exits::straight(network, first + place, way).ways;
                ways.retain(|exit| !plan.withdrawn.contains(&(place, exit.tor - first)));
                for (number, detour) in plan.detours.iter().enumerate() {
                    let allowance = capacity.len() + number;
                    let paths = detour.paths.iter().filter(|path| path.source == place);
                    ways.extend(paths.map(|path| along(network, first, path, way, allowance)));
                }
                own[way.index()].change(ways);
            }
            capacity.extend(plan.detours.iter().map(|detour| detour.capacity));
        }
    }
}

/// The input of a loop's scheduler: by position in the loop, in Gb/s.
struct Seen {
    /// Share of a ToR's uplinks that traffic before detours used.
    utilisation: Vec<f64>,
    /// The capacity of a ToR's uplinks that traffic without detours left free.
    left_over: Vec<f64>,
    /// The capacity of all of a rack's links that traffic without detours left free.
    link_capacity: Vec<f64>,
}

impl Seen {
    /// The loop whose first rack is `first`, with its racks' ways.
    fn of(network: &RackNetwork, first: usize, exits: &[[Exits; 2]], way: Way) -> Seen {
        let size = network.racks.ring.size;
        let (mut straight, mut detoured) = (vec![0.0; size], vec![0.0; size]);
        let mut link_capacity = vec![0.0; size];
        for (place, own) in exits.iter().enumerate() {
            let own = &own[way.index()];
            let mut by_detour = 0.0;
            for (exit, sent) in own.ways.iter().zip(&own.sent) {
                if exit.detour {
                    by_detour += sent;
                } else {
                    straight[exit.tor - first] += sent;
                    link_capacity[place] -= sent;
                }
            }
            for (port, tor) in network.tors_of(first + place).into_iter().enumerate() {
                link_capacity[place] += network.capacity_gbps()[network.access(first + place, port, way)];
                detoured[tor - first] += by_detour / network.racks.ring.ports as f64;
            }
        }
        let uplinks = |tor: usize| network.capacity_gbps()[network.uplinks(first + tor, way)];
        Seen {
            utilisation: (0..size)
                .map(|tor| (straight[tor] + detoured[tor]) / uplinks(tor))
                .collect(),
            left_over: (0..size).map(|tor| uplinks(tor) - straight[tor]).collect(),
            link_capacity,
        }
    }
}

/// A detour's links: out of the source, through relays, up; for traffic towards the rack all the
/// other way.
fn along(network: &RackNetwork, first: usize, path: &DetourPath, way: Way, allowance: usize) -> Exit {
    let port = |rack: usize, tor: usize| {
        network
            .tors_of(rack)
            .iter()
            .position(|&at| at == tor)
            .unwrap_or(0)
    };
    let back = if way == Way::Up { Way::Down } else { Way::Up };
    let own = first + path.source;
    let start = first + path.steps[0];
    let mut links = vec![network.access(own, port(own, start), way)];
    for hop in path.steps.windows(3).step_by(2) {
        let [from, relay, to] = [hop[0], hop[1], hop[2]].map(|place| first + place);
        links.push(network.access(relay, port(relay, from), back));
        links.push(network.access(relay, port(relay, to), way));
    }
    let tor = path.steps.last().map_or(start, |place| first + place);
    links.extend([network.uplinks(tor, way), allowance]);
    Exit {
        tor,
        port: port(own, start),
        links,
        detour: true,
        measured: allowance,
    }
}
