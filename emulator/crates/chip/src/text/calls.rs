//! The calls of a program: `SetUDLK`, `SetLookupTable`, `SetVIfTable`, `WriteRegister`,
//! `SetProfile`, `ClearLookupTable` and `ClearVIfTable`.

use super::At;
use super::run::{Machine, wrong};
use super::syntax::{Expr, Located};
use super::value::{Value, sized, unset};
use crate::entries::{Place, Table};
use crate::flaw::Flaw;
use crate::profile::Profile;
use crate::registers::Register;
use crate::udlk::Field;

impl Machine {
    pub(super) fn call(&mut self, name: &str, at: At, arguments: &[Located]) -> Result<(), Flaw> {
        let parameters: &[&str] = match name {
            "SetUDLK" | "SetUDLF" => &["i", "udlk"],
            "SetLookupTable" => &["type", "i", "iudlk", "value", "mask", "action"],
            "SetVIfTable" | "SetVifTable" => &["i", "dmac", "smac", "oport"],
            "WriteRegister" => &["reg", "value"],
            "SetProfile" => &["profile"],
            "ClearLookupTable" => &["type", "i"],
            "ClearVIfTable" => &["i"],
            _ => {
                let known = "SetUDLK, SetLookupTable, SetVIfTable, WriteRegister, SetProfile, ClearLookupTable or ClearVIfTable";
                let fix = "A program sets tables; ReadRegister, SendPacket and RecvPacket are calls of a running chip.";
                return Err(wrong("call-unknown", "call", format!("`{name}`"), known, fix).at(at));
            }
        };
        if arguments.len() != parameters.len() {
            let fix = format!("Write {name}({}).", parameters.join(", "));
            let limit = format!("{} arguments", parameters.len());
            return Err(Flaw::new(
                "call-arguments",
                name,
                format!("called with {}", arguments.len()),
                limit,
                fix,
            )
            .at(at));
        }
        let located = |flaw: Flaw| {
            let argument = parameters.iter().position(|parameter| {
                *flaw.field == **parameter
                    || flaw
                        .field
                        .strip_prefix(parameter)
                        .is_some_and(|rest| rest.starts_with('.'))
            });
            let at = argument.map_or(at, |argument| place_in(&arguments[argument], &flaw.field));
            flaw.at(at)
        };
        let done = match parameters[0] {
            "type" if parameters.len() == 2 => self.clear_lookup_table(arguments),
            "type" => self.set_lookup_table(at, arguments),
            "i" if parameters.len() == 1 => self.clear_vif_table(arguments),
            "reg" => self.write_register(arguments),
            "profile" => self.set_profile(arguments),
            _ if parameters.len() == 2 => self.set_udlk(arguments),
            _ => self.set_vif_table(arguments),
        };
        done.map_err(located)
    }

    fn set_udlk(&mut self, arguments: &[Located]) -> Result<(), Flaw> {
        let i = self.number("i", &arguments[0])?;
        let Expr::Fields(fields) = &arguments[1].expr else {
            let fix = "Write for example (INPORT, B30-33).";
            return Err(wrong(
                "udlk-field",
                "udlk",
                "something else",
                "fields in brackets",
                fix,
            ));
        };
        let fields: Result<Vec<Field>, Flaw> = fields
            .iter()
            .map(|(text, at)| Field::read(text).map_err(|flaw| flaw.at(*at)))
            .collect();
        self.program.set_udlk(i, fields?)?;
        if let Some(live) = &mut self.live {
            live.took_udlk(i as u8, &self.program);
        }
        Ok(())
    }

    /// `ClearLookupTable(type, i)` `[ours]`: takes back what a call has set there; the entry of the
    /// program below is in effect again.
    fn clear_lookup_table(&mut self, arguments: &[Located]) -> Result<(), Flaw> {
        let table = self.table(&arguments[0])?;
        let i = self.number("i", &arguments[1])?;
        let live = self.live.as_mut().ok_or_else(|| not_live("ClearLookupTable"))?;
        let place = u32::try_from(i).map(|i| Place { table, i });
        live.clear(place.ok(), &mut self.program).ok_or_else(|| {
            let fix = "Only what a call has set can be taken back: set another entry there instead.";
            let limit = format!("an entry of {table} that a call has set");
            wrong("entry-not-own", "i", i, &limit, fix)
        })
    }

    /// Carries out `ClearVIfTable(i)` `[ours]`.
    fn clear_vif_table(&mut self, arguments: &[Located]) -> Result<(), Flaw> {
        let i = self.number("i", &arguments[0])?;
        let live = self.live.as_mut().ok_or_else(|| not_live("ClearVIfTable"))?;
        live.clear_vif(u32::try_from(i).ok(), &mut self.program)
            .ok_or_else(|| {
                let fix = "Only what a call has set can be taken back: set another interface there instead.";
                wrong("entry-not-own", "i", i, "an interface that a call has set", fix)
            })
    }

    fn table(&mut self, argument: &Located) -> Result<Table, Flaw> {
        let named = match self.value(argument)? {
            Value::Word(word) => Table::by_name(&word).ok_or(word),
            other => Err(other.kind().to_owned()),
        };
        named.map_err(|word| {
            let limit = Table::ALL.map(Table::name).join(", ");
            wrong(
                "table",
                "type",
                format!("`{word}`"),
                &format!("one of {limit}"),
                "Take one of these tables.",
            )
        })
    }

