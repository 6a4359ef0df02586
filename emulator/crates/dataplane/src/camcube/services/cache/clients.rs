//! The clients of one server: each client's commands one after the other, so that answers come in order.
//!
//! A command begins when its client says it or, where commands wait behind each other, with the timer: never from within the
//! call that ended the one before, which may itself be within that one's.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::text::{Command, Next, Reader, TOO_LARGE, value};
use super::words::{FOR_EVER, HEAD_BYTES, What, Words};
use crate::protocol::Time;
use crate::service::{ClientId, Context, Packet};

/// Time that the server of a key has to answer. `[ours]`
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of commands that a client may send ahead of their answers. `[ours]`
const MOST_AHEAD: usize = 8 << 20;
const SILENT: &str = "SERVER_ERROR the server of this key does not answer\r\n";

/// A request under way.
#[derive(Debug)]
struct Asked {
    request: u32,
    until: Time,
    /// Whether its client wants no answer.
    quiet: bool,
}

/// A `get` or `gets` whose keys are looked up one after the other.
#[derive(Debug)]
struct Lookup {
    keys: VecDeque<Vec<u8>>,
    versions: bool,
}

/// A connection.
#[derive(Debug, Default)]
struct Client {
    reader: Reader,
    lookup: Option<Lookup>,
    asked: Option<Asked>,
    /// Whether it says nothing more.
    ended: bool,
}

/// All connections of a server.
#[derive(Debug, Default)]
pub struct Clients {
    clients: BTreeMap<ClientId, Client>,
    /// Who waits for which request.
    requests: BTreeMap<u32, ClientId>,
    /// Those that can go on.
    ready: BTreeSet<ClientId>,
    latest: u32,
}

impl Clients {
    /// A client has sent bytes. `values` are this server's values and their bytes.
    pub fn hear(&mut self, context: &mut dyn Context, id: ClientId, bytes: &[u8], values: (usize, usize)) {
        let client = self.clients.entry(id).or_default();
        client.reader.push(bytes);
        if client.reader.len() > MOST_AHEAD {
            self.close(context, id);
        } else if client.asked.is_none() && !self.ready.contains(&id) {
            self.go_on(context, id, values);
        }
        self.set_timer(context);
    }

    /// A client says nothing more: it gets the answers that it waits for.
    pub fn end(&mut self, context: &mut dyn Context, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.ended = true;
        }
        if self.clients.get(&id).is_none_or(|client| client.asked.is_none()) && !self.ready.contains(&id) {
            self.close(context, id);
        }
    }

    /// An answer to a request has come. One that nobody waits for any more is nothing.
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
            (None, what) => outcome(what).as_bytes().to_vec(),
        };
        if !quiet && !text.is_empty() {
            context.reply(id, text);
        }
        self.ready.insert(id);
        self.set_timer(context);
    }

    /// The time has come: gives up what takes too long, and goes on with who is ready.
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

    /// Begins the next request of a client that waits for none.
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
                Some(Next::Command(Command::Quit)) => return self.close(context, id),
                Some(Next::Command(Command::Get { keys, versions })) => {
                    context.count("client-commands", 1);
                    client.lookup = Some(Lookup {
                        keys: keys.into(),
                        versions,
                    });
                }
                Some(Next::Command(command)) => {
                    context.count("client-commands", 1);
                    if self.begin(context, id, command, values) {
                        return;
                    }
                }
            }
        }
    }

    /// Begins a command; whether it has to wait for another server's answer.
    fn begin(
        &mut self,
        context: &mut dyn Context,
        id: ClientId,
        command: Command,
        (count, bytes): (usize, usize),
    ) -> bool {
        let here = context.here();
        let words = |what, key| Words::new(what, here, key);
        let (words, quiet) = match command {
            Command::Write {
                how,
                key,
                flags,
                lives_millis,
                version,
                data,
                quiet,
            } => {
                if key.len() + data.len() + HEAD_BYTES > context.max_payload() {
                    if !quiet {
                        context.reply(id, TOO_LARGE.into());
                    }
                    return false;
                }
                let words = Words {
                    flags,
                    lives_millis: lives_millis.unwrap_or(FOR_EVER),
                    version,
                    value: data,
                    ..words(What::Write(how), key)
                };
                (words, quiet)
            }
            Command::Delete { key, quiet } => (words(What::Delete, key), quiet),
            Command::Adjust { key, down, by, quiet } => {
                let value = by.to_string().into_bytes();
                let words = Words {
                    value,
                    ..words(What::Adjust(down), key)
                };
                (words, quiet)
            }
            Command::Touch {
                key,
                lives_millis,
                quiet,
            } => {
                let lives_millis = lives_millis.unwrap_or(FOR_EVER);
                let words = Words {
                    lives_millis,
                    ..words(What::Touch, key)
                };
                (words, quiet)
            }
            Command::Version => {
                context.reply(
                    id,
                    concat!("VERSION cubeyard-", env!("CARGO_PKG_VERSION"), "\r\n").into(),
                );
                return false;
            }
            Command::Stats => {
                let text = format!("STAT curr_items {count}\r\nSTAT bytes {bytes}\r\nEND\r\n");
                context.reply(id, text.into_bytes());
                return false;
            }
            Command::Verbosity { quiet } => {
                if !quiet {
                    context.reply(id, b"OK\r\n".to_vec());
                }
                return false;
            }
            // Both are the caller's.
            Command::Get { .. } | Command::Quit => return false,
        };
        self.ask(context, id, words, quiet);
        true
    }

    fn ask(&mut self, context: &mut dyn Context, id: ClientId, words: Words, quiet: bool) {
        // 0 is that of messages from people.
        self.latest = self.latest.checked_add(1).unwrap_or(1);
        let request = self.latest;
        if let Some(client) = self.clients.get_mut(&id) {
            client.asked = Some(Asked {
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

/// What a client is told of a write that is over.
fn outcome(what: What) -> &'static str {
    match what {
        What::Stored => "STORED\r\n",
        What::NotStored => "NOT_STORED\r\n",
        What::Exists => "EXISTS\r\n",
        What::Deleted => "DELETED\r\n",
        What::Touched => "TOUCHED\r\n",
        What::NoNumber => "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
        What::TooLarge => TOO_LARGE,
        _ => "NOT_FOUND\r\n",
    }
}
