//! Requests and responses. A server has at most one client, which sends requests to one or more
//! servers, with one flow for each.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | schedule and targets of the client's requests, and latencies of responses |
//! | `udp.rs` | both ends over UDP |
//! | `tcp.rs` | both ends over TCP |
//! | `values.rs` | values for memcached's clients, independent of the requests |
//!
//! Not here: flows that only send, and the random choices of a client
//! (`cubeyard_topology::asking`).

pub mod tcp;
pub mod udp;
pub mod values;

use std::collections::BTreeMap;
use std::time::Duration;

use cubeyard_dataplane::configuration::secs;
use cubeyard_dataplane::protocol::Time;
use cubeyard_messages::{Asking, HEAD_BYTES, Latencies, bucket};
use cubeyard_topology::asking::{asked_server, pause_secs};

/// The longest request or response over TCP.
pub const MOST_BYTES: u64 = 1 << 40;
/// The longest response over UDP. With more datagrams, almost every response would lose one of
/// them.
pub const MOST_UDP_BYTES: u64 = 1 << 16;
/// After giving up a request, a client that waits for each response pauses at least this long
/// before the next one.
const RETRY: Duration = Duration::from_millis(250);

/// The client of this server, if it has one.
#[derive(Debug, Default)]
pub struct Client {
    asking: Option<Asking>,
    /// The flow to each server, by the server's index among the client's targets.
    flows: BTreeMap<u32, u32>,
    /// Number of the next request.
    next: u64,
    /// When the next request is due; `None` before the start, while waiting for a response, and
    /// when all requests are sent.
    due: Option<Time>,
    /// Requests that had no response yet when their flow was restarted.
    forgotten: usize,
    latencies: Latencies,
    buckets: BTreeMap<u16, u64>,
    reported: Latencies,
}

impl Client {
    /// Adds a flow for requests, or one that is restarted. Errors describe the problem of the flow.
    pub fn add(&mut self, flow: u32, asking: &Asking) -> Result<(), String> {
        check(flow, asking)?;
        let alike = |had: &Asking| {
            let place = asking.place;
            Asking { place, ..had.clone() } == *asking
        };
        let others = self.flows.get(&asking.place).is_some_and(|had| *had != flow);
        if !self.asking.as_ref().is_none_or(alike) || others {
            return Err(format!(
                "Flow {flow} is of another client, or asks the same server again: a server has one client."
            ));
        }
        self.flows.insert(asking.place, flow);
        self.asking = Some(asking.clone());
        Ok(())
    }

    /// Records that this many requests will get no response.
    pub fn forget(&mut self, requests: usize) {
        self.forgotten += requests;
    }

    /// Makes the first request due.
    pub fn start(&mut self, now: Time) {
        for _ in 0..std::mem::take(&mut self.forgotten) {
            self.gave_up(now);
        }
        if let Some(asking) = self
            .asking
            .as_ref()
            .filter(|_| self.next == 0 && self.due.is_none())
        {
            let pause = asking
                .rate_per_sec
                .map(|rate| pause_secs(asking.client_seed, 0, rate));
            self.due = Some(now + secs(pause.unwrap_or(0.0)));
        }
    }

    /// When the next request is due, and the flow for it.
    pub fn next_timeout(&self) -> Option<(Time, u32)> {
        let asking = self.asking.as_ref()?;
        let place = asked_server(asking.client_seed, self.next, asking.places);
        Some((self.due?, *self.flows.get(&place)?))
    }

    /// Takes the next request if it is due and belongs to this flow; returns its due time. Latency
    /// counts from the due time, not from sending: otherwise a client that is late would look fast.
    pub fn take(&mut self, flow: u32, now: Time) -> Option<Time> {
        let (due, _) = self
            .next_timeout()
            .filter(|&(due, next)| next == flow && due <= now)?;
        let asking = self.asking.as_ref()?;
        self.latencies.asked += 1;
        self.next += 1;
        self.due = asking
            .rate_per_sec
            .filter(|_| asking.count.is_none_or(|count| self.next < count))
            .map(|rate| due + secs(pause_secs(asking.client_seed, self.next, rate)));
        Some(due)
    }

