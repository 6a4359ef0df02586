//! The errors in a program, in its author's words.

use std::fmt;

use serde::Serialize;

/// An error in a program: the field, its value, the limit and the fix, and the position in the
/// text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// The severity, always `error`.
    pub severity: &'static str,
    /// Stable machine word, for example `tcam-full`.
    pub code: &'static str,
    /// The field, for example `value` or `tcam[3].value`.
    #[serde(rename = "where")]
    pub field: Box<str>,
    /// The problem: names the value and the limit.
    pub message: Box<str>,
    /// The suggested fix.
    pub hint: Box<str>,
    /// The value that cannot be.
    pub value: Box<str>,
    /// The allowed values.
    pub limit: Box<str>,
    /// Line in the text from 1; 0 where the program is no text.
    pub line: u32,
    /// Column in the line, in characters from 1; 0 where the program is no text.
    pub column: u32,
}

impl Flaw {
    /// A flaw without a place in a text.
    pub fn new(
        code: &'static str,
        field: impl Into<String>,
        value: impl fmt::Display,
        limit: impl Into<String>,
        fix: impl Into<String>,
    ) -> Flaw {
        let (field, value, limit): (String, String, String) = (field.into(), value.to_string(), limit.into());
        Flaw {
            severity: "error",
            code,
            message: format!("{field} is {value}, but must be {limit}.").into(),
            field: field.into(),
            hint: fix.into().into(),
            value: value.into(),
            limit: limit.into(),
            line: 0,
            column: 0,
        }
    }

    /// The same error with a different message.
    #[must_use]
    pub fn saying(mut self, message: impl Into<String>) -> Flaw {
        self.message = message.into().into();
        self
    }

    /// The same at a place in a text, unless it has one.
    #[must_use]
    pub fn at(mut self, (line, column): (u32, u32)) -> Flaw {
        if self.line == 0 {
            (self.line, self.column) = (line, column);
        }
        self
    }

    /// The same inside another field: `action` and `vif` become `action.vif`.
    #[must_use]
    pub fn inside(mut self, outer: &str) -> Flaw {
        let field = format!("{outer}.{}", self.field);
        if let Some(rest) = self.message.strip_prefix(&*self.field) {
            self.message = format!("{field}{rest}").into();
        }
        self.field = field.into();
        self
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        write!(f, "{} {}", self.message, self.hint)
    }
}

impl std::error::Error for Flaw {}
