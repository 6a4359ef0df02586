//! Benchmark traffic: measures the throughput of paths, links and the function F, as the paper
//! does. `[camcube §3.1, §6]`
//!
//! A source sends to one coordinate as fast as its links accept packets: for some time (`flood`),
//! or a number of packets (`send`). The mode chooses the route:
//!
//! | mode | route |
//! |---|---|
//! | `routed` | the routing service: the first free link on a shortest path `[camcube §2.1.2]` |
//! | `disjoint` | the TCP/IP service: link-disjoint paths, all at once `[camcube §3.1, §7]` |
//! | `bounce` | to a neighbour, which sends each packet back over the same link `[camcube §6]` |
//! | `keys-1` to `keys-16` | as `bounce`, but by the extended routing service: the neighbour's F returns the keys in the packet, all of which are the source's `[camcube §6]` |
//!
//! The receiver (with `bounce` and `keys` the source itself) answers
//! `received PACKETS BYTES MICROS from X,Y,Z` once no packet has arrived for [`QUIET`]: BYTES are
//! of payloads, MICROS is the time from the first packet to the last.
//!
//! Messages: `flood X,Y,Z MODE MILLIS BYTES` and `send X,Y,Z MODE PACKETS BYTES`.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use cubeyard_routing::torus::{first_ways, next_way};

use super::wire::{Reader, number, read_key, torus};
use crate::protocol::Time;
use crate::service::{
    Action, Context, Key, MAX_KEYS, MessageForm, Packet, QueuePolicy, Service, ServiceEntry,
};

/// The service's entry in the catalogue.
pub const ENTRY: ServiceEntry = ServiceEntry {
    name: "benchmark",
    title: "Benchmark",
    description: "Sends packets as fast as links take them, by the routing service, over disjoint paths, or back and forth between \
                  neighbours.",
    messages: &[
        MessageForm {
            title: "Send for half a second by the routing service",
            example: "flood 1,1,1 routed 500 1400",
            to_every_server: false,
        },
        MessageForm {
            title: "Send for half a second over the TCP/IP service's disjoint paths",
            example: "flood 1,1,1 disjoint 500 1400",
            to_every_server: false,
        },
        MessageForm {
            title: "Send one packet of 64 bytes",
            example: "send 0,0,0 routed 1 64",
            to_every_server: true,
        },
    ],
};

/// Packets of a source that may wait for its links. `[ours]`
const WINDOW: usize = 32;
/// Interval after which a flood tries again if links have stopped accepting packets.
const PACE: Duration = Duration::from_millis(10);
/// A receiver reports after this time without packets.
const QUIET: Duration = Duration::from_millis(200);
/// Longest flood, and the most packets of one order. `[ours]`
const MOST_MILLIS: u64 = 60_000;
const MOST_PACKETS: u64 = 100_000;
/// Most orders of a source at a time, and most sources that a receiver counts. `[ours]`
const MOST_FLOODS: usize = 16;
const MOST_SOURCES: usize = 4096;
/// Most packets that wait for bouncing over a link. `[ours]`
const MOST_BOUNCED: usize = 256;
/// Longest time that packets wait on a server; the queue of a link is shorter. `[ours]`
const WAIT_MILLIS: u32 = 200;
/// Bytes of a payload before the keys: mode, whether the packet returns, source, destination, the
/// server before, keys.
const HEAD_BYTES: usize = 12;

/// How packets reach their destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Routed,
    Disjoint,
    Bounce,
    Keys(u8),
}

impl Mode {
    fn of(text: &str) -> Option<Mode> {
        let keys = |text: &str| text.strip_prefix("keys-")?.parse::<u8>().ok();
        match text {
            "routed" => Some(Mode::Routed),
            "disjoint" => Some(Mode::Disjoint),
            "bounce" => Some(Mode::Bounce),
            _ => keys(text)
                .filter(|keys| (1..=MAX_KEYS).contains(&usize::from(*keys)))
                .map(Mode::Keys),
        }
    }