    /// Records a complete response.
    pub fn answered(&mut self, begun: Time, now: Time) {
        let latency = now.saturating_sub(begun);
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let bound = self.asking.as_ref().and_then(|asking| asking.bound_secs);
        let latencies = &mut self.latencies;
        latencies.answered += 1;
        latencies.within_bound += u64::from(bound.is_some_and(|bound| latency.as_secs_f64() <= bound));
        latencies.sum_nanos = latencies.sum_nanos.saturating_add(nanos);
        latencies.longest_nanos = latencies.longest_nanos.max(nanos);
        *self.buckets.entry(bucket(nanos)).or_default() += 1;
        self.go_on(now, Duration::ZERO);
    }

    /// Records that a request was given up.
    pub fn gave_up(&mut self, now: Time) {
        self.latencies.timed_out += 1;
        self.go_on(now, RETRY);
    }

    /// For a client with one request at a time: schedules the next one.
    fn go_on(&mut self, now: Time, least: Duration) {
        if let Some(asking) = self
            .asking
            .as_ref()
            .filter(|asking| asking.rate_per_sec.is_none())
            && asking.count.is_none_or(|count| self.next < count)
        {
            self.due = Some(now + secs(asking.think_secs).max(least));
        }
    }

    /// Time limit for responses over UDP.
    pub fn timeout(&self) -> Duration {
        secs(self.asking.as_ref().map_or(0.0, |asking| asking.timeout_secs))
    }

    /// Latencies of the requests, if they have changed since the last call.
    pub fn report(&mut self) -> Option<Latencies> {
        let longest_nanos = std::mem::take(&mut self.latencies.longest_nanos);
        if self.latencies == self.reported {
            return None;
        }
        self.reported = self.latencies.clone();
        let buckets = self
            .buckets
            .iter()
            .map(|(&number, &count)| (number, count))
            .collect();
        Some(Latencies {
            longest_nanos,
            buckets,
            ..self.latencies.clone()
        })
    }
}

fn check(flow: u32, asking: &Asking) -> Result<(), String> {
    let wrong = |field: &str, limit: &str| Err(format!("Flow {flow}: {field} must be {limit}."));
    if asking.place >= asking.places {
        return wrong("place", "below places");
    }
    if asking
        .rate_per_sec
        .is_some_and(|rate| !(1e-3..=1e9).contains(&rate))
    {
        return wrong("rate_per_sec", "0.001 to 1e9, or null");
    }
    if !(0.0..=1e6).contains(&asking.think_secs) {
        return wrong("think_secs", "0 to 1e6");
    }
    if asking
        .bound_secs
        .is_some_and(|bound| !(1e-9..=1e6).contains(&bound))
    {
        return wrong("bound_secs", "1e-9 to 1e6, or null");
    }
    if !(1e-3..=1e6).contains(&asking.timeout_secs) {
        return wrong("timeout_secs", "0.001 to 1e6");
    }
    Ok(())
}

