//! Forwarding tables as data: a protocol writes them as [`TableUpdate`]s, and the forwarding
//! applies them. An entry has the same bytes in a map in the kernel and in a table in user space.

use std::borrow::Cow;
use std::fmt;

use cubeyard_topology::NodeId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::configuration::{Configuration, ConfigurationError, RunPlan};
use crate::counts::{FLOWS, FlowCount};
use crate::flow::Flow;

/// One change of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableUpdate {
    /// Name of the table, see [`TableSchema::name`].
    pub table: Cow<'static, str>,
    /// Key of the entry; for an array, its index as a `u32` in the machine's byte order.
    pub key: HexBytes,
    /// Value of the entry; `None` removes the entry.
    #[serde(default)]
    pub value: Option<HexBytes>,
}

impl TableUpdate {
    /// The update that sets an entry.
    pub fn set(table: &'static str, key: &[u8], value: &[u8]) -> TableUpdate {
        TableUpdate {
            table: Cow::Borrowed(table),
            key: HexBytes(key.to_vec()),
            value: Some(HexBytes(value.to_vec())),
        }
    }

    /// The update that removes an entry, if it exists.
    pub fn remove(table: &'static str, key: &[u8]) -> TableUpdate {
        TableUpdate {
            table: Cow::Borrowed(table),
            key: HexBytes(key.to_vec()),
            value: None,
        }
    }

    /// Changes an entry of a table in user space by calling `write` with table, key and value,
    /// whose lengths match the schema. Errors: there is no such table, or `write` rejects the
    /// entry.
    pub fn write_to(
        &self,
        schemas: &[TableSchema],
        write: impl FnOnce(&str, &[u8], Option<&[u8]>) -> Option<()>,
    ) -> Result<(), TableError> {
        let schema = schemas.iter().find(|schema| schema.name == self.table);
        let key = &self.key.0[..];
        let value = self.value.as_ref().map(|value| &value.0[..]);
        let shaped = schema.is_some_and(|schema| {
            key.len() == schema.key_bytes && value.is_none_or(|value| value.len() == schema.value_bytes)
        });
        let written = shaped.then(|| write(&self.table, key, value)).flatten();
        written.ok_or_else(|| TableError::new(&self.table, "no such entry"))
    }
}

/// Applies the entries that follow from a server's position.
pub fn set_up(
    entries: &[TableUpdate],
    mut apply: impl FnMut(&TableUpdate) -> Result<(), TableError>,
) -> Result<(), ConfigurationError> {
    for entry in entries {
        apply(entry).map_err(|error| ConfigurationError {
            field: "ports".to_owned(),
            value: error.table,
            limit: "entries of this protocol's tables".to_owned(),
            fix: error.message,
        })?;
    }
    Ok(())
}

/// Bytes, written in JSON as hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HexBytes(pub Vec<u8>);

impl Serialize for HexBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use fmt::Write;
        let mut text = String::with_capacity(2 * self.0.len());
        for byte in &self.0 {
            write!(text, "{byte:02x}").map_err(serde::ser::Error::custom)?;
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for HexBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HexBytes, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let digit = |byte: u8| {
            (byte as char)
                .to_digit(16)
                .map(|digit| digit as u8)
                .ok_or_else(|| de::Error::custom("not a hexadecimal digit"))
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if !rest.is_empty() {
            return Err(de::Error::custom("an odd number of hexadecimal digits"));
        }
        let bytes = pairs
            .iter()
            .map(|[high, low]| Ok(digit(*high)? << 4 | digit(*low)?));
        bytes.collect::<Result<_, _>>().map(HexBytes)
    }
}

/// The data structure of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Entries by index. All indices have an entry.
    Array,
    /// Entries by key, up to a limit.
    Hash,
    /// Entries by key. If the table is full, the least recently used entry is removed.
    LruHash,
    /// Entries by prefixes of keys. A key begins with the length of its prefix in bits, a `u32` in
    /// the machine's byte order.
    Trie,
}

/// Who may write a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Only the setup of the server, not its protocol.
    SetUp,
    /// The setup, and the server's protocol.
    Protocol,
    /// The forwarding itself. The protocol may remove entries.
    Forwarding,
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Name of the table; in the kernel, of the map.
    pub name: &'static str,
    /// Data structure of the table.
    pub kind: TableKind,
    /// Length of a key in bytes; 4 for an array.
    pub key_bytes: usize,
    /// Length of a value, in bytes.
    pub value_bytes: usize,
    /// Maximum number of entries.
    pub entries: usize,
    /// Who may write the table.
    pub writer: Writer,
}

impl TableSchema {
    /// The schema of a table with one entry of this length, which describes the server.
    pub const fn of_server(name: &'static str, value_bytes: usize) -> TableSchema {
        TableSchema {
            name,
            kind: TableKind::Array,
            key_bytes: 4,
            value_bytes,
            entries: 1,
            writer: Writer::SetUp,
        }
    }

    /// The schema of the table of sent data: [`FlowCount`] by [`Flow`].
    pub const fn of_flow_counts(name: &'static str) -> TableSchema {
        TableSchema {
            name,
            kind: TableKind::LruHash,
            key_bytes: size_of::<Flow>(),
            value_bytes: size_of::<FlowCount>(),
            entries: FLOWS,
            writer: Writer::Forwarding,
        }
    }

