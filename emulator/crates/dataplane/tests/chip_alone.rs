//! The chip in the kernel without a protocol. Random programs with all tables and actions treat
//! random packets like the model does: same port, bytes, hits and registers.

use crate::bcube_common as common;
use crate::bcube_kernel as kernel;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard};

use crate::kernel_run::{TC_ACT_OK, TC_ACT_REDIRECT, TC_ACT_SHOT, can_run};
use common::Vectors;
use cubeyard_chip::action::RawAction;
use cubeyard_chip::compile::compile;
use cubeyard_chip::{
    Action, COUNTERS, Chip, EXTERNAL_PORTS, Field, Forward, Frame, Mpls, Place, Profile, Program, Register,
    Table, Verdict,
};
use cubeyard_dataplane::chip_tables::ChipTables;
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::object::Translate;
use kernel::FastPath;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const INTERFACES: u16 = 6;
/// Number of different addresses, labels and MACs; few, so that packets match entries.
const FEW: u8 = 4;

/// Table, index, low byte of the value, length of a prefix, bytes and masks of a key, action.
type Row = (Table, u32, u8, u8, Vec<(u8, u8)>, Action);

fn action() -> impl Strategy<Value = Action> {
    let forward = prop_oneof![
        8 => (0..INTERFACES).prop_map(Forward::Vif),
        2 => (0..8_u8).prop_map(Forward::Port),
        1 => Just(Forward::ToCpu),
        1 => Just(Forward::Discard),
        2 => (1..=255_u8).prop_map(Forward::Duplicate),
        3 => (0..8_u8).prop_map(Forward::Mirror),
    ];
    let label = prop_oneof![Just(3_u32), Just(0x0a_0001), Just((1 << 20) - 1)];
    let mpls = prop_oneof![
        label.clone().prop_map(Mpls::Push),
        Just(Mpls::Pop),
        label.prop_map(Mpls::Swap),
    ];
    let rarely = |range: std::ops::Range<u8>| prop::option::weighted(0.2, range);
    (
        forward,
        rarely(0..8),
        rarely(0..64),
        prop::option::weighted(0.4, mpls),
        rarely(14..128),
    )
        .prop_map(|(forward, mirror, dscp, mpls, count_up)| {
            let changes = matches!(forward, Forward::Vif(_));
            Action {
                mirror: mirror.filter(|_| !matches!(forward, Forward::Mirror(_))),
                dscp: dscp.filter(|_| changes),
                mpls: mpls.filter(|_| changes),
                count_up: count_up.filter(|_| changes),
                ..Action::to(forward)
            }
        })
}

fn row() -> impl Strategy<Value = Row> {
    let table = prop::sample::select(Table::ALL.to_vec());
    let byte = prop_oneof![0..FEW, Just(8), Just(0x45), Just(0x88), Just(0x47), any::<u8>()];
    let mask = prop_oneof![12 => Just(0_u8), 3 => Just(0xff), 1 => Just(0x03)];
    (
        table,
        0..200_u32,
        0..FEW,
        0..=32_u8,
        vec((byte, mask), 9),
        action(),
    )
}

fn program(rows: &[Row], switches: [bool; 3]) -> Program {
    let mut program = Program::new(Profile::Extended);
    program
        .set_udlk(1, vec![Field::InPort, Field::Bytes(10, 17)])
        .unwrap();
    for i in 0..u64::from(INTERFACES) {
        let mac = [2, 0xcb, i as u8, 0, 0, 9];
        let (dmac, smac) = ((i != 2).then_some(&mac[..]), (i != 3).then_some(&mac[..]));
        program.set_vif_table(i, dmac, smac, i).unwrap();
    }
    for (table, i, low, length, key, action) in rows {
        let bits = u32::MAX
            .checked_shl(32 - u32::from(*length))
            .unwrap_or(0)
            .to_be_bytes();
        let (bytes, mask): (Vec<u8>, Vec<u8>) = key.iter().copied().unzip();
        // A value occurs only once in a table of exact matches or prefixes, because its index
        // follows from it.
        let (i, value, mask) = match table {
            Table::Tcam => (*i, bytes, Some(&mask[..])),
            Table::EmMac => ((*low).into(), vec![2, 0, 0, 0, 0, *low], None),
            Table::EmIpv4 => ((*low).into(), vec![10, 0, 0, *low], None),
            Table::EmMpls => ((*low).into(), vec![0, 0, *low], None),
            Table::LpmIpv4 => {
                let i = u32::from(*length) * u32::from(FEW) + u32::from(*low & bits[3]);
                (i, vec![10, 0, 0, *low], Some(&bits[..]))
            }
        };
        let action = RawAction::from(action);
        program
            .set_lookup_table(*table, i.into(), 1, &value, mask, &action)
            .unwrap();
    }
    let registers = [Register::L3Enable, Register::MplsEnable, Register::MissToCpu];
    for (register, on) in registers.into_iter().zip(switches) {
        program.set_register(register, on.into()).unwrap();
    }
    program
}

