//! Programs as JSON.
//!
//! ```json
//! {"profile": "bcm56338", "udlk": [{"i": 1, "fields": ["B22-25", "B34-41"]}],
//!  "vif": [{"i": 1, "dmac": "020000000100", "smac": null, "oport": 0}],
//!  "tcam": [{"i": 0, "iudlk": 1, "value": "02…", "mask": "ff…", "action": {"act": "REDIRECT_VIF", "vif": 1}}],
//!  "em_mac": [], "em_ipv4": [], "em_mpls": [], "lpm_ipv4": [], "registers": {"L3_ENABLE": 0}}
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::action::RawAction;
use crate::entries::{Table, hex, read_bytes};
use crate::flaw::Flaw;
use crate::malformed;
use crate::profile::Profile;
use crate::program::Program;
use crate::registers::Register;
use crate::udlk::Field;

/// Most flaws that one reading reports.
pub const MAX_FLAWS: usize = 20;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Document {
    profile: Profile,
    udlk: Vec<Udlk>,
    vif: Vec<Vif>,
    tcam: Vec<Row>,
    em_mac: Vec<Row>,
    em_ipv4: Vec<Row>,
    em_mpls: Vec<Row>,
    lpm_ipv4: Vec<Row>,
    registers: BTreeMap<String, u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Udlk {
    i: u64,
    fields: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vif {
    i: u64,
    #[serde(default)]
    dmac: Option<String>,
    #[serde(default)]
    smac: Option<String>,
    oport: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    i: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    iudlk: u64,
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<String>,
    action: RawAction,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Document {
    fn rows(&self, table: Table) -> &[Row] {
        match table {
            Table::Tcam => &self.tcam,
            Table::EmMac => &self.em_mac,
            Table::EmIpv4 => &self.em_ipv4,
            Table::EmMpls => &self.em_mpls,
            Table::LpmIpv4 => &self.lpm_ipv4,
        }
    }
}

/// A program as JSON, the same text for the same program.
pub fn write(program: &Program) -> String {
    let rows = |table: Table| {
        let entries = program.table(table).iter();
        entries
            .map(|(&i, entry)| Row {
                i: i.into(),
                iudlk: entry.iudlk.into(),
                value: hex(&entry.value),
                mask: (!entry.mask.is_empty()).then(|| hex(&entry.mask)),
                action: RawAction::from(&entry.action),
            })
            .collect()
    };
    let udlk = (1..=2).filter_map(|i| Some((i, program.udlk(i)?)));
    let mac = |mac: Option<crate::entries::Mac>| mac.map(|mac| mac.to_string());
    let document = Document {
        profile: program.profile(),
        udlk: udlk
            .map(|(i, udlk)| Udlk {
                i: i.into(),
                fields: udlk.fields().iter().map(ToString::to_string).collect(),
            })
            .collect(),
        vif: program
            .vifs()
            .iter()
            .map(|(&i, vif)| Vif {
                i: i.into(),
                dmac: mac(vif.dmac),
                smac: mac(vif.smac),
                oport: vif.port.into(),
            })
            .collect(),
        tcam: rows(Table::Tcam),
        em_mac: rows(Table::EmMac),
        em_ipv4: rows(Table::EmIpv4),
        em_mpls: rows(Table::EmMpls),
        lpm_ipv4: rows(Table::LpmIpv4),
        registers: program
            .registers()
            .iter()
            .map(|(register, value)| (register.to_string(), *value))
            .collect(),
    };
    serde_json::to_string_pretty(&document).expect("strings and numbers can be written")
}

/// Reads a program from JSON. Errors: text that is not such a document, with field, line and
/// column; entries that cannot be, with their place in it, at most [`MAX_FLAWS`].
pub fn read(text: &str) -> Result<Program, Vec<Flaw>> {
    if text.trim_start().starts_with('[')
        && let Ok(whole) = serde_json::from_str(text)
    {
        return Err(vec![malformed::no_object(&whole)]);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let document: Document =
        serde_path_to_error::deserialize(&mut reader).map_err(|error| vec![malformed::flaw(text, &error)])?;
    reader.end().map_err(|error| {
        let flaw = Flaw::new(
            "json",
            "program",
            "this text",
            "one program as JSON",
            "Leave out what follows it.",
        );
        vec![flaw.at((error.line() as u32, error.column().max(1) as u32))]
    })?;
    let mut program = Program::new(document.profile);
    let mut flaws = Vec::new();
    let mut keep = |result: Result<(), Flaw>, outer: String| {
        if let Err(flaw) = result {
            flaws.push(flaw.inside(&outer));
        }
    };
    for (at, udlk) in document.udlk.iter().enumerate() {
        let fields: Result<Vec<Field>, Flaw> = udlk.fields.iter().map(|field| Field::read(field)).collect();
        keep(
            fields.and_then(|fields| program.set_udlk(udlk.i, fields)),
            format!("udlk[{at}]"),
        );
    }
    for (at, vif) in document.vif.iter().enumerate() {
        keep(set_vif(&mut program, vif), format!("vif[{at}]"));
    }
    for table in Table::ALL {
        for (at, row) in document.rows(table).iter().enumerate() {
            keep(
                set_row(&mut program, table, row),
                format!("{}[{at}]", table.name().to_lowercase()),
            );
        }
    }
    for (name, value) in &document.registers {
        let set = Register::by_name(name).and_then(|register| program.set_register(register, *value));
        keep(set, "registers".to_owned());
    }
    if flaws.is_empty() {
        let whole = program.check().into_iter();
        flaws = whole
            .map(|(place, flaw)| flaw.inside(&place.to_string().to_lowercase()))
            .collect();
    }
    flaws.truncate(MAX_FLAWS);
    if flaws.is_empty() { Ok(program) } else { Err(flaws) }
}

fn set_vif(program: &mut Program, vif: &Vif) -> Result<(), Flaw> {
    let mac = |field, text: &Option<String>| text.as_ref().map(|text| read_bytes(field, text)).transpose();
    let (dmac, smac) = (mac("dmac", &vif.dmac)?, mac("smac", &vif.smac)?);
    program.set_vif_table(vif.i, dmac.as_deref(), smac.as_deref(), vif.oport)
}

fn set_row(program: &mut Program, table: Table, row: &Row) -> Result<(), Flaw> {
    let value = read_bytes("value", &row.value)?;
    let mask = row
        .mask
        .as_ref()
        .map(|mask| read_bytes("mask", mask))
        .transpose()?;
    let again = program
        .table(table)
        .contains_key(&u32::try_from(row.i).unwrap_or(u32::MAX));
    if again {
        let fix = "Give each index once.";
        return Err(Flaw::new(
            "index-twice",
            "i",
            row.i,
            "an index that no other entry has",
            fix,
        ));
    }
    program.set_lookup_table(table, row.i, row.iudlk, &value, mask.as_deref(), &row.action)?;
    Ok(())
}