    fn number(self) -> u8 {
        match self {
            Mode::Routed => 1,
            Mode::Disjoint => 2,
            Mode::Bounce => 3,
            Mode::Keys(_) => 4,
        }
    }
}

/// The first fields of a payload; the rest is zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    mode: Mode,
    back: bool,
    source: Key,
    destination: Key,
    /// On disjoint paths: the server that forwarded the packet last.
    before: Key,
    keys: Vec<Key>,
}

impl Head {
    fn parse(payload: &[u8]) -> Option<Head> {
        let mut reader = Reader(payload);
        let (mode, back) = (reader.u8()?, reader.u8()? == 1);
        let (source, destination, before) = (reader.key()?, reader.key()?, reader.key()?);
        let count = reader.u8()?;
        let mode = match mode {
            1 => Mode::Routed,
            2 => Mode::Disjoint,
            3 => Mode::Bounce,
            4 if (1..=MAX_KEYS).contains(&usize::from(count)) => Mode::Keys(count),
            _ => return None,
        };
        let keys = (0..count).map(|_| reader.key()).collect::<Option<Vec<Key>>>()?;
        Some(Head {
            mode,
            back,
            source,
            destination,
            before,
            keys,
        })
    }

    /// A payload of this length, or of the length of its head if that is longer.
    fn emit(&self, bytes: usize) -> Vec<u8> {
        let mut payload = vec![self.mode.number(), self.back.into()];
        for key in [self.source, self.destination, self.before] {
            payload.extend(key);
        }
        payload.push(self.keys.len() as u8);
        self.keys.iter().for_each(|key| payload.extend(key));
        payload.resize(bytes.max(payload.len()), 0);
        payload
    }
}

/// An order that the source is carrying out.
#[derive(Debug)]
struct Flood {
    head: Head,
    bytes: usize,
    /// Number of packets left to send; unlimited for a flood.
    left: u64,
    until: Option<Time>,
    /// The port of the neighbour that bounces packets.
    port: Option<u8>,
}

impl Flood {
    fn is_over(&self, now: Time) -> bool {
        self.left == 0 || self.until.is_some_and(|until| now >= until)
    }

    fn packet(&mut self, key: Key) -> Packet {
        self.left -= 1;
        Packet {
            key,
            colour: 0,
            payload: self.head.emit(self.bytes),
        }
    }
}

/// The packets received from a source.
#[derive(Debug)]
struct Tally {
    packets: u64,
    bytes: u64,
    first: Time,
    last: Time,
}

/// The service on one server.
#[derive(Debug, Default)]
pub struct Benchmark {
    floods: Vec<Flood>,
    /// By port: packets to send back over the link on which they arrived.
    bounced: BTreeMap<u8, VecDeque<Packet>>,
    received: BTreeMap<Key, Tally>,
    wake_at: Option<Time>,
}

impl Benchmark {
    /// Sends packets while the links accept them.
    fn fill(&mut self, context: &mut dyn Context) {
        let (now, here) = (context.now(), context.here());
        self.floods.retain(|flood| !flood.is_over(now));
        let mut room = WINDOW.saturating_sub(context.waiting());
        for flood in &mut self.floods {
            if let Some(port) = flood.port {
                if context.free_ports() >> port & 1 == 1 {
                    let packet = flood.packet(flood.head.destination);
                    context.send(port, packet);
                }
                continue;
            }
            while room > 0 && flood.left > 0 {
                room -= 1;
                let destination = flood.head.destination;
                match flood.head.mode {
                    Mode::Keys(_) => {
                        let packet = flood.packet(destination);
                        context.transmit(packet, &[destination]);
                    }
                    _ => {
                        let packet = flood.packet(here);
                        context.route(packet);
                    }
                }
            }
        }
    }

    /// Sends waiting packets back while their link accepts them.
    fn bounce(&mut self, context: &mut dyn Context, port: u8) {
        let waiting = self.bounced.entry(port).or_default();
        if context.free_ports() >> port & 1 == 1
            && let Some(packet) = waiting.pop_front()
        {
            context.send(port, packet);
        }
    }

