//! What a column declares at its field.

/// The unit of a column's values; `Count` is of things other than packets.
#[allow(missing_docs, reason = "the names are the units")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Packets,
    Count,
    Nanos,
    Secs,
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

/// How the values of ten ticks become those of a second in a run's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Added up over the ten ticks.
    Sum,
    /// The largest of each row.
    Longest,
}

/// A column in a run's frames, which the page reads: the rows that have a value, as many as fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name in frames.
    pub name: &'static str,
    /// How ten ticks merge.
    pub over: Over,
    /// Its description in the API.
    pub about: &'static str,
}

/// A column of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The part of the tick.
    pub part: &'static str,
    /// Its name in the part.
    pub name: &'static str,
    /// What it counts: its doc comment.
    pub about: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// How its values merge.
    pub merge: Merge,
    /// In a run's frames, if as rows.
    pub shown: Option<Shown>,
}

/// Declares a part of a tick: the struct that the fabric fills, and `COLUMNS`. A column is
/// `name: type = merge unit`, and `=> "name" over "description"` if frames have its rows.
macro_rules! part {
    (@shown) => {
        None
    };
    (@shown $name:literal $over:ident $about:literal) => {
        Some($crate::Shown {
            name: $name,
            over: $crate::Over::$over,
            about: $about,
        })
    };
    (
        $(#[$meta:meta])*
        $part:literal $type:ident {
            $($(#[doc = $doc:literal])+ $name:ident: $values:ty = $merge:ident $unit:ident $(=> $shown:literal $over:ident $about:literal)?,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            $($(#[doc = $doc])+ pub $name: $values,)+
        }

        impl $type {
            /// What its fields declare.
            pub const COLUMNS: &[$crate::Column] = &[
                $($crate::Column {
                    part: $part,
                    name: stringify!($name),
                    about: concat!($($doc),+),
                    unit: $crate::Unit::$unit,
                    merge: $crate::Merge::$merge,
                    shown: part!(@shown $($shown $over $about)?),
                },)+
            ];
        }
    };
}
