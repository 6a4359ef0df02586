//! Counts words on many servers, and adds the counts where their packets meet. `[camcube §3.4]`
//!
//! Every server counts the words of one text. Partial counts travel from key coordinate to key
//! coordinate on one deterministic path, axis after axis in an order that a hash of the destination
//! picks. With full aggregation, a coordinate waits for all counts that pass it and forwards their
//! sum; without, it forwards every packet alone.
//!
//! Paths also meet at coordinates whose server has failed: the new owner of that server's keys acts
//! for it, and adds no words. `[ours]` Counts that do not arrive within [`PATIENCE`] are omitted,
//! and the number of omissions is counted.
//!
//! A message is `count JOB X,Y,Z full` or `count JOB X,Y,Z none`, a line feed, and the text; each
//! server gets one. The server that owns `X,Y,Z` answers `JOB SERVERS`, then a line `WORD COUNT`
//! for each word.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cubeyard_routing::torus::dimension_order;

use super::wire::{Reader, fnv, key_of, number, put_bytes, read_key, torus};
use crate::protocol::Time;
use crate::service::{Action, Context, Key, MessageForm, Packet, Service, ServiceEntry};

/// The service's entry in the catalogue.
pub const ENTRY: ServiceEntry = ServiceEntry {
    name: "aggregation",
    title: "Word count",
    description: "Counts words over all servers and adds the counts up on the way to one server.",
    messages: &[
        MessageForm {
            title: "Count, adding up on the way",
            example: "count 1 0,0,0 full\nwords of this server",
            to_every_server: true,
        },
        MessageForm {
            title: "Count, without adding up on the way",
            example: "count 2 0,0,0 none\nwords of this server",
            to_every_server: true,
        },
    ],
};

/// Time after which a coordinate forwards incomplete counts. `[ours]`
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of jobs per server; the oldest are removed. `[ours]`
const MOST_JOBS: usize = 4096;
const PARTIAL: u8 = 1;
const ALONE: u8 = 2;
const HEAD_BYTES: usize = 19;
/// The six orders of axes `[camcube §3.4]`.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

type Counts = BTreeMap<Vec<u8>, u64>;

/// The counts of a job at a coordinate.
#[derive(Debug)]
struct Gathered {
    root: Key,
    full: bool,
    /// Whether the words of the coordinate's own server are included.
    own: bool,
    counts: Counts,
    /// Number of coordinates whose words are included.
    servers: u32,
    /// The numbers of the parts that have arrived, by sender; all of them for the senders in
    /// `whole`.
    parts: BTreeMap<Key, BTreeSet<u16>>,
    whole: BTreeSet<Key>,
    until: Time,
    sent: bool,
}

/// The service on one server.
#[derive(Debug, Default)]
pub struct Aggregation {
    jobs: BTreeMap<(u32, Key), Gathered>,
}

/// The payload of a packet.
struct Partial {
    kind: u8,
    job: u32,
    root: Key,
    from: Key,
    servers: u32,
    parts: u16,
    part: u16,
    counts: Counts,
}

impl Partial {
    fn parse(payload: &[u8]) -> Option<Partial> {
        let mut reader = Reader(payload);
        let kind = reader.u8().filter(|kind| [PARTIAL, ALONE].contains(kind))?;
        let (job, root, from) = (reader.u32()?, reader.key()?, reader.key()?);
        let servers = reader.u32()?;
        let [parts, part] = [
            u16::from_be_bytes(reader.array()?),
            u16::from_be_bytes(reader.array()?),
        ];
        let mut counts = Counts::new();
        while !reader.0.is_empty() {
            let word = reader.bytes()?.to_vec();
            counts.insert(word, reader.u64()?);
        }
        (part < parts).then_some(Partial {
            kind,
            job,
            root,
            from,
            servers,
            parts,
            part,
            counts,
        })
    }

    fn head(&self, parts: u16, part: u16) -> Vec<u8> {
        let mut head = vec![self.kind];
        head.extend(self.job.to_be_bytes());
        head.extend(self.root);
        head.extend(self.from);
        head.extend(self.servers.to_be_bytes());
        head.extend(parts.to_be_bytes());
        head.extend(part.to_be_bytes());
        head
    }

