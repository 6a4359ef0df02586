//! Sends a file to many servers, over a tree that grows along the corners of mini-cubes.
//! `[camcube §3.2, Fig. 7]`
//!
//! A join travels towards the root coordinate. Each coordinate on its path records the previous
//! coordinate as a child, and the join ends at the first coordinate that is already in the tree.
//! The root sends data to each child by `transmit`, in chunks. A coordinate requests missing chunks
//! from its parent ([`REPAIR`]), because links that fail lose packets. `[ours]`
//!
//! For comparison, a join can use the routing service instead (`join-routed GROUP X,Y,Z`), which
//! takes the first free link on a shortest path to the root; each server on its way records its
//! child. `[camcube §3.2]`
//!
//! Messages: `join GROUP X,Y,Z` at a member; `send GROUP X,Y,Z`, a line feed and the file at the
//! server that owns the root `X,Y,Z`. A member that has the whole file answers
//! `received GROUP BYTES CHECKSUM ok`, or `wrong` instead of `ok`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cubeyard_routing::torus::join_by_corners;

use super::wire::{Reader, fnv, number, read_key, torus};
use crate::protocol::Time;
use crate::service::{Action, Context, Key, MessageForm, Packet, QueuePolicy, Service, ServiceEntry};

/// The service's entry in the catalogue.
pub const ENTRY: ServiceEntry = ServiceEntry {
    name: "distribution",
    title: "File distribution",
    description: "Sends a file from one server to the members of a group, over a tree.",
    messages: &[
        MessageForm {
            title: "Join group 1, whose root is the server at 0,0,0",
            example: "join 1 0,0,0",
            to_every_server: false,
        },
        MessageForm {
            title: "Join group 2 by the routing service, to compare",
            example: "join-routed 2 0,0,0",
            to_every_server: false,
        },
        MessageForm {
            title: "Send a file to group 1 (tell the server at 0,0,0)",
            example: "send 1 0,0,0\nThe text of the file.",
            to_every_server: false,
        },
    ],
};

/// Maximum number of trees per server. `[ours]`
const MOST_TREES: usize = 256;
/// Longest file, in bytes. `[ours]`
const MOST_BYTES: u64 = 64 << 20;
/// Missing chunks are requested after this time without data. `[ours]`
const REPAIR_AFTER: Duration = Duration::from_millis(200);
/// Interval at which the sending root checks its queue.
const PACE: Duration = Duration::from_millis(2);
/// Packets of the root that may wait for its links.
const WINDOW: usize = 256;
/// Most chunks that one request can name.
const MOST_MISSING: usize = 128;
/// Bytes of a data payload in addition to the chunk.
const HEAD_BYTES: usize = 32;

/// Minimum bytes of every chunk except the last.
const LEAST_CHUNK_BYTES: u64 = 64;

const JOIN: u8 = 1;
const DATA: u8 = 2;
const REPAIR: u8 = 3;
const ROUTED_JOIN: u8 = 4;
const CONTROL_QUEUE: u8 = 0;
const DATA_QUEUE: u8 = 1;

/// The part of a file that has arrived so far.
#[derive(Debug)]
struct File {
    bytes: u64,
    checksum: u64,
    chunks: Vec<Option<Vec<u8>>>,
    missing: usize,
    heard_at: Time,
}

/// The position of a coordinate in a tree.
#[derive(Debug)]
struct Place {
    root: Key,
    member: bool,
    inside: bool,
    parent: Option<Key>,
    children: BTreeSet<Key>,
    file: Option<File>,
    /// At the root, the index of the next chunk to send.
    next: usize,
}

/// The service on one server.
#[derive(Debug, Default)]
pub struct Distribution {
    places: BTreeMap<(u32, Key), Place>,
}

/// The first bytes of a payload: its kind, its group, and the group's root.
fn head(what: u8, group: u32, root: Key) -> Vec<u8> {
    let mut head = vec![what];
    head.extend(group.to_be_bytes());
    head.extend(root);
    head
}

