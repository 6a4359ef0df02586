//! What a byte costs through one and two relays: the fast path beside the kernel's own IPv4 forwarding, for one TCP
//! connection, everything on one CPU. Rounds take turns, so that whatever else the machine does falls on both. Fails
//! when the promise is broken. Needs root. Run with `cargo bench -p cubeyard-dataplane`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/bcube_chain/mod.rs"]
mod chain;

use std::process::ExitCode;

use chain::{Chain, Dataplane, block, send_over_tcp};

const ROUNDS: usize = 15;
const BLOCKS: usize = 1024;
const MTUS: [u32; 2] = [1500, 9000];
/// At most this much more than IPv4 forwarding: the promise.
const BOUND: f64 = 1.15;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A chain whose servers all run on one CPU; ends and relays take turns there, and no packet changes CPUs.
fn chain_on_one_cpu(relays: u32, dataplane: Dataplane, mtu: u32) -> Option<Chain> {
    let chain = Chain::new(relays + 2, dataplane, mtu)?;
    chain.servers.iter().for_each(|server| server.namespace.pin(0));
    Some(chain)
}

/// Nanoseconds of CPU a byte, that of the kernel's packet thread on that CPU among them.
fn nanos_per_byte(chain: &Chain, blocks: usize) -> f64 {
    let before = kernel_thread_nanos();
    let transfer = send_over_tcp(chain, blocks, false);
    let nanos = transfer.cpu_nanos + kernel_thread_nanos() - before;
    nanos as f64 / (blocks * block(0).len()) as f64
}

/// What the kernel's thread for packets on CPU 0 has run so far.
fn kernel_thread_nanos() -> u64 {
    let processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let thread = processes
        .map(|entry| entry.path())
        .find(|path| std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm == "ksoftirqd/0\n"));
    let stat = thread.and_then(|path| std::fs::read_to_string(path.join("schedstat")).ok());
    stat.map_or(0, |stat| stat.split_whitespace().next().unwrap().parse().unwrap())
}

fn main() -> ExitCode {
    let mut broken = 0;
    println!("CPU per byte of one TCP connection, median of {ROUNDS} rounds");
    println!(
        "{:>6}  {:>6}  {:>12}  {:>12}  ratio (bound)",
        "relays", "MTU", "fast path", "kernel IPv4"
    );
    for (relays, mtu) in [1, 2]
        .into_iter()
        .flat_map(|relays| MTUS.map(|mtu| (relays, mtu)))
    {
        let Some(fast_path) = chain_on_one_cpu(relays, Dataplane::FastPath, mtu) else {
            return ExitCode::SUCCESS;
        };
        let Some(kernel) = chain_on_one_cpu(relays, Dataplane::KernelIpv4, mtu) else {
            return ExitCode::SUCCESS;
        };
        let pair = |blocks| {
            (
                nanos_per_byte(&fast_path, blocks),
                nanos_per_byte(&kernel, blocks),
            )
        };
        pair(BLOCKS / 8); // to warm up
        let rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| pair(BLOCKS)).collect();
        let ours = median(rounds.iter().map(|(ours, _)| *ours).collect());
        let theirs = median(rounds.iter().map(|(_, theirs)| *theirs).collect());
        let ratio = median(rounds.iter().map(|(ours, theirs)| ours / theirs).collect());
        let kept = ratio <= BOUND;
        broken += u8::from(!kept);
        let kept = if kept { "kept" } else { "BROKEN" };
        println!("{relays:>6}  {mtu:>6}  {ours:>9.2} ns  {theirs:>9.2} ns  {ratio:>5.2} ({BOUND}) {kept}");
    }
    ExitCode::from(broken)
}
