//! The computation: all lives under all policies, then the throughput of the chosen states, then
//! the document.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use cubeyard_plan::{Book, Plan, PlanSpec, plan};
use cubeyard_routing::random::Draws;
use cubeyard_sim::workload::MAX_FLOWS;
use cubeyard_sim::{PredictError, Progress};
use cubeyard_topology::Finding;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::ageing::{Life, Taken};
use crate::between::{Between, Known, Shares};
use crate::census::Census;
use crate::cost::Prices;
use crate::document;
use crate::parts::Parts;
use crate::rates::{KINDS, Lifetime};
use crate::spec::LifeSpec;
use crate::throughput::{Carrier, Down, budget, chosen, down_at};

/// Lives between two frames of progress.
const LIVES: usize = 32;
/// The key from which a life's rank among equal states is drawn; no part has this number.
const PLACE: u64 = u64::MAX;
/// Flows of the states between two frames of progress.
const FLOWS: u64 = 8_000_000;

/// A checked question with its plan and failure rates.
pub struct Prepared {
    pub(crate) spec: LifeSpec,
    pub(crate) plan: Plan,
    pub(crate) parts: Parts,
    pub(crate) prices: Prices,
    pub(crate) lifetimes: [Lifetime; KINDS],
    pub(crate) months: Vec<f64>,
    carrier: Carrier,
}

/// The simulated lives of the container under one policy, one for each seed.
pub(crate) struct Lived {
    pub censuses: Vec<Census>,
    pub taken: Vec<Taken>,
    /// Throughput by life and point, as shares of the whole network's.
    pub left: Vec<Vec<f64>>,
    /// Whether each throughput was computed, not interpolated.
    pub exact: Vec<Vec<bool>>,
}

/// The measured throughput.
pub(crate) struct Measured {
    pub whole_gbps: f64,
    /// Throughput by fingerprint, including the whole network's.
    pub by_state: BTreeMap<u128, f64>,
    pub between: Between,
    pub computed: usize,
    pub distinct: usize,
}

impl Prepared {
    /// Parses a request, computes its plan, and lists the parts that can fail.
    ///
    /// # Errors
    ///
    /// Findings of the request (by its fields) or of the plan.
    pub fn new(question: &str, book: &Book) -> Result<Prepared, PredictError> {
        let spec = LifeSpec::from_json(question)?;
        let plan_spec = spec.plan_spec()?;
        check_size(&plan_spec)?;
        let plan = plan(&plan_spec, book).map_err(|error| PredictError::Findings(error.findings))?;
        let carrier = Carrier::new(&plan_spec, spec.routing.as_deref())?;
        Ok(Prepared {
            parts: Parts::of(&plan),
            prices: Prices::of(&plan, spec.visit_price),
            lifetimes: spec.lifetimes(),
            months: spec.months(),
            spec,
            plan,
            carrier,
        })
    }

    fn life(&self, policy: usize, seed: usize) -> (Census, Taken) {
        let end = self.spec.years * 12.0;
        let seed = self.spec.first_seed.wrapping_add(seed as u64);
        let mut life = Life::new(
            &self.parts,
            &self.lifetimes,
            &self.spec.policies[policy],
            seed,
            end,
        );
        let mut census = Census::new(self.months.len());
        life.run(&mut |stretch| {
            census.enter(stretch, &self.parts, &self.months, stretch.until >= end);
        });
        (census, life.taken)
    }

    /// All lives of a policy, on all cores.
    fn lives(
        &self,
        policy: usize,
        progress: &Progress,
        frames: &mut dyn FnMut(Value),
    ) -> Result<(Vec<Census>, Vec<Taken>), PredictError> {
        let (seeds, policies) = (self.spec.seeds, self.spec.policies.len());
        let mut all = Vec::with_capacity(seeds);
        for start in (0..seeds).step_by(LIVES) {
            let some: Vec<_> = (start..(start + LIVES).min(seeds))
                .into_par_iter()
                .map(|seed| (!progress.cancelled.load(Ordering::Relaxed)).then(|| self.life(policy, seed)))
                .collect();
            check(progress)?;
            all.extend(some.into_iter().flatten());
            let (done, of) = (policy * seeds + all.len(), policies * seeds);
            frames(json!({"kind": "progress", "stage": "lives", "done": done, "of": of}));
        }
        Ok(all.into_iter().unzip())
    }