/// An IPv4 header with options in some packets, and sometimes damaged.
fn ipv4() -> impl Strategy<Value = Vec<u8>> {
    let ttl = prop_oneof![4 => 0..4_u8, 4 => Just(64), 1 => any::<u8>()];
    let damage = prop::option::weighted(0.1, (0..20_usize, any::<u8>()));
    (
        0..FEW,
        ttl,
        any::<u8>(),
        prop_oneof![5 => Just(0_u8), 1 => 1..=10_u8],
        damage,
    )
        .prop_map(|(low, ttl, tos, options, damage)| {
            let length = 20 + 4 * usize::from(options);
            let mut packet = vec![0_u8; length + 30];
            packet[..4].copy_from_slice(&[0x45 + options, tos, 0, length as u8 + 30]);
            (packet[8], packet[9]) = (ttl, 17);
            packet[12..20].copy_from_slice(&[10, 0, 9, 9, 10, 0, 0, low]);
            let sum = !cubeyard_chip::frame::ones_complement_sum(&packet[..length]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            if let Some((at, change)) = damage {
                packet[at] ^= change;
            }
            packet
        })
}

fn packet() -> impl Strategy<Value = Vec<u8>> {
    let entry = (0..FEW, prop_oneof![0..4_u8, Just(64)]);
    let ipv6 = any::<u8>().prop_map(|hops| {
        let mut packet = vec![0_u8; 60];
        (packet[0], packet[5], packet[7]) = (0x60, 20, hops);
        packet
    });
    let inner = prop_oneof![6 => ipv4(), 1 => ipv6, 1 => vec(any::<u8>(), 40..60)];
    (
        0..FEW,
        prop_oneof![3 => Just(vec![]), 2 => vec(entry, 1..4)],
        inner,
        any::<bool>(),
    )
        .prop_map(|(mac, labels, inner, other)| {
            let kind = match inner[0] >> 4 {
                _ if !labels.is_empty() => [0x88, 0x47],
                _ if other => [0x12, 0x34],
                6 => [0x86, 0xdd],
                _ => [8, 0],
            };
            let mut frame = vec![2, 0, 0, 0, 0, mac, 2, 0, 0, 0, 9, 9, kind[0], kind[1]];
            for (at, (label, ttl)) in labels.iter().enumerate() {
                let bottom = u32::from(at + 1 == labels.len()) << 8;
                frame.extend((u32::from(*label) << 12 | bottom | u32::from(*ttl)).to_be_bytes());
            }
            frame.extend(inner);
            frame
        })
}

/// Hits by table and index, as shown by an inspection.
fn hits_told(tables: &ChipTables, fast_path: &mut FastPath) -> BTreeMap<(String, u64), u64> {
    let told = RefCell::new(fast_path);
    let sections = tables.inspect(
        &|table, key| told.borrow_mut().chip_entry(table, key),
        &[0; COUNTERS],
    );
    let row = |row: &Vec<Cell>| match (&row[0], row.get(2), &row[1]) {
        (Cell::Count(index), Some(Cell::Text(table)), Cell::Count(hits)) => {
            Some(((table.clone(), *index), *hits))
        }
        (Cell::Count(index), Some(Cell::Count(_)), Cell::Count(hits)) => {
            Some((("TCAM".to_owned(), *index), *hits))
        }
        _ => None,
    };
    sections
        .iter()
        .flat_map(|section| section.rows.iter().filter_map(row))
        .collect()
}

/// The chip that all tests of this file share, after a reset, with its tables' contents. Shared,
/// because the kernel takes a second of a processor to verify it.
fn chip() -> Option<MutexGuard<'static, (FastPath, ChipTables)>> {
    static CHIP: LazyLock<Option<Mutex<(FastPath, ChipTables)>>> = LazyLock::new(|| {
        let vectors = Vectors::read();
        let chip = FastPath::load_chip(vectors.servers.values().next().unwrap())?;
        Some(Mutex::new((chip, ChipTables::default())))
    });
    let mut chip = CHIP.as_ref()?.lock().unwrap();
    chip.0.forget_punts();
    (0..u32::from(EXTERNAL_PORTS)).for_each(|port| chip.0.lead_out(port));
    Some(chip)
}

