//! The chip in the kernel runs programs like the model does: random entries of the TCAM, with one
//! program committed after the other into the same chip.

use crate::bcube_common as common;
use crate::bcube_kernel as kernel;

use std::cell::Cell as Counter;
use std::collections::{BTreeMap, BTreeSet};

use crate::forwarding_vectors::{Entrance, Verdict};
use crate::kernel_run::can_run;
use common::Vectors;
use cubeyard_chip::action::RawAction;
use cubeyard_chip::compile::compile;
use cubeyard_chip::{
    Action, COUNTERS, Chip, EXTERNAL_PORTS, Field, Forward, Frame, Key, Profile, Program, Register,
    ServerSwitch, Table, bcube, text,
};
use cubeyard_dataplane::bcube::chip_tables::BcubeChip;
use cubeyard_dataplane::catalog::CHIP;
use cubeyard_dataplane::chip_tables::{ChipTables, SCHEMAS};
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::object::Translate;
use cubeyard_dataplane::tables::TableUpdate;
use kernel::FastPath;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const OWN_PORT: u8 = 1;
const INTERFACES: u16 = 5;

/// Index, key, bytes with masks, forwarding decision.
type Row = (u32, u8, Vec<(u8, u8)>, Forward);

fn row() -> impl Strategy<Value = Row> {
    let byte = prop_oneof![Just(0_u8), Just(1), Just(2), Just(3), Just(10), any::<u8>()];
    let mask = prop_oneof![20 => Just(0_u8), 3 => Just(0xff), 1 => Just(0x03), 1 => any::<u8>()];
    let forward = prop_oneof![
        6 => (0..INTERFACES).prop_map(Forward::Vif),
        2 => (0..8_u8).prop_map(Forward::Port),
        1 => Just(Forward::ToCpu),
        1 => Just(Forward::Discard),
    ];
    (0..2048_u32, 1..=2_u8, vec((byte, mask), 12), forward)
}

fn program(rows: &[Row], miss_to_cpu: bool) -> Program {
    let mut program = Program::default();
    program
        .set_udlk(1, vec![Field::Bytes(22, 25), Field::Bytes(34, 41)])
        .unwrap();
    let second = vec![Field::InPort, Field::Bytes(30, 33), Field::Bytes(42, 45)];
    program.set_udlk(2, second).unwrap();
    for i in 0..u64::from(INTERFACES) {
        let mac = [2, 0xcb, i as u8, 0, 0, 9];
        let (dmac, smac) = ((i != 2).then_some(&mac[..]), (i != 3).then_some(&mac[..]));
        program.set_vif_table(i, dmac, smac, i % 5).unwrap();
    }
    for (i, key, bytes, forward) in rows {
        let length = if *key == 1 { 12 } else { 9 };
        let (value, mask): (Vec<u8>, Vec<u8>) = bytes[..length].iter().copied().unzip();
        let action = RawAction::from(&Action::to(*forward));
        let (i, key) = (u64::from(*i), u64::from(*key));
        program
            .set_lookup_table(Table::Tcam, i, key, &value, Some(&mask), &action)
            .unwrap();
    }
    if miss_to_cpu {
        program.set_register(Register::MissToCpu, 1).unwrap();
    }
    program
}

/// A packet whose bytes are likely to match: TTL, next hops, destination.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let small = prop_oneof![5 => 0_u8..4, 1 => any::<u8>()];
    (vec(small.clone(), 1..=8), small, 0..5_u8).prop_map(|(hops, last, ttl)| {
        let header = bcube::header([10, 0, 0, 9].into(), [10, 0, 0, last].into(), &hops, 40).unwrap();
        let mut frame = vec![2, 0xcb, OWN_PORT, 0, 0, 1, 2, 0xcb, 1, 0, 0, 9, 8, 0];
        frame.extend(header);
        frame.extend([0, 0, 0, 7, 0x45]);
        frame.resize(14 + 72, 0);
        frame[22] = ttl;
        let sum = !cubeyard_chip::frame::ones_complement_sum(&[&frame[14..24], &frame[26..34]].concat());
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    })
}

