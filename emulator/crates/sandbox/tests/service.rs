//! Modules as services on every server of a torus in virtual time: a good one works, a bad one ends
//! and loses only its own packets, and invalid ones are rejected.

#![allow(clippy::unwrap_used)]

#[path = "../../topology/tests/cases.rs"]
mod cases;

use std::collections::BTreeMap;
use std::time::Duration;

use cubeyard_dataplane::service::{ClientId, Context, Journey, Key, Packet, Service};
use cubeyard_sandbox::limits::{CALL_FUEL, FUEL_PER_SEC, FUEL_SAVED, MODULE_BYTES};
use cubeyard_sandbox::trial::{Options, Report, run};
use cubeyard_sandbox::{Flaw, Module, UserService};
use proptest::prelude::*;

const GREETING: &str = include_str!("../../../../backend/cubeyard/cli/service_templates/greeting.wat");

/// A trial that nobody ends.
fn whole(module: &Module, options: &Options) -> Report {
    run(module, options, &mut |_| true).unwrap().unwrap()
}

fn options() -> Options {
    Options {
        size: [3, 3, 3],
        secs: 5.0,
        message: "{key} hello".to_owned(),
        rate_bits_per_sec: 1e8,
        seed: 1,
    }
}

/// Compiles the module of a text; other bytes are passed as they are.
fn module_of(text: &str) -> Result<Module, Flaw> {
    match wat::parse_str(text) {
        Ok(bytes) => Module::new(&bytes),
        Err(_) => Module::new(text.as_bytes()),
    }
}

fn trial(text: &str) -> Report {
    whole(&module_of(text).unwrap(), &options())
}

/// A module whose exports do nothing, except for the given functions.
fn module(functions: &[(&str, &str)]) -> String {
    let body = |name: &str| {
        functions
            .iter()
            .find(|(item, _)| *item == name)
            .map(|(_, body)| *body)
    };
    let part = |name: &str, signature: &str, else_: &str| {
        format!(
            r#"(func (export "{name}") {signature} {})"#,
            body(name).unwrap_or(else_)
        )
    };
    let optional =
        |name: &str, signature: &str| body(name).map_or(String::new(), |_| part(name, signature, ""));
    [
        r#"(module
            (import "cubeyard" "next" (func $next (param i32) (result i32)))
            (import "cubeyard" "key" (func $key (result i32)))
            (import "cubeyard" "route" (func $route (param i32 i32 i32) (result i32)))
            (import "cubeyard" "transmit" (func $transmit (param i32 i32 i32) (result i32)))
            (import "cubeyard" "answer" (func $answer (param i32 i32) (result i32)))
            (import "cubeyard" "set_timer" (func $set_timer (param i32)))
            (import "cubeyard" "send" (func $send (param i32 i32 i32) (result i32)))
            (import "cubeyard" "count" (func $count (param i32 i32)))
            (memory (export "memory") 1)
            (func (export "buffer") (result i32) (i32.const 0))"#
            .to_owned(),
        part("F", "(param i32 i32)", ""),
        part("classify", "(param i32) (result i32)", "(i32.const 0)"),
        part("deliver", "(param i32 i32)", ""),
        optional("message", "(param i32)"),
        optional("timer", ""),
        optional("init", ""),
        optional("packet", "(param i32 i32) (result i32)"),
        optional("queue", "(param i32) (result i64)"),
        optional("neighbour", "(param i32 i32)"),
        ")".to_owned(),
    ]
    .join("\n")
}

fn lost(report: &Report, reason: &str) -> u64 {
    report.lost.get(reason).copied().unwrap_or(0)
}

