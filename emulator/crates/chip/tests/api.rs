//! The paper's calls on a running chip: over its program, over a socket's bytes, and never half.

use std::collections::BTreeMap;

use cubeyard_chip::api::{self, HEAD_BYTES, Limits, MAX_MESSAGE_BYTES, Session, answer, request};
use cubeyard_chip::{Chip, Frame, Place, Program, ServerSwitch, Table, text};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common;
use common::ipv4;

const BASE: &str = "SetUDLK(1, (B30-33)); SetVIfTable(1, \"020000000001\", NULL, 1);
    SetLookupTable(TCAM, 0, 1, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=1});
    SetLookupTable(TCAM, 5, 1, 10.9.0.0, 255.255.0.0, {act=TO_CPU});";
const LIMITS: Limits = Limits {
    packet_bytes: 1514,
    ports: 0b11,
    part_bytes: 400,
};

fn switch() -> ServerSwitch {
    let mut switch = ServerSwitch::new();
    switch.load(text::read(BASE).unwrap()).unwrap();
    switch
}

fn ports(switch: &mut ServerSwitch, destination: u32) -> Vec<u8> {
    let mut left = Vec::new();
    let mut frame = Frame::new(&ipv4(destination, 9, b"")).unwrap();
    let _ = switch
        .receive_beside(0, &mut frame, &mut |port, _| left.push(port))
        .unwrap();
    left
}

fn ask(session: &mut Session, switch: &mut ServerSwitch, kind: u8, body: &[u8]) -> Result<Vec<u8>, String> {
    let asked = api::message(kind, 77, &[body]);
    assert_eq!(api::next_message(&asked).unwrap(), Some(asked.len()));
    let answered = session.handle(&asked[4..], &LIMITS, switch, &mut |_, _| {});
    assert!(answered.cost > 0);
    let bytes = answered.bytes;
    assert_eq!(api::next_message(&bytes).unwrap(), Some(bytes.len()));
    assert_eq!(bytes[5..9], 77_u32.to_le_bytes());
    let body = bytes[4 + HEAD_BYTES..].to_vec();
    match bytes[4] {
        answer::DONE => Ok(body),
        answer::REFUSED => Err(String::from_utf8(body).unwrap()),
        other => panic!("answer of kind {other}"),
    }
}

#[test]
fn calls_stay_over_a_program_that_is_made_again() {
    let mut switch = switch();
    switch
        .execute("SetLookupTable(TCAM, 9, 1, 10.1.0.7, NULL, {act=TO_CPU});")
        .unwrap();
    assert_eq!(
        ports(&mut switch, 0x0a01_0007),
        [0_u8; 0],
        "to whoever has set the entry"
    );
    assert_eq!(switch.recv_packet().unwrap().0, 4);
    assert_eq!(ports(&mut switch, 0x0a09_0001), [4], "to the program's own CPU");
    assert!(switch.recv_packet().is_none());
    let again = BASE.replace("SetLookupTable(TCAM, 0", "SetLookupTable(TCAM, 3");
    switch.rebase(text::read(&again).unwrap()).unwrap();
    assert_eq!(ports(&mut switch, 0x0a01_0007), [0_u8; 0]);
    assert_eq!(switch.recv_packet().unwrap().0, 4);
    assert_eq!(
        switch.chip().hits()[&Place {
            table: Table::Tcam,
            i: 9
        }],
        2,
        "hits go on"
    );
    switch.load(text::read(BASE).unwrap()).unwrap();
    assert_eq!(
        ports(&mut switch, 0x0a01_0007),
        [1],
        "a whole program replaces what calls have set"
    );
}

#[test]
fn an_entry_waits_for_its_interface_and_gives_way_to_the_programs_own_value() {
    let mut switch = switch();
    switch
        .execute(
            "SetLookupTable(TCAM, 9, 1, 10.1.0.7, NULL, {act=REDIRECT_VIF, vif=1});
             SetLookupTable(EM_IPV4, 4, 0, 11.0.0.1, NULL, {act=REDIRECT_PORT, port=0});",
        )
        .unwrap();
    let bare =
        "SetUDLK(1, (B30-33)); SetLookupTable(EM_IPV4, 0, 0, 11.0.0.1, NULL, {act=REDIRECT_PORT, port=1});";
    switch.rebase(text::read(bare).unwrap()).unwrap();
    assert_eq!(ports(&mut switch, 0x0a01_0007), [0_u8; 0]);
    assert_eq!(ports(&mut switch, 0x0b00_0001), [1]);
    switch.rebase(text::read(BASE).unwrap()).unwrap();
    assert_eq!(ports(&mut switch, 0x0a01_0007), [1]);
    assert_eq!(ports(&mut switch, 0x0b00_0001), [0]);
}

