//! The kernel's packet filter, as `nft` configures it: a table that belongs to this process, and
//! which the kernel removes when the process's socket closes.
//! `[man 8 nft, linux/netfilter/nf_tables.h]`

use super::message::{ACK, APPEND, Attributes, Batch, CREATE, attributes};
use super::socket::{Netlink, no_excuse};
use crate::error::{FabricError, Result};

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const NEW_OBJECT: u16 = SUBSYSTEM << 8 | 18;
const GET_OBJECT: u16 = SUBSYSTEM << 8 | 19;
/// Length of a message's fixed part: family, version, and a number of the subsystem.
const HEADER_BYTES: usize = 4;
const IPV4: u8 = 2;

const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;
const TABLE_OWNER: u32 = 2;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const LIST_ELEMENT: u16 = 1;
const EXPRESSION_NAME: u16 = 1;
const EXPRESSION_DATA: u16 = 2;
const OBJECT_TABLE: u16 = 1;
const OBJECT_NAME: u16 = 2;
const OBJECT_TYPE: u16 = 3;
const OBJECT_DATA: u16 = 4;
const OBJECT_COUNTER: u32 = 1;
const COUNTER_PACKETS: u16 = 2;
const REFERENCE_TYPE: u16 = 1;
const REFERENCE_NAME: u16 = 2;
const DATA_VALUE: u16 = 1;
const DATA_VERDICT: u16 = 2;
const VERDICT_CODE: u16 = 1;
const VERDICT_CHAIN: u16 = 2;

/// Registers of the kernel's rules: for verdicts, and for values.
const TO_VERDICT: u32 = 0;
const VALUE: u32 = 1;
const EQUAL: u32 = 0;
const META_SOCKET_USER: u32 = 10;
const META_PROTOCOL: u32 = 16;
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;
const UDP: u8 = 17;
const ROUTE_INTERFACE: u32 = 1;
const ROUTE_OF_SOURCE: u32 = 1;
const ROUTE_BY_ENTRANCE: u32 = 8;
const ROUTE_PRESENT: u32 = 32;

/// The kernel's hook of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Packets that arrive for this host.
    In,
    /// Packets that this host forwards.
    Through,
    /// Packets that programs of this host send.
    Out,
}

impl Way {
    fn number(self) -> u32 {
        match self {
            Way::In => 1,
            Way::Through => 2,
            Way::Out => 3,
        }
    }
}

/// A condition of a rule.
#[derive(Clone, Debug)]
pub enum Match {
    /// UDP to this destination port.
    UdpTo(u16),
    /// The bytes at this offset of the transport header are within these limits, both included.
    Between(u32, Vec<u8>, Vec<u8>),
    /// IPv4 source address of the packet.
    From([u8; 4]),
    /// The packet came in by the interface that the route to its sender uses.
    CameByItsRoute,
    /// The packet was sent by a socket of this network namespace.
    FromSocket,
}

