//! The search: candidates are priced and ordered, and their throughput is computed while they can
//! still be on the front.
//!
//! Candidates are examined in the order of the objectives that a plan yields, cost first, so every
//! cheaper candidate comes before. A candidate is skipped exactly if an earlier one is at least as
//! good as the candidate's bounds: with these bounds, no other order computes fewer. `[ours]`

use std::cell::Cell;
use std::sync::atomic::Ordering;

use cubeyard_plan::Book;
use cubeyard_plan::summary::ENGINE_VERSION;
use cubeyard_sim::{PredictError, Progress};
use cubeyard_topology::Finding;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::front::Front;
use crate::metric::{METRICS, Stage, Values, at, values_json};
use crate::price::{Left, Out, Priced, broken, hopeless, price, spec_of};
use crate::space::{Candidate, Space};
use crate::spec::{Asked, SearchSpec};
use crate::survive::Survival;

/// Candidates that are priced between two frames of progress.
const CHUNK: usize = 128;
/// Number of skipped candidates between two frames of progress.
const PASSED: usize = 256;
/// The most points in a document that are not on the front.
const MOST_OTHERS: usize = 400;

/// Searches. `frames` gets, from the calling thread and in this order: `space`, `progress` of
/// pricing, then `progress` of throughput with a `point` for each candidate whose objectives are
/// known. The document contains the front and statistics of the search.
///
/// # Errors
///
/// Findings for an invalid request; [`PredictError::Cancelled`] soon after `progress.cancelled` is
/// set.
pub fn search(
    question: &str,
    book: &Book,
    progress: &Progress,
    frames: &mut dyn FnMut(Value),
) -> Result<Value, PredictError> {
    let asked = SearchSpec::from_json(question)?;
    asked.check_currency(&book.currency)?;
    let goes_on = || !progress.cancelled.load(Ordering::Relaxed);
    let space = asked.spec.space.candidates(asked.servers, &goes_on);
    check(progress)?;
    frames(json!({
        "kind": "space", "combinations": space.combinations, "candidates": space.candidates.len(),
        "families": by_family(&space.candidates),
    }));
    if space.candidates.is_empty() {
        return Err(PredictError::Findings(vec![nothing_there(&asked)]));
    }
    let mut search = Search::new(&asked, book, &space, progress);
    search.price(frames)?;
    search.walk(frames)?;
    search.complete_front()?;
    Ok(search.document())
}

fn nothing_there(asked: &Asked) -> Finding {
    let (least, most) = asked.servers;
    Finding::error(
        "search-empty-space",
        "space",
        format!("No combination of values has {least} to {most} servers."),
        "Raise space.most_servers, or try more families and values.",
    )
    .with_value(most)
}

fn by_family(candidates: &[Candidate]) -> Value {
    let mut counts = Map::new();
    for candidate in candidates {
        let count = counts.entry(candidate.topology.family()).or_insert(json!(0));
        *count = json!(count.as_u64().unwrap_or(0) + 1);
    }
    Value::Object(counts)
}

fn check(progress: &Progress) -> Result<(), PredictError> {
    if progress.cancelled.load(Ordering::Relaxed) {
        Err(PredictError::Cancelled)
    } else {
        Ok(())
    }
}

/// The number of candidates by result.
#[derive(Clone, Debug, Default)]
struct Tally {
    no_plan: usize,
    unknown: usize,
    priced: usize,
    feasible: usize,
    passed_over: usize,
    evaluated: usize,
    unexplored: usize,
    /// By constraint: the number of candidates that violate it, and the nearest value.
    by_constraint: Vec<(usize, Option<f64>)>,
}

/// A candidate whose objectives are known.
struct Point {
    number: usize,
    values: Values,
    meets: bool,
    unharmed: bool,
}

struct Search<'a> {
    asked: &'a Asked,
    book: &'a Book,
    space: &'a Space,
    progress: &'a Progress,
    priced: Vec<(usize, Priced)>,
    points: Vec<Point>,
    front: Front,
    tally: Tally,
}

