//! Runs a program's text: variables, loops and calls, into tables.

use std::collections::BTreeMap;

use super::At;
use super::server::{Server, element, is_given, not_given};
use super::syntax::{Expr, Located, Statement, Target};
use super::value::{Value, arithmetic, sized, unset};
use crate::action::{FIELDS, RawAction};
use crate::document::MAX_FLAWS;
use crate::entries::{Place, Table, read_bytes};
use crate::flaw::Flaw;
use crate::overlay::{Live, Overlay};
use crate::program::Program;
use crate::registers::Register;
use crate::udlk::KEY_BYTES;

/// Statements that one reading executes: seven times what fills every table.
const MAX_STEPS: usize = 400_000;
/// The most statements that one execution for a server of a run may take: enough to fill the TCAM
/// twice.
const MAX_SERVER_STEPS: usize = 40_000;
/// Values in a list.
const MAX_LIST: usize = 1024;
/// Most significant bytes of an assignment to a value or mask.
const MAX_ARRAY: u64 = 32;

#[derive(Default)]
pub(super) struct Machine {
    pub program: Program,
    pub variables: BTreeMap<String, Value>,
    pub places: BTreeMap<Place, At>,
    /// For calls to a running chip: the entries that they have set.
    pub live: Option<Live>,
    flaws: Vec<Flaw>,
    steps: usize,
    most_steps: usize,
}

/// Ends an execution early: too many errors, or too many steps.
struct Stop;

/// The program of some statements, for a server if there is one. O(statements executed).
pub(crate) fn run(statements: &[Statement], server: Option<&Server>) -> Result<Program, Vec<Flaw>> {
    let mut machine = Machine {
        variables: server.map(Server::variables).unwrap_or_default(),
        most_steps: server.map_or(MAX_STEPS, |_| MAX_SERVER_STEPS),
        ..Machine::default()
    };
    machine.run(statements)?;
    Ok(machine.program)
}

/// The overlay of a running chip after some statements have been executed. Errors: those of the
/// statements and of the resulting program, since it takes effect at once.
pub(crate) fn run_live(statements: &[Statement], live: Live) -> Result<Overlay, Vec<Flaw>> {
    let mut machine = Machine {
        program: live.overlay.over(&live.base),
        live: Some(live),
        most_steps: MAX_SERVER_STEPS,
        ..Machine::default()
    };
    machine.run(statements)?;
    Ok(machine.live.map(|live| live.overlay).unwrap_or_default())
}

pub(super) fn wrong(
    code: &'static str,
    field: &str,
    value: impl std::fmt::Display,
    limit: &str,
    fix: &str,
) -> Flaw {
    Flaw::new(code, field, value, limit, fix)
}

impl Machine {
    fn run(&mut self, statements: &[Statement]) -> Result<(), Vec<Flaw>> {
        let _ = self.block(statements);
        if self.flaws.is_empty() {
            let whole = self.program.check().into_iter();
            let places = &self.places;
            self.flaws = whole
                .map(|(place, flaw)| flaw.at(places.get(&place).copied().unwrap_or_default()))
                .collect();
            self.flaws.truncate(MAX_FLAWS);
        }
        match self.flaws.is_empty() {
            true => Ok(()),
            false => Err(std::mem::take(&mut self.flaws)),
        }
    }

    fn block(&mut self, statements: &[Statement]) -> Result<(), Stop> {
        statements
            .iter()
            .try_for_each(|statement| self.execute(statement))
    }

