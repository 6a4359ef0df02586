//! Keys and values in memory, with replicas near the servers that read them. `[camcube §3.3]`
//!
//! A key's hash selects its primary coordinate, which determines eight secondary ones. A lookup
//! goes to the nearest of the nine (to the primary if it is among them, else to a random one). A
//! secondary without the value forwards the lookup to the primary; the answer returns through the
//! secondary, which stores it. A write goes to the primary, which invalidates the secondaries;
//! until the invalidation arrives, a secondary can answer with the old value.
//!
//! A message is `get KEY`, `set KEY VALUE` or `delete KEY`; the answer is `VALUE KEY VALUE`, `MISS
//! KEY`, `STORED KEY`, `DELETED KEY` or `error: ...`. `hops KEY` looks a value up and answers `HOPS
//! KEY N`, the number of links that the lookup crossed; `hops KEY straight` sends it to the primary
//! by the routing service, where any copy on its way answers. `[camcube Fig. 3]` Clients of
//! memcached can use the cache on every server, at a TCP port given by a setting.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | primaries, secondaries, and the routing of answers |
//! | `store.rs` | which of a server's values are out of date |
//! | `words.rs` | messages between instances |
//! | `clients.rs` | clients' commands, one at a time |
//!
//! Not here: values, the effects of commands on them, and memcached's text protocol
//! (`crate::key_value`).

mod clients;
mod store;
mod words;

use cubeyard_routing::torus::secondary_replicas;

use super::wire::{fnv, key_of, number, torus};
use crate::key_value::text::Write;
use crate::key_value::{Change, Outcome, changed};
use crate::service::{Action, ClientId, Context, Key, LOCAL, MessageForm, Packet, Service, ServiceEntry};
use clients::Clients;
use store::Store;
use words::{Counted, HEAD_BYTES, What, Words};

/// The service's entry in the catalogue.
pub const ENTRY: ServiceEntry = ServiceEntry {
    name: "cache",
    title: "Cache",
    description: "Keeps keys and values in memory: a primary for each key, and secondary replicas on demand. Clients of \
                  memcached reach it on every server.",
    messages: &[
        MessageForm {
            title: "Store a value",
            example: "set colour deep blue",
            to_every_server: false,
        },
        MessageForm {
            title: "Look a value up",
            example: "get colour",
            to_every_server: false,
        },
        MessageForm {
            title: "Count the links that a lookup crosses",
            example: "hops colour",
            to_every_server: false,
        },
        MessageForm {
            title: "Delete a value",
            example: "delete colour",
            to_every_server: false,
        },
    ],
};

/// The service on one server.
#[derive(Debug, Default)]
pub struct Cache {
    store: Store,
    clients: Clients,
    tcp_port: Option<u16>,
}

/// The primary coordinate for a key.
fn primary(context: &dyn Context, key: &[u8]) -> Key {
    let torus = torus(context);
    key_of(&torus, (fnv(key) % u64::from(torus.servers())) as u32)
}

fn secondaries(context: &dyn Context, primary: Key) -> [Key; 8] {
    let torus = torus(context);
    secondary_replicas(&torus, number(&torus, primary)).map(|server| key_of(&torus, server))
}

/// The replicas nearest to a coordinate; only the primary if it is among them.
fn nearest(context: &dyn Context, from: Key, key: &[u8]) -> Vec<Key> {
    let primary = primary(context, key);
    let mut others = secondaries(context, primary).to_vec();
    others.sort_unstable();
    others.dedup();
    let least = others.iter().map(|other| context.dist(from, *other)).min();
    if least.is_none_or(|least| context.dist(from, primary) <= least) {
        return vec![primary];
    }
    others.retain(|other| Some(context.dist(from, *other)) == least);
    others
}

impl Cache {
    /// A cache that serves memcached's clients at this TCP port, if there is one.
    pub fn new(tcp_port: Option<u16>) -> Cache {
        Cache {
            tcp_port,
            ..Cache::default()
        }
    }

    /// Counts a hop of a lookup whose hops are counted. Returns the lookup if a copy on this server
    /// answers it.
    fn count_hop(&mut self, context: &dyn Context, port: u8, packet: &mut Packet) -> Option<Words> {
        let mut words = Words::parse(&packet.payload)?;
        let counted = words.counted.as_mut()?;
        if port != LOCAL {
            counted.hops = counted.hops.saturating_add(1);
        }
        let straight = counted.straight;
        packet.payload = words.emit();
        let met = straight && self.store.values.get(context.now(), &words.key).is_some();
        met.then_some(words)
    }

