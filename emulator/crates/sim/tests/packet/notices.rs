//! Quantized congestion notification: queues settle where they should, nothing is dropped, and
//! sources share.

use cubeyard_sim::packet::change::LinkState;
use cubeyard_sim::packet::core::{Core, Stop};
use cubeyard_sim::packet::links::{Link, SECOND};
use cubeyard_sim::packet::qcn::Qcn;
use cubeyard_sim::packet::rules::{Rules, Transport};

use cubeyard_sim::{EngineKind, Experiment, Network, Progress};
use serde_json::{Value, json};

use crate::bench::{MS, PACKET, PAYLOAD, US, delivered_between, rules};

const LINE: f64 = 1e9;
const QUEUE_BYTES: u64 = 1_000_000;

/// The baseline's parameters with this queue.
pub fn qcn(queue_bytes: u64) -> Qcn {
    Qcn {
        queue_bytes,
        weight: 2.0,
        sample_bytes: 150_000,
        gain: 1.0 / 128.0,
        cycle_bytes: 150_000,
        recovery_cycles: 5,
        timer: 15 * MS,
        increase: 5e6,
        hyper_increase: 50e6,
        least_rate: 10e6,
    }
}

fn udp(queue_bytes: u64) -> Rules {
    let gap = Link::new(LINE, 0, 0, 0).time_of(PACKET);
    Rules {
        transport: Transport::Udp { gap, drawn: false },
        qcn: Some(qcn(queue_bytes)),
        ..rules()
    }
}

/// Senders with gigabit links around one bottleneck, the last pair of directed links: bytes and
/// start of each.
fn shared(rules: Rules, bottleneck: f64, flows: &[(u64, u64)]) -> Core {
    let line = Link::new(LINE, 10 * US, QUEUE_BYTES, PACKET);
    let neck = 2 * flows.len() as u32;
    let mut links = vec![line.clone(); neck as usize];
    links.push(Link::new(bottleneck, 10 * US, QUEUE_BYTES, PACKET));
    links.push(line);
    let mut core = Core::new(rules, links, neck + 2, 50 * US);
    for (flow, &(bytes, start)) in flows.iter().enumerate() {
        let flow = flow as u32;
        let there = core.add_route([2 * flow, neck], flow, false);
        let back = core.add_route([neck + 1, 2 * flow + 1], flow, true);
        core.add_connection(bytes, start, &[(there, back, 100 * US)]);
    }
    core.start();
    core
}

/// Mean and maximum of the bytes that wait at a link, sampled every tenth of a millisecond.
fn queue(core: &mut Core, link: u32, until: u64) -> (f64, u64) {
    let (mut sum, mut looks, mut most) = (0, 0u64, 0);
    while core.now < until {
        core.run(core.now + 100 * US, u64::MAX);
        let waits = core.links.backlog_bytes(link, core.now);
        (sum, looks, most) = (sum + waits, looks + 1, most.max(waits));
    }
    (sum as f64 / looks as f64, most)
}

const ENDLESS: u64 = 100 << 30;

/// Twice the target gives a queue twice as long, and the line stays full. `[serverswitch §6.3]`
#[test]
fn the_queue_settles_where_it_should_and_nothing_is_dropped() {
    for aim in [25_000, 50_000, 100_000, 200_000] {
        let mut core = shared(udp(aim), 200e6, &[(ENDLESS, 0)]);
        let (_, most) = queue(&mut core, 2, SECOND);
        assert!(most < QUEUE_BYTES && most > aim, "{most} for {aim}");
        let received = core.totals.received;
        let (mean, _) = queue(&mut core, 2, 5 * SECOND);
        assert!((mean / aim as f64 - 1.0).abs() < 0.25, "{mean} for {aim}");
        let used =
            (core.totals.received - received) as f64 * 8.0 / 4.0 / (200e6 * PAYLOAD as f64 / PACKET as f64);
        assert!(used > 0.98, "{used} of the line for {aim}");
        assert_eq!(core.totals.drops, 0);
        assert!(core.totals.notices > 0 && u64::from(core.points[2].samples()) > core.totals.notices);
    }
}

/// The test above can fail: with notices that never arrive the queue overflows.
#[test]
fn notices_that_are_lost_leave_the_queue_to_overflow() {
    let mut core = shared(udp(50_000), 200e6, &[(ENDLESS, 0)]);
    core.links.change(1, |link| link.dead = 1);
    core.run(SECOND, u64::MAX);
    assert!(core.totals.notices > 0 && core.totals.ack_drops == core.totals.notices);
    assert!(core.totals.drops > 0);
}