/// Refuses payloads without space for a request's number, and requests that are longer than a
/// datagram.
pub fn check_bytes(flow: u32, sizes: [(&str, u64, u64); 2]) -> Result<(), String> {
    for (field, bytes, most) in sizes {
        if !(HEAD_BYTES..=most).contains(&bytes) {
            return Err(format!(
                "Flow {flow}: {field} is {bytes}, but must be {HEAD_BYTES} to {most}."
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn asking(place: u32, places: u32) -> Asking {
        Asking {
            client_seed: 7,
            place,
            places,
            count: None,
            rate_per_sec: None,
            think_secs: 0.0,
            bound_secs: Some(0.01),
            timeout_secs: 2.0,
        }
    }

    #[test]
    fn a_client_without_a_rate_waits_for_each_response_and_thinks() {
        let mut client = Client::default();
        let order = Asking {
            count: Some(2),
            think_secs: 0.005,
            ..asking(0, 1)
        };
        client.add(3, &order).unwrap();
        assert_eq!(client.next_timeout(), None);
        client.start(MS);
        assert_eq!(client.take(3, MS), Some(MS));
        assert_eq!((client.take(3, 9 * MS), client.next_timeout()), (None, None));
        client.answered(MS, 4 * MS);
        assert_eq!(client.next_timeout(), Some((9 * MS, 3)));
        assert_eq!(client.take(3, 10 * MS), Some(9 * MS));
        client.answered(9 * MS, 30 * MS);
        // Both requests are sent.
        assert_eq!(client.next_timeout(), None);
        let report = client.report().unwrap();
        assert_eq!((report.asked, report.answered, report.within_bound), (2, 2, 1));
        assert_eq!((report.sum_nanos, report.longest_nanos), (24_000_000, 21_000_000));
        assert_eq!(report.buckets, [(bucket(3_000_000), 1), (bucket(21_000_000), 1)]);
        assert_eq!(client.report(), None);
    }

    #[test]
    fn requests_at_a_rate_are_sent_at_random_times_even_without_answers() {
        let mut client = Client::default();
        let places = 3;
        for place in 0..places {
            let order = Asking {
                rate_per_sec: Some(1000.0),
                count: Some(6000),
                ..asking(place, places)
            };
            client.add(10 + place, &order).unwrap();
        }
        client.start(Duration::ZERO);
        let mut moments = Vec::new();
        let mut of_flow = [0; 3];
        while let Some((due, flow)) = client.next_timeout() {
            assert_eq!(client.take(flow, due), Some(due));
            moments.push(due);
            of_flow[flow as usize - 10] += 1;
        }
        assert_eq!(moments.len(), 6000);
        assert!(moments.is_sorted());
        let last = moments.last().unwrap().as_secs_f64();
        assert!((last / 6.0 - 1.0).abs() < 0.05, "{last}");
        assert!(
            of_flow.iter().all(|&count| (count - 2000i32).abs() < 200),
            "{of_flow:?}"
        );
    }

    #[test]
    fn requests_that_are_given_up_are_counted_and_do_not_stop_the_client() {
        let mut client = Client::default();
        client.add(0, &asking(0, 1)).unwrap();
        client.start(Duration::ZERO);
        client.take(0, Duration::ZERO).unwrap();
        client.gave_up(2000 * MS);
        assert_eq!(client.next_timeout(), Some((2250 * MS, 0)));
        assert_eq!(client.report().unwrap().timed_out, 1);
    }

    #[test]
    fn impossible_clients_are_refused() {
        let mut client = Client::default();
        client.add(0, &asking(0, 2)).unwrap();
        for (order, field) in [
            (asking(2, 2), "place"),
            (asking(0, 2), "another client"),
            (asking(1, 3), "another client"),
            (
                Asking {
                    rate_per_sec: Some(f64::NAN),
                    ..asking(1, 2)
                },
                "rate_per_sec",
            ),
            (
                Asking {
                    think_secs: -1.0,
                    ..asking(1, 2)
                },
                "think_secs",
            ),
            (
                Asking {
                    bound_secs: Some(0.0),
                    ..asking(1, 2)
                },
                "bound_secs",
            ),
            (
                Asking {
                    timeout_secs: 0.0,
                    ..asking(1, 2)
                },
                "timeout_secs",
            ),
        ] {
            let refused = client.add(1, &order).unwrap_err();
            assert!(refused.contains(field), "{refused}");
        }
        assert!(check_bytes(1, [("request_bytes", 7, 100), ("response_bytes", 8, 100)]).is_err());
        assert!(check_bytes(1, [("request_bytes", 8, 100), ("response_bytes", 101, 100)]).is_err());
    }
}