impl<'a> Search<'a> {
    fn new(asked: &'a Asked, book: &'a Book, space: &'a Space, progress: &'a Progress) -> Search<'a> {
        Search {
            asked,
            book,
            space,
            progress,
            priced: Vec::new(),
            points: Vec::new(),
            front: Front::default(),
            tally: Tally {
                by_constraint: vec![(0, None); asked.limits.len()],
                ..Tally::default()
            },
        }
    }

    /// The objectives of values, with signs such that less is better. An unknown value that should
    /// be small counts as 0, its best case.
    fn vector(&self, values: &Values, known: &Values) -> Vec<f64> {
        let of = |&(metric, more): &(usize, bool)| {
            let value = values[metric].unwrap_or(f64::NAN);
            match (more, known[metric]) {
                (true, _) => -value,
                (false, Some(value)) => value,
                (false, None) => 0.0,
            }
        };
        self.asked.objectives.iter().map(of).collect()
    }

    fn at_best(&self, priced: &Priced) -> Vec<f64> {
        self.vector(&priced.most.at_best(&priced.values), &priced.values)
    }

    /// Prices every candidate, on all cores, and returns the candidates that can satisfy the
    /// constraints, the best first.
    fn price(&mut self, frames: &mut dyn FnMut(Value)) -> Result<(), PredictError> {
        let all = &self.space.candidates;
        for (chunk, candidates) in all.chunks(CHUNK).enumerate() {
            let outcomes: Vec<Option<Result<Priced, Left>>> = candidates
                .par_iter()
                .map(|candidate| {
                    let goes_on = !self.progress.cancelled.load(Ordering::Relaxed);
                    goes_on.then(|| price(self.asked, candidate, self.book))
                })
                .collect();
            check(self.progress)?;
            for (i, outcome) in outcomes.into_iter().flatten().enumerate() {
                self.enter(chunk * CHUNK + i, outcome);
            }
            let done = (chunk * CHUNK + candidates.len()).min(all.len());
            frames(json!({
                "kind": "progress", "stage": "price", "done": done, "of": all.len(), "feasible": self.priced.len(),
            }));
        }
        self.tally.feasible = self.priced.len();
        let mut keyed: Vec<(Vec<f64>, (usize, Priced))> = std::mem::take(&mut self.priced)
            .into_iter()
            .map(|item| (self.at_best(&item.1), item))
            .collect();
        keyed.sort_by(|(a, (i, _)), (b, (j, _))| {
            let by_value = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
            by_value
                .fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                .then(i.cmp(j))
        });
        self.priced = keyed.into_iter().map(|(_, item)| item).collect();
        Ok(())
    }

    fn enter(&mut self, number: usize, outcome: Result<Priced, Left>) {
        let left = match outcome {
            Ok(priced) => {
                self.tally.priced += 1;
                self.priced.push((number, priced));
                return;
            }
            Err(left) => left,
        };
        let (why, values) = *left;
        if why != Out::NoPlan {
            self.tally.priced += usize::from(values[at::COST].is_some());
        }
        match why {
            Out::NoPlan => self.tally.no_plan += 1,
            Out::Unknown => self.tally.unknown += 1,
            Out::Constraint(limit) => self.miss(limit, &values),
        }
    }

    /// Counts a candidate that violates a constraint.
    fn miss(&mut self, limit: usize, values: &Values) {
        let asked = self.asked.limits[limit];
        let (count, nearest) = &mut self.tally.by_constraint[limit];
        *count += 1;
        if let Some(value) = values[asked.metric] {
            let off = |value: f64| (asked.least - value).max(value - asked.most);
            if nearest.is_none_or(|other| off(value) < off(other)) {
                *nearest = Some(value);
            }
        }
    }

    /// Visits the candidates in their order, and computes the throughput of those that can be on
    /// the front.
    fn walk(&mut self, frames: &mut dyn FnMut(Value)) -> Result<(), PredictError> {
        let priced = std::mem::take(&mut self.priced);
        for (place, (number, item)) in priced.iter().enumerate() {
            check(self.progress)?;
            let passed = self.tally.passed_over;
            if self.asked.stage < Stage::Healthy {
                self.settle(*number, item.values, false, frames);
            } else if self.front.covers(&self.at_best(item)) {
                self.tally.passed_over += 1;
            } else if self.tally.evaluated >= self.asked.spec.evaluations {
                self.tally.unexplored += 1;
            } else {
                self.evaluate(*number, item, frames)?;
            }
            let quiet = self.tally.passed_over > passed && !self.tally.passed_over.is_multiple_of(PASSED);
            if !quiet && self.asked.stage >= Stage::Healthy || place + 1 == priced.len() {
                frames(json!({
                    "kind": "progress", "stage": "throughput", "done": place + 1, "of": priced.len(),
                    "evaluated": self.tally.evaluated, "passed_over": self.tally.passed_over,
                    "front": self.front.len(),
                }));
            }
        }
        self.priced = priced;
        Ok(())
    }

    /// Throughput stage by stage, as long as the candidate can still win.
    fn evaluate(
        &mut self,
        number: usize,
        one: &Priced,
        frames: &mut dyn FnMut(Value),
    ) -> Result<(), PredictError> {
        let survival = Survival::new(self.asked, &spec_of(self.asked, &self.space.candidates[number]))?;
        let most = survival.most()?;
        let mut values = one.values;
        let mut begun = false;
        for stage in [Stage::Healthy, Stage::Degraded] {
            let best = most.at_best(&values);
            if let Some(limit) = hopeless(&self.asked.limits, &best) {
                self.miss(limit, &best);
                return Ok(());
            }
            if self.front.covers(&self.vector(&best, &values)) {
                self.tally.passed_over += 1;
                return Ok(());
            }
            if stage == Stage::Healthy && !self.wants_healthy(&survival) || stage > self.asked.stage {
                continue;
            }
            // Only complete evaluations count, but incomplete ones take time too.
            self.tally.evaluated += usize::from(!begun);
            begun = true;
            let metric = if stage == Stage::Healthy {
                at::ABT
            } else {
                at::ABT_DEGRADED
            };
            let at_most = |gbps: f64| {
                let mut best = best;
                best[metric] = best[metric].map(|most| most.min(gbps));
                if survival.unharmed() {
                    best[at::ABT_DEGRADED] = best[at::ABT];
                }
                best
            };
            let least = Cell::new(f64::INFINITY);
            let known = values;
            let goes_on = |gbps: f64| {
                least.set(least.get().min(gbps));
                let best = at_most(gbps);
                hopeless(&self.asked.limits, &best).is_none()
                    && !self.front.covers(&self.vector(&best, &known))
            };
            if !survival.enter(stage, &mut values, &goes_on, self.progress)? {
                let best = at_most(least.get());
                match hopeless(&self.asked.limits, &best) {
                    Some(limit) => self.miss(limit, &best),
                    None => self.tally.passed_over += 1,
                }
                return Ok(());
            }
        }
        self.settle(number, values, survival.unharmed(), frames);
        Ok(())
    }

    /// Whether the throughput without failures is needed: it is the result if the failures affect
    /// nothing.
    fn wants_healthy(&self, survival: &Survival) -> bool {
        let wanted = [at::ABT, at::ABT_KEPT];
        survival.unharmed()
            || self
                .asked
                .limits
                .iter()
                .any(|limit| wanted.contains(&limit.metric))
            || self
                .asked
                .objectives
                .iter()
                .any(|(metric, _)| wanted.contains(metric))
    }

    /// Classifies a candidate whose values are all known: on the front, dominated, or violating a
    /// constraint.
    fn settle(&mut self, number: usize, values: Values, unharmed: bool, frames: &mut dyn FnMut(Value)) {
        let short = broken(&self.asked.limits, &values, Stage::Counts..=Stage::Degraded);
        let replaced = match short {
            Some(limit) => {
                self.miss(limit, &values);
                None
            }
            None => self.front.enter(number, self.vector(&values, &values)),
        };
        let point = Point {
            number,
            values,
            meets: short.is_none(),
            unharmed,
        };
        if self.asked.stage >= Stage::Healthy || replaced.is_some() {
            frames(json!({
                "kind": "point", "point": self.point_json(&point), "on_front": replaced.is_some(),
                "replaces": replaced.unwrap_or_default(),
            }));
        }
        self.points.push(point);
    }

    /// Computes for the points of the front the ABT before failures, if their objectives did not
    /// need it.
    fn complete_front(&mut self) -> Result<(), PredictError> {
        if self.asked.stage < Stage::Degraded {
            return Ok(());
        }
        let front: Vec<usize> = self.front.numbers().collect();
        let mut points = std::mem::take(&mut self.points);
        for point in points.iter_mut().filter(|point| front.contains(&point.number)) {
            if point.values[at::ABT].is_none() {
                let spec = spec_of(self.asked, &self.space.candidates[point.number]);
                let survival = Survival::new(self.asked, &spec)?;
                survival.enter(Stage::Healthy, &mut point.values, &|_| true, self.progress)?;
                let [healthy, degraded] = [at::ABT, at::ABT_DEGRADED].map(|metric| point.values[metric]);
                point.values[at::ABT_KEPT] = healthy
                    .zip(degraded)
                    .map(|(healthy, degraded)| degraded / healthy);
            }
        }
        self.points = points;
        Ok(())
    }

    fn point_json(&self, point: &Point) -> Value {
        let topology = &self.space.candidates[point.number].topology;
        let mut spec = self.asked.spec.plan.clone();
        spec.insert("topology".to_owned(), json!(topology));
        json!({
            "number": point.number,
            "title": topology.resolve().title(),
            "family": topology.family(),
            "spec": spec,
            "values": values_json(&point.values),
            "meets": point.meets,
            "unharmed": point.unharmed,
        })
    }

    /// The front in its order, the dominated points, and the number of candidates by result.
    fn document(&self) -> Value {
        let (mut front, mut others) = (Vec::new(), Vec::new());
        for point in &self.points {
            if self.front.numbers().any(|number| number == point.number) {
                front.push(self.point_json(point));
            } else if others.len() < MOST_OTHERS {
                others.push(self.point_json(point));
            }
        }
        let tally = &self.tally;
        let limits = self.asked.limits.iter().zip(&tally.by_constraint);
        let by_constraint: Vec<Value> = limits
            .map(|(limit, (count, nearest))| {
                json!({"metric": METRICS[limit.metric].name, "left_out": count, "nearest": nearest})
            })
            .collect();
        json!({
            "question": self.asked.spec,
            "engine_version": ENGINE_VERSION,
            "book": {"book": self.book.book, "version": self.book.version, "currency": self.book.currency},
            "servers": {"least": self.asked.servers.0, "most": self.asked.servers.1},
            "combinations": self.space.combinations,
            "candidates": self.space.candidates.len(),
            "no_plan": tally.no_plan,
            "no_price": tally.unknown,
            "priced": tally.priced,
            "feasible": tally.feasible,
            "passed_over": tally.passed_over,
            "evaluated": tally.evaluated,
            "unexplored": tally.unexplored,
            "complete": tally.unexplored == 0,
            "constraints": by_constraint,
            "front": front,
            "others": others,
        })
    }
}