    fn set_profile(&mut self, arguments: &[Located]) -> Result<(), Flaw> {
        if self.live.is_some() {
            let fix = "Commit a whole program for another profile.";
            let limit = "absent from calls to a running chip";
            return Err(wrong("profile-live", "profile", "given", limit, fix));
        }
        let named = match self.value(&arguments[0])? {
            Value::Word(word) => Profile::by_name(&word).ok_or(word),
            other => Err(other.kind().to_owned()),
        };
        match named {
            Ok(profile) => self.program.set_profile(profile),
            Err(word) => {
                let limit = Profile::ALL.map(Profile::name).join(" or ");
                Err(wrong(
                    "profile",
                    "profile",
                    word,
                    &limit,
                    "Take one of these profiles.",
                ))
            }
        }
    }

    fn write_register(&mut self, arguments: &[Located]) -> Result<(), Flaw> {
        let register = match self.value(&arguments[0])? {
            Value::Word(word) => Register::by_name(&word)?,
            other => Register::by_name(other.kind())?,
        };
        let value = self.number("value", &arguments[1])?;
        self.program.set_register(register, value)?;
        if let Some(live) = &mut self.live {
            live.took_register(register, value);
        }
        Ok(())
    }

    fn set_vif_table(&mut self, arguments: &[Located]) -> Result<(), Flaw> {
        let i = self.number("i", &arguments[0])?;
        let mut mac = |field: &str, argument: &Located| match self.value(argument)? {
            Value::Null => Ok(None),
            Value::Bytes(bytes) => Ok(Some(bytes)),
            Value::Word(word) => Err(unset(&word, "a MAC").at(argument.at)),
            other => Err(wrong(
                "type",
                field,
                other.kind(),
                "a MAC in quotes, or NULL",
                "Write for example \"001F29D417E8\".",
            )),
        };
        let (dmac, smac) = (mac("dmac", &arguments[1])?, mac("smac", &arguments[2])?);
        let oport = self.number("oport", &arguments[3])?;
        self.program
            .set_vif_table(i, dmac.as_deref(), smac.as_deref(), oport)?;
        if let Some(live) = &mut self.live {
            live.took_vif(i as u32, &self.program);
        }
        Ok(())
    }

    fn set_lookup_table(&mut self, at: At, arguments: &[Located]) -> Result<(), Flaw> {
        let table = self.table(&arguments[0])?;
        let i = self.number("i", &arguments[1])?;
        let iudlk = match self.value(&arguments[2])? {
            Value::Number(number) => number,
            Value::Null if table != Table::Tcam => 0,
            other => {
                return Err(wrong(
                    "type",
                    "iudlk",
                    other.kind(),
                    "1 or 2",
                    "Each TCAM entry looks at one of the two keys.",
                ));
            }
        };
        let length = self.program.key_bytes(table, iudlk)?;
        let value = self.bytes("value", &arguments[3], length)?.unwrap_or_default();
        let mask = self.bytes("mask", &arguments[4], length)?;
        let action = match self.value(&arguments[5])? {
            Value::Action(action) => action,
            Value::Word(word) => return Err(unset(&word, "an action")),
            other => {
                return Err(wrong(
                    "type",
                    "action",
                    other.kind(),
                    "an action",
                    "Write for example {act=DISCARD}.",
                ));
            }
        };
        let place = self
            .program
            .set_lookup_table(table, i, iudlk, &value, mask.as_deref(), &action)?;
        if let Some(before) = self.places.insert(place, at) {
            let fix = format!(
                "It was set in line {} already: give each index once, for example by j++.",
                before.0
            );
            return Err(Flaw::new(
                "index-twice",
                "i",
                i,
                "an index that no other entry has",
                fix,
            ));
        }
        if let Some(live) = &mut self.live {
            live.took(place, &self.program);
        }
        for argument in [&arguments[3], &arguments[4]] {
            if let Expr::Name(name) = &argument.expr
                && let Some(Value::Array(array)) = self.variables.get_mut(name)
            {
                array.clear();
            }
        }
        Ok(())
    }

    /// A value or a mask of an entry.
    fn bytes(&mut self, field: &str, argument: &Located, length: usize) -> Result<Option<Vec<u8>>, Flaw> {
        match self.value(argument)? {
            Value::Null if field == "mask" => Ok(None),
            Value::Array(array) if array.is_empty() => {
                let fix =
                    "Arrays are empty again after each SetLookupTable: set its bytes before every entry.";
                Err(wrong("array-empty", field, "empty", "an array with bytes", fix))
            }
            Value::Array(mut array) => {
                array.resize(array.len().max(length), 0);
                Ok(Some(array))
            }
            Value::Word(word) => Err(unset(&word, "bytes").at(argument.at)),
            value @ Value::Number(_) => sized(field, value, length).map(Some),
            Value::Bytes(bytes) => Ok(Some(bytes)),
            other => Err(wrong(
                "type",
                field,
                other.kind(),
                "bytes",
                "Write hexadecimal digits in quotes, or an array like val.",
            )),
        }
    }
}

fn not_live(call: &'static str) -> Flaw {
    let fix = "Leave it out: the tables of a program are empty at first.";
    wrong("call-live", "call", call, "made to a running chip", fix)
}

/// Where a field of an argument stands: inside an action, at the field's own place.
fn place_in(argument: &Located, field: &str) -> At {
    let inner = field.split_once('.').map(|(_, inner)| inner);
    match (&argument.expr, inner) {
        (Expr::Action(fields), Some(inner)) => fields
            .iter()
            .find(|(name, ..)| name == inner)
            .map_or(argument.at, |(_, at, _)| *at),
        _ => argument.at,
    }
}
