//! The free capacity of links, from the kernel's counters of the ports.

use std::collections::BTreeMap;
use std::time::Duration;

use cubeyard_dataplane::protocol::Time;

/// The kernel's counters of this process's network namespace.
const COUNTERS: &str = "/proc/self/net/dev";
/// How often counters are read within the time over which a load is smoothed.
const LOOKS: u32 = 5;

/// Bytes that an interface has transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that it received.
    pub received: u64,
    /// Bytes that it sent.
    pub sent: u64,
}

/// Smoothed rates of a port in both directions.
#[derive(Clone, Debug)]
struct Meter {
    port: u8,
    name: String,
    last: Option<Counters>,
    in_bits_per_sec: f64,
    out_bits_per_sec: f64,
    rate_bits_per_sec: f64,
}

/// The free capacity of a port's link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Available {
    /// Number of the port.
    pub port: u8,
    /// Free rate from this server.
    pub out_bits_per_sec: f64,
    /// Free rate to this server.
    pub in_bits_per_sec: f64,
}

/// The meters of all ports.
#[derive(Clone, Debug)]
pub struct Meters {
    meters: Vec<Meter>,
    memory: Duration,
    last_at: Time,
}

impl Meters {
    /// Meters of ports whose links have the given rate in each direction. Traffic older than
    /// `memory` counts for less than a third.
    pub fn new(rate_bits_per_sec: f64, ports: &[(u8, String)], memory: Duration, now: Time) -> Meters {
        let meter = |(port, name): &(u8, String)| Meter {
            port: *port,
            name: name.clone(),
            last: None,
            in_bits_per_sec: 0.0,
            out_bits_per_sec: 0.0,
            rate_bits_per_sec,
        };
        Meters {
            meters: ports.iter().map(meter).collect(),
            memory,
            last_at: now,
        }
    }

    /// Resets all ports to free. Once the last traffic has ended, old measurements predict nothing.
    pub fn forget(&mut self) -> Vec<Available> {
        let all_free = |meter: &mut Meter| {
            (meter.in_bits_per_sec, meter.out_bits_per_sec) = (0.0, 0.0);
            meter.last = None;
            Available {
                port: meter.port,
                out_bits_per_sec: meter.rate_bits_per_sec,
                in_bits_per_sec: meter.rate_bits_per_sec,
            }
        };
        self.meters.iter_mut().map(all_free).collect()
    }

    /// Sets the rate of a port's link in each direction.
    pub fn set_rate(&mut self, port: u8, rate_bits_per_sec: f64) {
        for meter in self.meters.iter_mut().filter(|meter| meter.port == port) {
            meter.rate_bits_per_sec = rate_bits_per_sec;
        }
    }

    /// When the counters must be read next.
    pub fn next_timeout(&self) -> Time {
        self.last_at + self.memory / LOOKS
    }

    /// Reads the kernel's counters; returns the free rates.
    pub fn look(&mut self, now: Time) -> Vec<Available> {
        let text = std::fs::read_to_string(COUNTERS).unwrap_or_default();
        self.take(now, &read_counters(&text))
    }

    fn take(&mut self, now: Time, counters: &BTreeMap<&str, Counters>) -> Vec<Available> {
        let elapsed_secs = now.saturating_sub(self.last_at).as_secs_f64();
        self.last_at = now;
        let kept = (-elapsed_secs / self.memory.as_secs_f64()).exp();
        let mut available = Vec::new();
        for meter in &mut self.meters {
            let Some(&current) = counters.get(meter.name.as_str()) else {
                continue;
            };
            if let Some(last) = meter.last.filter(|_| elapsed_secs > 0.0) {
                // A counter that decreased belongs to a new interface with the same name.
                let per_sec = |now: u64, before: u64| now.saturating_sub(before) as f64 * 8.0 / elapsed_secs;
                let smooth = |old: f64, new: f64| kept * old + (1.0 - kept) * new;
                meter.in_bits_per_sec =
                    smooth(meter.in_bits_per_sec, per_sec(current.received, last.received));
                meter.out_bits_per_sec = smooth(meter.out_bits_per_sec, per_sec(current.sent, last.sent));
            }
            meter.last = Some(current);
            available.push(Available {
                port: meter.port,
                out_bits_per_sec: (meter.rate_bits_per_sec - meter.out_bits_per_sec).max(0.0),
                in_bits_per_sec: (meter.rate_bits_per_sec - meter.in_bits_per_sec).max(0.0),
            });
        }
        available
    }
}

