//! The executed TCAM and the table of prefixes equal their plain references.

use cubeyard_chip::action::RawAction;
use cubeyard_chip::tcam::{Linear, Tcam};
use cubeyard_chip::{Action, Chip, Entry, Field, Forward, Key, Program, Table};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Few different bytes, so that entries overlap and packets match; masks with whole and with part
/// bytes.
fn entry() -> impl Strategy<Value = Entry> {
    let byte = prop_oneof![Just(0_u8), Just(1), Just(2), Just(0x80), any::<u8>()];
    let mask = prop_oneof![4 => Just(0_u8), 4 => Just(0xff), 1 => Just(0x0f), 1 => any::<u8>()];
    (1..=2_u8, vec((byte, mask), 17)).prop_map(|(iudlk, bytes)| Entry {
        iudlk,
        value: bytes.iter().map(|(value, mask)| value & mask).collect(),
        mask: bytes.iter().map(|(_, mask)| *mask).collect(),
        action: Action::to(Forward::Discard),
    })
}

/// A key that an entry matches, with a few bytes of another: near the edge between match and miss.
fn near(entry: &Entry, noise: &[u8]) -> Key {
    let bytes = entry.value.iter().zip(entry.mask.iter()).zip(noise);
    let filled: Vec<u8> = bytes
        .map(|((value, mask), noise)| value | noise & !mask)
        .collect();
    Key::new(&filled)
}

proptest! {
    #![proptest_config(crate::cases::cases(96))]
    #[test]
    fn the_tcam_finds_what_a_scan_finds(
        entries in btree_map(0..2048_u32, entry(), 0..300),
        picks in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), vec(any::<u8>(), 17)), 1..60),
    ) {
        let rows = || entries.iter().map(|(&i, entry)| (i, entry));
        let (tcam, linear) = (Tcam::new(rows()), Linear::new(rows()));
        let all: Vec<Entry> = entries.values().cloned().collect();
        for (first, second, noise) in &picks {
            let keys = if all.is_empty() {
                [Key::new(noise); 2]
            } else {
                [near(first.get(&all), noise), near(second.get(&all), noise)]
            };
            prop_assert_eq!(tcam.lookup(&keys), linear.lookup(&keys));
            let random = [Key::new(noise), Key::new(&noise[..9])];
            prop_assert_eq!(tcam.lookup(&random), linear.lookup(&random));
        }
    }
}

proptest! {
    #[test]
    fn the_longest_prefix_wins(
        prefixes in btree_map((any::<u32>(), 0..=32_u32), any::<bool>(), 1..60),
        destinations in vec(any::<u32>(), 1..40),
    ) {
        let mut program = Program::default();
        let mut known: Vec<(u32, u32)> = Vec::new();
        for &(bits, length) in prefixes.keys() {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            if known.contains(&(bits & mask, mask)) {
                continue;
            }
            let action = RawAction::from(&Action::to(Forward::Port(known.len() as u8 % 4)));
            let mask_bytes = mask.to_be_bytes();
            program
                .set_lookup_table(Table::LpmIpv4, known.len() as u64, 0, &bits.to_be_bytes(), Some(&mask_bytes), &action)
                .unwrap();
            known.push((bits & mask, mask));
        }
        let mut chip = Chip::new(program).unwrap();
        let near = known.iter().map(|(bits, mask)| bits | !mask & 0x0102_0304);
        for destination in destinations.iter().copied().chain(near.collect::<Vec<_>>()) {
            let longest = (0..known.len()).filter(|&at| destination & known[at].1 == known[at].0).max_by_key(|&at| known[at].1);
            let packet = common::ipv4(destination, 9, b"");
            let trace = chip.trace(0, &packet).unwrap();
            let port = trace.sent.first().map(|sent| usize::from(sent.port));
            prop_assert_eq!(port, longest.map(|at| at % 4));
        }
    }

    #[test]
    fn keys_are_the_bytes_of_their_fields(first in 0..120_u8, length in 1..8_u8, port in 0..8_u8, packet in vec(any::<u8>(), 0..140)) {
        let last = first + length - 1;
        let udlk = cubeyard_chip::Udlk::new(vec![Field::InPort, Field::Bytes(first, last)]).unwrap();
        let mut expected = vec![port];
        expected.extend((first..=last).map(|at| packet.get(usize::from(at)).copied().unwrap_or(0)));
        prop_assert_eq!(udlk.key(port, &packet).bytes(udlk.len()), expected);
    }
}

use crate::common;