#[test]
fn calls_take_effect_whole_or_not_at_all_and_are_taken_back() {
    let mut switch = switch();
    let before = switch.chip().program().clone();
    let half = "SetLookupTable(TCAM, 9, 1, 10.1.0.7, NULL, {act=DISCARD}); SetLookupTable(TCAM, 2048, 1, 10.1.0.8, NULL, {act=DISCARD});";
    for (calls, code) in [
        (half, "table-full"),
        (
            "SetLookupTable(TCAM, 9, 1, 10.1.0.7, NULL, {act=REDIRECT_VIF, vif=7});",
            "vif-unset",
        ),
        ("SetUDLK(1, (B0-5));", "udlk-used"),
        ("SetUDLK(2, (B126-129));", "udlk-range"),
        ("SetProfile(extended);", "profile-live"),
        ("ClearLookupTable(TCAM, 0);", "entry-not-own"),
        ("ClearVIfTable(1);", "entry-not-own"),
        ("{\"profile\": \"bcm56338\"}", "calls"),
        ("for (i = 0; i < 99999; i++) { j = 1; }", "too-long"),
    ] {
        let flaws = switch.execute(calls).unwrap_err();
        if code == "udlk-range" {
            assert!(flaws[0].message.contains("B126"), "{flaws:?}");
        } else {
            assert_eq!(flaws[0].code, code, "{calls}");
        }
        assert_eq!(*switch.chip().program(), before, "{calls}");
    }
    switch
        .execute(
            "SetLookupTable(TCAM, 0, 1, 10.0.0.0, 255.0.0.0, {act=DISCARD}); SetVIfTable(1, NULL, NULL, 0);",
        )
        .unwrap();
    assert_eq!(ports(&mut switch, 0x0a01_0007), [0_u8; 0]);
    switch.execute("ClearLookupTable(TCAM, 0);").unwrap();
    assert_eq!(ports(&mut switch, 0x0a01_0007), [0]);
    switch.execute("ClearVIfTable(1);").unwrap();
    assert_eq!(*switch.chip().program(), before);
    assert!(
        text::read("ClearVIfTable(1);").unwrap_err()[0]
            .message
            .contains("running chip")
    );
}

#[test]
fn a_session_answers_every_request() {
    let (mut session, mut switch) = (Session::default(), switch());
    let set = b"SetLookupTable(TCAM, 9, 1, 10.1.0.7, NULL, {act=TO_CPU});";
    assert_eq!(
        ask(&mut session, &mut switch, request::CALLS, set),
        Ok(Vec::new())
    );
    let packet = ipv4(0x0a01_0007, 9, b"data");
    let sent = [&[4][..], &packet].concat();
    assert_eq!(ask(&mut session, &mut switch, request::SEND, &sent), Ok(vec![0]));
    assert_eq!(switch.recv_packet(), Some((4, packet.clone())));
    let traced = ask(&mut session, &mut switch, request::TRACE, &sent).unwrap();
    let traced: serde_json::Value = serde_json::from_slice(&traced).unwrap();
    assert_eq!(traced["sent"][0]["port"], 4);
    assert!(switch.recv_packet().is_none(), "a trace sends nothing");
    let read = ask(&mut session, &mut switch, request::READ, b"IN_PACKETS_PORT4");
    assert_eq!(read, Ok(1_u64.to_le_bytes().to_vec()), "and counts nothing");
    let clear = [&0_u64.to_le_bytes()[..], b"IN_PACKETS_PORT4"].concat();
    assert_eq!(
        ask(&mut session, &mut switch, request::WRITE, &clear),
        Ok(Vec::new())
    );
    assert_eq!(
        ask(&mut session, &mut switch, request::READ, b"IN_PACKETS_PORT4"),
        Ok(vec![0; 8])
    );
    session.keep(5, &packet);
    let taken = ask(&mut session, &mut switch, request::TAKE, b"").unwrap();
    assert_eq!(
        taken,
        [&(packet.len() as u16).to_le_bytes()[..], &[5], &packet].concat()
    );
    assert!(!session.listens());
    ask(&mut session, &mut switch, request::LISTEN, &[1]).unwrap();
    assert!(session.listens());
    for form in [0, 1] {
        let mut whole = Vec::new();
        loop {
            let at = [&(whole.len() as u32).to_le_bytes()[..], &[form]].concat();
            let part = ask(&mut session, &mut switch, request::TABLES, &at).unwrap();
            assert!(part.len() <= 4 + LIMITS.part_bytes);
            whole.extend(&part[4..]);
            if whole.len() == u32::from_le_bytes(*part.first_chunk().unwrap()) as usize {
                break;
            }
        }
        let whole = String::from_utf8(whole).unwrap();
        if form == 0 {
            assert_eq!(text::read(&whole).unwrap(), *switch.chip().program());
        } else {
            let rows: serde_json::Value = serde_json::from_str(&whole).unwrap();
            let entry = &rows["entries"][2];
            assert_eq!(
                (&entry["i"], &entry["own"], &entry["hits"]),
                (&9.into(), &true.into(), &1.into())
            );
            assert_eq!(rows["vifs"][0]["oport"], 1);
        }
    }
}

