//! The document: curves with bands over seeds, times below the floors, swaps and costs, and the
//! gain of each policy.

use cubeyard_plan::summary::ENGINE_VERSION;
use serde_json::{Value, json};

use crate::ageing::{Taken, UnitKind};
use crate::census::Census;
use crate::floors::{below, quantile};
use crate::rates::{PartKind, RATES};
use crate::run::{Lived, Measured, Prepared};
use crate::spec::Policy;

/// The frame that describes the plan, before any life is simulated.
pub(crate) fn plan_frame(prepared: &Prepared) -> Value {
    let parts = &prepared.parts;
    json!({
        "kind": "plan", "title": prepared.plan.spec.topology.title(), "plan_hash": prepared.plan.hash,
        "servers": parts.servers, "switches": parts.switches, "links": parts.ends.len(), "pdus": parts.pdus,
        "months": prepared.months,
        "policies": prepared.spec.policies.iter().map(Policy::title).collect::<Vec<_>>(),
    })
}

/// The median and the 5 and 95 % quantiles over lives, by point.
fn band<T: Copy, U: Into<Value>>(
    points: usize,
    lives: usize,
    at: impl Fn(usize, usize) -> T,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
    shown: impl Fn(T) -> U,
) -> Value {
    let mut columns: [Vec<Value>; 3] = Default::default();
    for point in 0..points {
        let mut values: Vec<T> = (0..lives).map(|life| at(life, point)).collect();
        values.sort_unstable_by(&order);
        for (column, share) in columns.iter_mut().zip([0.05, 0.5, 0.95]) {
            column.push(quantile(&values, share).map_or(Value::Null, |value| shown(value).into()));
        }
    }
    let [p5, median, p95] = columns;
    json!({"p5": p5, "median": median, "p95": p95})
}

fn count_band(censuses: &[Census], of: impl Fn(&Census) -> &Vec<u32>) -> Value {
    let points = censuses.first().map_or(0, |census| census.state.len());
    let at = |life: usize, point: usize| of(&censuses[life])[point];
    band(points, censuses.len(), at, u32::cmp, |value| value)
}

/// Bands of the values that are exact for every life.
pub(crate) fn server_curves(censuses: &[Census]) -> Value {
    let points = censuses.first().map_or(0, |census| census.state.len());
    let mean: Vec<f64> = (0..points)
        .map(|point| {
            let sum: f64 = censuses
                .iter()
                .map(|census| f64::from(census.servers[point]))
                .sum();
            sum / censuses.len() as f64
        })
        .collect();
    json!({
        "servers": count_band(censuses, |census| &census.servers),
        "servers_mean": mean,
        "connected": count_band(censuses, |census| &census.connected),
        "switches_down": count_band(censuses, |census| &census.switches_down),
        "links_down": count_band(censuses, |census| &census.links_down),
    })
}

fn abt_curve(lived: &Lived, whole_gbps: f64) -> Value {
    let points = lived.left.first().map_or(0, Vec::len);
    let at = |life: usize, point: usize| lived.left[life][point];
    let mut curve = band(points, lived.left.len(), at, f64::total_cmp, |left| {
        left * whole_gbps
    });
    let exact: Vec<f64> = (0..points)
        .map(|point| {
            let count = lived.exact.iter().filter(|life| life[point]).count();
            count as f64 / lived.exact.len().max(1) as f64
        })
        .collect();
    curve["exact_share"] = json!(exact);
    curve
}

/// The computed values of a policy, by month: `[month, gbps]`, each once; without those of the
/// whole network.
fn computed(prepared: &Prepared, lived: &Lived, whole_gbps: f64) -> Vec<Value> {
    let mut values: Vec<(usize, f64)> = Vec::new();
    for (left, exact) in lived.left.iter().zip(&lived.exact) {
        let some = left
            .iter()
            .zip(exact)
            .enumerate()
            .filter(|&(_, (&left, &exact))| exact && left != 1.0);
        values.extend(some.map(|(point, (&left, _))| (point, left)));
    }
    values.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    values.dedup();
    values
        .into_iter()
        .map(|(point, left)| json!([prepared.months[point], left * whole_gbps]))
        .collect()
}

/// The most computed values in a document.
const MOST_COMPUTED: usize = 600;

fn means(taken: &[Taken], of: impl Fn(&Taken) -> [u32; UnitKind::COUNT]) -> Value {
    let mean = |kind: UnitKind| {
        let sum: f64 = taken.iter().map(|item| f64::from(of(item)[kind as usize])).sum();
        sum / taken.len().max(1) as f64
    };
    Value::Object(
        UnitKind::ALL
            .into_iter()
            .map(|kind| (kind.name().to_owned(), json!(mean(kind))))
            .collect(),
    )
}

/// Servers alive times years, in the mean: the area under the curve.
fn server_years(prepared: &Prepared, censuses: &[Census]) -> f64 {
    let months = &prepared.months;
    let sum: f64 = censuses
        .iter()
        .map(|census| {
            let steps = months.windows(2).zip(census.connected.windows(2));
            steps
                .map(|(at, count)| (at[1] - at[0]) / 12.0 * f64::from(count[0] + count[1]) / 2.0)
                .sum::<f64>()
        })
        .sum();
    sum / censuses.len().max(1) as f64
}

