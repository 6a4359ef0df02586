//! Services in processes, in virtual time: a greeting in a process acts like the same greeting in a
//! module, and for any answer, or none, a process loses only its own packets, a bounded number of
//! them, counted by reason.

#![allow(clippy::unwrap_used)]

#[path = "../../topology/tests/cases.rs"]
mod cases;

use std::time::Duration;

use cubeyard_sandbox::Module;
use cubeyard_sandbox::limits::{FUEL_PER_SEC, FUEL_SAVED, PROCESS_ANSWER_BYTES};
use cubeyard_sandbox::trial::{Options, Report, run, run_process};
use proptest::prelude::*;

const GREETING: &str = include_str!("../../../../backend/cubeyard/cli/service_templates/greeting.wat");
/// Length of the part that all calls have in common.
const HEAD: usize = 30;

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

/// Runs a trial with a process whose `act` maps a call's kind and data to an outcome and actions.
fn trial(mut act: impl FnMut(u8, &[u8]) -> Vec<u8>) -> Report {
    let answer = |call: &[u8]| Ok(Some([&call[5..9], &act(call[0], &call[HEAD..])].concat()));
    run_process(answer, &options()).unwrap()
}

fn action(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32).to_le_bytes()[..], body].concat()
}

/// A packet of the call, or another, to one key in a queue.
fn keyed(kind: u8, queue: u8, key: [u8; 3], payload: &[u8]) -> Vec<u8> {
    action(kind, &[&[queue, 0, 0, 1], &key[..], payload].concat())
}

const FORWARD: u8 = 0;
const TRANSMIT: u8 = 1;
const ANSWER: u8 = 3;
const TIMER: u8 = 4;
const DELIVERED: u8 = 7;
const DONE: [u8; 1] = [0];

/// The greeting of the templates.
fn greeting(kind: u8, body: &[u8]) -> Vec<u8> {
    let end = |text: &[u8]| [&DONE[..], &action(DELIVERED, &[]), &action(ANSWER, text)].concat();
    match kind {
        2 if body[2] & 1 == 0 => [
            &DONE[..],
            &keyed(FORWARD, 0, [body[3], body[4], body[5]], &body[8..]),
        ]
        .concat(),
        2 => end(&body[8..]),
        3 => {
            let digits = [body[0], body[2], body[4]].map(|digit| digit - b'0');
            [&DONE[..], &keyed(TRANSMIT, 0, digits, &body[6..])].concat()
        }
        _ => DONE.to_vec(),
    }
}

fn lost(report: &Report, reason: &str) -> u64 {
    report.lost.get(reason).copied().unwrap_or(0)
}

