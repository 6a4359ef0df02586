//! What a column declares at its field.

/// The unit of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// A number of other things.
    Count,
    /// Nanoseconds.
    Nanos,
    /// Seconds, with a fraction.
    Secs,
    /// A part of one.
    Share,
}

/// How the values of several ticks, and of the hosts of a run, become one value. A host counts only
/// its own part of the network and reports zero for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Added up over ticks and hosts.
    Sum,
    /// The last tick's, added up over hosts.
    Latest,
    /// The last tick's of the busiest host.
    Busiest,
    /// The largest of all.
    Longest,
    /// Pairs of a key and a count: counts of the same key are added up.
    ByKey,
}

/// A column of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The part of the tick.
    pub part: &'static str,
    /// Its name in the part.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// How its values merge.
    pub merge: Merge,
}

/// Declares a part of a tick: the struct that the fabric fills, and `COLUMNS`.
macro_rules! part {
    (
        $(#[$meta:meta])*
        $part:literal $type:ident {
            $($(#[$doc:meta])* $name:ident: $values:ty = $merge:ident $unit:ident,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            $($(#[$doc])* pub $name: $values,)+
        }

        impl $type {
            /// What its fields declare.
            pub const COLUMNS: &[$crate::Column] = &[
                $($crate::Column {
                    part: $part,
                    name: stringify!($name),
                    unit: $crate::Unit::$unit,
                    merge: $crate::Merge::$merge,
                },)+
            ];
        }
    };
}
