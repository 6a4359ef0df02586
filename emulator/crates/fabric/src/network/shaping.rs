//! Rates, packet sizes and queues of links.

use serde_json::Value;

use super::Network;
use super::behaviour::QUEUE_BYTES;
use crate::error::{FabricError, Result};
use crate::links::Site;
use crate::netlink::Shape;
use crate::programs::fair;

const RATES_BITS_PER_SEC: std::ops::RangeInclusive<f64> = 1e4..=1e11;
const MTUS: std::ops::RangeInclusive<u32> = 576..=65_000;
/// Seconds of its rate that may wait at an end of a link. With 0.02 the 15 flows that share a link in an all-to-all
/// have too few packets of 9,000 bytes each to recover from a loss. `[ours]`
const QUEUE_SECS: f64 = 0.08;
/// Least and most bytes that may wait: two super-packets, and 16 MiB.
const QUEUE_LIMITS: (f64, f64) = (131_072.0, 16_777_216.0);

impl Network {
    /// Capacity of a link per direction.
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

    /// How an end of a link sends without any fault. Before fair queues are used their programs must be loaded.
    pub fn shape(&self, link: usize, site: Site) -> Shape {
        let at_server = matches!(site, Site::Server(_));
        Shape {
            fair: self
                .description
                .fair_queues
                .then(|| fair::classifiers(at_server))
                .flatten(),
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