#[test]
fn what_is_not_allowed_is_refused_in_words() {
    let (mut session, mut switch) = (Session::default(), switch());
    let packet = ipv4(0x0a01_0007, 9, b"");
    let long = vec![0; 1515];
    for (kind, body, said) in [
        (
            request::SEND,
            [&[2][..], &packet].concat(),
            "port-range\noport is 2, but must be one of 0, 1, 4, 5, 6, 7.",
        ),
        (request::SEND, [&[200][..], &packet].concat(), "port-range\n"),
        (
            request::SEND,
            [&[0][..], &long].concat(),
            "packet-length\npkt is 1515 bytes, but must be 14 to 1514 bytes.",
        ),
        (request::SEND, vec![0; 14], "packet-length\n"),
        (request::SEND, vec![], "malformed\n"),
        (request::TRACE, [&[9][..], &packet].concat(), "port-range\n"),
        (request::TRACE, vec![0; 9000], "packet-long\n"),
        (request::READ, b"NOTHING".to_vec(), "register-unknown\n"),
        (request::READ, vec![0xff], "utf8\n"),
        (
            request::WRITE,
            [&5_u64.to_le_bytes()[..], b"OUTPUT_QUEUE_BYTES_PORT0"].concat(),
            "register-read-only\n",
        ),
        (request::WRITE, vec![1], "malformed\n"),
        (request::LISTEN, vec![2], "malformed\n"),
        (request::TABLES, vec![0, 0, 0, 0, 9], "malformed\n"),
        (request::TABLES, vec![1, 0, 0, 0, 0], "offset\n"),
        (
            request::CALLS,
            b"SetEverything(1);".to_vec(),
            "call-unknown\nline 1, column 1: ",
        ),
        (99, vec![], "request\nkind is 99, but must be 1 to 8."),
    ] {
        let refused = ask(&mut session, &mut switch, kind, &body).unwrap_err();
        assert!(refused.starts_with(said), "{refused:?} instead of {said:?}");
    }
    for length in [0_u32, 4, MAX_MESSAGE_BYTES as u32 + 1, u32::MAX] {
        assert_eq!(
            api::next_message(&length.to_le_bytes()).unwrap_err().code,
            "message-length"
        );
    }
    assert_eq!(api::next_message(&[1, 0]).unwrap(), None);
}

proptest! {
    /// Any bytes get an answer or none, and leave the chip as a program can be.
    #[test]
    fn no_request_breaks_a_session(requests in vec((0..10_u8, vec(any::<u8>(), 0..80)), 1..20)) {
        let (mut session, mut switch) = (Session::default(), switch());
        for (kind, body) in requests {
            let asked = api::message(kind, 1, &[&body]);
            let answered = session.handle(&asked[4..], &LIMITS, &mut switch, &mut |_, _| {});
            prop_assert!(api::next_message(&answered.bytes).unwrap().is_some());
        }
        prop_assert!(switch.chip().program().check().is_empty());
    }

    /// Calls one by one, in one text, and as a program give the same tables, for any order of
    /// indices.
    #[test]
    fn calls_add_up_to_a_program(rows in vec((0..40_u32, any::<[u8; 4]>(), 0..4_u8), 0..30)) {
        let rows: BTreeMap<u32, ([u8; 4], u8)> = rows.into_iter().map(|(i, value, port)| (i, (value, port))).collect();
        let lines: Vec<String> = rows.iter().map(|(i, (value, port))| {
            let [a, b, c, d] = value;
            format!("SetLookupTable(TCAM, {i}, 1, {a}.{b}.{c}.{d}, NULL, {{act=REDIRECT_PORT, port={port}}});")
        }).collect();
        let head = "SetUDLK(1, (B30-33));";
        let program = text::read(&format!("{head}{}", lines.concat())).unwrap();
        let (mut single, mut at_once) = (ServerSwitch::new(), ServerSwitch::new());
        single.execute(head).unwrap();
        for line in &lines {
            single.execute(line).unwrap();
        }
        at_once.execute(&format!("{head}{}", lines.concat())).unwrap();
        prop_assert_eq!(single.chip().program(), &program);
        prop_assert_eq!(at_once.chip().program(), &program);
        let mut over = ServerSwitch::new();
        over.load(Program::default()).unwrap();
        over.execute(&format!("{head}{}", lines.concat())).unwrap();
        over.rebase(Program::default()).unwrap();
        prop_assert_eq!(over.chip().program(), &program);
        for (value, _) in rows.values() {
            let packet = ipv4(u32::from_be_bytes(*value), 9, b"");
            let mut sent = Vec::new();
            let mut frame = Frame::new(&packet).unwrap();
            let mut model = Chip::new(program.clone()).unwrap();
            let _ = model.receive(0, &mut frame, &mut |port, _| sent.push(port)).unwrap();
            let mut left = Vec::new();
            let mut frame = Frame::new(&packet).unwrap();
            let _ = single.receive(0, &mut frame, &mut |port, _| left.push(port)).unwrap();
            prop_assert_eq!(&left, &sent);
        }
    }
}