fn policy_document(prepared: &Prepared, policy: &Policy, lived: &Lived, measured: &Measured) -> Value {
    let floors = prepared.spec.floors;
    let servers = f64::from(prepared.parts.servers.max(1));
    let shares: Vec<Vec<f64>> = lived
        .censuses
        .iter()
        .map(|census| {
            census
                .connected
                .iter()
                .map(|&alive| f64::from(alive) / servers)
                .collect()
        })
        .collect();
    let mut curves = server_curves(&lived.censuses);
    curves["abt_gbps"] = abt_curve(lived, measured.whole_gbps);
    let mut computed = computed(prepared, lived, measured.whole_gbps);
    let every = computed.len().div_ceil(MOST_COMPUTED).max(1);
    computed = computed.into_iter().step_by(every).collect();
    let visits: f64 = lived.taken.iter().map(|item| f64::from(item.visits)).sum();
    json!({
        "title": policy.title(), "policy": policy, "curves": curves, "computed_abt": computed,
        "below": {
            "servers": below(shares.iter().map(Vec::as_slice), floors.servers, &prepared.months),
            "abt": below(lived.left.iter().map(Vec::as_slice), floors.abt, &prepared.months),
        },
        "visits": visits / lived.taken.len().max(1) as f64,
        "swaps": means(&lived.taken, |one| one.swaps),
        "wanting": means(&lived.taken, |one| one.wanting),
        "server_years": server_years(prepared, &lived.censuses),
        "cost": prepared.prices.of_policy(policy, &lived.taken),
    })
}

/// The gain of each policy over the first one, and its cost per server-year gained.
fn bought(policies: &mut [Value]) {
    let Some(first) = policies.first().cloned() else {
        return;
    };
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let last = |policy: &Value, curve: &str| {
        let median = policy["curves"][curve]["median"].as_array();
        median.and_then(|values| values.last()).map_or(0.0, number)
    };
    for policy in policies.iter_mut().skip(1) {
        let years = number(&policy["server_years"]) - number(&first["server_years"]);
        let cost = number(&policy["cost"]["total"]) - number(&first["cost"]["total"]);
        let less = |floor: &str| {
            number(&first["below"][floor]["probability"]) - number(&policy["below"][floor]["probability"])
        };
        policy["buys"] = json!({
            "server_years": years,
            "servers": last(policy, "connected") - last(&first, "connected"),
            "abt_gbps": last(policy, "abt_gbps") - last(&first, "abt_gbps"),
            "probability_below_servers": less("servers"),
            "probability_below_abt": less("abt"),
            "cost": (cost * 100.0).round() / 100.0,
            "cost_per_server_year": (years > 0.0).then(|| (cost / years * 100.0).round() / 100.0),
        });
    }
}

fn rates(prepared: &Prepared) -> Vec<Value> {
    let all = [
        PartKind::Server,
        PartKind::Disk,
        PartKind::Memory,
        PartKind::Psu,
        PartKind::Fan,
        PartKind::Nic,
        PartKind::Switch,
        PartKind::Port,
        PartKind::Cable,
        PartKind::Optic,
        PartKind::Pdu,
    ];
    let used = prepared.spec.afr().into_iter().zip(RATES.iter());
    used.zip(all)
        .map(|(((afr, set), rate), kind)| {
            let mut row = json!(rate);
            row["afr"] = json!(afr);
            row["count"] = json!(prepared.parts.count(kind));
            if set {
                row["basis"] = json!("set");
                row["source"] = json!("set in the request");
                row["confidence"] = Value::Null;
                row["date"] = Value::Null;
                row["note"] = json!("");
            }
            row
        })
        .collect()
}

pub(crate) fn document(prepared: &Prepared, lived: &[Lived], measured: &Measured) -> Value {
    let spec = &prepared.spec;
    let mut policies: Vec<Value> = spec
        .policies
        .iter()
        .zip(lived)
        .map(|(policy, lived)| policy_document(prepared, policy, lived, measured))
        .collect();
    bought(&mut policies);
    let error = measured.between.error;
    let complete = measured.computed >= measured.distinct;
    let mut document = plan_frame(prepared);
    document["kind"] = json!("life");
    document["engine_version"] = json!(ENGINE_VERSION);
    let book = &prepared.plan.book;
    document["book"] = json!({"book": book.book, "version": book.version, "currency": book.currency});
    document["years"] = json!(spec.years);
    document["seeds"] = json!(spec.seeds);
    document["first_seed"] = json!(spec.first_seed);
    document["rate_factor"] = json!(spec.rate_factor);
    document["shape"] = json!(spec.shape);
    document["floors"] = json!(spec.floors);
    document["rates"] = json!(rates(prepared));
    document["prices"] = prepared.prices.document();
    document["abt_gbps"] = json!(measured.whole_gbps);
    document["throughput"] = json!({
        "states": measured.distinct, "computed": measured.computed, "interpolated": !complete,
        "error_mean": error.filter(|_| !complete).map(|(mean, _)| mean),
        "error_max": error.filter(|_| !complete).map(|(_, most)| most),
        "weights": {"servers": measured.between.weights[0], "switches": measured.between.weights[1], "links": measured.between.weights[2], "pdus": measured.between.weights[3]},
    });
    document["policies"] = json!(policies);
    document
}
