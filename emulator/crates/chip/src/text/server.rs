//! The data of a server that its program can read, as variables of the text.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::value::{Value, unset};
use crate::bcube::Neighbour;
use crate::flaw::Flaw;

/// A server's own part of a program that all servers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The address of the server.
    pub address: Ipv4Addr,
    /// The neighbours of the server.
    pub neighbours: Vec<Neighbour>,
}

/// The variables that a server gives.
const GIVEN: [&str; 6] = ["my_bcube_id", "nhas", "dstmac", "srcmac", "oport", "alive"];

impl Server {
    /// The same server with all of its neighbours alive, or all dead.
    #[must_use]
    pub fn with_neighbours(mut self, alive: bool) -> Server {
        self.neighbours
            .iter_mut()
            .for_each(|neighbour| neighbour.alive = alive);
        self
    }

    pub(super) fn variables(&self) -> BTreeMap<String, Value> {
        let by_hop = |value: &dyn Fn(&Neighbour) -> Value| {
            let values = self.neighbours.iter();
            Value::Map(values.map(|item| (u64::from(item.hop), value(item))).collect())
        };
        let hops = self
            .neighbours
            .iter()
            .map(|neighbour| Value::Number(neighbour.hop.into()));
        let values = [
            Value::Bytes(self.address.octets().to_vec()),
            Value::List(hops.collect()),
            by_hop(&|item| Value::Bytes(item.next_mac.0.to_vec())),
            by_hop(&|item| Value::Bytes(item.own_mac.0.to_vec())),
            by_hop(&|item| Value::Number(item.port.into())),
            by_hop(&|item| Value::Number(item.alive.into())),
        ];
        GIVEN.iter().map(|&name| name.to_owned()).zip(values).collect()
    }
}

pub(super) fn is_given(name: &str) -> bool {
    GIVEN.contains(&name)
}

/// A variable of a server, in a program that has none.
pub(super) fn not_given(name: &str) -> Flaw {
    let fix = "Servers of a run give it: check the program for one of them (--bcube and --server), or set it yourself.";
    Flaw::new("server-unset", name, "not set", "given by a server", fix)
}

/// `name[at]`: an element of a map, or a byte of an array.
pub(super) fn element(name: &str, found: Option<&Value>, at: u64) -> Result<Value, Flaw> {
    let index = usize::try_from(at).unwrap_or(usize::MAX);
    match found {
        Some(Value::Map(map)) => map.get(&at).cloned().ok_or_else(|| {
            let known: Vec<String> = map.keys().map(|hop| format!("{hop:#04x}")).collect();
            let limit = format!("of a neighbour: {}", known.join(", "));
            let fix = "Go through them: foreach nha in nhas {…}.";
            Flaw::new("hop-unknown", name, format!("asked for {at:#04x}"), limit, fix)
        }),
        Some(Value::Bytes(bytes) | Value::Array(bytes)) => match bytes.get(index) {
            Some(&byte) => Ok(Value::Number(byte.into())),
            None => {
                let limit = format!("one of its {} bytes, counted from 0", bytes.len());
                let fix = "Take a smaller index.";
                Err(Flaw::new(
                    "index",
                    name,
                    format!("asked for byte {at}"),
                    limit,
                    fix,
                ))
            }
        },
        Some(other) => {
            let fix = "Only values by next hop and arrays have elements.";
            Err(Flaw::new(
                "type",
                name,
                other.kind(),
                "something with elements",
                fix,
            ))
        }
        None if is_given(name) => Err(not_given(name)),
        None => Err(unset(name, "an array")),
    }
}