#[test]
fn the_kernel_does_with_any_packet_what_the_model_does() {
    let Some(mut chip) = chip() else {
        return;
    };
    let (fast_path, tables) = &mut *chip;
    let runs = RefCell::new((fast_path, tables, BTreeMap::<&str, u64>::new()));
    TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    })
    .run(
        &(
            vec(row(), 0..40),
            any::<[bool; 3]>(),
            0..4_u8,
            vec(packet(), 1..24),
        ),
        |(rows, [l3, mpls, miss], in_port, packets)| {
            let (fast_path, tables, seen) = &mut *runs.borrow_mut();
            // In some cases one of the two switches is off.
            let program = program(&rows, [l3 || mpls, mpls || miss, miss]);
            for update in tables.commit(&program).unwrap() {
                fast_path.write(&update);
            }
            for port in 0..u32::from(EXTERNAL_PORTS) {
                fast_path.lead_out(port);
            }
            fast_path.come_in_by(in_port.into());
            let mut model = Chip::new(program).unwrap();
            let before = fast_path.counters();
            for packet in packets.into_iter().filter(|packet| can_run(packet)) {
                let (mut frame, mut left) = (Frame::new(&packet).unwrap(), Vec::new());
                let verdict = model
                    .receive(in_port, &mut frame, &mut |port, bytes| {
                        left.push((port, bytes.to_vec()));
                    })
                    .unwrap();
                fast_path.forget_punts();
                let (action, bytes) = fast_path.run_chip(&packet);
                let mut copies = fast_path.punts();
                *seen
                    .entry(match verdict {
                        Verdict::Sent => "sent",
                        Verdict::Discarded(reason) => reason.name(),
                    })
                    .or_default() += 1;
                if verdict == Verdict::Sent {
                    let (port, last) = left.pop().unwrap();
                    // Here a packet that departs by its port of arrival goes to the loopback
                    // interface.
                    let expected = if port < EXTERNAL_PORTS {
                        TC_ACT_REDIRECT
                    } else {
                        TC_ACT_OK
                    };
                    prop_assert_eq!(action, expected, "{:02x?}", packet);
                    prop_assert_eq!(bytes, last, "{:02x?}", packet);
                } else {
                    prop_assert_eq!(action, TC_ACT_SHOT, "{:?} {:02x?}", verdict, packet);
                }
                left.retain(|(port, _)| *port >= EXTERNAL_PORTS);
                *seen.entry("copies").or_default() += left.len() as u64;
                copies.sort();
                left.sort();
                prop_assert_eq!(copies, left);
            }
            let counted: Vec<u64> = fast_path
                .counters()
                .iter()
                .zip(before)
                .map(|(after, before)| after - before)
                .collect();
            for register in Register::all() {
                if let Some(slot) = register.slot() {
                    prop_assert_eq!(counted[slot], model.read_register(register), "{}", register);
                }
            }
            let hits = model.hits().into_iter();
            let hits: BTreeMap<_, _> = hits
                .map(|(place, hits)| ((place.table.name().to_owned(), place.i.into()), hits))
                .collect();
            prop_assert_eq!(hits_told(tables, fast_path), hits);
            Ok(())
        },
    )
    .unwrap();
    // A typical run of 256 cases produces at least three times these numbers.
    let (cases, seen) = (u64::from(Config::default().cases), &runs.borrow().2);
    for (what, least) in [
        ("sent", 600),
        ("copies", 200),
        ("no-match", 150),
        ("not-applicable", 100),
        ("ttl", 40),
        ("malformed", 20),
        ("action", 20),
        ("ip-checksum", 10),
    ] {
        assert!(
            seen.get(what).is_some_and(|count| *count * 256 >= least * cases),
            "{what}: {seen:?}"
        );
    }
}