/// Parses the lines `name: received_bytes … sent_bytes …` of the kernel's table.
fn read_counters(text: &str) -> BTreeMap<&str, Counters> {
    let read_line = |line| -> Option<(&str, Counters)> {
        let (name, columns) = str::split_once(line, ':')?;
        let column = |index| columns.split_ascii_whitespace().nth(index)?.parse().ok();
        let counters = Counters {
            received: column(0)?,
            sent: column(8)?,
        };
        Some((name.trim(), counters))
    };
    text.lines().filter_map(read_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Duration = Duration::from_secs(1);
    const INTERVAL: Duration = Duration::from_millis(200);
    const TABLE: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      200       1    0    0    0     0       0          0
    p0: 1000000     900    0    0    0     0          0         0  2500000    1700    0    0    0     0       0          0
";

    #[test]
    fn the_kernels_table_is_read_by_name() {
        let counters = read_counters(TABLE);
        let expected = Counters {
            received: 1_000_000,
            sent: 2_500_000,
        };
        assert_eq!(counters["p0"], expected);
        assert_eq!(counters.len(), 2);
    }

    #[test]
    fn the_free_rate_lacks_a_steady_load_after_a_few_seconds() {
        let ports = [(0, "p0".to_owned())];
        let mut meters = Meters::new(100e6, &ports, MEMORY, Duration::ZERO);
        let mut available = Vec::new();
        for tick in 1u64..=40 {
            // Sent: 1 MB in 200 ms are 40 Mb/s. Received: nothing.
            let counters = Counters {
                received: 7,
                sent: tick * 1_000_000,
            };
            available = meters.take(INTERVAL * tick as u32, &BTreeMap::from([("p0", counters)]));
        }
        assert!(
            (available[0].out_bits_per_sec - 60e6).abs() < 0.1e6,
            "{available:?}"
        );
        assert!(
            (available[0].in_bits_per_sec - 100e6).abs() < 1.0,
            "{available:?}"
        );
    }

    #[test]
    fn packets_after_the_last_flow_start_new_rates() {
        let ports = [(0, "p0".to_owned())];
        let mut meters = Meters::new(100e6, &ports, MEMORY, Duration::ZERO);
        let sent = |sent| BTreeMap::from([("p0", Counters { received: 0, sent })]);
        meters.take(INTERVAL, &sent(0));
        let busy = meters.take(INTERVAL * 2, &sent(2_000_000));
        assert!(busy[0].out_bits_per_sec < 100e6, "{busy:?}");
        assert_eq!(meters.forget()[0].out_bits_per_sec, 100e6);
        let available = meters.take(INTERVAL * 3, &sent(2_100_000));
        assert_eq!(available[0].out_bits_per_sec, 100e6);
    }

    #[test]
    fn a_degraded_link_has_less_free_bandwidth() {
        let ports = [(0, "p0".to_owned()), (1, "p1".to_owned())];
        let idle = |name| (name, Counters { received: 0, sent: 0 });
        let mut meters = Meters::new(100e6, &ports, MEMORY, Duration::ZERO);
        meters.set_rate(1, 10e6);
        let available = meters.take(INTERVAL, &BTreeMap::from([idle("p0"), idle("p1")]));
        let out: Vec<f64> = available.iter().map(|port| port.out_bits_per_sec).collect();
        assert_eq!(out, [100e6, 10e6]);
    }

    #[test]
    fn a_port_that_is_gone_is_left_out() {
        let ports = [(0, "p0".to_owned()), (1, "p1".to_owned())];
        let mut meters = Meters::new(100e6, &ports, MEMORY, Duration::ZERO);
        assert_eq!(meters.take(INTERVAL, &read_counters(TABLE)).len(), 1);
    }
}
