//! The differences between two programs, entry by entry.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::entries::Table;
use crate::program::Program;
use crate::text::print;

/// One difference between two programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What, like `TCAM[3]`, `VIF[2]`, `UDLK[1]`, `L3_ENABLE` or `profile`.
    pub what: String,
    /// The line in the first program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The line in the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Every difference, in the order of a printed program. Empty exactly where both are the same.
pub fn diff(before: &Program, after: &Program) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: String, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(Difference { what, before, after });
        }
    };
    let profile = |program: &Program| Some(print::profile_line(program));
    add("profile".to_owned(), profile(before), profile(after));
    let both = |a: BTreeMap<u32, String>, b: BTreeMap<u32, String>| {
        let mut rows: BTreeMap<u32, (Option<String>, Option<String>)> = BTreeMap::new();
        for (i, line) in a {
            rows.entry(i).or_default().0 = Some(line);
        }
        for (i, line) in b {
            rows.entry(i).or_default().1 = Some(line);
        }
        rows
    };
    let registers = |program: &Program| {
        print::register_lines(program)
            .into_iter()
            .collect::<BTreeMap<_, _>>()
    };
    let (first, second) = (registers(before), registers(after));
    let names: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    for name in names {
        add(name.clone(), first.get(name).cloned(), second.get(name).cloned());
    }
    for (i, (a, b)) in both(print::udlk_lines(before), print::udlk_lines(after)) {
        add(format!("UDLK[{i}]"), a, b);
    }
    for (i, (a, b)) in both(print::vif_lines(before), print::vif_lines(after)) {
        add(format!("VIF[{i}]"), a, b);
    }
    for table in Table::ALL {
        for (i, (a, b)) in both(
            print::table_lines(before, table),
            print::table_lines(after, table),
        ) {
            add(format!("{table}[{i}]"), a, b);
        }
    }
    found
}