#[test]
fn two_sources_come_to_fair_halves() {
    let mut core = shared(udp(50_000), LINE, &[(ENDLESS, 0), (ENDLESS, SECOND)]);
    let bytes = delivered_between(&mut core, 3 * SECOND, 13 * SECOND);
    let line = LINE / 8.0 * 10.0 * PAYLOAD as f64 / PACKET as f64;
    for bytes in &bytes {
        assert!(
            (*bytes as f64 / (line / 2.0) - 1.0).abs() < 0.15,
            "{bytes} of {line}"
        );
    }
    assert!(bytes.iter().sum::<u64>() as f64 > 0.95 * line, "{bytes:?}");
    assert_eq!(core.totals.drops, 0);
}

/// A rate that changes under traffic is found again within a second, down and up.
#[test]
fn a_source_follows_its_line() {
    let mut core = shared(udp(50_000), LINE, &[(ENDLESS, 0)]);
    core.run(SECOND, u64::MAX);
    assert_eq!(core.totals.notices, 0, "an idle queue sends none");
    for (step, rate) in [200e6, 400e6, 600e6, 800e6].into_iter().enumerate() {
        core.set_link(
            2,
            LinkState {
                rate_bits_per_sec: rate,
                queue_bytes: QUEUE_BYTES,
                mark_bytes: None,
                delay: 10 * US,
                loss_ratio: 0.0,
                dead: 0,
            },
        );
        let from = (1 + 3 * step as u64) * SECOND;
        let bytes = delivered_between(&mut core, from + SECOND, from + 3 * SECOND)[0];
        let share = bytes as f64 * 8.0 / 2.0 / (rate * PAYLOAD as f64 / PACKET as f64);
        assert!((share - 1.0).abs() < 0.02, "{share} of {rate}");
    }
    assert_eq!(core.totals.drops, 0);
}

/// TCP is held back at its source instead of losing packets; all of it arrives.
#[test]
fn tcp_loses_nothing_where_notices_hold_it_back() {
    let told = |qcn: Option<Qcn>| {
        let rules = Rules {
            qcn,
            most_window: 1024,
            ..rules()
        };
        let mut core = shared(rules, 200e6, &[(40_000_000, 0), (40_000_000, 777 * US)]);
        assert_eq!(core.run(100 * SECOND, u64::MAX), Stop::Finished);
        let secs = core.now as f64 / SECOND as f64;
        (
            core.totals.drops,
            80_000_000.0 * 8.0 / secs / (200e6 * PAYLOAD as f64 / PACKET as f64),
        )
    };
    let (drops, _) = told(None);
    assert!(drops > 0, "{drops}");
    let (drops, used) = told(Some(qcn(50_000)));
    assert_eq!(drops, 0);
    assert!(used > 0.9, "{used}");
}

fn simulate(settings: &Value) -> Result<Value, String> {
    let network = Network::open(r#"{"family": "bcube", "n": 4, "k": 1}"#).unwrap();
    let fields = json!({
        "engine": "packet", "workload": {"kind": "incast", "bytes": 400_000}, "link_gbps": 1, "seeds": [3], "packet": settings,
    });
    let experiment =
        Experiment::from_json(&fields.to_string()).map_err(|findings| findings[0].field.clone())?;
    let engine = EngineKind::Packet.engine();
    engine
        .run(&network, &experiment, &Progress::default(), &mut |_| {})
        .map_err(|error| format!("{error:?}"))
}

/// Notifications pass relays with processors, and the chosen settings are printed.
#[test]
fn an_experiment_prints_what_its_notices_did() {
    let settings = json!({
        "congestion_notices": "qcn", "qcn_queue_bytes": 30_000, "relay_secs": 1e-6, "delayed_ack_secs": 0.001, "watch_flow": 2,
        "queue_bytes": 1_000_000, "recovery": "sack", "hop_delay_secs": 5e-6,
    });
    let told = simulate(&settings).unwrap();
    assert!(told["notices"].as_u64().unwrap() > 0);
    assert_eq!((&told["drops"], &told["ack_drops"]), (&json!(0), &json!(0)));
    assert_eq!(told["completion_secs"]["unfinished"], 0);
    assert_eq!(told["choices"]["qcn_queue_bytes"], 30_000);
    let limits = told["series"]["limit_gbps"].as_array().unwrap();
    assert!(
        limits
            .iter()
            .flat_map(Value::as_f64)
            .all(|limit| (0.01..1.0).contains(&limit)),
        "{limits:?}"
    );
    assert_eq!(told.to_string(), simulate(&settings).unwrap().to_string());
    let plain = simulate(&json!({})).unwrap();
    assert!(plain.get("notices").is_none() && plain["choices"].get("qcn_queue_bytes").is_none());
    let refused = simulate(&json!({"congestion_notices": "qcn", "qcn_queue_bytes": 0})).unwrap_err();
    assert!(refused.contains("packet.qcn_queue_bytes"), "{refused}");
}
