//! Link state for all protocols that need it: each server of a scope advertises its own links, and
//! advertisements are flooded to all servers of the scope.
//!
//! A server's advertisement lists its links, each by both its ends, under a sequence number that
//! only grows (as RFC 1982 counts, so it may wrap). A link between two servers of the scope counts
//! only if both ends report it; a link that leaves the scope counts if its end in the scope does.
//! `[ours]` Advertisements go out when links change and periodically, and one that is not refreshed
//! is dropped `[dcell §7.1]`. A receiver forwards new advertisements by all ports except the one of
//! arrival, and drops duplicates, as DCellBroadcast does `[dcell §4.2]`.
//!
//! Senders are not authenticated, so everything is checked against the topology: origins must be
//! servers of the scope, links must exist in the topology, both bound the state, and the changes of
//! one origin per second are limited. A server that meets a forged or forgotten advertisement of
//! its own answers with a greater number. `[ours]`
//!
//! Sans-IO: bytes and times come in, messages to neighbours go out. Not here: liveness of
//! neighbours (`neighbours`), and the use of the links, which is up to the protocol.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use cubeyard_topology::NodeId;

use crate::protocol::Time;
use crate::rate_limit::RateLimit;

/// The most links that one advertisement can list: the number that fits in a control message after
/// a protocol's own bytes.
pub const MAX_LINKS: usize = 160;
/// Average number of advertisements per second that are accepted from an origin. `[ours]`
const ADVERTISEMENTS_PER_SEC: f64 = 50.0;
/// Average number of answers per second to neighbours with outdated state. `[ours]`
const ANSWERS_PER_SEC: f64 = 100.0;
/// Advertisements of our own that may be sent in a burst: a change just after a refresh must not
/// wait. `[ours]`
const BURST: u32 = 4;
const HEAD_BYTES: usize = 11;
const LINK_BYTES: usize = 6;

/// A link as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkEnd {
    /// The port of the server itself.
    pub port: u8,
    /// The server at the other end, or at the same switch.
    pub neighbour: NodeId,
    /// The port at the other server.
    pub far_port: u8,
}

/// A server's list of its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The server whose links are listed.
    pub origin: NodeId,
    /// Its sequence number; the newer of two advertisements counts.
    pub sequence: u32,
    /// Time since the origin sent it, to the millisecond.
    pub age: Duration,
    /// The links that work now.
    pub links: BTreeSet<LinkEnd>,
}

/// The intervals of link state.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Interval between advertisements without changes.
    pub refresh: Duration,
    /// Age at which an advertisement expires.
    pub expire: Duration,
    /// Minimum average time between two advertisements; a few can be sent at once.
    pub least_gap: Duration,
}

/// The links of each server of the scope according to the topology, including those that leave the
/// scope.
pub type Plan = BTreeMap<NodeId, BTreeSet<LinkEnd>>;

/// A message to a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The port to send by.
    pub port: u8,
    /// The neighbour that receives it.
    pub to: NodeId,
    /// The encoded message.
    pub bytes: Vec<u8>,
}

/// The result of handling a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The message was new, and was forwarded to the other neighbours.
    New {
        /// Whether the set of counted links has changed.
        changed: bool,
    },
    /// The message is already known, or older than the known state.
    Duplicate,
    /// The message is an own advertisement that another server returned.
    Own,
}

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// The message is no advertisement: incomplete, too long, or with a link listed twice.
    Malformed,
    /// The sender is no neighbour in the scope.
    Stranger,
    /// The origin is not in the scope.
    UnknownOrigin,
    /// The message contains a link that the topology does not have.
    UnknownLink,
    /// The advertisement has expired.
    Expired,
    /// The origin sends too many advertisements.
    TooMany,
}

impl Refusal {
    /// Name of the reason in inspections.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Malformed => "link state malformed",
            Refusal::Stranger => "link state from a stranger",
            Refusal::UnknownOrigin => "link state of a stranger",
            Refusal::UnknownLink => "link state of an unknown link",
            Refusal::Expired => "link state expired",
            Refusal::TooMany => "link state too often",
        }
    }
}