#[test]
fn the_kernel_sends_what_the_model_sends() {
    let vectors = Vectors::read();
    let server = vectors.servers.values().next().unwrap();
    let Some(fast_path) = FastPath::load(server, CHIP) else {
        return;
    };
    let runs = std::cell::RefCell::new((fast_path, BcubeChip::default(), 0_u32));
    runs.borrow_mut().0.come_in_by(OWN_PORT.into());
    TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    })
    .run(
        &(vec(row(), 0..60), any::<bool>(), vec(packet(), 1..24)),
        |(rows, miss, packets)| {
            let (fast_path, tables, sent) = &mut *runs.borrow_mut();
            let program = program(&rows, miss);
            let tuples = rows
                .iter()
                .map(|(_, key, bytes, _)| (key, bytes.iter().map(|(_, mask)| mask).collect::<Vec<_>>()));
            prop_assume!(tuples.collect::<BTreeSet<_>>().len() <= 60);
            for update in tables.tables.commit(&program).unwrap() {
                fast_path.write(&update);
            }
            for port in 0..u32::from(EXTERNAL_PORTS) {
                fast_path.lead_out(port);
            }
            fast_path.come_in_by(OWN_PORT.into());
            let mut model = Chip::new(program).unwrap();
            for mut packet in packets {
                packet[..6].copy_from_slice(&server.config().vnic_mac);
                packet[2] = OWN_PORT;
                assert!(can_run(&packet));
                let (mut frame, mut left) = (Frame::new(&packet).unwrap(), None);
                model
                    .receive(OWN_PORT, &mut frame, &mut |port, bytes| {
                        left = Some((port, bytes.to_vec()));
                    })
                    .unwrap();
                let out = left.filter(|(port, _)| *port < EXTERNAL_PORTS);
                let outcome = fast_path.run(Entrance::Port, &packet);
                match out {
                    Some((_, bytes)) => {
                        prop_assert_eq!(&outcome.verdict, &Verdict::Send);
                        prop_assert_eq!(&outcome.frame, &bytes);
                        *sent += 1;
                    }
                    None => prop_assert_ne!(outcome.verdict, Verdict::Send),
                }
            }
            prop_assert_eq!(hits_told(tables, fast_path), hits_of(&model));
            Ok(())
        },
    )
    .unwrap();
    let sent = runs.borrow().2;
    assert!(sent > 2 * Config::default().cases, "forwarded packets: {sent}");
}

/// Hits by table and index, as the model counts them.
fn hits_of(model: &Chip) -> BTreeMap<(String, u64), u64> {
    let hits = model.hits().into_iter();
    hits.map(|(place, hits)| ((place.table.name().to_owned(), place.i.into()), hits))
        .collect()
}

/// Hits by table and index, as shown by an inspection.
fn hits_told(tables: &BcubeChip, fast_path: &mut FastPath) -> BTreeMap<(String, u64), u64> {
    let told = std::cell::RefCell::new(fast_path);
    let sections = tables.inspect(
        &|table, key| told.borrow_mut().chip_entry(table, key),
        &[0; COUNTERS],
    );
    let rows = sections.iter().filter(|section| section.name != "chip-registers");
    let row = |row: &Vec<Cell>| match (&row[0], &row[2], &row[1]) {
        (Cell::Count(index), Cell::Count(_), Cell::Count(hits)) => (("TCAM".to_owned(), *index), *hits),
        (Cell::Count(index), Cell::Text(table), Cell::Count(hits)) => ((table.clone(), *index), *hits),
        other => panic!("an index and its packets, not {other:?}"),
    };
    rows.flat_map(|section| section.rows.iter().map(row)).collect()
}

proptest! {
    #[test]
    fn compiled_tables_find_what_the_model_finds(rows in vec(row(), 1..60), noise in vec(0..4_u8, 24)) {
        let program = program(&rows, false);
        let compiled = compile(&program).unwrap();
        let table = program.table(Table::Tcam);
        let linear = cubeyard_chip::tcam::Linear::new(table.iter().map(|(&i, entry)| (i, entry)));
        for entry in table.values() {
            let filled = entry.value.iter().zip(entry.mask.iter()).zip(&noise);
            let bytes: Vec<u8> = filled.map(|((value, mask), noise)| value | noise & !mask).collect();
            let keys = [Key::new(&bytes), Key::new(&noise[..9])];
            prop_assert_eq!(compiled.lookup(&keys), linear.lookup(&keys));
        }
    }
}

