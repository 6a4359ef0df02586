//! Estimates the cost of a simulation before it starts, and rejects simulations that are too large.

use cubeyard_topology::Finding;
use serde_json::{Value, json};

use super::calendar::Calendar;
use super::cubic::Cubic;
use super::flows::{Clock, Connection, Receiver, Sender};
use super::heat::{BYTES_PER_LINK, BYTES_PER_USED_LINK};
use super::links::Links;
use super::qcn::{Point, Reaction};
use super::sack::Scoreboard;
use super::settings::{NoticesName, Settings};
use super::wheel::Wheel;

/// Flows of one simulation at most.
pub const MAX_FLOWS: u64 = 5_000_000;
/// Payload of all flows at most, in bytes.
pub const MAX_BYTES: u64 = 500_000_000_000;
/// The most memory that a simulation may take.
pub const MAX_MEMORY_BYTES: u64 = 8 << 30;
/// The slowest link in bit/s, as for faults: a packet's time on the line stays far from overflow.
pub const LEAST_RATE_BITS_PER_SEC: f64 = 1e4;
/// The fastest link in bit/s.
pub const MOST_RATE_BITS_PER_SEC: f64 = 1e14;

/// Properties of a run that are computed before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Flows of the workload.
    pub flows: u64,
    /// The payload of these packets.
    pub bytes: u64,
    /// Their data packets, without retransmissions.
    pub packets: u64,
    /// Packets times links, acknowledgements included.
    pub packet_hops: u64,
    /// The most memory, with all packets of all windows in flight.
    pub memory_bytes: u64,
}

impl Estimate {
    /// Estimates flows over routes of `route_links` links on average, in both directions together,
    /// with windows of `window` packets.
    pub fn new(
        settings: &Settings,
        directed_links: u64,
        flows: u64,
        bytes: u64,
        route_links: f64,
        window: u64,
    ) -> Estimate {
        let packets = bytes / settings.payload_bytes().max(1) + flows;
        let subflows = flows.saturating_mul(settings.subflows);
        let notices = settings.congestion_notices != NoticesName::None;
        let of_notices = |bytes: usize| if notices { bytes } else { 0 };
        let per_link = Links::BYTES_PER_LINK
            + Links::BYTES_PER_KIND
            + of_notices(size_of::<Point>())
            + if settings.link_heat {
                BYTES_PER_LINK + BYTES_PER_USED_LINK
            } else {
                0
            };
        let per_subflow = size_of::<Sender>()
            + size_of::<Clock>()
            + size_of::<Receiver>()
            + size_of::<Scoreboard>()
            + size_of::<Cubic>()
            + 2 * Wheel::BYTES_PER_EVENT
            + of_notices(size_of::<Reaction>() + Wheel::BYTES_PER_EVENT)
            + 16;
        // Two copies of the routes exist while they are made, and one of the reversed routes.
        let routes = if notices { 2.5 } else { 2.0 } * 4.0 * (route_links + 2.0);
        let in_flight = packets.min(subflows.saturating_mul(window)) * Calendar::BYTES_PER_PACKET as u64;
        let memory_bytes = directed_links * per_link as u64
            + flows * size_of::<Connection>() as u64
            + subflows * (per_subflow as u64 + routes as u64)
            + in_flight;
        Estimate {
            flows,
            bytes,
            packets,
            packet_hops: (packets as f64 * route_links) as u64,
            memory_bytes,
        }
    }

    /// `{bytes, packets, packet_hops, memory_bytes}`.
    pub fn document(&self) -> Value {
        json!({
            "bytes": self.bytes, "packets": self.packets, "packet_hops": self.packet_hops, "memory_bytes": self.memory_bytes,
        })
    }

    /// # Errors
    /// A finding with the estimate for a run that takes too much.
    pub fn check(&self) -> Result<(), Vec<Finding>> {
        let limits = [
            ("too-many-flows", "workload.kind", "flows", self.flows, MAX_FLOWS),
            (
                "too-many-bytes",
                "workload.bytes",
                "bytes of payload",
                self.bytes,
                MAX_BYTES,
            ),
            (
                "too-much-memory",
                "workload.kind",
                "bytes of memory",
                self.memory_bytes,
                MAX_MEMORY_BYTES,
            ),
        ];
        let Some((code, field, what, value, limit)) =
            limits.into_iter().find(|&(_, _, _, value, limit)| value > limit)
        else {
            return Ok(());
        };
        Err(vec![
            Finding::error(
                code,
                field,
                format!(
                    "The simulation would have {value} {what}; the limit is {limit}. Estimate: {} flows, {:.3e} bytes, {:.3e} packets over a link each, {:.1} MiB of memory.",
                    self.flows,
                    self.bytes as f64,
                    self.packet_hops as f64,
                    self.memory_bytes as f64 / f64::from(1 << 20),
                ),
                "Send fewer bytes or take fewer flows, or choose the engine flow.",
            )
            .with_value(value)
            .with_limit(limit),
        ])
    }
}

/// # Errors
///
/// A finding if links are slower or faster than the resolution of a simulation.
pub fn check_rates(gbps: &[f64]) -> Result<(), Vec<Finding>> {
    let (least, most) = (LEAST_RATE_BITS_PER_SEC / 1e9, MOST_RATE_BITS_PER_SEC / 1e9);
    let Some(&rate) = gbps.iter().find(|&&rate| !(least..=most).contains(&rate)) else {
        return Ok(());
    };
    Err(vec![
        Finding::error(
            "link-rate",
            "link_gbps",
            format!("A link has {rate} Gb/s; the packet engine takes {least} to {most} Gb/s."),
            "Give a rate in these limits.",
        )
        .with_value(rate)
        .with_limit(format!("{least} to {most} Gb/s")),
    ])
}
