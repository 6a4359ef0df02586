//! Measures the CPU cost per byte through one and two relays: the fast path and ServerSwitch's
//! chip, compared with the kernel's own IPv4 forwarding, for one TCP connection, everything on one
//! CPU. Rounds alternate, so that other load on the machine affects all of them. Fails if a bound
//! is exceeded. Needs root. Run with `cargo bench -p cubeyard-dataplane`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/chain/mod.rs"]
mod chain;
#[path = "../tests/kernel_tables/mod.rs"]
mod kernel_tables;

use std::process::ExitCode;

use chain::{Chain, Dataplane, nanos_per_byte};

const ROUNDS: usize = 15;
const BLOCKS: usize = 1024;
const MTUS: [u32; 2] = [1500, 9000];
/// Limit: cost relative to IPv4 forwarding.
const BOUND: f64 = 1.15;
/// Limit of the chip: cost relative to BCube's own programs.
const CHIP_BOUND: f64 = 1.10;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A chain whose servers all run on one CPU. Ends and relays take turns there, so no packet moves
/// to another CPU.
fn chain_on_one_cpu(relays: u32, dataplane: Dataplane, mtu: u32) -> Option<Chain> {
    let chain = Chain::new(relays + 2, dataplane, mtu)?;
    chain.servers.iter().for_each(|server| server.namespace.pin(0));
    Some(chain)
}

fn main() -> ExitCode {
    let mut broken = 0;
    println!("CPU per byte of one TCP connection, median of {ROUNDS} rounds");
    println!(
        "{:>6}  {:>6}  {:>9}  {:>9}  {:>11}  {:<18}  chip/fast path",
        "relays", "MTU", "fast path", "chip", "kernel IPv4", "fast path/IPv4"
    );
    for (relays, mtu) in [1, 2]
        .into_iter()
        .flat_map(|relays| MTUS.map(|mtu| (relays, mtu)))
    {
        let chains = [Dataplane::FastPath, Dataplane::Chip, Dataplane::KernelIpv4]
            .map(|dataplane| chain_on_one_cpu(relays, dataplane, mtu));
        let [Some(fast_path), Some(chip), Some(kernel)] = &chains else {
            return ExitCode::SUCCESS;
        };
        let turn = |blocks| [fast_path, chip, kernel].map(|chain| nanos_per_byte(chain, blocks));
        turn(BLOCKS / 8); // to warm up
        let rounds: Vec<[f64; 3]> = (0..ROUNDS).map(|_| turn(BLOCKS)).collect();
        let column = |of: &dyn Fn(&[f64; 3]) -> f64| median(rounds.iter().map(of).collect());
        let (fast, table, ipv4) = (
            column(&|turn| turn[0]),
            column(&|turn| turn[1]),
            column(&|turn| turn[2]),
        );
        let over_ipv4 = column(&|turn| turn[0] / turn[2]);
        let over_fast = column(&|turn| turn[1] / turn[0]);
        let word = |ratio: f64, bound: f64| if ratio <= bound { "kept" } else { "BROKEN" };
        broken += u8::from(over_ipv4 > BOUND) + u8::from(over_fast > CHIP_BOUND);
        let (kept, chip_kept) = (word(over_ipv4, BOUND), word(over_fast, CHIP_BOUND));
        println!(
            "{relays:>6}  {mtu:>6}  {fast:>6.2} ns  {table:>6.2} ns  {ipv4:>8.2} ns  {over_ipv4:>4.2} ({BOUND}) {kept:<6}   {over_fast:>4.2} ({CHIP_BOUND}) {chip_kept}"
        );
    }
    ExitCode::from(broken)
}