    /// Splits the counts into as many payloads as necessary, each of at most `most` bytes. Omits
    /// words that do not fit any payload.
    fn emit(&self, most: usize) -> Vec<Vec<u8>> {
        let mut bodies = vec![Vec::new()];
        for (word, count) in &self.counts {
            let bytes = word.len() + 10;
            if bytes + HEAD_BYTES > most {
                continue;
            }
            if bodies
                .last()
                .is_some_and(|body| HEAD_BYTES + body.len() + bytes > most)
            {
                bodies.push(Vec::new());
            }
            if let Some(body) = bodies.last_mut() {
                put_bytes(body, word);
                body.extend(count.to_be_bytes());
            }
        }
        let parts = bodies.len() as u16;
        let whole = |(part, body): (u16, &Vec<u8>)| [self.head(parts, part), body.clone()].concat();
        (0..).zip(&bodies).map(whole).collect()
    }
}

/// The next coordinate on the path from `at` to `root`; `None` at its end.
fn next(context: &dyn Context, at: Key, root: Key) -> Option<Key> {
    let torus = torus(context);
    let order = ORDERS[(fnv(&root) % 6) as usize];
    let (axis, up) = dimension_order(&torus, order, number(&torus, at), number(&torus, root))?;
    Some(context.neighbour_key(at, axis, up))
}

/// The coordinates whose next coordinate on the path to `root` is `at`.
fn before(context: &dyn Context, at: Key, root: Key) -> BTreeSet<Key> {
    let beside = (0..3).flat_map(|axis| [true, false].map(|up| (axis, up)));
    let beside = beside.map(|(axis, up)| context.neighbour_key(at, axis, up));
    beside
        .filter(|key| *key != at && next(context, *key, root) == Some(at))
        .collect()
}

impl Aggregation {
    fn gathered(&mut self, now: Time, job: u32, at: Key, root: Key, full: bool) -> &mut Gathered {
        if self.jobs.len() >= MOST_JOBS {
            self.jobs.pop_first();
        }
        self.jobs.entry((job, at)).or_insert_with(|| Gathered {
            root,
            full,
            own: false,
            counts: Counts::new(),
            servers: 0,
            parts: BTreeMap::new(),
            whole: BTreeSet::new(),
            until: now + PATIENCE,
            sent: false,
        })
    }

    /// Forwards or reports the counts at a coordinate if they are complete or `wait` is false.
    fn settle(&mut self, context: &mut dyn Context, job: u32, at: Key, wait: bool) {
        let servers: u32 = context.size().iter().product();
        let Some(gathered) = self.jobs.get_mut(&(job, at)) else {
            return;
        };
        let root = gathered.root;
        let complete = if gathered.full {
            gathered.own && before(context, at, root).is_subset(&gathered.whole)
        } else {
            gathered.servers >= servers
        };
        if gathered.sent || !complete && wait {
            return;
        }
        gathered.sent = true;
        if !complete {
            context.count("sums-incomplete", 1);
        }
        let counts = std::mem::take(&mut gathered.counts);
        match next(context, at, root) {
            None => context.deliver(say(job, gathered.servers, &counts)),
            Some(to) => {
                let partial = Partial {
                    kind: PARTIAL,
                    job,
                    root,
                    from: at,
                    servers: gathered.servers,
                    parts: 0,
                    part: 0,
                    counts,
                };
                send(context, &partial, to);
            }
        }
    }

    /// Adds the words of a coordinate's own server.
    fn begin(&mut self, context: &mut dyn Context, job: u32, at: Key, root: Key, full: bool, counts: Counts) {
        let now = context.now();
        let to = next(context, at, root).filter(|_| !full);
        if let Some(to) = to {
            let partial = Partial {
                kind: ALONE,
                job,
                root,
                from: at,
                servers: 1,
                parts: 0,
                part: 0,
                counts,
            };
            send(context, &partial, to);
            return;
        }
        let gathered = self.gathered(now, job, at, root, full);
        if !gathered.own {
            gathered.own = true;
            gathered.servers += 1;
            add(&mut gathered.counts, counts);
        }
        self.settle(context, job, at, true);
    }