    fn count(&mut self, context: &mut dyn Context, source: Key, bytes: usize) -> Action {
        let now = context.now();
        if !self.received.contains_key(&source) && self.received.len() >= MOST_SOURCES {
            return Action::Drop;
        }
        let tally = self.received.entry(source).or_insert(Tally {
            packets: 0,
            bytes: 0,
            first: now,
            last: now,
        });
        tally.packets += 1;
        tally.bytes += bytes as u64;
        tally.last = now;
        self.wake(context, now + QUIET);
        Action::Consumed
    }

    /// Sets the timer to this time unless it fires earlier.
    fn wake(&mut self, context: &mut dyn Context, at: Time) {
        if self.wake_at.is_none_or(|earlier| at < earlier) {
            self.wake_at = Some(at);
            context.set_timer(at);
        }
    }

    fn say(&mut self, context: &mut dyn Context) {
        let now = context.now();
        let quiet = |tally: &Tally| tally.last + QUIET <= now;
        self.received.retain(|[x, y, z], tally| {
            let over = quiet(&*tally);
            if over {
                let Tally { packets, bytes, .. } = *tally;
                let micros = tally.last.saturating_sub(tally.first).as_micros();
                context.deliver(format!("received {packets} {bytes} {micros} from {x},{y},{z}").into_bytes());
            }
            !over
        });
        if let Some(next) = self.received.values().map(|tally| tally.last + QUIET).min() {
            self.wake(context, next);
        }
    }

    /// Parses `flood X,Y,Z MODE MILLIS BYTES` or `send X,Y,Z MODE PACKETS BYTES`; errors are
    /// messages for the user.
    fn read(context: &dyn Context, bytes: &[u8]) -> Result<Flood, String> {
        let line = std::str::from_utf8(bytes).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[verb @ ("flood" | "send"), to, mode, amount, bytes] = &words[..] else {
            return Err("say flood X,Y,Z MODE MILLIS BYTES or send X,Y,Z MODE PACKETS BYTES".to_owned());
        };
        let (here, most_bytes) = (context.here(), context.max_payload());
        let destination = read_key(to, context.size()).filter(|key| *key != here);
        let destination = destination
            .ok_or_else(|| format!("X,Y,Z is {to}: name another server's coordinate, like 0,0,1"))?;
        let mode = Mode::of(mode).ok_or_else(|| {
            format!("MODE is {mode}: say routed, disjoint, bounce or keys-1 to keys-{MAX_KEYS}")
        })?;
        let keys = match mode {
            Mode::Keys(count) => vec![here; count.into()],
            _ => Vec::new(),
        };
        let least_bytes = HEAD_BYTES + 3 * keys.len();
        let within = |text: &str, least: u64, most: u64| {
            let amount = text.parse().ok().filter(|amount| (least..=most).contains(amount));
            amount.ok_or_else(|| format!("{text} is out of range: give {least} to {most}"))
        };
        let bytes = within(bytes, least_bytes as u64, most_bytes as u64)? as usize;
        let (left, until) = if verb == "flood" {
            let millis = within(amount, 1, MOST_MILLIS)?;
            (u64::MAX, Some(context.now() + Duration::from_millis(millis)))
        } else {
            (within(amount, 1, MOST_PACKETS)?, None)
        };
        let port = (0..8u8).find(|port| context.neighbour(*port) == Some(destination));
        if matches!(mode, Mode::Bounce | Mode::Keys(_)) && port.is_none() {
            return Err(format!("X,Y,Z is {to}: this mode needs a living neighbour"));
        }
        let head = Head {
            mode,
            back: false,
            source: here,
            destination,
            before: here,
            keys,
        };
        Ok(Flood {
            head,
            bytes,
            left,
            until,
            port: port.filter(|_| mode == Mode::Bounce),
        })
    }
}

