//! Forwarding schemes of the paper's Table 1 as programs, over several chips and step by step.

use cubeyard_chip::trace::Stage;
use cubeyard_chip::{Chip, EXTERNAL_PORTS, text};

use crate::common;
use common::{checksum_is_right, ipv4, mpls};

fn chip(program: &str) -> Chip {
    Chip::new(text::read(program).unwrap()).unwrap()
}

/// One chip's step: the port and the packet that leaves, and the stages that changed it.
fn step(chip: &mut Chip, in_port: u8, packet: &[u8]) -> (u8, Vec<u8>, Vec<Stage>) {
    let trace = chip.trace(in_port, packet).unwrap();
    assert_eq!(trace.outcome, "sent", "{}", trace.summary);
    let stages = trace
        .steps
        .iter()
        .filter(|step| step.after.is_some())
        .map(|step| step.stage);
    (
        trace.sent[0].port,
        common::bytes(&trace.sent[0].packet),
        stages.collect(),
    )
}

#[test]
fn a_stack_of_labels_is_the_path() {
    let program = include_str!("../programs/nisr-labels.chip");
    let inner = &ipv4(0x0a01_0005, 64, b"data")[14..];
    // Out of ports 2, 0, 3 of three switches, and then the last one's own.
    let mut packet = mpls(&[(18, 64), (16, 64), (19, 64)], inner);
    for (at, wanted) in [2, 0, 3].into_iter().enumerate() {
        let (port, left, stages) = step(&mut chip(program), 1, &packet);
        assert_eq!(port, wanted);
        assert!(stages.contains(&Stage::L3Modifier), "{stages:?}");
        let labels = 2 - at;
        assert_eq!(left.len(), 14 + 4 * labels + inner.len());
        packet = left;
    }
    assert_eq!(packet[12..14], [8, 0]);
    assert_eq!(packet[22], 61, "each of three hops has counted");
    assert!(checksum_is_right(&packet));
    assert_eq!(
        step(&mut chip(program), 3, &packet).0,
        EXTERNAL_PORTS + 3,
        "arrived"
    );
    let lost = chip(program).trace(0, &mpls(&[(15, 9)], inner)).unwrap();
    assert_eq!(lost.outcome, "discarded");
}

