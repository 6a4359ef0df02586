//! memcached's text protocol: parses commands from the bytes of a connection, and formats answers.
//! `[memcached, doc/protocol.txt]`

/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 250;
/// Longest line of a command, in bytes.
const MAX_LINE_BYTES: usize = 8192;
/// Longest value that is read. A longer one closes the connection.
const MAX_DATA_BYTES: usize = 16 << 20;
/// The longest time to live in seconds. memcached treats larger numbers as dates, which are not
/// supported here.
const MAX_SECS: i64 = 60 * 60 * 24 * 30;

/// How a write treats an existing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Replaces any value.
    Set,
    /// Writes only if there is no value.
    Add,
    /// Writes only if there is a value.
    Replace,
    /// Appends to an existing value.
    Append,
    /// Prepends to an existing value.
    Prepend,
    /// Writes only if the version is still the one that the client has read.
    Cas,
}

/// A parsed command of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `get`, or `gets`, which also requests versions.
    Get {
        /// The keys to read.
        keys: Vec<Vec<u8>>,
        /// Whether versions are requested too.
        versions: bool,
    },
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`.
    Write {
        /// The kind of write.
        how: Write,
        /// The key to write.
        key: Vec<u8>,
        /// Opaque flags for the client.
        flags: u32,
        /// Time to live in milliseconds; `None` if the value never expires.
        lives_millis: Option<u32>,
        /// The version that `cas` expects.
        version: u64,
        /// The data to write.
        data: Vec<u8>,
        /// Whether the client expects no answer.
        quiet: bool,
    },
    /// The command `delete`.
    Delete {
        /// The key to delete.
        key: Vec<u8>,
        /// Whether the client expects no answer.
        quiet: bool,
    },
    /// The commands `incr` and `decr`.
    Adjust {
        /// The key to change.
        key: Vec<u8>,
        /// Whether to subtract the difference.
        down: bool,
        /// The difference.
        by: u64,
        /// Whether the client expects no answer.
        quiet: bool,
    },
    /// The command `touch`.
    Touch {
        /// The key to change.
        key: Vec<u8>,
        /// Time to live in milliseconds; `None` if the value never expires.
        lives_millis: Option<u32>,
        /// Whether the client expects no answer.
        quiet: bool,
    },
    /// The command `version`.
    Version,
    /// The command `stats`.
    Stats,
    /// `verbosity`, which is accepted and does nothing.
    Verbosity {
        /// Whether the client expects no answer.
        quiet: bool,
    },
    /// The command `quit`.
    Quit,
}

/// The next item in a connection's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A valid command.
    Command(Command),
    /// An invalid line, with the answer for the client.
    Refused(&'static str),
    /// An invalid line after which nothing can be parsed: the connection is closed after this
    /// answer.
    Broken(&'static str),
}

/// The answer for a value that is longer than a packet.
pub const TOO_LARGE: &str = "SERVER_ERROR object too large for cache\r\n";
const BAD_LINE: &str = "CLIENT_ERROR bad command line format\r\n";
const BAD_DATA: &str = "CLIENT_ERROR bad data chunk\r\n";
const BAD_TIME: &str =
    "CLIENT_ERROR exptime must be at most 2592000: dates are not supported, give seconds from now\r\n";
const LONG_LINE: &str = "CLIENT_ERROR line too long\r\n";

/// The bytes of a connection that are not parsed yet.
#[derive(Debug, Default)]
pub struct Reader {
    bytes: Vec<u8>,
    /// A write whose data has not completely arrived.
    write: Option<(Command, usize)>,
    /// Number of bytes to skip: the data of a rejected write.
    skip: usize,
    /// Whether to skip bytes up to the end of the line.
    skip_line: bool,
}

impl Reader {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        self.bytes.extend(&bytes[skipped..]);
        self.drop_line();
    }

    /// Number of bytes not yet parsed.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// The next command; `None` if it is incomplete. `max_data` limits the length of values.
    pub fn next(&mut self, max_data: usize) -> Option<Next> {
        if self.write.is_some() {
            return self.data();
        }
        let end = self.bytes.iter().position(|byte| *byte == b'\n');
        let Some(end) = end.filter(|end| *end <= MAX_LINE_BYTES) else {
            return (self.bytes.len() > MAX_LINE_BYTES).then_some(Next::Broken(LONG_LINE));
        };
        let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let words: Vec<&[u8]> = line
            .split(|byte| *byte == b' ')
            .filter(|word| !word.is_empty())
            .collect();
        match command(&words) {
            Ok((command, None)) => Some(Next::Command(command)),
            Ok((_, Some(length))) if length > MAX_DATA_BYTES => Some(Next::Broken(TOO_LARGE)),
            Ok((_, Some(length))) if length > max_data => {
                self.pass_over(length + 2);
                Some(Next::Refused(TOO_LARGE))
            }
            Ok((command, Some(length))) => {
                self.write = Some((command, length));
                self.data()
            }
            Err((refusal, length)) => {
                self.pass_over(length.map_or(0, |length| length.min(MAX_DATA_BYTES) + 2));
                Some(Next::Refused(refusal))
            }
        }
    }

    /// The pending write, once its data has arrived.
    fn data(&mut self) -> Option<Next> {
        let (mut command, length) = self.write.take()?;
        if self.bytes.len() < length + 2 {
            self.write = Some((command, length));
            return None;
        }
        if self.bytes[length..length + 2] != *b"\r\n" {
            // As in memcached, the rest of the line is not parsed as a command.
            self.bytes.drain(..length);
            self.skip_line = true;
            self.drop_line();
            return Some(Next::Refused(BAD_DATA));
        }
        let mut taken: Vec<u8> = self.bytes.drain(..length + 2).collect();
        taken.truncate(length);
        if let Command::Write { data, .. } = &mut command {
            *data = taken;
        }
        Some(Next::Command(command))
    }

    fn drop_line(&mut self) {
        if self.skip_line {
            let end = self.bytes.iter().position(|byte| *byte == b'\n');
            self.bytes.drain(..end.map_or(self.bytes.len(), |end| end + 1));
            self.skip_line = end.is_none();
        }
    }

    fn pass_over(&mut self, bytes: usize) {
        let here = bytes.min(self.bytes.len());
        self.bytes.drain(..here);
        self.skip = bytes - here;
    }
}

/// An error message, and the length of data that follows the line nevertheless.
type Refusal = (&'static str, Option<usize>);

/// Parses a line; returns the command, and the length of the data that follows it.
fn command(words: &[&[u8]]) -> Result<(Command, Option<usize>), Refusal> {
    let Some((verb, rest)) = words.split_first() else {
        return Err(("ERROR\r\n", None));
    };
    let (rest, quiet) = match rest.split_last() {
        Some((&b"noreply", rest)) if **verb != *b"get" && **verb != *b"gets" => (rest, true),
        _ => (rest, false),
    };
    let write = |how| write(how, rest, quiet);
    match *verb {
        b"get" | b"gets" => {
            let keys: Option<Vec<Vec<u8>>> = rest.iter().map(|word| key(word)).collect();
            let keys = keys.filter(|keys| !keys.is_empty()).ok_or((BAD_LINE, None))?;
            let versions = *verb == b"gets";
            Ok((Command::Get { keys, versions }, None))
        }
        b"set" => write(Write::Set),
        b"add" => write(Write::Add),
        b"replace" => write(Write::Replace),
        b"append" => write(Write::Append),
        b"prepend" => write(Write::Prepend),
        b"cas" => write(Write::Cas),
        b"delete" => {
            // Old clients send a time of 0 after the key.
            let (&[name] | &[name, b"0"]) = rest else {
                return Err((BAD_LINE, None));
            };
            let key = key(name).ok_or((BAD_LINE, None))?;
            Ok((Command::Delete { key, quiet }, None))
        }
        b"incr" | b"decr" => {
            let &[name, by] = rest else {
                return Err((BAD_LINE, None));
            };
            let key = key(name).ok_or((BAD_LINE, None))?;
            let by = number(by).ok_or(("CLIENT_ERROR invalid numeric delta argument\r\n", None))?;
            let down = *verb == b"decr";
            Ok((Command::Adjust { key, down, by, quiet }, None))
        }
        b"touch" => {
            let &[name, time] = rest else {
                return Err((BAD_LINE, None));
            };
            let key = key(name).ok_or((BAD_LINE, None))?;
            let lives_millis = lives(time).map_err(|refusal| (refusal, None))?;
            let touch = Command::Touch {
                key,
                lives_millis,
                quiet,
            };
            Ok((touch, None))
        }
        b"version" => Ok((Command::Version, None)),
        b"stats" => Ok((Command::Stats, None)),
        b"verbosity" => Ok((Command::Verbosity { quiet }, None)),
        b"quit" => Ok((Command::Quit, None)),
        b"flush_all" => Err((
            "SERVER_ERROR flush_all is not supported: delete keys one by one\r\n",
            None,
        )),
        _ => Err(("ERROR\r\n", None)),
    }
}

/// Parses `KEY FLAGS EXPTIME BYTES`, and for `cas` the version.
fn write(how: Write, words: &[&[u8]], quiet: bool) -> Result<(Command, Option<usize>), Refusal> {
    let (words, version) = match (how, words) {
        (Write::Cas, [words @ .., version]) => (words, number(version)),
        _ => (words, Some(0)),
    };
    let &[name, flags, time, length] = words else {
        return Err((BAD_LINE, None));
    };
    // The data follows even if the rest of the line is wrong, so parse its length first.
    let length: usize = number(length).ok_or((BAD_LINE, None))? as usize;
    let refused = (BAD_LINE, Some(length));
    let key = key(name).ok_or(refused)?;
    let flags = number(flags)
        .and_then(|flags| u32::try_from(flags).ok())
        .ok_or(refused)?;
    let lives_millis = lives(time).map_err(|refusal| (refusal, Some(length)))?;
    let command = Command::Write {
        how,
        key,
        flags,
        lives_millis,
        version: version.ok_or(refused)?,
        data: Vec::new(),
        quiet,
    };
    Ok((command, Some(length)))
}

fn key(word: &[u8]) -> Option<Vec<u8>> {
    let fine = word.len() <= MAX_KEY_BYTES && word.iter().all(|byte| *byte > b' ' && *byte != 0x7f);
    fine.then(|| word.to_vec())
}

fn number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(word).ok().filter(|_| digits)?;
    text.parse().ok()
}

/// Parses a lifetime: seconds from now, 0 for no expiry, negative for immediate expiry.
fn lives(word: &[u8]) -> Result<Option<u32>, &'static str> {
    let secs: Option<i64> = std::str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    match secs {
        None => Err(BAD_LINE),
        Some(0) => Ok(None),
        Some(secs) if secs > MAX_SECS => Err(BAD_TIME),
        Some(secs) => Ok(Some((secs.max(0) * 1000) as u32)),
    }
}

/// A value in the format of `get` or, with its version, of `gets`.
pub fn value(key: &[u8], flags: u32, version: Option<u64>, data: &[u8]) -> Vec<u8> {
    let version = version.map_or(String::new(), |version| format!(" {version}"));
    let numbers = format!(" {flags} {}{version}\r\n", data.len());
    [b"VALUE ", key, numbers.as_bytes(), data, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything that is parsed from these bytes if they arrive in pieces of these lengths.
    fn read(bytes: &[u8], pieces: &[usize]) -> Vec<Next> {
        let (mut reader, mut parsed, mut at) = (Reader::default(), Vec::new(), 0);
        let lengths = pieces.iter().copied().chain(std::iter::repeat(bytes.len()));
        for length in lengths.map(|length| length.max(1)) {
            let end = (at + length).min(bytes.len());
            reader.push(&bytes[at..end]);
            while let Some(next) = reader.next(100) {
                let broken = matches!(next, Next::Broken(_));
                parsed.push(next);
                if broken {
                    return parsed;
                }
            }
            at = end;
            if at == bytes.len() {
                return parsed;
            }
        }
        parsed
    }

    fn commands(text: &str) -> Vec<Next> {
        read(text.as_bytes(), &[])
    }

    #[test]
    fn each_command_of_the_protocol_is_read() {
        let key = || b"a".to_vec();
        let write = |how, flags, lives_millis, version, data: &[u8], quiet| Command::Write {
            how,
            key: key(),
            flags,
            lives_millis,
            version,
            data: data.to_vec(),
            quiet,
        };
        let (quiet, lives_millis) = (false, Some(9000));
        for (text, command) in [
            (
                "get a b\r\n",
                Command::Get {
                    keys: vec![key(), b"b".to_vec()],
                    versions: false,
                },
            ),
            (
                "gets a\n",
                Command::Get {
                    keys: vec![key()],
                    versions: true,
                },
            ),
            (
                "set a 7 0 3\r\nx\r\n\r\n",
                write(Write::Set, 7, None, 0, b"x\r\n", false),
            ),
            (
                "add a 0 60 0 noreply\r\n\r\n",
                write(Write::Add, 0, Some(60_000), 0, b"", true),
            ),
            (
                "replace a 0 -1 1\r\ny\r\n",
                write(Write::Replace, 0, Some(0), 0, b"y", false),
            ),
            (
                "append a 0 0 1\r\ny\r\n",
                write(Write::Append, 0, None, 0, b"y", false),
            ),
            (
                "prepend a 0 0 1\r\ny\r\n",
                write(Write::Prepend, 0, None, 0, b"y", false),
            ),
            (
                "cas a 0 0 1 99\r\ny\r\n",
                write(Write::Cas, 0, None, 99, b"y", false),
            ),
            ("delete a\r\n", Command::Delete { key: key(), quiet }),
            (
                "delete a 0 noreply\r\n",
                Command::Delete {
                    key: key(),
                    quiet: true,
                },
            ),
            (
                "incr a 5\r\n",
                Command::Adjust {
                    key: key(),
                    down: false,
                    by: 5,
                    quiet,
                },
            ),
            (
                "decr a 5\r\n",
                Command::Adjust {
                    key: key(),
                    down: true,
                    by: 5,
                    quiet,
                },
            ),
            (
                "touch a 9\r\n",
                Command::Touch {
                    key: key(),
                    lives_millis,
                    quiet,
                },
            ),
            ("version\r\n", Command::Version),
            ("stats\r\n", Command::Stats),
            ("verbosity 1\r\n", Command::Verbosity { quiet }),
            ("quit\r\n", Command::Quit),
        ] {
            assert_eq!(commands(text), [Next::Command(command)], "{text:?}");
        }
    }

    #[test]
    fn a_wrong_command_is_refused_with_its_data_and_the_next_one_is_read() {
        let long_key = "k".repeat(MAX_KEY_BYTES + 1);
        for (text, refusal) in [
            ("fetch a\r\n".to_owned(), "ERROR\r\n"),
            ("\r\n".to_owned(), "ERROR\r\n"),
            ("get\r\n".to_owned(), BAD_LINE),
            (format!("get {long_key}\r\n"), BAD_LINE),
            (format!("set {long_key} 0 0 3\r\nabc\r\n"), BAD_LINE),
            (
                "set a 0 0 101\r\n".to_owned() + &"x".repeat(101) + "\r\n",
                TOO_LARGE,
            ),
            ("set a 0 2592001 3\r\nabc\r\n".to_owned(), BAD_TIME),
            ("set a 4294967296 0 3\r\nabc\r\n".to_owned(), BAD_LINE),
            ("set a 0 0 2\r\nabcdef\r\n".to_owned(), BAD_DATA),
            ("set a 0 0 -1\r\n".to_owned(), BAD_LINE),
            (
                "incr a -1\r\n".to_owned(),
                "CLIENT_ERROR invalid numeric delta argument\r\n",
            ),
        ] {
            let bytes = [text.as_bytes(), b"version\r\n"].concat();
            for pieces in [vec![], vec![1; 400]] {
                let parsed = read(&bytes, &pieces);
                assert_eq!(parsed.last(), Some(&Next::Command(Command::Version)), "{text:?}");
                assert_eq!(parsed[..parsed.len() - 1], [Next::Refused(refusal)], "{text:?}");
            }
        }
        assert_eq!(
            commands(&"x".repeat(MAX_LINE_BYTES + 1)),
            [Next::Broken(LONG_LINE)]
        );
        assert_eq!(commands("set a 0 0 99999999\r\n"), [Next::Broken(TOO_LARGE)]);
    }

    proptest! {
        /// Commands do not depend on how their bytes are split, and no bytes cause a panic.
        #[test]
        fn any_bytes_are_read_the_same_in_any_pieces(
            parts in prop::collection::vec(prop_oneof![
                Just(b"set a 1 0 4\r\nabcd\r\n".to_vec()), Just(b"get a b\r\n".to_vec()), Just(b"cas a 0 0 2 7\r\n".to_vec()),
                Just(b"\r\n".to_vec()), Just(b"incr n 1 noreply\r\n".to_vec()),
                prop::collection::vec(any::<u8>(), 0..30), "[a-z ]{0,20}\r\n".prop_map(String::into_bytes),
            ], 0..12),
            pieces in prop::collection::vec(1usize..40, 0..60),
        ) {
            let bytes = parts.concat();
            prop_assert_eq!(read(&bytes, &pieces), read(&bytes, &[]));
        }
    }
}