    /// The earliest time at which a waiting coordinate gives up.
    fn next_until(&self) -> Option<Time> {
        let waiting = self.jobs.values().filter(|gathered| !gathered.sent);
        waiting.map(|gathered| gathered.until).min()
    }
}

fn add(to: &mut Counts, counts: Counts) {
    for (word, count) in counts {
        *to.entry(word).or_default() += count;
    }
}

fn say(job: u32, servers: u32, counts: &Counts) -> Vec<u8> {
    let mut answer = format!("{job} {servers}\n").into_bytes();
    for (word, count) in counts {
        answer.extend(word);
        answer.extend(format!(" {count}\n").bytes());
    }
    answer
}

fn send(context: &mut dyn Context, partial: &Partial, to: Key) {
    for payload in partial.emit(context.max_payload()) {
        let packet = Packet {
            key: to,
            colour: 0,
            payload,
        };
        context.transmit(packet, &[to]);
    }
}

/// Parses `count JOB X,Y,Z full|none` and the text.
fn read(bytes: &[u8], size: [u32; 3]) -> Option<(u32, Key, bool, Counts)> {
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let line = std::str::from_utf8(&bytes[..end]).ok()?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let &["count", job, root, mode @ ("full" | "none")] = &words[..] else {
        return None;
    };
    let mut counts = Counts::new();
    let text = bytes.get(end + 1..).unwrap_or(&[]);
    for word in text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
    {
        *counts.entry(word.to_vec()).or_default() += 1;
    }
    Some((job.parse().ok()?, read_key(root, size)?, mode == "full", counts))
}

impl Service for Aggregation {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn packet(&mut self, context: &mut dyn Context, _port: u8, packet: &mut Packet) -> Action {
        if !context.responsible(packet.key) {
            return Action::Pass;
        }
        let Some(partial) = Partial::parse(&packet.payload) else {
            return Action::Drop;
        };
        let at = packet.key;
        if partial.kind == ALONE && at != partial.root {
            return Action::Pass;
        }
        let full = partial.kind == PARTIAL;
        let gathered = self.gathered(context.now(), partial.job, at, partial.root, full);
        let parts = gathered.parts.entry(partial.from).or_default();
        if gathered.sent || !parts.insert(partial.part) {
            context.count("parts-late", 1);
            return Action::Drop;
        }
        if parts.len() == usize::from(partial.parts) {
            gathered.whole.insert(partial.from);
            gathered.servers += partial.servers;
        }
        add(&mut gathered.counts, partial.counts);
        self.settle(context, partial.job, at, true);
        if let Some(until) = self.next_until() {
            context.set_timer(until);
        }
        Action::Consumed
    }

    fn route(&mut self, context: &mut dyn Context, at: Key, packet: &mut Packet) -> Vec<Key> {
        let root = Partial::parse(&packet.payload).map(|partial| partial.root);
        root.and_then(|root| next(context, at, root))
            .into_iter()
            .collect()
    }

    fn timer(&mut self, context: &mut dyn Context) {
        let now = context.now();
        let late = self
            .jobs
            .iter()
            .filter(|(_, gathered)| !gathered.sent && gathered.until <= now);
        let late: Vec<(u32, Key)> = late.map(|(at, _)| *at).collect();
        for (job, at) in late {
            self.settle(context, job, at, false);
        }
        if let Some(until) = self.next_until() {
            context.set_timer(until);
        }
    }

    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        let Some((job, root, full, counts)) = read(bytes, context.size()) else {
            context.deliver(b"error: say count JOB X,Y,Z full|none, a line feed, and the text".to_vec());
            return;
        };
        let here = context.here();
        let torus = torus(context);
        for server in 0..torus.servers() {
            let at = key_of(&torus, server);
            if context.responsible(at) {
                let own = if at == here { counts.clone() } else { Counts::new() };
                self.begin(context, job, at, root, full, own);
            }
        }
        if let Some(until) = self.next_until() {
            context.set_timer(until);
        }
    }
}