impl Service for Benchmark {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action {
        let Some(head) = Head::parse(&packet.payload) else {
            return Action::Drop;
        };
        let (here, bytes) = (context.here(), packet.payload.len());
        match head.mode {
            Mode::Bounce if head.back => self.count(context, head.destination, bytes),
            Mode::Bounce => {
                let waiting = self.bounced.entry(port).or_default();
                if waiting.len() >= MOST_BOUNCED {
                    return Action::Drop;
                }
                // Only the mark changes, not the rest of the payload.
                packet.payload[1] = 1;
                waiting.push_back(std::mem::take(packet));
                self.bounce(context, port);
                Action::Consumed
            }
            Mode::Keys(_) if here == head.source => self.count(context, head.destination, bytes),
            Mode::Routed | Mode::Disjoint if here == head.destination => {
                self.count(context, head.source, bytes)
            }
            // The destination is dead; the TCP/IP service drops what the new owner of its keys
            // receives [camcube §7].
            Mode::Disjoint if packet.key != here && context.responsible(packet.key) => Action::Drop,
            Mode::Routed if context.responsible(head.destination) => Action::Drop,
            _ => Action::Pass,
        }
    }

    fn route(&mut self, context: &mut dyn Context, at: Key, packet: &mut Packet) -> Vec<Key> {
        let Some(head) = Head::parse(&packet.payload) else {
            return Vec::new();
        };
        match head.mode {
            Mode::Bounce => Vec::new(),
            Mode::Keys(_) => head.keys,
            Mode::Routed => vec![head.destination],
            Mode::Disjoint => {
                let torus = torus(context);
                let (here, to) = (number(&torus, at), number(&torus, head.destination));
                let ways: Vec<(usize, bool)> = if at == head.source {
                    first_ways(&torus, here, to).collect()
                } else {
                    let axis = (0..3).find(|axis| at[*axis] != head.before[*axis]).unwrap_or(0);
                    vec![next_way(&torus, here, to, number(&torus, head.before), axis)]
                };
                let bytes = packet.payload.len();
                packet.payload = Head { before: at, ..head }.emit(bytes);
                ways.into_iter()
                    .map(|(axis, up)| context.neighbour_key(at, axis, up))
                    .collect()
            }
        }
    }

    fn queue(&mut self, _queue: u8) -> QueuePolicy {
        QueuePolicy {
            max_millis: WAIT_MILLIS,
            weight: 1,
        }
    }

    fn sent(&mut self, context: &mut dyn Context, port: u8) {
        if !self.bounced.is_empty() {
            self.bounce(context, port);
        }
        if !self.floods.is_empty() {
            self.fill(context);
        }
    }

    fn timer(&mut self, context: &mut dyn Context) {
        self.wake_at = None;
        self.fill(context);
        if !self.floods.is_empty() {
            let next = context.now() + PACE;
            self.wake(context, next);
        }
        self.say(context);
    }

    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        if self.floods.len() >= MOST_FLOODS {
            context.deliver(format!("error: {MOST_FLOODS} orders are under way: wait").into_bytes());
            return;
        }
        match Benchmark::read(context, bytes) {
            Err(said) => context.deliver(format!("error: {said}").into_bytes()),
            Ok(flood) => {
                self.floods.push(flood);
                self.fill(context);
                let next = context.now() + PACE;
                self.wake(context, next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_head_survives_its_payload(
            which in 0usize..4, back: bool, places: [Key; 3], keys in prop::collection::vec(any::<Key>(), 1..=MAX_KEYS), bytes in 0usize..200,
        ) {
            let mode = [Mode::Routed, Mode::Disjoint, Mode::Bounce, Mode::Keys(keys.len() as u8)][which];
            let keys = if which == 3 { keys } else { Vec::new() };
            let [source, destination, before] = places;
            let head = Head { mode, back, source, destination, before, keys };
            let payload = head.emit(bytes);
            prop_assert_eq!(payload.len(), bytes.max(HEAD_BYTES + 3 * head.keys.len()));
            prop_assert_eq!(Head::parse(&payload), Some(head));
        }

        #[test]
        fn any_bytes_are_a_head_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Head::parse(&bytes);
        }
    }
}