#[test]
fn the_example_carries_every_greeting_over_a_shortest_path() {
    let report = trial(GREETING);
    assert_eq!((report.servers, report.delivered, report.answers), (27, 27, 27));
    assert!(report.lost.is_empty(), "{:?}", report.lost);
    assert!(
        report.said.iter().all(|(_, _, said)| said == "hello"),
        "{:?}",
        report.said
    );
    let hops: u64 = report
        .hops
        .iter()
        .map(|(hops, packets)| u64::from(*hops) * packets)
        .sum();
    assert_eq!(report.hops.values().sum::<u64>(), 27);
    assert_eq!(hops, report.carried);
    assert!(report.hops.keys().all(|hops| *hops <= 3));
}

#[test]
fn the_same_seed_gives_the_same_report_and_a_large_torus_works() {
    assert_eq!(trial(GREETING), trial(GREETING));
    let large = Options {
        size: [10, 10, 10],
        ..options()
    };
    let report = whole(&module_of(GREETING).unwrap(), &large);
    assert_eq!(report.delivered, 1000);
}

#[test]
fn an_endless_call_ends_and_its_packet_is_lost() {
    let to_key = "(drop (call $route (i32.const 0) (i32.const 4) (i32.const 0x010101)))";
    let report = trial(&module(&[("message", to_key), ("F", "(loop $l (br $l))")]));
    assert_eq!((report.delivered, report.carried), (0, 0));
    assert_eq!(lost(&report, "lost-out-of-fuel"), 27);
    assert!(report.fuel <= 54 * (CALL_FUEL + 1000), "{}", report.fuel);
}

#[test]
fn one_that_always_traps_is_stopped_for_longer_and_longer() {
    let report = trial(&module(&[
        ("init", "(call $set_timer (i32.const 1))"),
        ("timer", "(call $set_timer (i32.const 1)) unreachable"),
        ("neighbour", "unreachable"),
    ]));
    // Six calls of neighbour fail at the start: no timer of theirs counts, so nothing more is
    // called.
    assert_eq!(lost(&report, "lost-trapped"), 6 * 27);
    let report = trial(&module(&[
        ("neighbour", "(call $set_timer (i32.const 1))"),
        ("message", "unreachable"),
    ]));
    assert_eq!(lost(&report, "lost-trapped"), 27);
}

#[test]
fn one_that_floods_is_held_to_its_fuel_its_queue_and_its_answers() {
    let flood = "(local $i i32) (call $set_timer (i32.const 1)) (local.set $i (i32.const 10))
        (loop $l
            (drop (call $transmit (i32.const 0) (i32.const 1000) (local.get $i)))
            (drop (call $answer (i32.const 0) (i32.const 10)))
            (local.set $i (i32.sub (local.get $i) (i32.const 1)))
            (br_if $l (local.get $i)))";
    let report = trial(&module(&[
        ("neighbour", "(call $set_timer (i32.const 1))"),
        ("timer", flood),
    ]));
    assert!(lost(&report, "lost-too-many-sent") > 0, "{:?}", report.lost);
    assert!(lost(&report, "answers-over-limit") > 0, "{:?}", report.lost);
    assert!(report.answers <= 27 * (100 + 5 * 50 + 1), "{}", report.answers);
    assert!(
        report.fuel <= 27 * (FUEL_SAVED + 5 * FUEL_PER_SEC),
        "{}",
        report.fuel
    );
}

#[test]
fn wild_pointers_lengths_and_growth_trap_or_fail() {
    for body in [
        "(drop (call $route (i32.const -8) (i32.const 100) (i32.const 0)))",
        "(drop (call $route (i32.const 0) (i32.const -1) (i32.const 0)))",
        "(drop (call $answer (i32.const 0x7fffffff) (i32.const 8)))",
        "(i32.store (i32.const 0x7fffffff) (i32.const 1))",
        "(if (i32.ge_s (memory.grow (i32.const 300)) (i32.const 0)) (then (return))) unreachable",
        "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
    ] {
        let report = trial(&module(&[("message", body)]));
        assert_eq!(lost(&report, "lost-trapped"), 27, "{body}: {:?}", report.lost);
    }
}