fn read_head(payload: &[u8]) -> Option<(u8, u32, Key, Reader<'_>)> {
    let mut reader = Reader(payload);
    Some((reader.u8()?, reader.u32()?, reader.key()?, reader))
}

impl File {
    fn new(bytes: u64, checksum: u64, count: u32, now: Time) -> Option<File> {
        // A forged number of chunks must not allocate more memory than a file.
        let fits = bytes <= MOST_BYTES && (1..=bytes / LEAST_CHUNK_BYTES + 1).contains(&u64::from(count));
        fits.then(|| File {
            bytes,
            checksum,
            chunks: vec![None; count as usize],
            missing: count as usize,
            heard_at: now,
        })
    }

    /// Stores a chunk; returns whether it was new.
    fn take(&mut self, index: u32, chunk: &[u8]) -> bool {
        let slot = self.chunks.get_mut(index as usize).filter(|slot| slot.is_none());
        let new = slot.map(|slot| *slot = Some(chunk.to_vec())).is_some();
        self.missing -= usize::from(new);
        new
    }

    fn is_right(&self) -> bool {
        let whole: Vec<u8> = self.chunks.iter().flatten().flatten().copied().collect();
        whole.len() as u64 == self.bytes && fnv(&whole) == self.checksum
    }

    fn payload(&self, group: u32, root: Key, index: usize) -> Option<Vec<u8>> {
        let chunk = self.chunks.get(index)?.as_ref()?;
        let mut payload = head(DATA, group, root);
        payload.extend(self.bytes.to_be_bytes());
        payload.extend(self.checksum.to_be_bytes());
        payload.extend((self.chunks.len() as u32).to_be_bytes());
        payload.extend((index as u32).to_be_bytes());
        payload.extend(chunk);
        Some(payload)
    }
}

fn packet(key: Key, payload: Vec<u8>) -> Packet {
    Packet {
        key,
        colour: 0,
        payload,
    }
}

impl Distribution {
    fn place(&mut self, group: u32, at: Key, root: Key) -> Option<&mut Place> {
        if !self.places.contains_key(&(group, at)) && self.places.len() >= MOST_TREES {
            return None;
        }
        Some(self.places.entry((group, at)).or_insert(Place {
            root,
            member: false,
            inside: false,
            parent: None,
            children: BTreeSet::new(),
            file: None,
            next: 0,
        }))
    }

    fn on_join(&mut self, context: &mut dyn Context, at: Key, group: u32, root: Key, from: Key) -> Action {
        let Some(place) = self.place(group, at, root) else {
            return Action::Drop;
        };
        let new = place.children.insert(from);
        // A child that joins late gets only the first chunk, and requests the others.
        let first = place.file.as_ref().filter(|_| new);
        if let Some(payload) = first.and_then(|file| file.payload(group, root, 0)) {
            context.transmit(packet(from, payload), &[from]);
        }
        let inside = std::mem::replace(&mut place.inside, true);
        if inside || at == root {
            return Action::Consumed;
        }
        Action::Pass
    }

    fn on_data(&mut self, context: &mut dyn Context, at: Key, group: u32, mut reader: Reader<'_>) -> Action {
        let now = context.now();
        let fields = (|| Some((reader.u64()?, reader.u64()?, reader.u32()?, reader.u32()?)))();
        let (Some((bytes, checksum, count, index)), Some(place)) =
            (fields, self.places.get_mut(&(group, at)))
        else {
            return Action::Drop;
        };
        if place.file.is_none() {
            place.file = File::new(bytes, checksum, count, now);
        }
        let Some(file) = place.file.as_mut().filter(|file| file.checksum == checksum) else {
            return Action::Drop;
        };
        file.heard_at = now;
        if !file.take(index, reader.0) {
            return Action::Drop;
        }
        if file.missing == 0 && place.member {
            let word = if file.is_right() { "ok" } else { "wrong" };
            context.deliver(format!("received {group} {bytes} {checksum:016x} {word}").into_bytes());
        }
        if file.missing > 0 {
            context.set_timer(now + REPAIR_AFTER);
        }
        // Forward to the children, by F [camcube Fig. 7(b)].
        Action::Route
    }

