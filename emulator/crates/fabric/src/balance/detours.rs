//! A loop's detours: computes the paths of its hot racks from the reports of its ToRs, and encodes
//! them. `[subways §6]`
//!
//! Servers encapsulate packets out of a hot rack, as the paper explains; switches above the loop's
//! ToRs encapsulate packets towards it. The flow engine plans detours for a load
//! (`cubeyard_routing::subways::rack_detours`). Each ToR counts the detour traffic that it carries:
//! detours are the only IPv6 packets.
//!
//! Not here: which node may send detours to which (`agent`).

use cubeyard_routing::subways::{DetourPath, HOT, HotSpots, LIMITS, LoopLoad, RackDetours, rack_detours};
use cubeyard_topology::NodeId;

use super::controller::{Seen, carried, used};
use super::message::{MAX_RATE, Refusal, Report, number, take};
use super::plan::Plan;

/// Smaller changes of shares are not sent: flows would move back and forth with each measurement.
/// `[ours]`
const LEAST_SHIFT: f64 = 0.05;
/// Maximum number of paths of a rack; paths by the nearest ToRs come first. `[ours]`
const MAX_WAYS: usize = 64;
/// Encoded path: its capacity, the number of its steps, and the steps.
const WAY_BYTES: usize = 5 + 2 * (2 * LIMITS.relays + 1);
/// Bytes of the longest message about detours, without its header.
pub const MAX_BYTES: usize = 8 + MAX_WAYS * WAY_BYTES;

/// The detours of one rack in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldDetours {
    /// Side 0: out of the rack. Side 1: towards it; packets then follow paths in reverse.
    pub side: usize,
    /// Number of the rack.
    pub rack: usize,
    /// When they were set, in milliseconds of the run.
    pub at_millis: u32,
    /// The ToR whose controller has set them.
    pub controller: NodeId,
    /// Direct traffic and the traffic of each detour, in bits per second. Without detours if they
    /// have ended.
    pub ways: RackDetours,
    /// Bit mask of the rack's ToRs, from left to right, whose links it no longer uses in this
    /// direction.
    pub withdrawn: u32,
}

impl ToldDetours {
    /// Whether the rack has stopped to use a link of its servers in this direction.
    pub fn withdraws(&self, plan: &Plan, link: usize) -> bool {
        let tor = plan.ends(link).1;
        let place = plan
            .racks
            .tors_of(self.rack)
            .into_iter()
            .position(|own| own == tor);
        place.is_some_and(|place| self.withdrawn & 1 << place != 0)
    }

    /// The ToRs on each of its paths, in order.
    pub fn tors(&self, plan: &Plan) -> Vec<Vec<NodeId>> {
        let first = plan.racks.first_of_loop(self.rack);
        let of_path = |path: &DetourPath| -> Vec<NodeId> {
            let tors = path.steps.iter().step_by(2);
            tors.map(|place| plan.racks.tor_node(first + place)).collect()
        };
        self.ways.detours.iter().map(|(path, _)| of_path(path)).collect()
    }

    /// Appends the encoded detours after the message's header.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(self.ways.straight as f32).to_be_bytes());
        bytes.extend_from_slice(&self.withdrawn.to_be_bytes());
        for (path, capacity) in &self.ways.detours {
            bytes.extend_from_slice(&(*capacity as f32).to_be_bytes());
            bytes.push(path.steps.len() as u8);
            for step in &path.steps {
                bytes.extend_from_slice(&(*step as u16).to_be_bytes());
            }
        }
    }

    /// Reads `count` paths from `bytes` and checks them. Direction, rack, time and controller come
    /// from the message's header.
    ///
    /// # Errors
    ///
    /// The reason why the paths are rejected.
    pub fn read(
        bytes: &mut &[u8],
        plan: &Plan,
        (side, rack, at_millis, controller): (usize, usize, u32, NodeId),
        count: usize,
    ) -> Result<ToldDetours, Refusal> {
        if count > MAX_WAYS {
            return Err(Refusal::Way);
        }
        let straight = number(bytes, MAX_RATE)?;
        let withdrawn = u32::from_be_bytes(take(bytes)?);
        let source = rack - plan.racks.first_of_loop(rack);
        let mut detours = Vec::with_capacity(count);
        for _ in 0..count {
            let capacity = number(bytes, MAX_RATE)?;
            let [steps] = take(bytes)?;
            let steps: Result<Vec<usize>, Refusal> = (0..steps)
                .map(|_| Ok(usize::from(u16::from_be_bytes(take(bytes)?))))
                .collect();
            let path = DetourPath {
                source,
                steps: steps?,
            };
            if !is_way(plan, &path) {
                return Err(Refusal::Way);
            }
            detours.push((path, f64::from(capacity)));
        }
        Ok(ToldDetours {
            side,
            rack,
            at_millis,
            controller,
            ways: RackDetours {
                straight: straight.into(),
                detours,
            },
            withdrawn,
        })
    }
}