/// Whether a sequence number is newer than another; false in both directions if they are half the
/// circle apart.
pub fn is_newer(sequence: u32, than: u32) -> bool {
    (sequence.wrapping_sub(than) as i32) > 0
}

impl Advertisement {
    /// Encodes the advertisement.
    pub fn emit(&self) -> Vec<u8> {
        let age_millis = u16::try_from(self.age.as_millis()).unwrap_or(u16::MAX);
        let mut bytes = Vec::with_capacity(HEAD_BYTES + LINK_BYTES * self.links.len());
        bytes.extend(self.origin.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(age_millis.to_be_bytes());
        bytes.push(self.links.len() as u8);
        for link in &self.links {
            bytes.push(link.port);
            bytes.extend(link.neighbour.to_be_bytes());
            bytes.push(link.far_port);
        }
        bytes
    }

    /// Parses an advertisement; `None` if the bytes are none.
    pub fn parse(bytes: &[u8]) -> Option<Advertisement> {
        let (head, links) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let &[a, b, c, d, e, f, g, h, i, j, count] = head;
        let (links, rest) = links.as_chunks::<LINK_BYTES>();
        if usize::from(count) > MAX_LINKS || links.len() != usize::from(count) || !rest.is_empty() {
            return None;
        }
        let listed: BTreeSet<LinkEnd> = links
            .iter()
            .map(|&[port, a, b, c, d, far_port]| LinkEnd {
                port,
                neighbour: NodeId::from_be_bytes([a, b, c, d]),
                far_port,
            })
            .collect();
        (listed.len() == links.len()).then_some(Advertisement {
            origin: NodeId::from_be_bytes([a, b, c, d]),
            sequence: u32::from_be_bytes([e, f, g, h]),
            age: Duration::from_millis(u16::from_be_bytes([i, j]).into()),
            links: listed,
        })
    }
}

/// The state of one server.
#[derive(Debug)]
struct Entry {
    /// `None` until an advertisement arrives. Until then, all links of the server count as alive.
    sequence: Option<u32>,
    links: BTreeSet<LinkEnd>,
    /// When the origin sent the latest advertisement.
    sent_at: Time,
    expired: bool,
    limit: RateLimit,
}

/// The state of one server, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The server's id.
    pub origin: NodeId,
    /// Sequence number of the latest advertisement; `None` before the first.
    pub sequence: Option<u32>,
    /// Number of links in that advertisement.
    pub links: usize,
    /// Age of that advertisement.
    pub age: Duration,
    /// Whether that advertisement has expired.
    pub expired: bool,
}

/// The link state of a scope, as seen by one of its servers.
#[derive(Debug)]
pub struct LinkState {
    me: NodeId,
    plan: Plan,
    timing: Timing,
    entries: BTreeMap<NodeId, Entry>,
    next_refresh: Time,
    /// When the next own advertisement would be due at regular intervals, and whether one must be
    /// sent.
    even_at: Time,
    pending: bool,
    /// The time at which a neighbour last received our full state.
    told_all_at: BTreeMap<(u8, NodeId), Time>,
    answers: RateLimit,
    outgoing: VecDeque<Outgoing>,
}

impl LinkState {
    /// The initial state: all links of the plan count as alive until their servers report otherwise
    /// or stay silent. The plan must contain `me`.
    pub fn new(me: NodeId, plan: Plan, timing: Timing, now: Time) -> LinkState {
        let entries = plan.iter().map(|(&server, links)| {
            let entry = Entry {
                sequence: None,
                links: links.clone(),
                sent_at: now,
                expired: false,
                limit: RateLimit::per_sec(ADVERTISEMENTS_PER_SEC),
            };
            (server, entry)
        });
        LinkState {
            me,
            entries: entries.collect(),
            plan,
            timing,
            next_refresh: now,
            even_at: now,
            pending: false,
            told_all_at: BTreeMap::new(),
            answers: RateLimit::per_sec(ANSWERS_PER_SEC),
            outgoing: VecDeque::new(),
        }
    }

