//! Measures the cost of a packet in the kernel's chip for each kind of table that can decide, with
//! the table at its full size. Sends single packets by `BPF_PROG_TEST_RUN`, in alternating rounds.
//! Fails above a limit. Needs root. Run with
//! `cargo bench -p cubeyard-dataplane --bench chip_kinds`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[allow(
    dead_code,
    reason = "programs are committed as they are, without a protocol's tables"
)]
#[path = "../tests/kernel_tables/mod.rs"]
mod kernel_tables;

use std::process::ExitCode;
use std::time::Instant;

use aya::Ebpf;
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use cubeyard_chip::action::RawAction;
use cubeyard_chip::frame::ones_complement_sum;
use cubeyard_chip::{Action, Field, Forward, Program, Table};
use cubeyard_dataplane::bcube::ENTRY;
use cubeyard_dataplane::catalog::CHIP;
use cubeyard_dataplane::chip_tables::ChipTables;
use cubeyard_dataplane::tables::TableUpdate;
use kernel_tables::Tables;

const ROUNDS: usize = 201;
/// The program leaves the packet unchanged, so the same one can be sent repeatedly.
const REPEAT: u32 = 1000;
const CHIP_ALONE: &str = "serverswitch_chip";
/// The value of `TC_ACT_REDIRECT`.
const REDIRECT: u32 = 7;
/// The largest cost per packet of any kind at full size, relative to a TCAM of 64 entries; a trie
/// is searched bit by bit.
const KIND_BOUND: f64 = 3.0;
/// The largest cost of the largest TCAM relative to the smallest.
const TCAM_BOUND: f64 = 1.3;

/// A chip with one full table, and a packet that matches one of its entries.
struct Case {
    name: &'static str,
    ebpf: Ebpf,
    frame: Vec<u8>,
    commit_millis: f64,
}

fn program(table: Table, entries: u32) -> Program {
    let mut program = Program::default();
    program.set_udlk(1, vec![Field::Bytes(30, 33)]).unwrap();
    let action = RawAction::from(&Action::to(Forward::Port(0)));
    for i in 0..entries {
        let address = (0x0a00_0000 + i).to_be_bytes();
        let (value, mask): (Vec<u8>, Option<&[u8]>) = match table {
            Table::EmMac => ([&[2, 0], &address[..]].concat(), None),
            Table::EmMpls => (i.to_be_bytes()[1..].to_vec(), None),
            Table::LpmIpv4 => (
                (0x0a00_0000 + (i << 8)).to_be_bytes().to_vec(),
                Some(&[255, 255, 255, 0]),
            ),
            Table::Tcam | Table::EmIpv4 => (address.to_vec(), None),
        };
        program
            .set_lookup_table(table, i.into(), 1, &value, mask, &action)
            .unwrap();
    }
    program
}

fn frame(table: Table, entries: u32) -> Vec<u8> {
    let at = entries / 2;
    let address = 0x0a00_0000
        + if table == Table::LpmIpv4 {
            (at << 8) + 7
        } else {
            at
        };
    let mut ip = vec![0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 9, 9];
    ip.extend(address.to_be_bytes());
    let sum = !ones_complement_sum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.resize(46, 0);
    let mut frame = vec![2, 0];
    frame.extend((0x0a00_0000 + at).to_be_bytes());
    frame.extend([2, 0, 0, 0, 0, 9]);
    match table {
        Table::EmMac => frame.extend([0x12, 0x34]),
        Table::EmMpls => {
            frame.extend([0x88, 0x47]);
            frame.extend((at << 12 | 0x140).to_be_bytes());
        }
        Table::Tcam | Table::EmIpv4 | Table::LpmIpv4 => frame.extend([8, 0]),
    }
    frame.extend(ip);
    frame
}

impl Case {
    fn new(name: &'static str, table: Table, entries: u32) -> Option<Case> {
        let tables = Tables::of(&ENTRY, CHIP);
        let mut ebpf = match Ebpf::load(tables.object.bytes) {
            Ok(ebpf) => ebpf,
            Err(refused) => {
                println!("skipped: eBPF needs root here: {refused}");
                return None;
            }
        };
        let loaded: &mut SchedClassifier = ebpf.program_mut(CHIP_ALONE).unwrap().try_into().unwrap();
        loaded.load().unwrap();
        let begun = Instant::now();
        for update in ChipTables::default().commit(&program(table, entries)).unwrap() {
            tables.write(&mut ebpf, &update);
        }
        let commit_millis = begun.elapsed().as_secs_f64() * 1e3;
        // Frames of `BPF_PROG_TEST_RUN` arrive at this interface, so a port must have it.
        let port = TableUpdate::set("ports", &0_u32.to_ne_bytes(), &1_u32.to_ne_bytes());
        tables.write(&mut ebpf, &port);
        Some(Case {
            name,
            ebpf,
            frame: frame(table, entries),
            commit_millis,
        })
    }

    /// Returns nanoseconds per packet.
    fn turn(&mut self) -> f64 {
        let loaded: &mut SchedClassifier = self.ebpf.program_mut(CHIP_ALONE).unwrap().try_into().unwrap();
        let options = TestRunOptions {
            data_in: Some(&self.frame),
            repeat: REPEAT,
            ..TestRunOptions::new()
        };
        let result = loaded.test_run(options).unwrap();
        assert_eq!(result.return_value, REDIRECT, "{}", self.name);
        result.duration.as_nanos() as f64
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let cases = [
        ("TCAM, 64 entries", Table::Tcam, 64),
        ("TCAM, 512 entries", Table::Tcam, 512),
        ("TCAM, 2,048 entries", Table::Tcam, 2048),
        ("EM_MAC, 32,768 entries", Table::EmMac, 32_768),
        ("EM_IPV4, 8,192 entries", Table::EmIpv4, 8192),
        ("EM_MPLS, 4,096 entries", Table::EmMpls, 4096),
        ("LPM_IPV4, 6,144 entries", Table::LpmIpv4, 6144),
    ];
    let cases = cases.map(|(name, table, entries)| Case::new(name, table, entries));
    let Some(mut cases) = cases.into_iter().collect::<Option<Vec<Case>>>() else {
        return ExitCode::SUCCESS;
    };
    let mut nanos = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for (row, case) in nanos.iter_mut().zip(&mut cases) {
            row.push(case.turn());
        }
    }
    println!("a packet through the chip alone, median of {ROUNDS} rounds");
    println!(
        "{:>24}  {:>8}  {:>14}  {:>10}",
        "", "ns", "over the first", "commit"
    );
    let (mut broken, mut first) = (false, None);
    for (case, nanos) in cases.iter().zip(nanos) {
        let nanos = median(nanos);
        let ratio = nanos / *first.get_or_insert(nanos);
        let kept = ratio
            <= if case.name.starts_with("TCAM") {
                TCAM_BOUND
            } else {
                KIND_BOUND
            };
        broken |= !kept;
        let word = if kept { "kept" } else { "BROKEN" };
        println!(
            "{:>24}  {nanos:>8.0}  {ratio:>14.2}  {:>7.1} ms  {word}",
            case.name, case.commit_millis
        );
    }
    println!("bounds: {TCAM_BOUND} and {KIND_BOUND} times the first");
    ExitCode::from(u8::from(broken))
}
