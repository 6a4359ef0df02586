//! The values of one server, for memcached's clients at a TCP port.

use std::collections::{BTreeMap, VecDeque};

use super::asked::Asked;
use super::text::{Command, Next, Reader, value};
use super::values::Values;
use super::{Outcome, changed};
use crate::protocol::Time;
use crate::service::{ClientId, Reply, ServesClients};

/// The default port of memcached's clients.
pub const PORT: u16 = 11_211;
/// Longest value including its key, as in memcached's default.
const MOST_BYTES: usize = 1 << 20;
/// Maximum bytes of commands from a client that have no answer yet. `[ours]`
const MOST_AHEAD: usize = 8 << 20;

/// The values of one server and their clients.
#[derive(Debug, Default)]
pub struct KeyValues {
    values: Values,
    readers: BTreeMap<ClientId, Reader>,
    replies: VecDeque<Reply>,
}

impl KeyValues {
    /// Carries out a command; returns its answer, if it has one.
    fn carry_out(&mut self, now: Time, command: Command) -> Option<Vec<u8>> {
        match command.asked(self.values.size()) {
            Asked::Values { keys, versions } => {
                let mut text = Vec::new();
                for key in keys {
                    if let Some(found) = self.values.get(now, &key) {
                        let version = versions.then_some(found.version);
                        text.extend(value(&key, found.flags, version, &found.data));
                    }
                }
                text.extend_from_slice(b"END\r\n");
                Some(text)
            }
            Asked::Change { change, quiet } => {
                let found = self.values.get(now, &change.key).cloned();
                let version = self.values.next_version(now);
                let (outcome, entry) = changed(&change, found, version, now, MOST_BYTES);
                let text = match (&entry, outcome) {
                    (Some(entry), Outcome::Adjusted) => [&entry.data[..], b"\r\n"].concat(),
                    _ => outcome.text().into(),
                };
                match entry {
                    Some(entry) => self.values.put(change.key, entry),
                    None if outcome == Outcome::Deleted => {
                        self.values.remove(&change.key);
                    }
                    None => {}
                }
                (!quiet).then_some(text)
            }
            Asked::Said(text) => text,
            // The caller handles the end of the connection.
            Asked::End => None,
        }
    }

    fn reply(&mut self, client: ClientId, bytes: Vec<u8>, last: bool) {
        if last {
            self.readers.remove(&client);
        }
        self.replies.push_back(Reply { client, bytes, last });
    }
}

impl ServesClients for KeyValues {
    fn tcp_ports(&self) -> Vec<u16> {
        vec![PORT]
    }

    fn client(&mut self, now: Time, _tcp_port: u16, client: ClientId, bytes: &[u8]) {
        self.readers.entry(client).or_default().push(bytes);
        while let Some(reader) = self.readers.get_mut(&client) {
            match reader.next(MOST_BYTES) {
                None if reader.waiting() > MOST_AHEAD => return self.reply(client, Vec::new(), true),
                None => return,
                Some(Next::Refused(text)) => self.reply(client, text.into(), false),
                Some(Next::Broken(text)) => self.reply(client, text.into(), true),
                Some(Next::Command(Command::Quit)) => self.reply(client, Vec::new(), true),
                Some(Next::Command(command)) => {
                    if let Some(text) = self.carry_out(now, command) {
                        self.reply(client, text, false);
                    }
                }
            }
        }
    }

    fn client_ended(&mut self, _now: Time, _tcp_port: u16, client: ClientId) {
        // All commands of the client have been answered.
        if self.readers.remove(&client).is_some() {
            self.reply(client, Vec::new(), true);
        }
    }

    fn poll_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Output for client 1, and whether the connection ends.
    fn talk(values: &mut KeyValues, secs: u64, input: &str) -> (String, bool) {
        values.client(Duration::from_secs(secs), PORT, 1, input.as_bytes());
        let (mut text, mut last) = (Vec::new(), false);
        while let Some(reply) = values.poll_reply() {
            text.extend(reply.bytes);
            last |= reply.last;
        }
        (String::from_utf8(text).unwrap().replace("\r\n", "|"), last)
    }