#[test]
fn a_key_outside_a_queue_that_there_is_not_and_a_packet_to_oneself_for_ever_are_counted() {
    let to = "(drop (call $route (i32.const 0) (i32.const 4) (i32.const 0x010101)))";
    let report = trial(&module(&[
        ("message", to),
        ("F", "(drop (call $next (i32.const 0xffffff)))"),
    ]));
    assert_eq!(lost(&report, "packets-dropped"), 27, "{:?}", report.lost);
    let next = "(drop (call $next (i32.const 0x010101)))";
    let report = trial(&module(&[
        ("message", to),
        ("F", next),
        ("classify", "(i32.const 99)"),
    ]));
    assert_eq!(lost(&report, "packets-without-room"), 26, "{:?}", report.lost);
    // At (1,1,1) its own F names (1,1,1) again and again.
    assert_eq!(lost(&report, "packets-looping"), 1, "{:?}", report.lost);
}

#[test]
fn what_is_refused_says_what_to_do() {
    let good = module(&[]);
    let without = |name: &str| {
        let lines = good.lines().filter(|line| !line.contains(&format!("\"{name}\"")));
        lines.collect::<Vec<_>>().join("\n")
    };
    let cases = [
        ("no WebAssembly".to_owned(), "does-not-compile"),
        ("(module (func (result i32)))".to_owned(), "does-not-compile"),
        (without("memory"), "no-memory"),
        (without("F"), "no-export"),
        (without("classify"), "no-export"),
        (without("deliver"), "no-export"),
        (without("buffer"), "no-export"),
        (good.replace("(param i32 i32) )", "(param i32) )"), "wrong-export"),
        (
            good.replace("\"cubeyard\" \"key\"", "\"wasi_snapshot_preview1\" \"fd_write\""),
            "unknown-import",
        ),
        (
            good.replace("(func $key (result i32))", "(func $key (result i64))"),
            "wrong-import",
        ),
        (
            good.replace("(i32.const 0)", "(i32.const 60000)"),
            "buffer-outside",
        ),
        (
            good.replace(
                "(memory (export \"memory\") 1)",
                "(memory (export \"memory\") 300)",
            ),
            "does-not-start",
        ),
        (module(&[("init", "(loop $l (br $l))")]), "does-not-start"),
        (module(&[("init", "unreachable")]), "does-not-start"),
    ];
    for (text, code) in cases {
        let flaw = module_of(&text).unwrap_err();
        assert_eq!(flaw.code, code, "{flaw}");
        assert!(!flaw.message.is_empty() && !flaw.fix.is_empty());
    }
    let long = format!(
        "(module (memory 1) (data (i32.const 0) \"{}\"))",
        "a".repeat(MODULE_BYTES)
    );
    assert_eq!(module_of(&long).unwrap_err().code, "module-too-long");
    assert!(module_of(&good).is_ok());
}

proptest! {
    #![proptest_config(cases::cases(64))]

    /// Any bytes, also those of a module with some of them changed, are refused or run to an end.
    #[test]
    fn damaged_modules_are_refused_or_run_to_an_end(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)) {
        let mut bytes = wat::parse_str(GREETING).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(module) = Module::new(&bytes) {
            let _ = run(&module, &Options { secs: 2.0, size: [2, 2, 2], ..options() }, &mut |_| true);
        }
    }

    /// However a service spends its calls, a second of it burns no more than a second's fuel and
    /// what it had saved.
    #[test]
    fn fuel_is_bounded(millis in 1u32..50, rounds in 1u32..2_000_000, secs in 1u32..4) {
        let timer = format!(
            "(local $i i32) (call $set_timer (i32.const {millis})) (local.set $i (i32.const {rounds}))
             (loop $l (local.set $i (i32.sub (local.get $i) (i32.const 1))) (br_if $l (local.get $i)))"
        );
        let text = module(&[("neighbour", "(call $set_timer (i32.const 1))"), ("timer", &timer)]);
        let options = Options { size: [2, 1, 1], secs: secs.into(), ..options() };
        let report = whole(&module_of(&text).unwrap(), &options);
        prop_assert!(report.calls > 2);
        prop_assert!(report.fuel <= 2 * (FUEL_SAVED + u64::from(secs) * FUEL_PER_SEC));
    }
}