/// The generation that an update of the chip's tables writes; `None` for `generation` itself.
fn generation_of(update: &TableUpdate) -> Option<u32> {
    let word = |at: usize| u32::from_ne_bytes(update.key.0[at..at + 4].try_into().unwrap());
    let schema = SCHEMAS.iter().find(|schema| schema.name == update.table).unwrap();
    match schema.name {
        "generation" => None,
        "tcam" => Some(word(28)),
        _ => Some(word(0) / (schema.entries as u32 / 2)),
    }
}

#[test]
fn a_commit_writes_only_what_packets_do_not_read() {
    let mut tables = BcubeChip::default();
    for commit in 0..4_u32 {
        let row = (commit, 1, vec![(2, 0xff); 12], Forward::Vif(0));
        let updates = tables.tables.commit(&program(&[row], false)).unwrap();
        let versions: Vec<u32> = updates
            .iter()
            .filter(|update| generation_of(update).is_none())
            .map(|update| u32::from_ne_bytes(update.value.as_ref().unwrap().0[..].try_into().unwrap()))
            .collect();
        assert_eq!(
            versions,
            [2 * commit + 1, 2 * commit + 2],
            "equal before and after"
        );
        assert!(generation_of(&updates[0]).is_none() && generation_of(updates.last().unwrap()).is_none());
        let written: BTreeSet<u32> = updates.iter().filter_map(generation_of).collect();
        assert_eq!(written, BTreeSet::from([1 - commit % 2]));
    }
}

/// Tables with all neighbours of a server alive.
fn tables_of(server: &common::Server) -> BcubeChip {
    let mut tables = BcubeChip::default();
    for update in server.updates() {
        tables.translate(&update, &|_, _| None).unwrap();
    }
    tables
}

#[test]
fn a_users_program_is_committed_and_made_again_of_the_neighbours() {
    let vectors = Vectors::read();
    let server = vectors.servers.values().next().unwrap();
    let (mut own, mut users) = (tables_of(server), tables_of(server));
    // Commits the forwarding's own program as often as the equivalent user's program.
    own.translate(&server.config().update(), &|_, _| None).unwrap();
    assert!(users.set_program("SetUDLK(1, (B0)").is_err());
    assert!(
        users
            .set_program("SetVIfTable(0, dstmac[0xff], NULL, 0);")
            .is_err()
    );
    users.set_program(bcube::SHARED).unwrap();
    for (nha, mut hop) in server.next_hops() {
        hop.up = 0;
        let update = hop.update(nha);
        let expected = own.translate(&update, &|_, _| None).unwrap();
        assert!(expected.len() > 40);
        assert_eq!(users.translate(&update, &|_, _| None).unwrap(), expected);
    }
    let punts = "SetUDLK(1, (B30-33)); SetLookupTable(TCAM, 0, 1, my_bcube_id, NULL, {act=TO_CPU});";
    let entries = |updates: Vec<TableUpdate>| {
        let set = updates.into_iter().filter(|update| update.table == "tcam");
        set.filter(|update| update.value.is_some()).count()
    };
    assert_eq!(entries(users.set_program(punts).unwrap()), 1);
    assert_eq!(
        entries(users.translate(&server.config().update(), &|_, _| None).unwrap()),
        1
    );
}

#[test]
fn features_that_the_kernels_chip_lacks_are_refused_by_their_place() {
    let mut tunnel = Program::new(Profile::Extended);
    tunnel.set_vif_table(0, None, None, 0).unwrap();
    let action = Action {
        tunnel: Some(cubeyard_chip::Tunnel::Pop),
        ..Action::to(Forward::Vif(0))
    };
    tunnel
        .set_lookup_table(
            Table::EmIpv4,
            7,
            0,
            &[10, 0, 0, 1],
            None,
            &RawAction::from(&action),
        )
        .unwrap();
    let flaws = compile(&tunnel).unwrap_err();
    assert_eq!((flaws[0].code, &*flaws[0].value), ("kernel-action", "EM_IPV4[7]"));
    let masks: Vec<Row> = (0..65_u32)
        .map(|at| {
            let mut bytes = vec![(0, 0); 12];
            bytes[at as usize / 8] = (0, 1 << (at % 8));
            bytes[11] = (0, if at >= 8 { 0xff } else { 0x0f });
            (at, 1, bytes, Forward::Discard)
        })
        .collect();
    assert_eq!(
        compile(&program(&masks, false)).unwrap_err()[0].code,
        "kernel-tuples"
    );
}

/// Contents of the chip's tables, by map and key.
type Held = BTreeMap<(String, Vec<u8>), Vec<u8>>;

