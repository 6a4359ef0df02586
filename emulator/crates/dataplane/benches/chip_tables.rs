//! Measures the cost of a packet in the kernel's chip by the size of its TCAM, compared with
//! BCube's own program, and the cost of a commit. Sends single packets by `BPF_PROG_TEST_RUN`, in
//! alternating rounds. Fails above a limit. Needs root. Run with
//! `cargo bench -p cubeyard-dataplane --bench chip_tables`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/kernel_tables/mod.rs"]
mod kernel_tables;

use std::process::ExitCode;
use std::time::Instant;

use aya::Ebpf;
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use cubeyard_chip::bcube;
use cubeyard_chip::frame::ones_complement_sum;
use cubeyard_dataplane::address::{port_mac, virtual_ip, vnic_mac};
use cubeyard_dataplane::bcube::ENTRY;
use cubeyard_dataplane::bcube::header::{HEADER_BYTES, Header};
use cubeyard_dataplane::bcube::nha::Nha;
use cubeyard_dataplane::bcube::route::SourceRoute;
use cubeyard_dataplane::bcube::tables::{Config, NextHop};
use cubeyard_dataplane::catalog::{CHIP, KERNEL};
use kernel_tables::Tables;

const ROUNDS: usize = 4001;
/// Relays of one packet: the programs change the same packet repeatedly, by one hop each time.
const RELAYS: u32 = 7;
const MTU: u32 = 1500;
/// The value of `TC_ACT_REDIRECT`.
const REDIRECT: u32 = 7;
/// Digits and levels of the BCubes. Each neighbour makes eight entries, and every chip has twelve
/// more.
const SHAPES: [(u32, u32); 4] = [(4, 2), (9, 4), (32, 2), (64, 4)];
/// The largest cost per packet of the largest program relative to the smallest.
const GROWTH_BOUND: f64 = 1.3;
/// Limit of a commit in milliseconds.
const COMMIT_BOUND: f64 = 50.0;

/// A server of a BCube with its program in the kernel, and a frame that it relays.
struct Relay {
    ebpf: Ebpf,
    tables: Tables,
    frame: Vec<u8>,
    entries: u32,
}

impl Relay {
    fn new(forwarding: &str, digits: u32, levels: u32) -> Option<Relay> {
        let mut tables = Tables::of(&ENTRY, forwarding);
        let mut ebpf = match Ebpf::load(tables.object.bytes) {
            Ok(ebpf) => ebpf,
            Err(refused) => {
                println!("skipped: eBPF needs root here: {refused}");
                return None;
            }
        };
        let program: &mut SchedClassifier = ebpf.program_mut(tables.object.port).unwrap().try_into().unwrap();
        program.load().unwrap();
        let config = Config {
            ip: virtual_ip(0).unwrap().octets(),
            vnic_ifindex: 9,
            vnic_mac: vnic_mac(0),
            flags: 0,
            mtu: MTU,
        };
        tables.apply(&mut ebpf, &config.update());
        for level in 0..levels {
            for digit in 1..digits {
                tables.apply(&mut ebpf, &hop(level).update(Nha::new(level, digit).unwrap()));
            }
        }
        let hops = (0..8).map(|at| Nha::new(at % levels, 1 + at * 5 % (digits - 1)).unwrap());
        let route = SourceRoute::new(hops).unwrap();
        let mut frame = port_mac(0, 0).to_vec();
        frame.extend(port_mac(7, 0));
        frame.extend([8, 0]);
        frame.extend(header(forwarding, route));
        frame.extend([0x45, 0, 0, 44]);
        frame.resize(14 + HEADER_BYTES + 44, 0);
        Some(Relay {
            ebpf,
            tables,
            frame,
            entries: levels * (digits - 1) * 8 + 12,
        })
    }

    /// Returns nanoseconds per packet.
    fn turn(&mut self) -> f64 {
        let port = self.tables.object.port;
        let program: &mut SchedClassifier = self.ebpf.program_mut(port).unwrap().try_into().unwrap();
        let options = TestRunOptions {
            data_in: Some(&self.frame),
            repeat: RELAYS,
            ..TestRunOptions::new()
        };
        let result = program.test_run(options).unwrap();
        assert_eq!(result.return_value, REDIRECT, "the last packet was relayed too");
        result.duration.as_nanos() as f64
    }

    /// Milliseconds to commit the change of a neighbour.
    fn commit(&mut self) -> f64 {
        let begun = Instant::now();
        self.tables
            .apply(&mut self.ebpf, &hop(0).update(Nha::new(0, 1).unwrap()));
        begun.elapsed().as_secs_f64() * 1e3
    }
}

/// A neighbour at a level. Each leads back to the server itself, so that one packet can be
/// forwarded repeatedly.
fn hop(level: u32) -> NextHop {
    const LOOPBACK: u32 = 1; // port 0, at which frames of `BPF_PROG_TEST_RUN` arrive
    NextHop {
        ifindex: LOOPBACK + level,
        next_mac: port_mac(0, 0),
        own_mac: port_mac(0, level as u8),
        up: 1,
        port: level as u8,
        ..NextHop::default()
    }
}

/// The header of a packet that has taken its first hop.
fn header(forwarding: &str, route: SourceRoute) -> Vec<u8> {
    let (source, end) = (virtual_ip(7).unwrap(), virtual_ip(8).unwrap());
    if forwarding == KERNEL {
        return Header::new(source, end, route, 5, 44).unwrap().emit().to_vec();
    }
    let hops: Vec<u8> = route.hops().iter().map(|hop| hop.0).collect();
    let mut header = bcube::header(source, end, &hops, 48).unwrap().to_vec();
    header[8] -= 1;
    header[10..12].fill(0);
    let checksum = !ones_complement_sum(&header[..20]);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header.extend(5_u32.to_be_bytes());
    header
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let own = Relay::new(KERNEL, 4, 2);
    let chips = SHAPES.map(|(digits, levels)| Relay::new(CHIP, digits, levels));
    let (Some(mut own), Some(mut chips)) = (own, chips.into_iter().collect::<Option<Vec<Relay>>>()) else {
        return ExitCode::SUCCESS;
    };
    let mut nanos = vec![Vec::new(); 1 + chips.len()];
    for _ in 0..ROUNDS {
        nanos[0].push(own.turn());
        for (row, chip) in nanos[1..].iter_mut().zip(&mut chips) {
            row.push(chip.turn());
        }
    }
    let mut nanos = nanos.into_iter().map(median);
    let fixed = nanos.next().unwrap_or_default();
    println!("a relayed packet, median of {ROUNDS} rounds; BCube's own program: {fixed:.0} ns");
    println!(
        "{:>12}  {:>10}  {:>14}  {:>10}",
        "TCAM entries", "ns", "over the first", "commit"
    );
    let (mut broken, mut first) = (false, None);
    for (chip, nanos) in chips.iter_mut().zip(nanos) {
        let growth = nanos / *first.get_or_insert(nanos);
        let commit = median((0..9).map(|_| chip.commit()).collect());
        let kept = growth <= GROWTH_BOUND && commit <= COMMIT_BOUND;
        broken |= !kept;
        let word = if kept { "kept" } else { "BROKEN" };
        println!(
            "{:>12}  {nanos:>10.0}  {growth:>14.2}  {commit:>7.2} ms  {word}",
            chip.entries
        );
    }
    println!("bounds: {GROWTH_BOUND} times the first, {COMMIT_BOUND} ms");
    ExitCode::from(u8::from(broken))
}