/// The action of a rule on a packet that meets its conditions.
#[derive(Clone, Copy, Debug)]
pub enum Then<'a> {
    /// The packet is accepted, and the chain's later rules are skipped.
    Accept,
    /// The packet is dropped, and counted in this counter.
    CountAndDrop(&'a str),
    /// The packet goes through another chain.
    Ask(&'a str),
}

/// A table, with the socket that owns it.
#[derive(Debug)]
pub struct Firewall {
    socket: Netlink,
    table: String,
    batch: Batch,
}

impl Firewall {
    /// Begins a table of this name in the caller's network namespace. It exists from
    /// [`Firewall::commit`] until this is dropped or the process ends.
    pub fn new(table: &str) -> Result<Firewall> {
        let mut firewall = Firewall {
            socket: Netlink::open_netfilter()?,
            table: table.to_owned(),
            batch: Batch::new(),
        };
        let begin = "beginning rules of the packet filter";
        firewall.batch.request(BATCH_BEGIN, 0, &boundary(), begin, |_| {});
        firewall.add(NEW_TABLE, "a table", |table, attributes| {
            attributes.put_text(TABLE_NAME, table);
            put_number(attributes, TABLE_FLAGS, TABLE_OWNER);
        });
        Ok(firewall)
    }

    /// Adds a counter of dropped packets.
    pub fn add_counter(&mut self, name: &str) {
        self.add(NEW_OBJECT, "a counter", |table, attributes| {
            attributes.put_text(OBJECT_TABLE, table);
            attributes.put_text(OBJECT_NAME, name);
            put_number(attributes, OBJECT_TYPE, OBJECT_COUNTER);
            attributes.nest(OBJECT_DATA, |_| {});
        });
    }

    /// Adds a chain. Without a hook, packets reach it only from rules.
    pub fn add_chain(&mut self, name: &str, way: Option<Way>) {
        self.add(NEW_CHAIN, "a chain", |table, attributes| {
            attributes.put_text(CHAIN_TABLE, table);
            attributes.put_text(CHAIN_NAME, name);
            if let Some(way) = way {
                attributes.nest(CHAIN_HOOK, |hook| {
                    put_number(hook, HOOK_NUMBER, way.number());
                    put_number(hook, HOOK_PRIORITY, 0);
                });
                attributes.put_text(CHAIN_TYPE, "filter");
            }
        });
    }

    /// Adds a rule at the end of a chain.
    pub fn add_rule(&mut self, chain: &str, matches: &[Match], then: Then<'_>) {
        self.add(NEW_RULE, "a rule", |table, attributes| {
            attributes.put_text(RULE_TABLE, table);
            attributes.put_text(RULE_CHAIN, chain);
            attributes.nest(RULE_EXPRESSIONS, |list| {
                for condition in matches {
                    put_match(list, condition);
                }
                match then {
                    Then::Accept => put_verdict(list, 1, None),
                    Then::CountAndDrop(counter) => {
                        put_expression(list, "objref", |data| {
                            put_number(data, REFERENCE_TYPE, OBJECT_COUNTER);
                            data.put_text(REFERENCE_NAME, counter);
                        });
                        put_verdict(list, 0, None);
                    }
                    Then::Ask(chain) => put_verdict(list, -3_i32 as u32, Some(chain)),
                }
            });
        });
    }

    /// Applies everything that was added, atomically.
    pub fn commit(&mut self) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        let end = "putting rules of the packet filter into effect";
        batch.request(BATCH_END, 0, &boundary(), end, |_| {});
        self.socket.run_transaction(&mut batch)
    }

    /// The number of packets in a counter.
    pub fn counted(&mut self, counter: &str) -> Result<u64> {
        let mut batch = Batch::new();
        let purpose = format!("reading the counter {counter} of the packet filter");
        batch.request(GET_OBJECT, 0, &header(), purpose.clone(), |attributes| {
            attributes.put_text(OBJECT_TABLE, &self.table);
            attributes.put_text(OBJECT_NAME, counter);
            put_number(attributes, OBJECT_TYPE, OBJECT_COUNTER);
        });
        let mut packets = None;
        self.socket.run_and_read(&mut batch, no_excuse, |answer| {
            if answer.kind == NEW_OBJECT {
                let data = answer.attributes(HEADER_BYTES).find_value(OBJECT_DATA);
                let value = data.and_then(|data| attributes(data).find_value(COUNTER_PACKETS));
                packets = value
                    .and_then(<[u8]>::first_chunk)
                    .map(|bytes| u64::from_be_bytes(*bytes));
            }
        })?;
        packets.ok_or_else(|| FabricError::system(purpose, "the kernel sent no number"))
    }

    fn add(&mut self, kind: u16, what: &str, fill: impl FnOnce(&str, &mut Attributes<'_>)) {
        let purpose = format!("adding {what} to the packet filter");
        let table = &self.table;
        self.batch
            .request(kind, CREATE | APPEND | ACK, &header(), purpose, |attributes| {
                fill(table, attributes);
            });
    }
}

fn header() -> [u8; HEADER_BYTES] {
    [IPV4, 0, 0, 0]
}

/// The fixed part of a batch's first and last message.
fn boundary() -> [u8; HEADER_BYTES] {
    let [high, low] = SUBSYSTEM.to_be_bytes();
    [0, 0, high, low]
}

/// Adds a number; those of the packet filter are in network byte order.
fn put_number(attributes: &mut Attributes<'_>, kind: u16, value: u32) {
    attributes.put(kind, &value.to_be_bytes());
}

fn put_expression(list: &mut Attributes<'_>, name: &str, fill: impl FnOnce(&mut Attributes<'_>)) {
    list.nest(LIST_ELEMENT, |element| {
        element.put_text(EXPRESSION_NAME, name);
        element.nest(EXPRESSION_DATA, fill);
    });
}

fn put_match(list: &mut Attributes<'_>, condition: &Match) {
    match condition {
        Match::UdpTo(port) => {
            put_meta(list, META_PROTOCOL);
            put_equal(list, &[UDP]);
            put_payload(list, TRANSPORT_HEADER, 2, 2);
            put_equal(list, &port.to_be_bytes());
        }
        Match::Between(at, first, last) => {
            put_payload(list, TRANSPORT_HEADER, *at, first.len());
            put_expression(list, "range", |data| {
                put_number(data, 1, VALUE);
                put_number(data, 2, EQUAL);
                data.nest(3, |value| value.put(DATA_VALUE, first));
                data.nest(4, |value| value.put(DATA_VALUE, last));
            });
        }
        Match::From(address) => {
            put_payload(list, NETWORK_HEADER, 12, 4);
            put_equal(list, address);
        }
        Match::CameByItsRoute => {
            put_expression(list, "fib", |data| {
                put_number(data, 1, VALUE);
                put_number(data, 2, ROUTE_INTERFACE);
                put_number(data, 3, ROUTE_OF_SOURCE | ROUTE_BY_ENTRANCE | ROUTE_PRESENT);
            });
            put_equal(list, &[1]);
        }
        // Packets without a socket of this namespace have no user, so that the rule does not match.
        Match::FromSocket => put_meta(list, META_SOCKET_USER),
    }
}

fn put_meta(list: &mut Attributes<'_>, key: u32) {
    put_expression(list, "meta", |data| {
        put_number(data, 1, VALUE);
        put_number(data, 2, key);
    });
}

fn put_payload(list: &mut Attributes<'_>, base: u32, at: u32, length: usize) {
    put_expression(list, "payload", |data| {
        put_number(data, 1, VALUE);
        put_number(data, 2, base);
        put_number(data, 3, at);
        put_number(data, 4, length as u32);
    });
}

fn put_equal(list: &mut Attributes<'_>, wanted: &[u8]) {
    put_expression(list, "cmp", |data| {
        put_number(data, 1, VALUE);
        put_number(data, 2, EQUAL);
        data.nest(3, |value| value.put(DATA_VALUE, wanted));
    });
}

fn put_verdict(list: &mut Attributes<'_>, code: u32, chain: Option<&str>) {
    put_expression(list, "immediate", |data| {
        put_number(data, 1, TO_VERDICT);
        data.nest(2, |value| {
            value.nest(DATA_VERDICT, |verdict| {
                put_number(verdict, VERDICT_CODE, code);
                if let Some(chain) = chain {
                    verdict.put_text(VERDICT_CHAIN, chain);
                }
            });
        });
    });
}