#[test]
fn an_instance_that_is_stopped_begins_anew_and_keeps_its_counters() {
    // Counts each packet, and traps at those to (0,0,0).
    let text = module(&[
        (
            "message",
            "(drop (call $route (i32.const 0) (local.get 0) (i32.load8_u (i32.const 0))))",
        ),
        (
            "F",
            "(call $count (i32.const 3) (i32.const 1)) (if (i32.eqz (local.get 0)) (then unreachable))",
        ),
    ]);
    let module = module_of(&text).unwrap();
    let mut service = UserService::new("counts", &module, Duration::ZERO).unwrap();
    let mut context = Alone::default();
    let mut ask = |millis: u64, key: u8| {
        context.now = Duration::from_millis(millis);
        let mut packet = Packet {
            key: [key, 0, 0],
            ..Packet::default()
        };
        service.route(&mut context, [key, 0, 0], &mut packet);
        service.counters().into_iter().collect::<BTreeMap<_, _>>()
    };
    for millis in 0..10 {
        assert_eq!(ask(millis, 0)["lost-trapped"], millis + 1);
    }
    let counts = ask(500, 1);
    assert_eq!(
        (counts["stops"], counts["lost-while-stopped"], counts["counter-3"]),
        (1, 1, 10)
    );
    let counts = ask(1100, 1);
    assert_eq!((counts["packets-delivered"], counts["counter-3"]), (1, 11));
}

/// A server without neighbours.
#[derive(Default)]
struct Alone {
    now: Duration,
}

impl Context for Alone {
    fn now(&self) -> Duration {
        self.now
    }
    fn here(&self) -> Key {
        [0; 3]
    }
    fn size(&self) -> [u32; 3] {
        [3; 3]
    }
    fn neighbour(&self, _: u8) -> Option<Key> {
        None
    }
    fn reachable(&self, _: Key) -> bool {
        false
    }
    fn version(&self) -> u64 {
        0
    }
    fn free_ports(&self) -> u8 {
        0
    }
    fn root_of(&self, _: Key) -> Option<Key> {
        Some([0; 3])
    }
    fn dist(&self, _: Key, _: Key) -> u32 {
        0
    }
    fn dist_axis(&self, _: Key, _: Key, _: usize) -> u32 {
        0
    }
    fn neighbour_key(&self, key: Key, _: usize, _: bool) -> Key {
        key
    }
    fn send(&mut self, _: u8, _: Packet) -> bool {
        false
    }
    fn route(&mut self, _: Packet) {}
    fn transmit(&mut self, _: Packet, _: &[Key]) {}
    fn journey(&self) -> Journey {
        Journey::default()
    }
    fn forward(&mut self, _: Packet, _: &[Key], _: u8, _: Journey) {}
    fn deliver(&mut self, _: Vec<u8>) {}
    fn reply(&mut self, _: ClientId, _: Vec<u8>) {}
    fn hang_up(&mut self, _: ClientId) {}
    fn max_payload(&self) -> usize {
        1400
    }
    fn waiting(&self) -> usize {
        0
    }
    fn random(&mut self) -> u64 {
        1
    }
    fn set_timer(&mut self, _: Duration) {}
    fn count(&mut self, _: &'static str, _: u64) {}
}

#[test]
fn a_trial_ends_when_nobody_wants_it_and_tells_how_far_it_is() {
    let module = module_of(GREETING).unwrap();
    let mut shares = Vec::new();
    let mut watched = |share: f64| {
        shares.push(share);
        shares.len() < 3
    };
    let large = Options {
        size: [10, 10, 10],
        ..options()
    };
    assert_eq!(run(&module, &large, &mut watched).unwrap(), None);
    assert_eq!(shares.len(), 3);
    assert!(
        shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)),
        "{shares:?}"
    );
}
