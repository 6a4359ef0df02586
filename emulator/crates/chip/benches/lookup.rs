//! Measures a look-up in the TCAM of a BCube program of 64, 512 and 2,048 entries, compared with a
//! linear scan of the same entries; a whole packet through the chip; and a call that sets one entry
//! when calls have already set this number of entries. CPU time of one thread; fastest of a few
//! repetitions. Run with `cargo bench -p cubeyard-chip`.

use std::hint::black_box;
use std::time::Duration;

use cubeyard_chip::action::RawAction;
use cubeyard_chip::tcam::{Linear, Tcam};
use cubeyard_chip::{Action, Chip, Field, Forward, Frame, Key, Program, ServerSwitch, Table, bcube};

const LOOKUPS: u32 = 200_000;

fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Nanoseconds of one of many, the fastest of five rounds.
fn fastest_ns(mut work: impl FnMut(u32)) -> f64 {
    let mut one = || {
        let begun = cpu_time();
        (0..LOOKUPS).for_each(&mut work);
        (cpu_time() - begun).as_nanos() as f64 / f64::from(LOOKUPS)
    };
    (0..5).map(|_| one()).fold(f64::INFINITY, f64::min)
}

/// Fig. 6's program with this number of entries: next hops x 8, and one for the server itself.
fn program(entries: usize) -> Program {
    let mut program = Program::default();
    let fields = |text: &[&str]| {
        text.iter()
            .map(|field| Field::read(field).expect("a field"))
            .collect()
    };
    program.set_udlk(1, fields(&["B22-25", "B34-41"])).expect("a key");
    program
        .set_udlk(2, fields(&["INPORT", "B30-33", "B42-45"]))
        .expect("a key");
    let raw = |forward| RawAction::from(&Action::to(forward));
    for i in 0..entries - 1 {
        let (hop, index) = ((i / 8) as u8, i % 8);
        let (mut value, mut mask) = ([0; 12], [0; 12]);
        (value[0], mask[0]) = (index as u8 + 2, 0xff);
        (value[4 + index], mask[4 + index]) = (hop, 0xff);
        program
            .set_vif_table(hop.into(), Some(&[2, 0, 0, 0, 1, 0]), Some(&[2; 6]), 1)
            .expect("an interface");
        let action = raw(Forward::Vif(hop.into()));
        program
            .set_lookup_table(Table::Tcam, i as u64, 1, &value, Some(&mask), &action)
            .expect("an entry");
    }
    let (value, mask) = (
        [0, 10, 0, 0, 1, 0, 0, 0, 0],
        [0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
    );
    let last = entries as u64 - 1;
    program
        .set_lookup_table(Table::Tcam, last, 2, &value, Some(&mask), &raw(Forward::Port(4)))
        .expect("an entry");
    program
}

/// A packet that the entry of a next hop and index matches.
fn packet(hop: u8, index: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    (bytes[12], bytes[14], bytes[17]) = (8, 0x45, 50);
    (bytes[22], bytes[23]) = (index + 2, bcube::PROTOCOL);
    bytes[26..34].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 9]);
    bytes[34 + usize::from(index)] = hop;
    let checksum = !cubeyard_chip::frame::ones_complement_sum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Microseconds of a call that sets an entry for a content's number, as a cache does
/// `[serverswitch §6.1]`, among `entries` others.
fn call_us(entries: usize) -> f64 {
    const ROUNDS: u32 = 50;
    let mut switch = ServerSwitch::new();
    let key = "SetUDLK(1, (INPORT, B30-33, B42-45, B70-73, B78-81));";
    let entry = |i: usize, content: u32| {
        format!(
            "SetLookupTable(TCAM, {i}, 1, \"00000000000000000023872387{content:08x}\", NULL, {{act=TO_CPU}});"
        )
    };
    let all: String = (0..entries).map(|i| entry(i, i as u32)).collect();
    switch.execute(key).expect("a key");
    switch.execute(&all).expect("entries");
    let one = |switch: &mut ServerSwitch| {
        let begun = cpu_time();
        for round in 0..ROUNDS {
            switch
                .execute(&entry(round as usize % entries, 0x1000_0000 + round))
                .expect("a call");
        }
        (cpu_time() - begun).as_micros() as f64 / f64::from(ROUNDS)
    };
    (0..5).map(|_| one(&mut switch)).fold(f64::INFINITY, f64::min)
}

#[allow(clippy::print_stdout, reason = "a bench is there to print")]
fn main() {
    println!(
        "{:>8} {:>14} {:>14} {:>14} {:>14}",
        "entries", "tuples ns", "linear ns", "packet ns", "call us"
    );
    for entries in [64, 512, 2048] {
        let program = program(entries);
        let packets: Vec<Vec<u8>> = (0..entries - 1)
            .map(|i| packet((i / 8) as u8, (i % 8) as u8))
            .collect();
        let udlks = [program.udlk(1).expect("set"), program.udlk(2).expect("set")];
        let keys: Vec<[Key; 2]> = packets
            .iter()
            .map(|packet| udlks.map(|udlk| udlk.key(0, packet)))
            .collect();
        let rows = || program.table(Table::Tcam).iter().map(|(&i, entry)| (i, entry));
        let (tcam, linear) = (Tcam::new(rows()), Linear::new(rows()));
        assert!(
            keys.iter()
                .all(|keys| tcam.lookup(keys) == linear.lookup(keys) && tcam.lookup(keys).is_some())
        );
        let at = |i: u32| (i as usize).wrapping_mul(7919) % keys.len();
        let fast = fastest_ns(|i| {
            black_box(tcam.lookup(&keys[at(i)]));
        });
        let plain = fastest_ns(|i| {
            black_box(linear.lookup(&keys[at(i)]));
        });
        let mut chip = Chip::new(program.clone()).expect("a program without flaws");
        let mut frame = Frame::new(&[]).expect("short");
        let whole = fastest_ns(|i| {
            frame.set(&packets[at(i)]).expect("short");
            let _ = black_box(chip.receive(0, &mut frame, &mut |_, bytes| {
                black_box(bytes);
            }));
        });
        let call = call_us(entries);
        println!("{entries:>8} {fast:>14.0} {plain:>14.0} {whole:>14.0} {call:>14.0}");
    }
}