/// Whether a path leads from its rack over neighbouring ToRs and racks, with other racks as relays,
/// within the maximum number of relays.
fn is_way(plan: &Plan, path: &DetourPath) -> bool {
    let ring = plan.racks.ring;
    let relays = path.steps.len() / 2;
    let fits = path.steps.len() % 2 == 1 && (1..=LIMITS.relays).contains(&relays);
    fits && path.steps.iter().all(|&step| step < ring.size)
        && ring.tors_of(path.source).contains(&path.steps[0])
        && path.steps.windows(3).step_by(2).all(|hop| {
            let tors = ring.tors_of(hop[1]);
            hop[1] != path.source && hop[0] != hop[2] && tors.contains(&hop[0]) && tors.contains(&hop[2])
        })
}

/// A rack's paths in one direction, and the ToRs that it withdraws from, as a bit mask.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Side 0: out of the rack. Side 1: towards it.
    pub side: usize,
    /// Number of the rack.
    pub rack: usize,
    /// Direct traffic and detours.
    pub ways: RackDetours,
    /// Bit mask as in [`ToldDetours::withdrawn`].
    pub withdrawn: u32,
}

/// A loop's scheduler for one direction.
#[derive(Clone, Debug)]
pub struct Scheduler {
    number: usize,
    side: usize,
    spots: HotSpots,
    /// Lowest utilisation of each ToR since the last round, before detours.
    least: Vec<f64>,
    has_begun: bool,
}

impl Scheduler {
    /// A scheduler without hot ToRs. A hot ToR stays hot for `hot_secs`.
    pub fn new(plan: &Plan, number: usize, side: usize, hot_secs: f64) -> Scheduler {
        let size = plan.racks.ring.size;
        Scheduler {
            number,
            side,
            spots: HotSpots::new(size, HOT, hot_secs),
            least: vec![f64::INFINITY; size],
            has_begun: false,
        }
    }

    /// Adds the latest reports of ToRs. ToRs of racks that start with detours count as hot: a
    /// previous controller has detected it.
    pub fn see<'a, 't, R, B>(
        &mut self,
        seen: &Seen<'a, R, B>,
        detours: impl Fn(usize, usize) -> Option<&'t ToldDetours>,
        now_secs: f64,
    ) where
        R: Fn(usize) -> Option<&'a Report>,
        B: Fn(usize) -> f64,
    {
        let detours = |rack: usize| detours(self.side, rack);
        let load = Load::of(seen, self.number, self.side, detours);
        for (least, used) in self.least.iter_mut().zip(&load.utilisation) {
            *least = least.min(*used);
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            let mut hot = vec![0.0; self.least.len()];
            for (place, rack) in seen.plan.members(self.number).enumerate() {
                if detours(rack).is_some() {
                    seen.plan
                        .racks
                        .ring
                        .tors_of(place)
                        .into_iter()
                        .for_each(|tor| hot[tor] = 1.0);
                }
            }
            self.spots.observe(now_secs, &hot);
        }
    }

    /// Ends a period; returns the racks whose paths have changed.
    pub fn plan<'a, 't, R, B>(
        &mut self,
        seen: &Seen<'a, R, B>,
        detours: impl Fn(usize, usize) -> Option<&'t ToldDetours>,
        now_secs: f64,
    ) -> Vec<Planned>
    where
        R: Fn(usize) -> Option<&'a Report>,
        B: Fn(usize) -> f64,
    {
        let (ring, side) = (seen.plan.racks.ring, self.side);
        let detours = |rack: usize| detours(side, rack);
        let mut load = Load::of(seen, self.number, side, detours);
        load.planned.hot = self.spots.observe(now_secs, &self.least);
        self.least.fill(f64::INFINITY);
        let (ways, withdrawn) = rack_detours(ring, &load.planned);
        let racks = seen.plan.members(self.number).zip(ways).enumerate();
        let planned = racks.map(|(place, (rack, mut ways))| {
            ways.detours.truncate(MAX_WAYS);
            let tors = ring.tors_of(place).into_iter().enumerate();
            let bits = tors.filter(|(_, tor)| withdrawn.contains(&(place, *tor)));
            Planned {
                side,
                rack,
                ways,
                withdrawn: bits.fold(0, |bits, (at, _)| bits | 1 << at),
            }
        });
        planned
            .filter(|planned| differs(detours(planned.rack), &planned.ways, planned.withdrawn))
            .collect()
    }
}