    /// Handles a request at a coordinate whose keys this server owns.
    fn serve(&mut self, context: &mut dyn Context, at: Key, mut words: Words, packet: &mut Packet) -> Action {
        let (now, primary) = (context.now(), primary(context, &words.key));
        let stored = self.store.values.get(now, &words.key).cloned();
        if words.what == What::Get {
            if stored.is_none() && at != primary {
                // The routing service then calls `route`, which returns the next replica: the
                // primary.
                words.via = at;
                words.missed = true;
                packet.payload = words.emit();
                context.count("misses-at-secondaries", 1);
                return Action::Pass;
            }
            let hit = if at == primary {
                "hits-at-primary"
            } else {
                "hits-at-secondaries"
            };
            context.count(if stored.is_some() { hit } else { "misses" }, 1);
            words.what = What::Miss;
            if let Some(entry) = stored {
                words.what = What::Value;
                words.flags = entry.flags;
                words.lives_millis = entry.lives_millis(now);
                words.version = entry.version;
                words.value = entry.data;
            }
        } else if at != primary {
            return Action::Drop;
        } else {
            let most_bytes = context.max_payload().saturating_sub(HEAD_BYTES);
            let Some(deed) = words.what.deed() else {
                return Action::Drop;
            };
            let change = Change {
                deed,
                key: words.key.clone(),
                value: std::mem::take(&mut words.value),
                flags: words.flags,
                lives_millis: words.lives_millis,
                version: words.version,
            };
            let values = &mut self.store.values;
            let version = values.next_version(now);
            let (outcome, entry) = changed(&change, stored, version, now, most_bytes);
            words.what = What::answer(outcome);
            let deleted = outcome == Outcome::Deleted;
            let is_new = entry.is_some() || deleted;
            if let Some(entry) = entry {
                // The answer to an adjustment is the new number.
                if outcome == Outcome::Adjusted {
                    words.value.clone_from(&entry.data);
                }
                values.put(change.key, entry);
            } else if deleted {
                values.remove(&words.key);
            }
            if is_new {
                forget(context, primary, &words.key, version);
            }
        }
        let to = if words.missed { words.via } else { words.requester };
        send(context, to, &words);
        Action::Consumed
    }
}

/// Makes the secondaries of a key discard values older than a version.
fn forget(context: &mut dyn Context, primary: Key, key: &[u8], version: u64) {
    let words = Words {
        version,
        ..Words::new(What::Forget, primary, key.to_vec())
    };
    let secondaries = secondaries(context, primary);
    for other in secondaries.into_iter().filter(|other| *other != primary) {
        send(context, other, &words);
    }
}

fn send(context: &mut dyn Context, to: Key, words: &Words) {
    let packet = Packet {
        key: to,
        colour: 0,
        payload: words.emit(),
    };
    context.transmit(packet, &[to]);
}

impl Service for Cache {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action {
        let at = packet.key;
        if Words::is_counted(&packet.payload)
            && let Some(lookup) = self.count_hop(context, port, packet)
        {
            let here = context.here();
            return self.serve(context, here, lookup, packet);
        }
        if !context.responsible(at) {
            return Action::Pass;
        }
        let Some(words) = Words::parse(&packet.payload) else {
            return Action::Drop;
        };
        match words.what {
            what if what.is_request() => self.serve(context, at, words, packet),
            What::Forget => {
                // The new owner of a dead server's keys may also own the primary, whose value must
                // stay.
                if !context.responsible(primary(context, &words.key)) {
                    self.store.forget(context.now(), &words.key, words.version);
                }
                Action::Consumed
            }
            // The answer returns through the secondary that had no value.
            _ if words.missed && at == words.via => {
                if words.what == What::Value {
                    self.store.fill(context.now(), &words);
                }
                let to = words.requester;
                let missed = false;
                send(context, to, &Words { missed, ..words });
                Action::Consumed
            }
            _ if at == words.requester => {
                match words.request {
                    0 => context.deliver(words.answer()),
                    _ => self.clients.answer(context, &words),
                }
                Action::Consumed
            }
            _ => Action::Drop,
        }
    }

    fn route(&mut self, context: &mut dyn Context, at: Key, packet: &mut Packet) -> Vec<Key> {
        match Words::parse(&packet.payload) {
            Some(words)
                if words.is_straight() && self.store.values.get(context.now(), &words.key).is_some() =>
            {
                vec![at]
            }
            Some(words) if words.what == What::Get && !words.missed && !words.is_straight() => {
                nearest(context, at, &words.key)
            }
            Some(words) if words.what.is_request() => vec![primary(context, &words.key)],
            _ => Vec::new(),
        }
    }

    fn timer(&mut self, context: &mut dyn Context) {
        self.clients.on_timer(context, self.store.values.size());
    }

    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        let mut parts = bytes.splitn(3, |byte| *byte == b' ');
        let (verb, key) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
        let value = parts.next().unwrap_or(&[]);
        let what = match verb {
            b"get" | b"hops" => Some(What::Get),
            b"set" => Some(What::Write(Write::Set)),
            b"delete" => Some(What::Delete),
            _ => None,
        };
        let room = context.max_payload().saturating_sub(HEAD_BYTES);
        let fits = !key.is_empty() && key.len() + value.len() <= room.min(usize::from(u16::MAX));
        let Some(what) = what.filter(|_| fits) else {
            let text =
                format!("error: say get KEY, set KEY VALUE, delete KEY or hops KEY, of {room} bytes at most");
            context.deliver(text.into_bytes());
            return;
        };
        let counted = (verb == b"hops").then_some(Counted {
            straight: value == b"straight",
            hops: 0,
        });
        let words = Words {
            value: if counted.is_some() {
                Vec::new()
            } else {
                value.to_vec()
            },
            counted,
            ..Words::new(what, context.here(), key.to_vec())
        };
        context.route(Packet {
            key: context.here(),
            colour: 0,
            payload: words.emit(),
        });
    }

    fn tcp_port(&self) -> Option<u16> {
        self.tcp_port
    }

    fn client(&mut self, context: &mut dyn Context, client: ClientId, bytes: &[u8]) {
        self.clients
            .hear(context, client, bytes, self.store.values.size());
    }

    fn client_ended(&mut self, context: &mut dyn Context, client: ClientId) {
        self.clients.end(context, client);
    }
}