#[test]
fn tags_are_pushed_swapped_and_popped_along_a_path_and_mean_something_else_at_each_hop() {
    let hop = |lines: &str| chip(&format!("SetVIfTable(1, NULL, NULL, 1); {lines}"));
    let mut path = [
        hop(
            "SetLookupTable(LPM_IPV4, 0, 0, 10.1.0.0, 255.255.0.0, {act=REDIRECT_VIF, vif=1, mpls=PUSH, label=7});",
        ),
        hop(
            "SetLookupTable(EM_MPLS, 0, 0, 7, NULL, {act=REDIRECT_VIF, vif=1, mpls=SWAP, label=8});
             SetLookupTable(EM_MPLS, 1, 0, 8, NULL, {act=DISCARD});",
        ),
        hop("SetLookupTable(EM_MPLS, 0, 0, 7, NULL, {act=DISCARD});
             SetLookupTable(EM_MPLS, 1, 0, 8, NULL, {act=REDIRECT_VIF, vif=1, mpls=PUSH, label=9});"),
        hop("SetLookupTable(EM_MPLS, 0, 0, 9, NULL, {act=REDIRECT_VIF, vif=1, mpls=POP});"),
        hop("SetLookupTable(EM_MPLS, 0, 0, 8, NULL, {act=REDIRECT_VIF, vif=1, mpls=POP});"),
    ];
    let sent = ipv4(0x0a01_0005, 64, b"data");
    let mut packet = sent.clone();
    let mut lengths = Vec::new();
    for chip in &mut path {
        let (port, left, _) = step(chip, 0, &packet);
        assert_eq!(port, 1);
        lengths.push(left.len() as i64 - sent.len() as i64);
        packet = left;
    }
    assert_eq!(lengths, [4, 4, 8, 4, 0]);
    assert_eq!((packet[22], &packet[34..]), (59, &sent[34..]));
    assert!(checksum_is_right(&packet));
}

const SERVERS: u32 = 4;

fn mac(port: u8, id: u32) -> String {
    format!("02CB{port:02X}{id:06X}")
}

/// The server at the other end of a server's link of level 1, and itself as `(DCell, place)`: [i,
/// j - 1] and [j, i] for i < j.
fn across(cell: u32, place: u32) -> (u32, u32) {
    if place < cell {
        (place, cell - 1)
    } else {
        (place + 1, cell)
    }
}

/// The program of a server of a DCell(4,1).
fn dcell(cell: u32, place: u32) -> String {
    let id = cell * SERVERS + place;
    let mut text = "SetUDLK(1, (B12-13, B18-21));\n".to_owned();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for other in (0..SERVERS).filter(|&other| other != place) {
        let to = cell * SERVERS + other;
        line(format!(
            "SetVIfTable({other}, \"{}\", \"{}\", 0);",
            mac(0, to),
            mac(0, id)
        ));
    }
    let (far_cell, far_place) = across(cell, place);
    let far = far_cell * SERVERS + far_place;
    line(format!(
        "SetVIfTable(9, \"{}\", \"{}\", 1);",
        mac(1, far),
        mac(1, id)
    ));
    for other in (0..=SERVERS).filter(|&other| other != cell) {
        let by = if other < cell { other } else { other - 1 };
        let vif = if by == place { 9 } else { by };
        line(format!(
            "SetLookupTable(TCAM, {other}, 1, \"88b50000{other:02x}00\", \"ffffffffff00\", {{act=REDIRECT_VIF, vif={vif}}});"
        ));
    }
    for other in 0..SERVERS {
        let action = if other == place {
            "act=TO_CPU".to_owned()
        } else {
            format!("act=REDIRECT_VIF, vif={other}")
        };
        line(format!(
            "SetLookupTable(TCAM, {}, 1, \"88b50000{cell:02x}{other:02x}\", \"ffffffffffff\", {{{action}}});",
            10 + other
        ));
    }
    text
}

#[test]
fn dcell_forwards_by_destination_between_all_pairs() {
    let file = text::read(include_str!("../programs/dcell.chip")).unwrap();
    assert_eq!(file, text::read(&dcell(0, 0)).unwrap());
    let mut chips: Vec<Chip> = (0..20)
        .map(|id| chip(&dcell(id / SERVERS, id % SERVERS)))
        .collect();
    let mut hops_in_all = 0;
    for from in 0..20_u32 {
        for to in (0..20).filter(|&to| to != from) {
            let digits = |id: u32| [0, 0, (id / SERVERS) as u8, (id % SERVERS) as u8];
            let mut packet = vec![0; 14];
            packet[12..14].copy_from_slice(&[0x88, 0xb5]);
            packet.extend([1, 0, 0, 0]);
            packet.extend(digits(to));
            packet.extend(digits(from));
            packet.extend(b"data");
            let (mut at, mut in_port) = (from, EXTERNAL_PORTS);
            for hops in 0.. {
                assert!(
                    hops <= 3,
                    "{from} to {to}: a path of a DCell_1 has at most 2^2 - 1 links [dcell §4.2]"
                );
                let (port, left, _) = step(&mut chips[at as usize], in_port, &packet);
                if port >= EXTERNAL_PORTS {
                    assert_eq!((at, &left[22..]), (to, &packet[22..]), "{from} to {to}");
                    hops_in_all += hops;
                    break;
                }
                let next = left[..6]
                    .iter()
                    .skip(3)
                    .fold(0, |id, byte| id << 8 | u32::from(*byte));
                let (cell, place) = (at / SERVERS, at % SERVERS);
                match port {
                    0 => assert_eq!(next / SERVERS, cell, "the mini-switch reaches its own servers"),
                    _ => assert_eq!((next / SERVERS, next % SERVERS), across(cell, place)),
                }
                (at, in_port, packet) = (next, port, left);
            }
        }
    }
    // Of the 19 others: 3 in the own DCell, 1 directly linked, 3 + 3 with one more link on one
    // side, 9 with both.
    assert_eq!(hops_in_all, 20 * (3 + 1 + 2 * 6 + 3 * 9));
}
