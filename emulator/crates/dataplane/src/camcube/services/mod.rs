//! Services that route their own packets: the extended routing service, and the services of the
//! paper that use it. `[camcube §2.1.1, §3, §5]`
//!
//! Packets of services travel from node to node as datagrams between the control addresses of
//! ports, with the header of `header.rs` before the payload: services need no privilege, regardless
//! of the forwarding of applications' packets. `[ours]`
//!
//! | file | job |
//! |---|---|
//! | `runtime.rs` | arrivals, the function F, polling by free links |
//! | `context.rs` | what a service sees of the network, and its requests |
//! | `hosted.rs` | a service with the runtime's state for it |
//! | `queues.rs`, `fair.rs` | waiting packets, and fair turns |
//! | `distribution.rs` | a file to many servers, over a tree `[camcube §3.2]` |
//! | `aggregation.rs` | counts of words, added up on their way `[camcube §3.4]` |
//! | `cache/` | keys and values, with replicas near their readers `[camcube §3.3]` |
//! | `benchmark.rs` | benchmark traffic: throughput of paths, links and the function F `[camcube §3.1, §6]` |
//! | `wire.rs` | reading and writing their payloads |

pub mod aggregation;
pub mod benchmark;
pub mod cache;
pub mod context;
pub mod distribution;
mod fair;
mod hosted;
mod queues;
pub mod runtime;
mod wire;

use crate::service::{Service, ServiceEntry};

/// The services that every server runs, as the catalogue lists them.
pub const ENTRIES: &[ServiceEntry] = &[
    distribution::ENTRY,
    aggregation::ENTRY,
    cache::ENTRY,
    benchmark::ENTRY,
];

/// The services that every server runs, by number.
pub fn built_in(memcached_port: Option<u16>) -> Vec<(u16, Box<dyn Service>)> {
    vec![
        (16, Box::new(distribution::Distribution::default())),
        (17, Box::new(aggregation::Aggregation::default())),
        (18, Box::new(cache::Cache::new(memcached_port))),
        (19, Box::new(benchmark::Benchmark::default())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_lists_the_services_that_run() {
        let listed: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        let services = built_in(None);
        let running: Vec<&str> = services.iter().map(|(_, service)| service.name()).collect();
        assert_eq!(listed, running);
    }
}
