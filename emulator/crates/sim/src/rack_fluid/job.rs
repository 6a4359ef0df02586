//! A job's flows in time, period after period of the controllers.

use std::sync::atomic::Ordering;

use super::balance::{Exits, Measured};
use super::detour::Schedulers;
use super::fair::{Stream, fair_rates};
use super::network::{RackNetwork, Way};
use crate::count::{Cancelled, Progress};

/// `T_rebind` and `T_detect`. `[subways §8.1]`
const PERIOD_SECS: f64 = 0.01;
/// A stream with a smaller share of its volume left has ended: the rest is rounding.
const OVER_SHARE: f64 = 1e-9;

/// The rule that spreads flows over ToRs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// By the rates of a server's links, and so constant. `[subways §4.2, §4.3]`
    Static,
    /// Rebound every period by the ToRs' load. `[subways §5.2]`
    Adaptive,
    /// The same, with detours. `[subways §6]`
    Detours,
}

/// The combinations of ToRs of both ends that a flow may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Any: each end chooses by itself. `[subways §5.2]`
    Any,
    /// ToRs of one cluster, if both ends have such: always the case if clusters are separate
    /// networks. `[subways §4.3]`
    SameCluster,
}

/// The settings of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How flows are spread.
    pub balance: Balance,
    /// The combinations of ToRs that they may use.
    pub between: Between,
}

/// Flows from one rack to another, or within one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// The rack that sends.
    pub from: usize,
    /// The rack that receives.
    pub to: usize,
    /// Number of flows.
    pub flows: f64,
    /// Size of each flow.
    pub gigabits: f64,
}

/// Every server of `racks` sends `gigabits` to every other.
pub fn shuffle(network: &RackNetwork, racks: &[usize], gigabits: f64) -> Vec<Demand> {
    let servers = network.racks.servers as f64;
    let demand = |from: usize, to: usize| Demand {
        from,
        to,
        flows: if from == to {
            servers * (servers - 1.0)
        } else {
            servers * servers
        },
        gigabits,
    };
    racks
        .iter()
        .flat_map(|&from| racks.iter().map(move |&to| demand(from, to)))
        .filter(|demand| demand.flows > 0.0)
        .collect()
}

/// Flows of one demand on one path.
#[derive(Clone, Debug)]
struct Part {
    demand: usize,
    /// Indices of the paths of both ends; `None` through a shared ToR.
    exits: Option<[usize; 2]>,
    flows: f64,
    left_gigabits: f64,
    links: Vec<usize>,
}

impl Stream for Part {
    fn flows(&self) -> f64 {
        self.flows
    }

    fn links(&self) -> &[usize] {
        &self.links
    }
}

/// Runs a job until its last flow has ended, and returns the time in seconds; infinite if a flow
/// has the rate 0.
pub fn run(
    network: &RackNetwork,
    demands: &[Demand],
    plan: Plan,
    progress: &Progress,
) -> Result<f64, Cancelled> {
    let mut job = Job::new(network, demands, plan);
    let mut schedulers = Way::BOTH.map(|way| Schedulers::new(network, way));
    let mut now_secs = 0.0;
    let mut period_from = 0.0;
    while !job.parts.is_empty() {
        if progress.cancelled.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        let rates = fair_rates(&job.parts, &job.capacity);
        let ends = job.parts.iter().zip(&rates);
        let mut step_secs = ends
            .map(|(part, rate)| part.left_gigabits / rate)
            .fold(f64::INFINITY, f64::min);
        let period_left = period_from + PERIOD_SECS - now_secs;
        let rebinds = plan.balance != Balance::Static && step_secs >= period_left;
        if rebinds {
            step_secs = period_left;
        }
        if !step_secs.is_finite() {
            return Ok(f64::INFINITY);
        }
        now_secs += step_secs;
        job.advance(&rates, step_secs);
        if rebinds {
            period_from = now_secs;
            job.rebind(now_secs, &mut schedulers);
        }
    }
    Ok(now_secs)
}

struct Job<'a> {
    network: &'a RackNetwork,
    demands: &'a [Demand],
    plan: Plan,
    /// By rack: upward and downward paths.
    exits: Vec<[Exits; 2]>,
    /// By link: the network's, then the allowances of detours.
    capacity: Vec<f64>,
    parts: Vec<Part>,
    /// Gigabits over each link in the present period.
    used: Vec<f64>,
}