#[test]
fn a_process_does_what_a_module_does() {
    let module = Module::new(&wat::parse_str(GREETING).unwrap()).unwrap();
    let (in_module, in_process) = (whole(&module, &options()), trial(greeting));
    let of = |report: &Report| {
        (
            report.carried,
            report.delivered,
            report.hops.clone(),
            report.lost.clone(),
            report
                .said
                .iter()
                .map(|(_, server, said)| (server.clone(), said.clone()))
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(of(&in_process), of(&in_module));
    assert_eq!(in_process, trial(greeting));
}

#[test]
fn one_that_says_nothing_is_late_and_stopped_for_longer_each_time() {
    let mut begun = 0;
    let report = run_process(
        |call| {
            begun += u64::from(call[0] == 0);
            Ok(None)
        },
        &Options {
            secs: 100.0,
            ..options()
        },
    );
    let report = report.unwrap();
    // 30 s for its first answer, then a stop of 1 s, and so on: at 0, 31, 63 and 97 s.
    assert_eq!((begun, lost(&report, "stops")), (27 * 4, 27 * 3));
    assert_eq!(report.delivered, 0);
    // The calls that it received: init, network, neighbours, and one message.
    assert_eq!(lost(&report, "lost-late"), 27 * (3 * 8 + 1));
}

#[test]
fn one_that_stops_reading_loses_what_it_has_and_what_comes_later() {
    let report = run_process(
        |call| {
            let silent = call[0] == 3;
            Ok((!silent).then(|| [&call[5..9], &DONE].concat()))
        },
        &options(),
    );
    let report = report.unwrap();
    assert_eq!((lost(&report, "lost-late"), lost(&report, "stops")), (27, 27));
}

#[test]
fn nonsense_failures_and_what_it_may_not_ask_for_are_lost_by_reason() {
    let message = |said: Vec<u8>| trial(move |kind, _| if kind == 3 { said.clone() } else { DONE.to_vec() });
    for nonsense in [
        vec![9],
        Vec::new(),
        [&DONE[..], &[4]].concat(),
        // There is no packet to forward.
        [&DONE[..], &keyed(FORWARD, 0, [1; 3], b"x")].concat(),
        vec![0; PROCESS_ANSWER_BYTES],
    ] {
        let report = message(nonsense);
        assert_eq!(
            (lost(&report, "lost-wrong-answer"), lost(&report, "stops")),
            (27, 27),
            "{:?}",
            report.lost
        );
    }
    let report = message(vec![2]);
    assert_eq!((lost(&report, "lost-failed"), lost(&report, "stops")), (27, 0));
    // A queue that there is not, a key outside, a packet longer than one may be, more packets than
    // one call may send.
    let one = |said: Vec<u8>| message([&DONE[..], &said].concat());
    // A greeting to the server itself waits in no queue.
    assert_eq!(
        lost(&one(keyed(TRANSMIT, 99, [1; 3], b"x")), "packets-without-room"),
        26
    );
    assert_eq!(
        lost(&one(keyed(TRANSMIT, 0, [9; 3], b"x")), "packets-dropped"),
        27
    );
    assert_eq!(
        lost(&one(keyed(TRANSMIT, 0, [1; 3], &[0; 9000])), "packets-dropped"),
        26
    );
    assert_eq!(
        lost(
            &one(keyed(TRANSMIT, 0, [1; 3], b"x").repeat(20)),
            "lost-too-many-sent"
        ),
        27 * 4
    );
}

#[test]
fn one_that_always_fails_is_stopped() {
    let report = trial(|kind, _| match kind {
        5 => [&DONE[..], &action(TIMER, &1u32.to_le_bytes())].concat(),
        4 => vec![2],
        _ => DONE.to_vec(),
    });
    // A timer that failed is not set again.
    assert_eq!((lost(&report, "lost-failed"), lost(&report, "stops")), (27, 0));
    let report = trial(|_, _| vec![2]);
    // Eight calls describe its network and a message is the ninth: the process is stopped at the
    // tenth call within a second.
    assert_eq!(
        (lost(&report, "lost-failed"), lost(&report, "stops")),
        (27 * 9, 0)
    );
}

#[test]
fn one_that_floods_and_amplifies_is_held_to_its_fuel() {
    let flood = keyed(TRANSMIT, 0, [1, 1, 0], &[7; 1000]).repeat(15);
    let timer = action(TIMER, &1u32.to_le_bytes());
    let options = Options {
        size: [2, 2, 1],
        secs: 1.0,
        ..options()
    };
    let act = |kind: u8| match kind {
        // Each arrival makes many more.
        2 | 4 | 5 => [&DONE[..], &timer, &flood].concat(),
        _ => DONE.to_vec(),
    };
    let report = run_process(
        |call| Ok(Some([&call[5..9], &act(call[0])[..]].concat())),
        &options,
    )
    .unwrap();
    assert!(lost(&report, "lost-over-budget") > 0, "{:?}", report.lost);
    assert!(
        report.fuel <= 4 * (FUEL_SAVED + 2 * FUEL_PER_SEC),
        "{}",
        report.fuel
    );
}

#[test]
fn a_packet_to_the_server_itself_for_ever_is_counted() {
    let to = [1; 3];
    let report = trial(|kind, body| match kind {
        2 => [&DONE[..], &keyed(FORWARD, 0, to, &body[8..])].concat(),
        3 => [&DONE[..], &keyed(TRANSMIT, 0, to, b"x")].concat(),
        _ => DONE.to_vec(),
    });
    assert_eq!(
        (lost(&report, "packets-looping"), report.delivered),
        (27, 0),
        "{:?}",
        report.lost
    );
}

#[test]
fn what_its_process_raises_ends_a_trial() {
    let mut calls = 0;
    let report = run_process(
        |call| {
            calls += 1;
            (calls < 100)
                .then(|| Some([&call[5..9], &DONE].concat()))
                .ok_or_else(|| Module::new(b"").unwrap_err())
        },
        &options(),
    );
    assert!(report.is_err());
    assert_eq!(calls, 100);
}

proptest! {
    #![proptest_config(cases::cases(64))]

    /// For any answers of a process, a trial ends, and its calls are within its fuel.
    #[test]
    fn any_answers_end(answers in prop::collection::vec(prop::collection::vec(0u8..8, 0..60), 1..20), secs in 1u32..4) {
        let mut next = answers.iter().cycle();
        let options = Options { size: [2, 2, 1], secs: secs.into(), ..options() };
        let report = run_process(
            |call| Ok(Some([&call[5..9], next.next().unwrap()].concat())),
            &options,
        ).unwrap();
        prop_assert!(report.fuel <= 4 * (FUEL_SAVED + u64::from(secs) * FUEL_PER_SEC));
        prop_assert!(Duration::from_secs_f64(report.secs) <= Duration::from_secs(4));
    }
}
