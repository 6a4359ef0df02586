//! The clients of one server. Each client's commands run one after the other, so that answers are
//! in order.
//!
//! A command starts when it arrives or, if commands are queued, on the timer. It never starts
//! within the call that ended the previous command, to avoid recursion.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::words::{HEAD_BYTES, What, Words};
use crate::key_value::Change;
use crate::key_value::asked::Asked;
use crate::key_value::text::{Next, Reader, TOO_LARGE, value};
use crate::protocol::Time;
use crate::service::{ClientId, Context, Packet};

/// Time limit for the answer of a key's server. `[ours]`
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum bytes of commands from a client that have no answer yet. `[ours]`
const MOST_AHEAD: usize = 8 << 20;
const SILENT: &str = "SERVER_ERROR the server of this key does not answer\r\n";

/// A pending request.
#[derive(Debug)]
struct Request {
    request: u32,
    until: Time,
    /// Whether its client expects no answer.
    quiet: bool,
}

/// A `get` or `gets`, whose keys are looked up one after the other.
#[derive(Debug)]
struct Lookup {
    keys: VecDeque<Vec<u8>>,
    versions: bool,
}

/// The state of a connection.
#[derive(Debug, Default)]
struct Client {
    reader: Reader,
    lookup: Option<Lookup>,
    asked: Option<Request>,
    /// Whether the client has finished sending.
    ended: bool,
}

/// All connections of a server.
#[derive(Debug, Default)]
pub struct Clients {
    clients: BTreeMap<ClientId, Client>,
    /// The waiting client, by number of the request.
    requests: BTreeMap<u32, ClientId>,
    /// Clients whose next command may start.
    ready: BTreeSet<ClientId>,
    latest: u32,
}

impl Clients {
    /// Handles bytes of a client. `values` is the number of this server's values, and of their
    /// bytes.
    pub fn hear(&mut self, context: &mut dyn Context, id: ClientId, bytes: &[u8], values: (usize, usize)) {
        let client = self.clients.entry(id).or_default();
        client.reader.push(bytes);
        if client.reader.waiting() > MOST_AHEAD {
            self.close(context, id);
        } else if client.asked.is_none() && !self.ready.contains(&id) {
            self.go_on(context, id, values);
        }
        self.set_timer(context);
    }

    /// Handles the end of a client's data; the client still gets the pending answers.
    pub fn end(&mut self, context: &mut dyn Context, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.ended = true;
        }
        if self.clients.get(&id).is_none_or(|client| client.asked.is_none()) && !self.ready.contains(&id) {
            self.close(context, id);
        }
    }

    /// Handles an answer to a request. An answer for which no client waits is ignored.
    pub fn answer(&mut self, context: &mut dyn Context, words: &Words) {
        let Some(id) = self.requests.remove(&words.request) else {
            return;
        };
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let quiet = client.asked.take().is_some_and(|asked| asked.quiet);
        let text = match (&client.lookup, words.what) {
            (Some(lookup), What::Value) => {
                let version = lookup.versions.then_some(words.version);
                value(&words.key, words.flags, version, &words.value)
            }
            (Some(_), _) => Vec::new(),
            (None, What::Value) => [&words.value[..], b"\r\n"].concat(),
            (None, what) => what.outcome().text().into(),
        };
        if !quiet && !text.is_empty() {
            context.reply(id, text);
        }
        self.ready.insert(id);
        self.set_timer(context);
    }

    /// Handles the timer: ends requests that take too long, and starts the next commands.
    pub fn on_timer(&mut self, context: &mut dyn Context, values: (usize, usize)) {
        let now = context.now();
        for (id, client) in &mut self.clients {
            let Some(asked) = client.asked.take_if(|asked| asked.until <= now) else {
                continue;
            };
            self.requests.remove(&asked.request);
            client.lookup = None;
            context.count("client-requests-unanswered", 1);
            if !asked.quiet {
                context.reply(*id, SILENT.into());
            }
            self.ready.insert(*id);
        }
        for id in std::mem::take(&mut self.ready) {
            self.go_on(context, id, values);
        }
        self.set_timer(context);
    }

    fn set_timer(&self, context: &mut dyn Context) {
        let untils = self.clients.values().filter_map(|client| client.asked.as_ref());
        let until = untils.map(|asked| asked.until).min();
        let at = if self.ready.is_empty() {
            until
        } else {
            Some(context.now())
        };
        if let Some(at) = at {
            context.set_timer(at);
        }
    }

    /// Starts the next request of a client that waits for none.
    fn go_on(&mut self, context: &mut dyn Context, id: ClientId, values: (usize, usize)) {
        while let Some(client) = self.clients.get_mut(&id) {
            if let Some(lookup) = &mut client.lookup {
                if let Some(key) = lookup.keys.pop_front() {
                    let words = Words::new(What::Get, context.here(), key);
                    return self.ask(context, id, words, false);
                }
                client.lookup = None;
                context.reply(id, b"END\r\n".to_vec());
                continue;
            }
            match client
                .reader
                .next(context.max_payload().saturating_sub(HEAD_BYTES))
            {
                None if client.ended => return self.close(context, id),
                None => return,
                Some(Next::Refused(text)) => context.reply(id, text.into()),
                Some(Next::Broken(text)) => {
                    context.reply(id, text.into());
                    return self.close(context, id);
                }
                Some(Next::Command(command)) => match command.asked(values) {
                    Asked::End => return self.close(context, id),
                    Asked::Values { keys, versions } => {
                        context.count("client-commands", 1);
                        client.lookup = Some(Lookup {
                            keys: keys.into(),
                            versions,
                        });
                    }
                    Asked::Said(text) => {
                        context.count("client-commands", 1);
                        if let Some(text) = text {
                            context.reply(id, text);
                        }
                    }
                    Asked::Change { change, quiet } => {
                        context.count("client-commands", 1);
                        if let Some(words) = request(context, change) {
                            return self.ask(context, id, words, quiet);
                        }
                        if !quiet {
                            context.reply(id, TOO_LARGE.into());
                        }
                    }
                },
            }
        }
    }

    fn ask(&mut self, context: &mut dyn Context, id: ClientId, words: Words, quiet: bool) {
        // Number 0 is reserved for messages from users.
        self.latest = self.latest.checked_add(1).unwrap_or(1);
        let request = self.latest;
        if let Some(client) = self.clients.get_mut(&id) {
            client.asked = Some(Request {
                request,
                until: context.now() + PATIENCE,
                quiet,
            });
        }
        self.requests.insert(request, id);
        let words = Words { request, ..words };
        context.route(Packet {
            key: context.here(),
            colour: 0,
            payload: words.emit(),
        });
    }

    fn close(&mut self, context: &mut dyn Context, id: ClientId) {
        if let Some(asked) = self.clients.remove(&id).and_then(|client| client.asked) {
            self.requests.remove(&asked.request);
        }
        self.ready.remove(&id);
        context.hang_up(id);
    }
}

/// The request for a change, to the server of its key; `None` if it is longer than a packet.
fn request(context: &dyn Context, change: Change) -> Option<Words> {
    let fits = change.key.len() + change.value.len() + HEAD_BYTES <= context.max_payload();
    fits.then(|| Words {
        flags: change.flags,
        lives_millis: change.lives_millis,
        version: change.version,
        value: change.value,
        ..Words::new(What::request(change.deed), context.here(), change.key)
    })
}
