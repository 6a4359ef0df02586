//! Rates, packet sizes and queues of links.

use cubeyard_dataplane::control::turn_bytes;
use serde_json::Value;

use super::Description;
use super::Network;
use super::behaviour::QUEUE_BYTES;
use crate::error::{FabricError, Result};
use crate::links::Site;
use crate::netlink::{Shape, Sharers, two_packets};
use crate::programs::fair;

const RATES_BITS_PER_SEC: std::ops::RangeInclusive<f64> = 1e4..=1e11;
const MTUS: std::ops::RangeInclusive<u32> = 576..=65_000;
/// How many seconds of traffic may wait at an end of a link. With 0.02, the 15 flows that share a
/// link in an all-to-all had too few packets of 9,000 bytes each to recover from a loss. `[ours]`
const QUEUE_SECS: f64 = 0.08;
/// Minimum and maximum of the bytes that may wait: two super-packets, and 16 MiB.
const QUEUE_LIMITS: (f64, f64) = (131_072.0, 16_777_216.0);

impl Network {
    /// Rate of a link per direction.
    pub fn rate_bits_per_sec(&self, link: usize) -> f64 {
        let own = self.description.links[link].rate_bits_per_sec;
        own.unwrap_or(self.description.rate_bits_per_sec)
    }

    /// Bytes that may wait at an end of a link.
    pub fn queue_bytes(&self, link: usize) -> u32 {
        let set = self.description.settings.get(QUEUE_BYTES).and_then(Value::as_u64);
        match set {
            Some(bytes) => u32::try_from(bytes).unwrap_or(u32::MAX),
            None => {
                (self.rate_bits_per_sec(link) / 8.0 * QUEUE_SECS).clamp(QUEUE_LIMITS.0, QUEUE_LIMITS.1) as u32
            }
        }
    }

    /// Which traffic has separate queues at the ends of links; `None` for one common queue.
    /// Services always share a link fairly, however much each sends. `[camcube §2.1.1]`
    pub fn sharers(&self) -> Option<Sharers> {
        match self.description.fair_queues {
            true => Some(Sharers::Flows),
            false => self.has_services().then_some(Sharers::Services),
        }
    }

    /// Bytes that each service sends per turn on any link; `None` where servers host no services.
    pub fn turn_bytes(&self) -> Option<u32> {
        let Description {
            rate_bits_per_sec,
            mtu,
            ..
        } = self.description;
        self.has_services().then(|| turn_bytes(rate_bits_per_sec, mtu))
    }

    fn has_services(&self) -> bool {
        !self.behaviour.entry.services.is_empty()
    }

    /// Shaping of an end of a link without faults. If queues are shared, their programs must be
    /// loaded first.
    pub fn shape(&self, link: usize, site: Site) -> Shape {
        let at_server = matches!(site, Site::Server(_));
        Shape {
            classes: self.sharers().and_then(|sharers| {
                let two = two_packets(self.description.mtu);
                fair::classes(sharers, at_server, self.turn_bytes().unwrap_or(two))
            }),
            rate_bits_per_sec: self.rate_bits_per_sec(link),
            mtu: self.description.mtu,
            queue_bytes: self.queue_bytes(link),
        }
    }
}

/// Checks a link's rate.
pub fn check_rate(field: &str, rate_bits_per_sec: f64) -> Result<()> {
    if RATES_BITS_PER_SEC.contains(&rate_bits_per_sec) {
        return Ok(());
    }
    let (least, most) = (RATES_BITS_PER_SEC.start(), RATES_BITS_PER_SEC.end());
    let limit = format!("{least:e} to {most:e} bits per second");
    Err(FabricError::bad(
        field,
        rate_bits_per_sec,
        limit,
        "use for example 1e8",
    ))
}

/// Checks a network's MTU.
pub fn check_mtu(field: &str, mtu: u32) -> Result<()> {
    if MTUS.contains(&mtu) {
        return Ok(());
    }
    let limit = format!("{} to {} bytes", MTUS.start(), MTUS.end());
    Err(FabricError::bad(field, mtu, limit, "use 1500 or 9000"))
}
