//! A program as canonical text: one call a line, tables in order, the same text for the same
//! program.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::entries::{Entry, Mac, Table, hex};
use crate::profile::Profile;
use crate::program::Program;

/// The program's text. Reading it gives the same program.
pub fn print(program: &Program) -> String {
    let mut text = String::new();
    let mut add = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    if program.profile() != Profile::default() {
        add(&profile_line(program));
    }
    register_lines(program).iter().for_each(|(_, line)| add(line));
    udlk_lines(program).values().for_each(|line| add(line));
    vif_lines(program).values().for_each(|line| add(line));
    for table in Table::ALL {
        table_lines(program, table).values().for_each(|line| add(line));
    }
    text
}

pub(crate) fn profile_line(program: &Program) -> String {
    format!("SetProfile({});", program.profile().name())
}

pub(crate) fn register_lines(program: &Program) -> Vec<(String, String)> {
    let registers = program.registers().iter();
    registers
        .map(|(register, value)| {
            (
                register.to_string(),
                format!("WriteRegister({register}, {value});"),
            )
        })
        .collect()
}

pub(crate) fn udlk_lines(program: &Program) -> BTreeMap<u32, String> {
    let set = (1..=2).filter_map(|i| Some((i, program.udlk(i)?)));
    set.map(|(i, udlk)| (u32::from(i), format!("SetUDLK({i}, {udlk});")))
        .collect()
}

pub(crate) fn vif_lines(program: &Program) -> BTreeMap<u32, String> {
    let mac = |mac: Option<Mac>| mac.map_or("NULL".to_owned(), |mac| format!("\"{mac}\""));
    let vifs = program.vifs().iter();
    vifs.map(|(&i, vif)| {
        (
            i,
            format!(
                "SetVIfTable({i}, {}, {}, {});",
                mac(vif.dmac),
                mac(vif.smac),
                vif.port
            ),
        )
    })
    .collect()
}

pub(crate) fn table_lines(program: &Program, table: Table) -> BTreeMap<u32, String> {
    let entries = program.table(table).iter();
    entries.map(|(&i, entry)| (i, line(table, i, entry))).collect()
}

fn line(table: Table, i: u32, entry: &Entry) -> String {
    let quoted = |bytes: &[u8]| format!("\"{}\"", hex(bytes));
    let address = |bytes: &[u8]| match <[u8; 4]>::try_from(bytes) {
        Ok(octets) => format!("\"{}\"", Ipv4Addr::from(octets)),
        Err(_) => quoted(bytes),
    };
    let value = match table {
        Table::EmIpv4 | Table::LpmIpv4 => address(&entry.value),
        Table::EmMpls => entry
            .value
            .iter()
            .fold(0, |label, byte| label << 8 | u32::from(*byte))
            .to_string(),
        Table::Tcam | Table::EmMac => quoted(&entry.value),
    };
    let mask = match table {
        Table::Tcam => quoted(&entry.mask),
        Table::LpmIpv4 => address(&entry.mask),
        _ => "NULL".to_owned(),
    };
    format!(
        "SetLookupTable({table}, {i}, {}, {value}, {mask}, {});",
        entry.iudlk, entry.action
    )
}