    /// Whether a link counts: its end `from` reports it and, if the neighbour is in the scope, so
    /// does the neighbour.
    pub fn is_up(&self, from: NodeId, link: LinkEnd) -> bool {
        let back = LinkEnd {
            port: link.far_port,
            neighbour: from,
            far_port: link.port,
        };
        let neighbour_in_scope = self.plan.contains_key(&link.neighbour);
        self.reports(from, link) && (!neighbour_in_scope || self.reports(link.neighbour, back))
    }

    fn reports(&self, server: NodeId, link: LinkEnd) -> bool {
        let entry = self.entries.get(&server);
        entry.is_some_and(|entry| !entry.expired && entry.links.contains(&link))
    }

    /// Sets the own links that work; returns whether they have changed. Ignores links outside the
    /// plan.
    pub fn set_own(&mut self, now: Time, links: impl IntoIterator<Item = LinkEnd>) -> bool {
        let (Some(planned), Some(own)) = (self.plan.get(&self.me), self.entries.get_mut(&self.me)) else {
            return false;
        };
        let links: BTreeSet<LinkEnd> = links.into_iter().filter(|link| planned.contains(link)).collect();
        let changed = own.links != links;
        if changed {
            own.links = links;
            self.pending = true;
            self.advertise_if_due(now);
        }
        changed
    }

    /// Handles a message that `from` sent to our `port`.
    pub fn on_message(&mut self, now: Time, port: u8, from: NodeId, bytes: &[u8]) -> Result<Heard, Refusal> {
        let own_links = self.plan.get(&self.me).into_iter().flatten();
        let mut known = own_links.filter(|link| (link.port, link.neighbour) == (port, from));
        if known.next().is_none() || !self.plan.contains_key(&from) {
            return Err(Refusal::Stranger);
        }
        let heard = Advertisement::parse(bytes).ok_or(Refusal::Malformed)?;
        let planned = self.plan.get(&heard.origin).ok_or(Refusal::UnknownOrigin)?;
        if !heard.links.is_subset(planned) {
            return Err(Refusal::UnknownLink);
        }
        if heard.origin == self.me {
            self.on_own(now, &heard);
            return Ok(Heard::Own);
        }
        let Some(entry) = self.entries.get_mut(&heard.origin) else {
            return Err(Refusal::UnknownOrigin);
        };
        let (newer, older) = match entry.sequence {
            None => (true, false),
            Some(known) if known == heard.sequence => (heard.links > entry.links, heard.links < entry.links),
            Some(known) => {
                let newer = is_newer(heard.sequence, known);
                (newer, !newer)
            }
        };
        if !newer {
            if older && self.answers.take(now) {
                self.tell(now, heard.origin, port, from);
            }
            return Ok(Heard::Duplicate);
        }
        if heard.age >= self.timing.expire {
            return Err(Refusal::Expired);
        }
        if !entry.limit.take(now) {
            return Err(Refusal::TooMany);
        }
        let changed = entry.expired || entry.links != heard.links;
        entry.sequence = Some(heard.sequence);
        entry.sent_at = now.saturating_sub(heard.age);
        entry.expired = false;
        let bytes = heard.emit();
        entry.links = heard.links;
        self.flood(&bytes, Some(port));
        Ok(Heard::New { changed })
    }

    /// Answers an own advertisement that we do not remember, or that was forged, with a greater
    /// sequence number.
    fn on_own(&mut self, now: Time, heard: &Advertisement) {
        let Some(own) = self.entries.get_mut(&self.me) else {
            return;
        };
        let sequence = own.sequence.unwrap_or(0);
        let surpassed = heard.sequence != sequence && !is_newer(sequence, heard.sequence);
        let differs = heard.sequence == sequence && heard.links != own.links;
        if surpassed || differs {
            own.sequence = Some(heard.sequence);
            self.pending = true;
            self.advertise_if_due(now);
        }
    }