    /// Counts a step. `at` is the position for the error if there were too many.
    fn step(&mut self, at: At) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > self.most_steps {
            let most = self.most_steps;
            let limit = format!("at most {most}");
            let fix = "Check that the loop ends, and that it sets no more entries than the tables hold.";
            let flaw = Flaw::new("too-long", "program", "longer", limit, fix);
            let said = format!("The program executes more than {most} statements.");
            self.flaws.push(flaw.saying(said).at(at));
            return Err(Stop);
        }
        Ok(())
    }

    fn keep<T>(&mut self, at: At, result: Result<T, Flaw>) -> Result<Option<T>, Stop> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(flaw) => {
                let flaw = flaw.at(at);
                // A loop repeats its mistake: once is enough.
                if !self.flaws.iter().any(|before| {
                    (before.line, before.column, before.code) == (flaw.line, flaw.column, flaw.code)
                }) {
                    self.flaws.push(flaw);
                }
                if self.flaws.len() < MAX_FLAWS {
                    Ok(None)
                } else {
                    Err(Stop)
                }
            }
        }
    }

    fn execute(&mut self, statement: &Statement) -> Result<(), Stop> {
        match statement {
            Statement::Call(name, at, arguments) => {
                self.step(*at)?;
                let done = self.call(name, *at, arguments);
                self.keep(*at, done)?;
            }
            Statement::Assign(target, at, value) => {
                self.step(*at)?;
                let done = self.assign(target, value);
                self.keep(*at, done)?;
            }
            Statement::Increment(name, at) => {
                self.step(*at)?;
                let done = self.increment(name);
                self.keep(*at, done)?;
            }
            Statement::For(first, condition, step, body, at) => {
                self.execute(first)?;
                loop {
                    self.step(*at)?;
                    let holds = self.number("condition", condition);
                    if self.keep(*at, holds)?.unwrap_or(0) == 0 {
                        break;
                    }
                    self.block(body)?;
                    self.execute(step)?;
                }
            }
            Statement::Foreach(name, items, body, at) => {
                for item in items {
                    self.step(*at)?;
                    let value = self.item(item);
                    let values = match self.keep(item.at, value)? {
                        Some(Value::List(values)) => values,
                        Some(value) => vec![value],
                        None => Vec::new(),
                    };
                    for value in values {
                        self.step(*at)?;
                        self.variables.insert(name.clone(), value);
                        self.block(body)?;
                    }
                }
            }
            Statement::If(condition, then, otherwise, at) => {
                self.step(*at)?;
                let holds = self.number("condition", condition);
                match self.keep(*at, holds)? {
                    Some(0) => self.block(otherwise)?,
                    Some(_) => self.block(then)?,
                    None => {}
                }
            }
        }
        Ok(())
    }

    fn increment(&mut self, name: &str) -> Result<u64, Flaw> {
        match self.variables.get_mut(name) {
            Some(Value::Number(number)) => {
                let before = *number;
                *number = before.wrapping_add(1);
                Ok(before)
            }
            _ => Err(unset(name, "a number")),
        }
    }

    pub fn value(&mut self, located: &Located) -> Result<Value, Flaw> {
        let value = match &located.expr {
            Expr::Number(number) => Value::Number(*number),
            Expr::Address(address) => Value::Bytes(address.octets().to_vec()),
            Expr::Text(text) => Value::Bytes(read_bytes("value", text)?),
            Expr::Null => Value::Null,
            Expr::Name(name) => match self.variables.get(name) {
                Some(value) => value.clone(),
                None if is_given(name) => return Err(not_given(name).at(located.at)),
                None => Value::Word(name.clone()),
            },
            Expr::Index(name, index) => {
                let at = self.number("index", index)?;
                let found = self.variables.get(name);
                element(name, found, at).map_err(|flaw| flaw.at(located.at))?
            }
            Expr::Increment(name) => Value::Number(self.increment(name)?),
            Expr::Binary(sign, sides) => {
                let (left, right) = (self.number("value", &sides.0)?, self.number("value", &sides.1)?);
                Value::Number(arithmetic(sign, left, right).ok_or_else(|| {
                    let shown = format!("{left} {sign} {right}");
                    wrong(
                        "arithmetic",
                        "value",
                        shown,
                        "from 0 to 2^64 - 1",
                        "Numbers are whole and not negative.",
                    )
                    .at(located.at)
                })?)
            }
            Expr::List(items) => self.list(items).map_err(|flaw| flaw.at(located.at))?,
            Expr::Action(fields) => {
                let mut action = RawAction::default();
                for (name, at, value) in fields {
                    self.set_member(&mut action, name, value)
                        .map_err(|flaw| flaw.at(*at))?;
                }
                Value::Action(Box::new(action))
            }
            Expr::Fields(_) => {
                return Err(wrong(
                    "fields",
                    "value",
                    "fields of a packet",
                    "a value",
                    "Fields stand in SetUDLK alone.",
                )
                .at(located.at));
            }
        };
        Ok(value)
    }

    /// An item of a list that a loop iterates over; lists in it are flattened. An undefined name is
    /// an error: otherwise the loop would run once, with the name itself as a string.
    fn item(&mut self, item: &Located) -> Result<Value, Flaw> {
        match self.value(item)? {
            Value::Word(word) if Register::by_name(&word).is_err() && Table::by_name(&word).is_none() => {
                Err(unset(&word, "a list or a value").at(item.at))
            }
            value => Ok(value),
        }
    }

    fn list(&mut self, items: &[Located]) -> Result<Value, Flaw> {
        let mut list = Vec::new();
        for item in items {
            match self.value(item)? {
                Value::List(items) => list.extend(items),
                item => list.push(item),
            }
            if list.len() > MAX_LIST {
                let limit = format!("at most {MAX_LIST} values");
                let fix = "Go through what it is made of one after the other.";
                return Err(Flaw::new("list-long", "value", "a longer list", limit, fix));
            }
        }
        Ok(Value::List(list))
    }

    pub fn number(&mut self, field: &str, located: &Located) -> Result<u64, Flaw> {
        match self.value(located)? {
            Value::Number(number) => Ok(number),
            Value::Word(word) => Err(unset(&word, "a number").at(located.at)),
            other => Err(wrong(
                "type",
                field,
                other.kind(),
                "a number",
                "Write a number, or a variable that holds one.",
            )
            .at(located.at)),
        }
    }

    fn assign(&mut self, target: &Target, given: &Located) -> Result<(), Flaw> {
        match target {
            Target::Variable(name) => {
                let value = match self.value(given)? {
                    Value::Word(word) => return Err(unset(&word, "set").at(given.at)),
                    value => value,
                };
                self.variables.insert(name.clone(), value);
            }
            Target::Bytes(name, first, last) => {
                let from = self.number("index", first)?;
                let to = last
                    .as_ref()
                    .map(|last| self.number("index", last))
                    .transpose()?
                    .unwrap_or(from);
                if to < from || to >= MAX_ARRAY {
                    let limit = format!("within 0 to {}, a key's last byte", KEY_BYTES - 1);
                    let shown = format!("{name}[{from}:{to}]");
                    return Err(wrong(
                        "index",
                        name,
                        shown,
                        &limit,
                        "Count a key's bytes from 0; in val[a:b] both ends count.",
                    )
                    .at(first.at));
                }
                let length = (to - from) as usize + 1;
                let value = self.value(given)?;
                let bytes = sized(name, value, length).map_err(|flaw| flaw.at(given.at))?;
                let slot = self.variables.entry(name.clone()).or_insert(Value::Null);
                let mut array = match std::mem::replace(slot, Value::Null) {
                    Value::Array(array) => array,
                    _ => Vec::new(),
                };
                let end = from as usize + length;
                array.resize(array.len().max(end), 0);
                array[from as usize..end].copy_from_slice(&bytes);
                *slot = Value::Array(array);
            }
            Target::Member(name, field) => {
                let mut action = match self.variables.get(name) {
                    Some(Value::Action(action)) if field != "act" => (**action).clone(),
                    _ => RawAction::default(),
                };
                self.set_member(&mut action, field, given)?;
                self.variables
                    .insert(name.clone(), Value::Action(Box::new(action)));
            }
        }
        Ok(())
    }

    fn set_member(&mut self, action: &mut RawAction, field: &str, given: &Located) -> Result<(), Flaw> {
        let at = given.at;
        let field_of = |flaw: Flaw| flaw.at(at);
        let text = |value: Value| match value {
            Value::Word(word) => Ok(word),
            Value::Bytes(bytes) if bytes.len() == 4 => {
                let octets: Vec<String> = bytes.iter().map(u8::to_string).collect();
                Ok(octets.join("."))
            }
            other => Err(wrong(
                "type",
                field,
                other.kind(),
                "a word or an address",
                "Write for example PUSH, or 10.0.0.1.",
            )),
        };
        match field {
            "act" => action.act = text(self.value(given)?).map_err(field_of)?,
            "mpls" => action.mpls = Some(text(self.value(given)?).map_err(field_of)?),
            "tunnel" => action.tunnel = Some(text(self.value(given)?).map_err(field_of)?),
            "src" => action.src = Some(text(self.value(given)?).map_err(field_of)?),
            "dst" => action.dst = Some(text(self.value(given)?).map_err(field_of)?),
            "count" => action.count = Some(text(self.value(given)?).map_err(field_of)?),
            "vif" => action.vif = Some(self.number(field, given)?),
            "port" => action.port = Some(self.number(field, given)?),
            "mirror" => action.mirror = Some(self.number(field, given)?),
            "dscp" => action.dscp = Some(self.number(field, given)?),
            "label" => action.label = Some(self.number(field, given)?),
            "ports" => {
                let items = match self.value(given)? {
                    Value::List(items) => items,
                    value => vec![value],
                };
                let number = |item| match item {
                    Value::Number(number) => Ok(number),
                    other => Err(wrong(
                        "type",
                        field,
                        other.kind(),
                        "numbers of ports",
                        "Write for example ports=(0, 1).",
                    )
                    .at(at)),
                };
                action.ports = Some(items.into_iter().map(number).collect::<Result<_, _>>()?);
            }
            _ => {
                let limit = format!("one of {}", FIELDS.join(", "));
                return Err(wrong(
                    "action-field",
                    "action",
                    format!("given the field {field}"),
                    &limit,
                    "Take one of these fields.",
                ));
            }
        }
        Ok(())
    }
}