    fn on_repair(
        &mut self,
        context: &mut dyn Context,
        at: Key,
        group: u32,
        mut reader: Reader<'_>,
    ) -> Action {
        let (Some(child), Some(place)) = (reader.key(), self.places.get(&(group, at))) else {
            return Action::Drop;
        };
        let Some(file) = place.file.as_ref().filter(|_| place.children.contains(&child)) else {
            return Action::Drop;
        };
        for _ in 0..MOST_MISSING {
            let Some(index) = reader.u32() else { break };
            if let Some(payload) = file.payload(group, place.root, index as usize) {
                context.transmit(packet(child, payload), &[child]);
                context.count("chunks-repaired", 1);
            }
        }
        Action::Consumed
    }

    /// Sends further chunks from the root while the links accept them; returns whether any are
    /// left.
    fn feed(&mut self, context: &mut dyn Context) -> bool {
        let mut room = WINDOW.saturating_sub(context.waiting());
        let mut more = false;
        for ((group, at), place) in &mut self.places {
            let Some(file) = place.file.as_ref().filter(|_| *at == place.root) else {
                continue;
            };
            while place.next < file.chunks.len() && room > 0 {
                let payload = file.payload(*group, place.root, place.next);
                for child in &place.children {
                    if let Some(payload) = &payload {
                        context.transmit(packet(*child, payload.clone()), &[*child]);
                    }
                }
                place.next += 1;
                room = room.saturating_sub(place.children.len().max(1));
            }
            more |= place.next < file.chunks.len();
        }
        more
    }

    /// Requests overdue chunks; returns whether any are missing.
    fn ask(&mut self, context: &mut dyn Context) -> bool {
        let now = context.now();
        let mut incomplete = false;
        for ((group, at), place) in &mut self.places {
            let (Some(parent), Some(file)) = (place.parent, &mut place.file) else {
                continue;
            };
            incomplete |= file.missing > 0;
            if file.missing == 0 || now < file.heard_at + REPAIR_AFTER {
                continue;
            }
            file.heard_at = now;
            let mut payload = head(REPAIR, *group, place.root);
            payload.extend(at);
            let missing = (0u32..).zip(&file.chunks).filter(|(_, chunk)| chunk.is_none());
            for (index, _) in missing.take(MOST_MISSING) {
                payload.extend(index.to_be_bytes());
            }
            context.transmit(packet(parent, payload), &[parent]);
        }
        incomplete
    }

    /// Handles a join that uses the routing service, which any server on its way can see.
    fn on_routed_join(&mut self, context: &mut dyn Context, packet: &mut Packet) -> Action {
        let Some((_, group, root, mut reader)) = read_head(&packet.payload) else {
            return Action::Drop;
        };
        let Some(from) = reader.key() else {
            return Action::Drop;
        };
        let here = context.here();
        let at = if context.responsible(packet.key) {
            packet.key
        } else {
            here
        };
        // This server is the child of the next one.
        packet.payload.truncate(8);
        packet.payload.extend(at);
        self.on_join(context, at, group, root, from)
    }

    fn join(&mut self, context: &mut dyn Context, what: u8, group: u32, root: Key) {
        let here = context.here();
        let Some(place) = self.place(group, here, root) else {
            context.deliver(b"error: too many groups".to_vec());
            return;
        };
        place.member = true;
        if !std::mem::replace(&mut place.inside, true) && here != root {
            let mut payload = head(what, group, root);
            payload.extend(here);
            context.route(packet(here, payload));
        }
    }

    fn send(&mut self, context: &mut dyn Context, group: u32, root: Key, bytes: &[u8]) {
        let chunk_bytes = context
            .max_payload()
            .saturating_sub(HEAD_BYTES)
            .max(LEAST_CHUNK_BYTES as usize);
        let now = context.now();
        let file = File::new(
            bytes.len() as u64,
            fnv(bytes),
            bytes.len().div_ceil(chunk_bytes).max(1) as u32,
            now,
        );
        let responsible = context.responsible(root);
        let place = self.place(group, root, root).filter(|_| responsible);
        let (Some(place), Some(mut file)) = (place, file) else {
            let answer =
                format!("error: send at the server that answers for the root, at most {MOST_BYTES} bytes");
            context.deliver(answer.into_bytes());
            return;
        };
        if bytes.is_empty() {
            file.take(0, &[]);
        }
        for (index, chunk) in (0..).zip(bytes.chunks(chunk_bytes)) {
            file.take(index, chunk);
        }
        place.inside = true;
        place.file = Some(file);
        place.next = 0;
        self.tick(context);
    }