/// The precedence TCAM > EM > LPM [serverswitch §4.1], for every subset of these tables with a
/// matching entry.
#[test]
fn the_highest_of_the_three_kinds_of_tables_decides_in_all_eight_combinations() {
    let Some(mut chip) = chip() else {
        return;
    };
    let (fast_path, tables) = &mut *chip;
    let packet = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9, 9, 8, 0][..], &{
        let mut packet = vec![0x45, 0, 0, 60, 0, 0, 0, 0, 9, 17, 0, 0, 10, 0, 9, 9, 10, 0, 0, 1];
        let sum = !cubeyard_chip::frame::ones_complement_sum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.resize(60, 0);
        packet
    }]
    .concat();
    for present in 0..8_u8 {
        let to = |vif: u16| Action::to(Forward::Vif(vif));
        let mut all = vec![
            (Table::Tcam, 0, 0, 0, vec![(0, 0); 9], to(0)),
            (Table::EmIpv4, 0, 1, 0, vec![], to(1)),
            (Table::LpmIpv4, 0, 1, 24, vec![], to(4)),
        ];
        let mut at = 0;
        all.retain(|_| {
            at += 1;
            present >> (at - 1) & 1 == 1
        });
        let program = program(&all, [true, true, false]);
        assert!(compile(&program).is_ok());
        for update in tables.commit(&program).unwrap() {
            fast_path.write(&update);
        }
        fast_path.lead_out(0);
        fast_path.lead_out(1);
        fast_path.come_in_by(2);
        let (action, bytes) = fast_path.run_chip(&packet);
        match all.first() {
            None => assert_eq!(action, TC_ACT_SHOT),
            Some((.., action)) => {
                let Forward::Vif(vif) = action.forward else {
                    unreachable!()
                };
                assert_eq!(bytes[..6], [2, 0xcb, vif as u8, 0, 0, 9], "of {present:03b}");
            }
        }
    }
}

/// If a call's entry sends packets to the CPU, they reach the calling program whole; those beyond
/// the ring's capacity are counted.
#[test]
fn packets_for_users_programs_are_whole_or_counted() {
    let Some(mut chip) = chip() else {
        return;
    };
    let (fast_path, tables) = &mut *chip;
    // The last port of the set gets the packet itself, all others get copies.
    let both = Action::to(Forward::Duplicate(0b0101_0000));
    let program = program(
        &[(Table::Tcam, 0, 0, 0, vec![(0, 0); 9], both)],
        [true, true, false],
    );
    let packet = |bytes: usize| -> Vec<u8> {
        let head = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9, 9, 0x88, 0xb5];
        (0..bytes)
            .map(|at| head.get(at).copied().unwrap_or(at as u8))
            .collect()
    };
    let before = fast_path.lost_packets();
    for of_call in [false, true] {
        let updates = tables
            .commit_called(&program, &|_| of_call, |_| BTreeMap::new())
            .unwrap();
        updates.iter().for_each(|update| fast_path.write(update));
        fast_path.come_in_by(2);
        for bytes in [60, 128, 129, 1514, 3000] {
            let sent = packet(bytes);
            assert_eq!(fast_path.run_chip(&sent), (TC_ACT_OK, sent.clone()));
            let first = sent[..bytes.min(128)].to_vec();
            let (whole, beginnings) = (fast_path.whole_packets(), fast_path.punts());
            if of_call {
                assert_eq!((whole, beginnings), (vec![(before, 4, sent)], vec![]));
            } else {
                assert_eq!((whole, beginnings), (vec![], vec![(4, first)]));
            }
        }
    }
    const MANY: u64 = 400;
    for _ in 0..MANY {
        fast_path.run_chip(&packet(1514));
    }
    let got = fast_path.whole_packets();
    let lost = fast_path.lost_packets() - before;
    assert_eq!((got.len() as u64 + lost, lost > 100), (MANY, true), "{lost} lost");
    assert!(
        got.iter()
            .all(|(_, port, bytes)| (*port, bytes) == (4, &packet(1514)))
    );
    fast_path.run_chip(&packet(60));
    assert_eq!(
        fast_path.whole_packets(),
        [(before + lost, 4, packet(60))],
        "there is room again"
    );
}