    /// Checks the shape of an update by the server's protocol: lengths, bounds, and whether the
    /// protocol may write this table.
    pub fn check(&self, update: &TableUpdate) -> Result<(), TableError> {
        let refuse = |message: String| Err(TableError::new(&update.table, message));
        if update.key.0.len() != self.key_bytes {
            return refuse(format!(
                "a key has {} bytes, not {}",
                self.key_bytes,
                update.key.0.len()
            ));
        }
        if let Some(value) = &update.value
            && value.0.len() != self.value_bytes
        {
            return refuse(format!(
                "a value has {} bytes, not {}",
                self.value_bytes,
                value.0.len()
            ));
        }
        if self.kind == TableKind::Array {
            let index = array_index(&update.key.0).filter(|index| *index < self.entries);
            if index.is_none() {
                return refuse(format!("an index must be below {}", self.entries));
            }
            if update.value.is_none() {
                return refuse("an entry of an array cannot be removed".to_owned());
            }
        }
        match (self.writer, &update.value) {
            (Writer::Protocol, _) | (Writer::Forwarding, None) => Ok(()),
            (Writer::Forwarding, Some(_)) => {
                refuse("only the forwarding itself writes this table".to_owned())
            }
            (Writer::SetUp, _) => refuse("this table is set up once and not changed".to_owned()),
        }
    }
}

/// Decodes the index in an array's key.
pub fn array_index(key: &[u8]) -> Option<usize> {
    Some(u32::from_ne_bytes(key.try_into().ok()?) as usize)
}

/// Why an update was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The name of the table.
    pub table: String,
    /// The error message.
    pub message: String,
}

impl TableError {
    /// An error about a table.
    pub fn new(table: &str, message: impl Into<String>) -> TableError {
        TableError {
            table: table.to_owned(),
            message: message.into(),
        }
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}: {}", self.table, self.message)
    }
}

impl std::error::Error for TableError {}

/// Checks of changes to a run's tables: a server can only write entries of its own network.
pub trait TableRules: fmt::Debug + Send + Sync {
    /// The initial entries of a server's tables, enough to forward packets before its protocol
    /// writes any.
    fn initial(&self, server: NodeId) -> Vec<TableUpdate>;

    /// Checks whether a server's protocol may make a change. [`TableSchema::check`] must have
    /// accepted its shape.
    fn check(&self, server: NodeId, update: &TableUpdate) -> Result<(), TableError>;

    /// The gateways by which a server is reached from outside, the best first; empty for a protocol
    /// without gateways.
    fn gateways_of(&self, server: NodeId) -> Vec<NodeId> {
        let _ = server;
        Vec::new()
    }
}

/// Derives the rules of a run.
pub type MakeRules = fn(&RunPlan) -> Result<Box<dyn TableRules>, ConfigurationError>;

/// The entries that follow from a server's position: its own, and its neighbours', which all count
/// as alive.
pub type OwnEntries = fn(&Configuration) -> Result<Vec<TableUpdate>, ConfigurationError>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATHS: TableSchema = TableSchema {
        name: "paths",
        kind: TableKind::Hash,
        key_bytes: 4,
        value_bytes: 2,
        entries: 8,
        writer: Writer::Protocol,
    };

    proptest! {
        #[test]
        fn an_update_survives_its_json(key in prop::collection::vec(any::<u8>(), 0..20), value in prop::option::of(prop::collection::vec(any::<u8>(), 0..20))) {
            let update = TableUpdate { table: "paths".into(), key: HexBytes(key), value: value.map(HexBytes) };
            let text = serde_json::to_string(&update).unwrap();
            prop_assert_eq!(serde_json::from_str::<TableUpdate>(&text).unwrap(), update);
        }

        #[test]
        fn only_updates_of_the_right_shape_pass(key in 0usize..9, value in prop::option::of(0usize..9), index in any::<u32>()) {
            let mut bytes = index.to_ne_bytes().to_vec();
            bytes.resize(key, 0);
            let update = TableUpdate { table: "paths".into(), key: HexBytes(bytes), value: value.map(|length| HexBytes(vec![1; length])) };
            let shaped = key == 4 && value.is_none_or(|length| length == 2);
            prop_assert_eq!(PATHS.check(&update).is_ok(), shaped);
            let array = TableSchema { kind: TableKind::Array, ..PATHS };
            prop_assert_eq!(array.check(&update).is_ok(), shaped && value.is_some() && index < 8);
            let counted = TableSchema { writer: Writer::Forwarding, ..PATHS };
            prop_assert_eq!(counted.check(&update).is_ok(), shaped && value.is_none());
            let set_up = TableSchema { writer: Writer::SetUp, ..PATHS };
            prop_assert!(set_up.check(&update).is_err());
        }
    }

    #[test]
    fn hexadecimal_that_is_none_is_refused() {
        for text in ["\"0\"", "\"0g\"", "\"é\"", "7"] {
            assert!(serde_json::from_str::<HexBytes>(text).is_err(), "{text}");
        }
    }
}
