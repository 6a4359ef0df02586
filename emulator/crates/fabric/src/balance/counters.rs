//! A ToR's own counters as moving averages, for its report.

use std::collections::BTreeMap;

use super::message::Report;
use super::plan::Plan;
use crate::netlink::Traffic;

/// Counters of a ToR.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    last: Option<(f64, BTreeMap<usize, Traffic>)>,
    /// By link: bits per second received and sent, then of packets on detours alone; averaged.
    rates: BTreeMap<usize, [f64; 4]>,
}

impl Counters {
    /// Adds a reading of the ToR's interfaces at `now_secs`, by link: `received` from the far end,
    /// `sent` to it. The moving averages decay with `memory_secs`.
    pub fn observe(&mut self, now_secs: f64, traffic: BTreeMap<usize, Traffic>, memory_secs: f64) {
        if let Some((then, last)) = &self.last
            && now_secs > *then
        {
            let elapsed = now_secs - then;
            let fresh = 1.0 - (-elapsed / memory_secs).exp();
            for (link, now) in &traffic {
                let Some(before) = last.get(link) else { continue };
                // The counters of an interface that was created again start at zero.
                let bits = |now: u64, before: u64| 8.0 * now.saturating_sub(before) as f64 / elapsed;
                let seen = [
                    bits(now.received_bytes, before.received_bytes),
                    bits(now.sent_bytes, before.sent_bytes),
                    bits(now.wrapped_bytes[0], before.wrapped_bytes[0]),
                    bits(now.wrapped_bytes[1], before.wrapped_bytes[1]),
                ];
                let rates = self.rates.entry(*link).or_insert(seen);
                for (rate, seen) in rates.iter_mut().zip(seen) {
                    *rate += fresh * (seen - *rate);
                }
            }
        }
        self.last = Some((now_secs, traffic));
    }

    /// The ToR's report, with detours only if the network can have any. `live_rate` returns the
    /// rate of a usable uplink.
    pub fn report(
        &self,
        plan: &Plan,
        tor: usize,
        at_millis: u32,
        has_detours: bool,
        live_rate: impl Fn(usize) -> Option<f64>,
    ) -> Report {
        let rates = |link: usize| self.rates.get(&link).copied().unwrap_or_default();
        let mut capacity = 0.0;
        let mut used = [0.0; 2];
        for &link in &plan.uplinks[tor] {
            if let Some(rate) = live_rate(link) {
                capacity += rate;
                // Upward traffic is what the uplink sends, downward traffic what it receives.
                let [received, sent, ..] = rates(link);
                used[0] += sent;
                used[1] += received;
            }
        }
        let fraction = |used: f64| {
            if capacity > 0.0 {
                (used / capacity).min(1.0) as f32
            } else {
                0.0
            }
        };
        let servers = plan.server_links[tor].iter();
        let pair = |link: usize, at: usize| [rates(link)[at] as f32, rates(link)[at + 1] as f32];
        let detoured = servers.clone().filter(|_| has_detours).map(|&link| pair(link, 2));
        Report {
            tor,
            at_millis,
            capacity: capacity as f32,
            used: used.map(fraction),
            detoured: detoured.collect(),
            carried: servers.map(|&link| pair(link, 0)).collect(),
        }
    }
}
