//! Subways' tables and figures. `[subways §7, §8]`
//!
//! Inside: one file a figure (`fig8` to `fig12`; packet by packet: `packets` for Figs 8 to 11,
//! `fig12_packets`), the tables of wires (`wires`) and the testbed's table (`table5`, and packet by
//! packet `table5_packets`), and what they share: the default network, the balances compared, and
//! the words for the choices made.
//!
//! Shuffles run as a fluid of whole racks ([`crate::rack_fluid`]); the testbed's 192 flows run one
//! by one.
//!
//! Not here: the controllers and detours themselves (`cubeyard_routing::subways`,
//! `crate::controllers`).

pub(super) mod fig10;
pub(super) mod fig11;
pub(super) mod fig12;
pub(super) mod fig12_packets;
pub(super) mod fig8;
pub(super) mod fig9;
pub(super) mod packets;
pub(super) mod table5;
pub(super) mod table5_packets;
pub(super) mod wires;

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::{Context, Series, built, setup};
use crate::flow::PredictError;
use crate::rack_fluid::{Balance, Between, Demand, Plan, RackNetwork, run, shuffle};

/// Data from a mapper to a reducer: 15 MB of 10^6 bytes.
const SHUFFLE_GIGABITS: f64 = 0.12;

/// The three ways to spread flows, and what the paper appends to a type's number for each.
const BALANCES: [(Balance, &str); 3] = [
    (Balance::Static, ""),
    (Balance::Adaptive, "LB"),
    (Balance::Detours, "D"),
];

/// Choices of every shuffle.
const FLUID: &str = "a fluid of whole racks: max-min fair rates, flows spread evenly over a server's ports and a ToR's uplinks (no hash collisions: where a server's own ports bind, hashed flows would be 15 to 23 % slower), no TCP and no queues";
const CONTROLLERS: &str = "LB and D start as ECMP and rebind every 10 ms by the text's formula with c = 0.5; a share of 0 counts as 0.01, or it would stay 0";
const DETOURS: &str = "D: both directions, two relays at most, 60 % of what is left; a ToR's heat counts what its racks sent by detour, and a source's links count as free but for what it sends straight up";

/// The racks of a spec with the paper's 10 Gb/s links above the ToRs.
fn network(mut spec: Value) -> Result<RackNetwork, PredictError> {
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("family".to_owned(), json!("subways"));
        fields.entry("uplink_gbps").or_insert(json!(10));
    }
    RackNetwork::new(&built(&spec)?).ok_or_else(setup)
}

/// The paper's default: 2 ports, 15 servers a rack, loops of 12, two clusters, 5:1 and 4:1.
/// `[subways §8.1]`
fn default_network(wiring_type: u8) -> Result<RackNetwork, PredictError> {
    let spread = if wiring_type == 2 { 2 } else { 1 };
    network(json!({"type": wiring_type, "p": 2, "q": 30, "l": 12, "c": spread, "clusters": 2}))
}

/// Seconds until a job ends. Counts as one unit of progress.
fn job_secs(
    context: &Context<'_>,
    network: &RackNetwork,
    demands: &[Demand],
    balance: Balance,
    between: Between,
) -> Result<f64, PredictError> {
    let secs = run(network, demands, Plan { balance, between }, context.progress)?;
    context.progress.done.fetch_add(1, Ordering::Relaxed);
    Ok(secs)
}

/// Seconds until the shuffle among the servers of `racks` ends.
fn shuffle_secs(
    context: &Context<'_>,
    network: &RackNetwork,
    racks: &[usize],
    balance: Balance,
    between: Between,
) -> Result<f64, PredictError> {
    let demands = shuffle(network, racks, SHUFFLE_GIGABITS);
    job_secs(context, network, &demands, balance, between)
}

/// The first `count` racks of each of the first `loops` loops.
fn racks_of_loops(network: &RackNetwork, loops: usize, count: usize) -> Vec<usize> {
    (0..loops)
        .flat_map(|at| at * network.racks.ring.size..at * network.racks.ring.size + count)
        .collect()
}

/// A line's greatest value and where it is.
fn peak(line: &Series) -> (f64, f64) {
    let points = line.x.iter().copied().zip(line.y.iter().copied());
    points.fold((0.0, f64::NEG_INFINITY), |best, point| {
        if point.1 > best.1 { point } else { best }
    })
}

/// A line's value at a place on its axis.
fn value_at(line: &Series, x: f64) -> Result<f64, PredictError> {
    let at = line.x.iter().position(|&other| other == x).ok_or_else(setup)?;
    Ok(line.y[at])
}