    /// The throughput of the chosen states.
    fn measure(
        &self,
        censuses: &[Vec<Census>],
        progress: &Progress,
        frames: &mut dyn FnMut(Value),
    ) -> Result<Measured, PredictError> {
        let whole = self.whole();
        let flows = self.carrier.flows();
        let states = chosen(censuses, whole, budget(&self.spec, flows));
        let at = |state: &crate::throughput::At| &censuses[state.policy][state.life];
        let down = down_at(
            &states,
            &self.spec,
            &self.spec.policies,
            &self.parts,
            &self.lifetimes,
            &self.months,
        );
        let whole_gbps = self.carrier.abt_gbps(&Down::default(), progress)?;
        let mut abt = Vec::with_capacity(down.len());
        let size = ((FLOWS / flows.max(1)) as usize).clamp(1, 256);
        for some in down.chunks(size) {
            let more: Vec<Result<f64, PredictError>> = some
                .par_iter()
                .map(|down| self.carrier.abt_gbps(down, progress))
                .collect();
            for item in more {
                abt.push(item?);
            }
            check(progress)?;
            frames(json!({"kind": "progress", "stage": "throughput", "done": abt.len(), "of": down.len()}));
        }
        let share = |gbps: f64| if whole_gbps > 0.0 { gbps / whole_gbps } else { 0.0 };
        let known: Vec<Known> = states
            .iter()
            .zip(&abt)
            .map(|(state, &gbps)| (self.shares(at(state), state.point), share(gbps)))
            .collect();
        let mut by_state = BTreeMap::from([(whole, 1.0)]);
        by_state.extend(
            states
                .iter()
                .zip(&abt)
                .map(|(state, &gbps)| (at(state).state[state.point], share(gbps))),
        );
        let all = censuses.iter().flatten().flat_map(|census| &census.state);
        let distinct: std::collections::BTreeSet<u128> =
            all.copied().filter(|&state| state != whole).collect();
        Ok(Measured {
            whole_gbps,
            by_state,
            between: Between::new(&known),
            computed: states.len(),
            distinct: distinct.len(),
        })
    }

    /// The fingerprint of the whole network.
    fn whole(&self) -> u128 {
        let mut census = Census::new(1);
        let stretch = crate::ageing::Stretch {
            from: 0.0,
            until: 1.0,
            node_down: vec![f64::INFINITY; self.parts.pdu.len()],
            link_down: vec![f64::INFINITY; self.parts.ends.len()],
            pdu_down: vec![f64::INFINITY; self.parts.pdus as usize],
        };
        census.enter(&stretch, &self.parts, &[0.0], true);
        census.state[0]
    }

    fn shares(&self, census: &Census, point: usize) -> Shares {
        let parts = &self.parts;
        let share = |down: u32, of: u32| f64::from(down) / f64::from(of.max(1));
        [
            share(parts.servers - census.servers[point], parts.servers),
            share(census.switches_down[point], parts.switches),
            share(census.links_down[point], parts.ends.len() as u32),
            share(census.pdus_down[point], parts.pdus),
        ]
    }

    /// A policy's lives with the throughput of every point.
    fn filled(&self, censuses: Vec<Census>, taken: Vec<Taken>, measured: &Measured) -> Lived {
        let points = 0..self.months.len();
        let of = |census: &Census, place: f64, point: usize| {
            let left = measured.by_state.get(&census.state[point]).copied();
            let between = || measured.between.left_at(self.shares(census, point), place);
            (left.unwrap_or_else(between), left.is_some())
        };
        let (left, exact) = censuses
            .par_iter()
            .enumerate()
            .map(|(life, census)| {
                // The seed depends on the life, not on the policy, so that policies are compared at
                // equal ranks.
                let seed = self.spec.first_seed.wrapping_add(life as u64);
                let place = Draws::of(seed, PLACE).unit();
                points.clone().map(|point| of(census, place, point)).unzip()
            })
            .unzip();
        Lived {
            censuses,
            taken,
            left,
            exact,
        }
    }
}

/// Refuses a plan with too many flows for a prediction, before it is planned.
fn check_size(spec: &PlanSpec) -> Result<(), PredictError> {
    let size = spec.topology.size();
    let servers = size
        .map_err(|error| PredictError::Findings(error.findings))?
        .servers;
    let flows = servers.saturating_mul(servers.saturating_sub(1));
    if flows <= MAX_FLOWS {
        return Ok(());
    }
    let most = (MAX_FLOWS as f64).sqrt() as u64;
    Err(PredictError::Findings(vec![
        Finding::error(
            "life-too-large",
            "plan",
            format!(
                "The plan has {servers} servers; the throughput after failures is computed for up to {most}."
            ),
            "Simulate a part of the plan, such as one container.",
        )
        .with_value(servers)
        .with_limit(most),
    ]))
}

fn check(progress: &Progress) -> Result<(), PredictError> {
    if progress.cancelled.load(Ordering::Relaxed) {
        Err(PredictError::Cancelled)
    } else {
        Ok(())
    }
}

/// Simulates the lives of a request. `frames` gets, from the calling thread and in this order:
/// `plan`; for each policy `progress` of lives and `servers` with its curves; `progress` of
/// throughput. The document has everything.
///
/// Memory is a few dozen bytes for each life and point. Most of the time is for the computed
/// states: each routes every flow.
///
/// # Errors
/// As of [`Prepared::new`]; [`PredictError::Cancelled`] soon after `progress.cancelled` is set.
pub fn live(
    question: &str,
    book: &Book,
    progress: &Progress,
    frames: &mut dyn FnMut(Value),
) -> Result<Value, PredictError> {
    let prepared = Prepared::new(question, book)?;
    frames(document::plan_frame(&prepared));
    let mut censuses = Vec::new();
    let mut taken = Vec::new();
    for policy in 0..prepared.spec.policies.len() {
        let (counted, took) = prepared.lives(policy, progress, frames)?;
        frames(json!({"kind": "servers", "policy": policy, "curves": document::server_curves(&counted)}));
        censuses.push(counted);
        taken.push(took);
    }
    let measured = prepared.measure(&censuses, progress, frames)?;
    let lived: Vec<Lived> = censuses
        .into_iter()
        .zip(taken)
        .map(|(counted, took)| prepared.filled(counted, took, &measured))
        .collect();
    Ok(document::document(&prepared, &lived, &measured))
}