impl<'a> Job<'a> {
    fn new(network: &'a RackNetwork, demands: &'a [Demand], plan: Plan) -> Job<'a> {
        let mut job = Job {
            network,
            demands,
            plan,
            exits: (0..network.racks.count)
                .map(|rack| Way::BOTH.map(|way| Exits::straight(network, rack, way)))
                .collect(),
            capacity: network.capacity_gbps().to_vec(),
            parts: Vec::new(),
            used: vec![0.0; network.capacity_gbps().len()],
        };
        for (index, demand) in demands.iter().enumerate() {
            let shared = job.shared(demand);
            let flows = demand.flows / shared.len().max(1) as f64;
            for links in &shared {
                job.parts.push(Part {
                    demand: index,
                    exits: None,
                    flows,
                    left_gigabits: flows * demand.gigabits,
                    links: links.clone(),
                });
            }
            if shared.is_empty() {
                job.place(index, demand.flows, demand.flows * demand.gigabits);
            }
        }
        job
    }

    /// The paths through ToRs that both racks are wired to.
    fn shared(&self, demand: &Demand) -> Vec<Vec<usize>> {
        let theirs = self.network.tors_of(demand.to);
        let mine = self.network.tors_of(demand.from).into_iter().enumerate();
        mine.filter_map(|(port, tor)| {
            let other = theirs.iter().position(|&at| at == tor)?;
            Some(vec![
                self.network.access(demand.from, port, Way::Up),
                self.network.access(demand.to, other, Way::Down),
            ])
        })
        .collect()
    }

    /// Spreads flows of a demand over the paths of its ends by their shares, independently at each
    /// end.
    fn place(&mut self, index: usize, flows: f64, left_gigabits: f64) {
        let demand = &self.demands[index];
        let (up, down) = (
            &self.exits[demand.from][Way::Up.index()],
            &self.exits[demand.to][Way::Down.index()],
        );
        let cluster = |tor| self.network.cluster_of(tor);
        let mut pairs: Vec<([usize; 2], f64)> = (0..up.ways.len())
            .flat_map(|i| (0..down.ways.len()).map(move |j| [i, j]))
            .map(|[i, j]| ([i, j], up.share[i] * down.share[j]))
            .collect();
        let together =
            |&([i, j], _): &([usize; 2], f64)| cluster(up.ways[i].tor) == cluster(down.ways[j].tor);
        if self.plan.between == Between::SameCluster && pairs.iter().any(together) {
            pairs.retain(together);
        }
        let total: f64 = pairs.iter().map(|(_, share)| share).sum();
        for ([i, j], share) in pairs {
            let (from, to) = (&up.ways[i], &down.ways[j]);
            let mut links = from.links.clone();
            if cluster(from.tor) != cluster(to.tor) {
                links.push(self.network.core(cluster(from.tor), Way::Up));
                links.push(self.network.core(cluster(to.tor), Way::Down));
            }
            links.extend_from_slice(&to.links);
            self.parts.push(Part {
                demand: index,
                exits: Some([i, j]),
                flows: flows * share / total,
                left_gigabits: left_gigabits * share / total,
                links,
            });
        }
    }

    fn advance(&mut self, rates: &[f64], step_secs: f64) {
        for (part, rate) in self.parts.iter_mut().zip(rates) {
            let gigabits = rate * step_secs;
            part.left_gigabits -= gigabits;
            for &link in &part.links {
                self.used[link] += gigabits;
            }
            if let Some([up, down]) = part.exits {
                let demand = &self.demands[part.demand];
                self.exits[demand.from][Way::Up.index()].sent[up] += gigabits;
                self.exits[demand.to][Way::Down.index()].sent[down] += gigabits;
            }
        }
        let demands = self.demands;
        self.parts
            .retain(|part| part.left_gigabits > OVER_SHARE * part.flows * demands[part.demand].gigabits);
    }

    /// The end of a period: counters are read, shares and detours change, flows on the backbone
    /// move.
    fn rebind(&mut self, now_secs: f64, schedulers: &mut [Schedulers; 2]) {
        let network = self.network;
        let by_exit = self.exits.iter_mut().flatten().flat_map(|exits| &mut exits.sent);
        for gigabits in self.used.iter_mut().chain(by_exit) {
            *gigabits /= PERIOD_SECS;
        }
        let measured = Measured {
            used: &self.used,
            capacity: &self.capacity,
        };
        for (rack, both) in self.exits.iter_mut().enumerate() {
            for way in Way::BOTH {
                both[way.index()].rebind(network, rack, way, measured);
            }
        }
        if self.plan.balance == Balance::Detours {
            self.capacity.truncate(network.capacity_gbps().len());
            for scheduler in schedulers {
                scheduler.plan(now_secs, network, &mut self.exits, &mut self.capacity);
            }
        }
        self.used = vec![0.0; self.capacity.len()];
        for exits in self.exits.iter_mut().flatten() {
            exits.sent.fill(0.0);
        }
        self.move_flows();
    }

    /// Assigns the flows on the backbone to paths again; the rest of a demand is spread evenly over
    /// its flows.
    fn move_flows(&mut self) {
        let mut open = vec![(0.0, 0.0); self.demands.len()];
        self.parts.retain(|part| {
            if part.exits.is_some() {
                let (flows, left) = &mut open[part.demand];
                *flows += part.flows;
                *left += part.left_gigabits;
            }
            part.exits.is_none()
        });
        for (index, (flows, left)) in open.into_iter().enumerate() {
            if flows > 0.0 {
                self.place(index, flows, left);
            }
        }
    }
}
