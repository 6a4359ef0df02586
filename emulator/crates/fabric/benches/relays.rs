//! Compares the cost of a byte through relays of DCell and CamCube with the kernel's IPv4
//! forwarding, for one TCP connection on one CPU: over bare cables, and over links that are shaped
//! as in a run, CamCube's with a class for each service. Rounds alternate between the cases, so
//! that other load of the machine affects all of them. Fails above a limit. Needs root. Run with
//! `cargo bench -p cubeyard-fabric`.
//!
//! The links have the highest rate that a run may have, so that no packet ever waits and only the
//! shaper's work is measured.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../../dataplane/tests/chain/mod.rs"]
mod chain;
#[path = "../../dataplane/tests/kernel_tables/mod.rs"]
mod kernel_tables;

use std::process::ExitCode;

use chain::{Chain, Dataplane, block, nanos_per_byte};
use cubeyard_fabric::netlink::{Batch, Netlink, Shape, Sharers, no_excuse, shape};
use cubeyard_fabric::programs::fair;

const ROUNDS: usize = 15;
const BLOCKS: usize = 1024;
const MTUS: [u32; 2] = [1500, 9000];
const RELAYS: [u32; 2] = [1, 4];
/// Limit: cost relative to IPv4 forwarding over the same links.
const BOUND: f64 = 1.15;
const RATE_BITS_PER_SEC: f64 = 1e11;
const QUEUE_BYTES: u32 = 16 << 20;
const TURN_BYTES: u32 = 65_000;

/// Shaping at the ends of a chain's cables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Bare,
    Shaped,
    /// Shaped, with one class for each service.
    Services,
}

/// A chain whose servers all run on one CPU. Ends and relays take turns there, so no packet moves
/// to another CPU.
fn chain_on_one_cpu(relays: u32, dataplane: Dataplane, mtu: u32, ends: Ends) -> Option<Chain> {
    let chain = Chain::new(relays + 2, dataplane, mtu)?;
    for (at, server) in chain.servers.iter().enumerate() {
        server.namespace.pin(0);
        let ports = chain.ports(at);
        if ends == Ends::Bare {
            continue;
        }
        let classes = (ends == Ends::Services)
            .then(|| fair::classes(Sharers::Services, true, TURN_BYTES))
            .flatten();
        let how = Shape {
            classes,
            rate_bits_per_sec: RATE_BITS_PER_SEC,
            mtu,
            queue_bytes: QUEUE_BYTES,
        };
        server.namespace.run(move || {
            let mut batch = Batch::default();
            for name in &ports {
                shape(
                    &mut batch,
                    nix::net::if_::if_nametoindex(name.as_str()).unwrap(),
                    &how,
                );
            }
            Netlink::open().unwrap().run(&mut batch, no_excuse).unwrap();
        });
    }
    Some(chain)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> ExitCode {
    let mut broken = 0;
    println!(
        "CPU per byte of one TCP connection over kernel IPv4's, median of {ROUNDS} rounds; at most {BOUND}"
    );
    println!(
        "{:<7}  {:>6}  {:>6}  {:>11}  {:<22}  {:<22}  CamCube's classes alone",
        "links", "relays", "MTU", "kernel IPv4", "DCell", "CamCube"
    );
    if let Err(refused) = fair::load() {
        println!("not measured: {refused}");
        return ExitCode::SUCCESS;
    }
    for (shaped, (relays, mtu)) in [false, true].into_iter().flat_map(|shaped| {
        RELAYS
            .into_iter()
            .flat_map(move |relays| MTUS.map(move |mtu| (shaped, (relays, mtu))))
    }) {
        let (plain, services) = if shaped {
            (Ends::Shaped, Ends::Services)
        } else {
            (Ends::Bare, Ends::Bare)
        };
        let cases = [
            (Dataplane::KernelIpv4, plain),
            (Dataplane::Dcell, plain),
            (Dataplane::Camcube, services),
            (Dataplane::Camcube, plain),
        ];
        let chains = cases.map(|(dataplane, ends)| chain_on_one_cpu(relays, dataplane, mtu, ends));
        let [Some(ipv4), Some(dcell), Some(camcube), Some(without)] = &chains else {
            return ExitCode::SUCCESS;
        };
        let turn = |blocks| [ipv4, dcell, camcube, without].map(|chain| nanos_per_byte(chain, blocks));
        turn(BLOCKS / 8); // to warm up
        let rounds: Vec<[f64; 4]> = (0..ROUNDS).map(|_| turn(BLOCKS)).collect();
        let told = |at: usize| {
            let ratio = median(rounds.iter().map(|turn| turn[at] / turn[0]));
            let nanos = median(rounds.iter().map(|turn| turn[at]));
            let word = if ratio <= BOUND { "kept" } else { "BROKEN" };
            (ratio, format!("{nanos:.2} ns  {ratio:.2}  {word}"))
        };
        let [(of_dcell, dcell_told), (of_camcube, camcube_told)] = [told(1), told(2)];
        broken += u8::from(of_dcell > BOUND) + u8::from(of_camcube > BOUND);
        println!(
            "{:<7}  {relays:>6}  {mtu:>6}  {:>8.2} ns  {dcell_told:<22}  {camcube_told:<22}  {:.2}",
            if shaped { "shaped" } else { "bare" },
            median(rounds.iter().map(|turn| turn[0])),
            median(rounds.iter().map(|turn| turn[2] / turn[3])),
        );
    }
    println!("{} bytes a transfer", BLOCKS * block(0).len());
    ExitCode::from(broken)
}