/// Whether the paths or shares of a rack differ from the known ones.
fn differs(known: Option<&ToldDetours>, ways: &RackDetours, withdrawn: u32) -> bool {
    let Some(known) = known else {
        return !ways.detours.is_empty();
    };
    let paths = |ways: &RackDetours| -> Vec<DetourPath> {
        ways.detours.iter().map(|(path, _)| path.clone()).collect()
    };
    let shares = |ways: &RackDetours| -> Vec<f64> {
        let capacities = ways.detours.iter().map(|(_, capacity)| *capacity);
        let total = ways.straight + capacities.clone().sum::<f64>();
        capacities
            .map(|capacity| capacity / total.max(f64::MIN_POSITIVE))
            .collect()
    };
    let shifted = |(before, now): (f64, f64)| (before - now).abs() > LEAST_SHIFT;
    withdrawn != known.withdrawn
        || paths(ways) != paths(&known.ways)
        || shares(&known.ways).into_iter().zip(shares(ways)).any(shifted)
}

/// Load of a loop's ToRs, by position in the loop.
struct Load {
    /// The fraction of a ToR's uplinks that would be used without detours.
    utilisation: Vec<f64>,
    /// The load without hot spots, as input of the planner.
    planned: LoopLoad,
}

impl Load {
    /// Computes the load. Detour traffic that a rack sends (side 0) or receives counts at the
    /// rack's own ToRs, as in the flow engine, up to their free capacity. A ToR without a recent
    /// report has neither load nor capacity. The backbone share of a server's traffic is not
    /// measured: it is assumed to equal the backbone share of all server traffic of its ToR in this
    /// direction. `[ours]`
    fn of<'a, 't, R, B>(
        seen: &Seen<'a, R, B>,
        number: usize,
        side: usize,
        detours: impl Fn(usize) -> Option<&'t ToldDetours>,
    ) -> Load
    where
        R: Fn(usize) -> Option<&'a Report>,
        B: Fn(usize) -> f64,
    {
        let (plan, ring) = (seen.plan, seen.plan.racks.ring);
        let first = plan.members(number).start;
        let (mut sent, mut room, mut capacity) =
            (vec![0.0; ring.size], vec![0.0; ring.size], vec![0.0; ring.size]);
        let (mut straight, mut detoured) = (vec![0.0; ring.size], vec![0.0; ring.size]);
        let mut link_capacity = vec![0.0; ring.size];
        for (place, tor) in plan.members(number).enumerate() {
            let Some(report) = (seen.report)(tor).filter(|report| report.capacity > 0.0) else {
                continue;
            };
            capacity[place] = f64::from(report.capacity);
            sent[place] = used(report, side) * capacity[place];
            room[place] = capacity[place] - sent[place];
            let links = plan.server_links[tor].iter().enumerate();
            let all: f64 = links.clone().map(|(at, _)| carried(report, at, side)).sum();
            let part = if all > 0.0 {
                (sent[place] / all).min(1.0)
            } else {
                0.0
            };
            for (at, &link) in links {
                let rack = plan.racks.rack_of(plan.ends(link).0);
                straight[rack - first] += part * carried(report, at, side);
                link_capacity[rack - first] += (seen.rate)(link);
                if detours(rack).is_some() {
                    detoured[rack - first] +=
                        report.detoured.get(at).map_or(0.0, |pair| f64::from(pair[side]));
                }
            }
        }
        let mut before = sent.clone();
        let mut would = straight.clone();
        for rack in 0..ring.size {
            let tors = ring.tors_of(rack);
            would[rack] += detoured[rack].min(tors.iter().map(|&tor| room[tor]).sum());
            let share = detoured[rack] / tors.len() as f64;
            tors.into_iter().for_each(|tor| before[tor] += share);
        }
        let fractions = before.iter().zip(&capacity);
        Load {
            utilisation: fractions
                .map(|(before, capacity)| if *capacity > 0.0 { before / capacity } else { 0.0 })
                .collect(),
            planned: LoopLoad {
                hot: Vec::new(),
                left_over: room,
                link_capacity: link_capacity
                    .iter()
                    .zip(&straight)
                    .map(|(all, used)| all - used)
                    .collect(),
                straight: would,
            },
        }
    }
}