    /// Expires old advertisements and schedules own ones; returns whether the set of counted links
    /// has changed.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        if now >= self.next_refresh {
            self.pending = true;
        }
        self.advertise_if_due(now);
        let (me, expire) = (self.me, self.timing.expire);
        let mut changed = false;
        for (&server, entry) in &mut self.entries {
            if server != me && !entry.expired && now >= entry.sent_at + expire {
                entry.expired = true;
                changed |= !entry.links.is_empty();
            }
        }
        changed
    }

    /// When the next advertisement must be sent or expires.
    pub fn next_timeout(&self) -> Time {
        let own = if self.pending {
            self.free_at()
        } else {
            self.next_refresh
        };
        let others = self.entries.iter().filter(|(server, _)| **server != self.me);
        let living = others.filter(|(_, entry)| !entry.expired);
        living
            .map(|(_, entry)| entry.sent_at + self.timing.expire)
            .fold(own.max(self.free_at()), Time::min)
    }

    /// Sends our full state to a neighbour that has just come alive, at most once per refresh
    /// interval.
    pub fn on_neighbour_alive(&mut self, now: Time, port: u8, neighbour: NodeId) {
        let told_at = self.told_all_at.get(&(port, neighbour));
        let lately = told_at.is_some_and(|at| now < *at + self.timing.refresh);
        if lately || !self.plan.contains_key(&neighbour) {
            return;
        }
        self.told_all_at.insert((port, neighbour), now);
        // Of expired entries only the neighbour's own is sent: the neighbour may have forgotten its
        // sequence number.
        let entries = self.entries.iter();
        // Our own advertisement goes to all neighbours anyway, since it contains the new link.
        let others = entries.filter(|(origin, _)| **origin != self.me);
        let told = others.filter(|(origin, entry)| !entry.expired || **origin == neighbour);
        let origins: Vec<NodeId> = told.map(|(&origin, _)| origin).collect();
        for origin in origins {
            self.tell(now, origin, port, neighbour);
        }
    }

    /// The next message to send.
    pub fn poll(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    /// The state of each server, for display.
    pub fn status(&self, now: Time) -> impl Iterator<Item = Status> + '_ {
        self.entries.iter().map(move |(&origin, entry)| Status {
            origin,
            sequence: entry.sequence,
            links: entry.links.len(),
            age: now.saturating_sub(entry.sent_at),
            expired: entry.expired,
        })
    }

    /// The earliest time for our next advertisement.
    fn free_at(&self) -> Time {
        self.even_at.saturating_sub(self.timing.least_gap * (BURST - 1))
    }

    fn advertise_if_due(&mut self, now: Time) {
        if !self.pending || now < self.free_at() {
            return;
        }
        self.pending = false;
        self.even_at = self.even_at.max(now) + self.timing.least_gap;
        self.next_refresh = now + self.timing.refresh;
        let Some(own) = self.entries.get_mut(&self.me) else {
            return;
        };
        let sequence = own.sequence.unwrap_or(0).wrapping_add(1);
        own.sequence = Some(sequence);
        own.sent_at = now;
        let advertisement = Advertisement {
            origin: self.me,
            sequence,
            age: Duration::ZERO,
            links: own.links.clone(),
        };
        self.flood(&advertisement.emit(), None);
    }

    /// Sends to all live neighbours of the scope, except by the port `except`.
    fn flood(&mut self, bytes: &[u8], except: Option<u8>) {
        let own = self.entries.get(&self.me);
        for link in own.into_iter().flat_map(|own| &own.links) {
            if Some(link.port) != except && self.plan.contains_key(&link.neighbour) {
                self.outgoing.push_back(Outgoing {
                    port: link.port,
                    to: link.neighbour,
                    bytes: bytes.to_vec(),
                });
            }
        }
    }

    /// Sends our state of one server to a neighbour.
    fn tell(&mut self, now: Time, origin: NodeId, port: u8, neighbour: NodeId) {
        let Some(entry) = self.entries.get(&origin) else {
            return;
        };
        let Some(sequence) = entry.sequence else { return };
        let advertisement = Advertisement {
            origin,
            sequence,
            age: now.saturating_sub(entry.sent_at),
            links: entry.links.clone(),
        };
        self.outgoing.push_back(Outgoing {
            port,
            to: neighbour,
            bytes: advertisement.emit(),
        });
    }
}
