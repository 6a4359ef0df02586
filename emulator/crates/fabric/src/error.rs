//! The error of this crate: the problem, its place, and a fix.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;

/// A refusal or a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct FabricError(Box<Details>);

/// The content of an error, as the API sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    /// A short fixed word a program can branch on: `bad-input`, `not-found`, `state`,
    /// `unsupported`, `system`, `denied`.
    pub code: &'static str,
    /// The field that is wrong, for example `links[3].a`; absent for failures of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The value that was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The limit that the value violates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// One sentence for the user.
    pub message: String,
    /// The change that fixes the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// The result of every fallible function here.
pub type Result<T> = std::result::Result<T, FabricError>;

impl FabricError {
    fn new(code: &'static str, message: impl Into<String>) -> FabricError {
        FabricError(Box::new(Details {
            code,
            message: message.into(),
            ..Details::default()
        }))
    }

    fn with_fix(mut self, fix: impl Into<String>) -> FabricError {
        self.0.fix = Some(fix.into());
        self
    }

    /// A field has a value that is not allowed.
    pub fn bad(
        field: impl Into<String>,
        value: impl fmt::Display,
        limit: impl Into<String>,
        fix: impl Into<String>,
    ) -> FabricError {
        let (field, limit, fix) = (field.into(), limit.into(), fix.into());
        // A caller may send a huge value; the error repeats only its start.
        let value: String = value.to_string().chars().take(80).collect();
        FabricError(Box::new(Details {
            code: "bad-input",
            message: format!("{field} is {value}; it must be {limit}"),
            field: Some(field),
            value: Some(value),
            limit: Some(limit),
            fix: Some(fix),
        }))
    }

    /// A request that cannot be read.
    pub fn malformed(message: impl Into<String>) -> FabricError {
        FabricError::new("bad-input", message)
    }

    /// A run, server or fault that does not exist.
    pub fn not_found(field: &str, value: impl fmt::Display, fix: impl Into<String>) -> FabricError {
        let mut error = FabricError::new("not-found", format!("there is no {field} {value}"));
        error.0.field = Some(field.into());
        error.0.value = Some(value.to_string());
        error.with_fix(fix)
    }

    /// A request at the wrong moment.
    pub fn state(message: impl Into<String>, fix: impl Into<String>) -> FabricError {
        FabricError::new("state", message).with_fix(fix)
    }

    /// Something this kernel or this mode cannot do.
    pub fn unsupported(message: impl Into<String>, fix: impl Into<String>) -> FabricError {
        FabricError::new("unsupported", message).with_fix(fix)
    }

    /// The kernel or the file system refused the operation that `what` describes.
    pub fn system(what: impl fmt::Display, cause: impl fmt::Display) -> FabricError {
        FabricError::new("system", format!("{what}: {cause}"))
    }

    /// The caller lacks the right for this.
    pub fn denied(message: impl Into<String>) -> FabricError {
        FabricError::new("denied", message)
    }
}

impl Deref for FabricError {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl fmt::Display for FabricError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        match &self.fix {
            Some(fix) => write!(out, " ({fix})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FabricError {}

/// Adds the failed operation to the error of a system call.
pub trait During<T> {
    /// Turns the error into a `system` error that begins with `what`.
    fn during(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> During<T> for std::result::Result<T, E> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| FabricError::system(what(), cause))
    }
}