    fn tick(&mut self, context: &mut dyn Context) {
        let (more, incomplete) = (self.feed(context), self.ask(context));
        let pause = if more { PACE } else { REPAIR_AFTER };
        if more || incomplete {
            context.set_timer(context.now() + pause);
        }
    }
}

impl Service for Distribution {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action {
        if packet.payload.first() == Some(&ROUTED_JOIN) {
            return self.on_routed_join(context, packet);
        }
        let at = packet.key;
        if !context.responsible(at) {
            return Action::Pass;
        }
        match read_head(&packet.payload) {
            Some((JOIN, group, root, mut reader)) => match reader.key() {
                Some(from) => self.on_join(context, at, group, root, from),
                None => Action::Drop,
            },
            Some((DATA, group, _, reader)) => {
                // A member that joined by the routing service learns its parent only when data
                // arrives.
                let orphan = self
                    .places
                    .get_mut(&(group, at))
                    .filter(|place| place.parent.is_none() && at != place.root);
                if let Some(place) = orphan {
                    place.parent = context.neighbour(port);
                }
                self.on_data(context, at, group, reader)
            }
            Some((REPAIR, group, _, reader)) => self.on_repair(context, at, group, reader),
            _ => Action::Drop,
        }
    }

    fn route(&mut self, context: &mut dyn Context, at: Key, packet: &mut Packet) -> Vec<Key> {
        let Some((what, group, root, _)) = read_head(&packet.payload) else {
            return Vec::new();
        };
        if what == DATA {
            let place = self.places.get(&(group, at));
            for child in place.into_iter().flat_map(|place| &place.children) {
                context.transmit(packet.clone(), &[*child]);
            }
            return Vec::new();
        }
        if at == root {
            return Vec::new();
        }
        if what == ROUTED_JOIN {
            return vec![root];
        }
        let torus = torus(context);
        let (axis, up) = join_by_corners(&torus, number(&torus, at), number(&torus, root));
        let parent = context.neighbour_key(at, axis, up);
        if let Some(place) = self.place(group, at, root) {
            place.parent = Some(parent);
        }
        // This coordinate is the child of the next one.
        packet.payload.truncate(8);
        packet.payload.extend(at);
        vec![parent]
    }

    fn classify(&mut self, packet: &Packet) -> u8 {
        if packet.payload.first() == Some(&DATA) {
            DATA_QUEUE
        } else {
            CONTROL_QUEUE
        }
    }

    fn queue(&mut self, queue: u8) -> QueuePolicy {
        let max_millis = if queue == DATA_QUEUE { 10_000 } else { 1000 };
        QueuePolicy {
            max_millis,
            weight: 1,
        }
    }

    fn timer(&mut self, context: &mut dyn Context) {
        self.tick(context);
    }

    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(bytes.len());
        let line = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let order = match words[..] {
            [verb @ ("join" | "join-routed" | "send"), group, root] => {
                let root = read_key(root, context.size());
                group
                    .parse()
                    .ok()
                    .zip(root)
                    .map(|(group, root)| (verb, group, root))
            }
            _ => None,
        };
        match order {
            Some(("join", group, root)) => self.join(context, JOIN, group, root),
            Some(("join-routed", group, root)) => self.join(context, ROUTED_JOIN, group, root),
            Some((_, group, root)) => self.send(context, group, root, bytes.get(end + 1..).unwrap_or(&[])),
            None => context.deliver(
                b"error: say join GROUP X,Y,Z, join-routed GROUP X,Y,Z or send GROUP X,Y,Z, a line feed and the file".to_vec(),
            ),
        }
    }
}