fn write(held: &mut Held, updates: &[TableUpdate]) {
    for update in updates {
        let key = (update.table.to_string(), update.key.0.clone());
        match &update.value {
            Some(value) => held.insert(key, value.0.clone()),
            None => held.remove(&key),
        };
    }
}

/// The entries in use, with the generation removed.
fn gone_by(held: &Held) -> Held {
    let word = |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let version = word(&held[&("generation".to_owned(), vec![0; 4])], 0);
    let current = version >> 1 & 1;
    let keys = &held[&("chip".to_owned(), current.to_ne_bytes().to_vec())];
    let (cares, tuples) = (word(keys, 84), word(keys, 88));
    let mut entries = Held::new();
    for ((table, key), value) in held {
        let at = match &**table {
            "tcam" if word(key, 28) == current => key[..28].to_vec(),
            "exact" if u32::from(key[7]) == current => key[..7].to_vec(),
            "generation" | "tcam" | "exact" => continue,
            array => {
                let schema = SCHEMAS.iter().find(|schema| schema.name == array).unwrap();
                let half = schema.entries as u32 / 2;
                let (of, within) = (word(key, 0) / half, word(key, 0) % half);
                // Entries beyond the program's own belong to an earlier program, and are never
                // read.
                let is_read = match array {
                    "prune" => within < cares,
                    "tuples" => within < tuples,
                    "interfaces" => value.iter().any(|byte| *byte != 0),
                    _ => true,
                };
                if of != current || !is_read {
                    continue;
                }
                within.to_ne_bytes().to_vec()
            }
        };
        entries.insert((table.clone(), at), value.clone());
    }
    entries
}

/// Calls set and remove entries one at a time. Whether or not a change is made in place, the tables
/// equal those after a complete commit.
#[test]
fn calls_leave_the_tables_that_a_whole_commit_would() {
    const BASE: &str = "SetUDLK(1, (B30-33)); SetVIfTable(1, NULL, NULL, 1);
        SetLookupTable(TCAM, 3, 1, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=1});";
    let one = (
        any::<bool>(),
        0..6_u32,
        0..4_u8,
        0..3_usize,
        0..3_usize,
        any::<bool>(),
    );
    let (in_place, whole_ones) = (Counter::new(0_u32), Counter::new(0_u32));
    let commit = |driver: &ServerSwitch, tables: &mut ChipTables| {
        let of_call = |place| driver.overlay().has(place);
        let program = driver.chip().program();
        tables
            .commit_called(program, &of_call, |_| BTreeMap::new())
            .unwrap()
    };
    let mut runner = TestRunner::new(crate::cases::cases(64));
    let ran = runner.run(&vec(one, 1..40), |calls| {
        let (mut driver, mut tables) = (ServerSwitch::new(), ChipTables::default());
        driver.load(text::read(BASE).unwrap()).unwrap();
        let mut held = Held::new();
        write(&mut held, &commit(&driver, &mut tables));
        for (sets, i, value, mask, action, in_em) in calls {
            let mask = ["255.255.255.255", "255.255.255.0", "255.0.0.0"][mask];
            let act = ["{act=TO_CPU}", "{act=REDIRECT_VIF, vif=1}", "{act=DISCARD}"][action];
            let text = match (sets, in_em) {
                (true, true) => format!("SetLookupTable(EM_IPV4, {i}, 0, 10.0.{value}.{i}, NULL, {act});"),
                (true, false) => format!("SetLookupTable(TCAM, {i}, 1, 10.{value}.0.0, {mask}, {act});"),
                (false, true) => format!("ClearLookupTable(EM_IPV4, {i});"),
                (false, false) => format!("ClearLookupTable(TCAM, {i});"),
            };
            if driver.execute(&text).is_err() {
                continue;
            }
            let updates = commit(&driver, &mut tables);
            let is_whole = updates.iter().any(|update| update.table == "generation");
            let counter = if is_whole { &whole_ones } else { &in_place };
            counter.set(counter.get() + 1);
            write(&mut held, &updates);
            let mut whole = Held::new();
            write(&mut whole, &commit(&driver, &mut ChipTables::default()));
            prop_assert_eq!(gone_by(&held), gone_by(&whole), "{}", text);
        }
        Ok(())
    });
    ran.unwrap();
    assert!(
        in_place.get() > 20 && whole_ones.get() > 20,
        "{in_place:?} {whole_ones:?}"
    );
}