    #[test]
    fn each_command_does_what_memcached_s_does() {
        let mut values = KeyValues::default();
        for (said, told) in [
            ("get a\r\n", "END|"),
            ("set a 7 0 1\r\nx\r\n", "STORED|"),
            ("add a 0 0 1\r\ny\r\n", "NOT_STORED|"),
            ("replace b 0 0 1\r\ny\r\n", "NOT_STORED|"),
            (
                "append a 1 0 2\r\nyz\r\nget a b\r\n",
                "STORED|VALUE a 7 3|xyz|END|",
            ),
            (
                "prepend a 1 0 1\r\nw\r\nget a\r\n",
                "STORED|VALUE a 7 4|wxyz|END|",
            ),
            (
                "incr a 1\r\n",
                "CLIENT_ERROR cannot increment or decrement non-numeric value|",
            ),
            ("set n 0 0 1\r\n9\r\nincr n 3\r\ndecr n 20\r\n", "STORED|12|0|"),
            (
                "incr m 1\r\ntouch m 3\r\ndelete m\r\ncas m 0 0 1 1\r\nx\r\n",
                "NOT_FOUND|NOT_FOUND|NOT_FOUND|NOT_FOUND|",
            ),
            ("cas n 0 0 1 1\r\nx\r\n", "EXISTS|"),
            (
                "set q 0 0 1 noreply\r\nx\r\ndelete q\r\nget q\r\n",
                "DELETED|END|",
            ),
            ("stats\r\n", "STAT curr_items 2|STAT bytes 7|END|"),
            ("verbosity 1\r\nfetch\r\n", "OK|ERROR|"),
        ] {
            assert_eq!(talk(&mut values, 1, said), (told.to_owned(), false), "{said}");
        }
        assert!(
            talk(&mut values, 1, "version\r\n")
                .0
                .starts_with("VERSION 1.4.8-cubeyard-")
        );
        assert_eq!(
            talk(&mut values, 1, "get n\r\nquit\r\nget n\r\n"),
            ("VALUE n 0 1|0|END|".to_owned(), true)
        );
    }

    #[test]
    fn a_value_is_there_in_pieces_until_its_time_is_over_and_versions_are_compared() {
        let mut values = KeyValues::default();
        assert_eq!(talk(&mut values, 1, "set a 0 5 3\r\nx").0, "");
        assert_eq!(talk(&mut values, 1, "yz\r").0, "");
        assert_eq!(
            talk(&mut values, 1, "\ngets a\r\n").0,
            "STORED|VALUE a 0 3 1000000000|xyz|END|"
        );
        assert_eq!(
            talk(&mut values, 2, "cas a 0 5 1 1000000000\r\nv\r\n").0,
            "STORED|"
        );
        assert_eq!(
            talk(&mut values, 3, "cas a 0 5 1 1000000000\r\nw\r\n").0,
            "EXISTS|"
        );
        assert_eq!(talk(&mut values, 6, "get a\r\n").0, "VALUE a 0 1|v|END|");
        assert_eq!(talk(&mut values, 8, "get a\r\n").0, "END|");
    }

    #[test]
    fn silent_clients_are_disconnected_and_clients_that_send_too_much_are_refused() {
        let mut values = KeyValues::default();
        let large = "x".repeat(MOST_BYTES);
        let set = format!("set a 0 0 {}\r\n{large}\r\nget a\r\n", large.len());
        assert_eq!(
            talk(&mut values, 1, &set),
            ("SERVER_ERROR object too large for cache|END|".to_owned(), false)
        );
        values.client_ended(Duration::from_secs(1), PORT, 1);
        assert_eq!(values.poll_reply().map(|reply| reply.last), Some(true));
        values.client_ended(Duration::from_secs(1), PORT, 1);
        assert!(values.poll_reply().is_none());
        let line = "x".repeat(10_000);
        assert_eq!(
            talk(&mut values, 1, &line),
            ("CLIENT_ERROR line too long|".to_owned(), true)
        );
    }
}