/// Several packets that the kernel carries as one, as for TCP, reach programs separately, each as a
/// network card would send it.
#[test]
fn packets_that_the_kernel_carries_as_one_come_one_by_one() {
    const HEADER: usize = 36;
    const HEAD: usize = 14 + HEADER + 20 + 32;
    const MOST: usize = 400;
    let Some(mut chip) = chip() else {
        return;
    };
    let (fast_path, tables) = &mut *chip;
    // The last port of the set gets the packet itself, the other one gets a copy.
    let both = Action::to(Forward::Duplicate(0b0101_0000));
    let program = program(
        &[(Table::Tcam, 0, 0, 0, vec![(0, 0); 9], both)],
        [true, true, false],
    );
    let updates = tables
        .commit_called(&program, &|_| true, |_| BTreeMap::new())
        .unwrap();
    updates.iter().for_each(|update| fast_path.write(update));
    fast_path.come_in_by(2);
    for (protocol, length) in [(6, 3 * MOST), (6, 2 * MOST + 1), (6, MOST), (1, 3 * MOST)] {
        let data: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let mut frame = vec![0; HEAD];
        (frame[12], frame[14], frame[22], frame[23]) = (8, 0x45, 5, 253);
        let bytes = (HEAD - 14 + length) as u16;
        frame[16..18].copy_from_slice(&bytes.to_be_bytes());
        let sum = !cubeyard_chip::frame::ones_complement_sum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        (frame[50], frame[59], frame[70 + 12]) = (0x45, protocol, 8 << 4);
        frame.extend(&data);
        let (count, lost) = (length.div_ceil(MOST), fast_path.lost_packets());
        fast_path.run_chip_on_several(&frame, MOST as u32, count as u32);
        let parts = fast_path.parts();
        let more = fast_path.lost_packets() - lost;
        if protocol != 6 {
            assert_eq!(
                (parts.len(), more),
                (0, count as u64),
                "packets that it cannot split are counted"
            );
            continue;
        }
        assert_eq!((parts.len(), more), (count, 0));
        for ((head, bytes), (number, part)) in parts.iter().zip(data.chunks(MOST).enumerate()) {
            assert_eq!(bytes, &[&frame[..HEAD], part].concat());
            let of = head.of_several().unwrap();
            assert_eq!(
                (usize::from(of.number), of.offset as usize, of.is_last, head.port),
                (number, number * MOST, number + 1 == count, 4)
            );
        }
    }
}

/// Counters of unchanged entries continue after a commit, and only entries set by a call are marked
/// as such.
#[test]
fn hits_that_are_handed_on_go_on() {
    let Some(mut chip) = chip() else {
        return;
    };
    let (fast_path, tables) = &mut *chip;
    let label = Action {
        mpls: Some(Mpls::Push((1 << 20) - 1)),
        ..Action::to(Forward::Vif(0))
    };
    let rows = [
        (Table::Tcam, 7, 0, 0, vec![(0, 0); 9], label),
        (Table::EmMac, 1, 1, 0, vec![], Action::to(Forward::Discard)),
    ];
    let program = program(&rows, [true, true, false]);
    let place = Place {
        table: Table::Tcam,
        i: 7,
    };
    let mut hits = BTreeMap::new();
    for commit in 0..3 {
        let before = hits.clone();
        let of_call = commit != 1; // both entries are others each time: the whole program is written
        let updates = tables.commit_called(&program, &|_| of_call, |_| before).unwrap();
        updates.iter().for_each(|update| fast_path.write(update));
        fast_path.lead_out(0);
        fast_path.lead_out(1);
        fast_path.come_in_by(2);
        let (action, bytes) = fast_path.run_chip(&[0x11; 60]);
        assert_eq!(action, TC_ACT_REDIRECT);
        assert_eq!(
            bytes[12..18],
            [0x88, 0x47, 0xff, 0xff, 0xf1, 64],
            "the label is as it was set"
        );
        let read = RefCell::new(&mut *fast_path);
        hits = tables.hits(&|table, key| read.borrow_mut().chip_entry(table, key));
        assert_eq!(hits, BTreeMap::from([(place, commit + 1)]));
    }
}
