//! Programs as text that reads like the paper's Fig. 6 `[serverswitch §3.3.2, §5.1]`.
//!
//! ```text
//! SetUDLK(1, (B22-25, B34-41));
//! j = 0;
//! foreach nha in (0x01, 0x02)
//! {
//!   SetVIfTable(nha, "020000000100", NULL, 0);
//!   for (index = 0; index < 8; index++)
//!   {
//!     val[0] = index + 2;     mask[0] = 0xff;
//!     val[4+index] = nha;     mask[4+index] = 0xff;
//!     action.act = REDIRECT_VIF;  action.vif = nha;
//!     SetLookupTable(TCAM, j++, 1, val, mask, &action);
//!   }
//! }
//! ```
//!
//! | written | means |
//! |---|---|
//! | `SetUDLK(i, (INPORT, B30-33))` | a lookup key; `SetUDLF`, as in Fig. 6, is the same |
//! | `SetVIfTable(i, dmac, smac, oport)` | an entry of the interface table; `NULL` keeps a MAC |
//! | `SetLookupTable(type, i, iudlk, value, mask, action)` | an entry of `TCAM`, `EM_MAC`, `EM_IPV4`, `EM_MPLS` or `LPM_IPV4` |
//! | `WriteRegister(name, value)` | `L3_ENABLE`, `MPLS_ENABLE` or `MISS_TO_CPU` |
//! | `SetProfile(name)` | `bcm56338` (the default) or `extended` `[ours]` |
//! | `{act=REDIRECT_VIF, vif=3}` | an action; the fields are in `action.rs` |
//! | `val[4] = 1;` `val[1:4] = 10.0.0.1;` | bytes of a value or mask, both ends included; bytes that are not set are 0 |
//! | `for (i = 0; i < 4; i++) {…}`, `foreach x in (…) {…}` | loops |
//! | `if (alive[nha] == 1) {…} else {…}` | a choice `[ours]` |
//!
//! Calls to a running chip ([`Source::calls`]) use the same language; two more calls remove entries
//! that calls have set `[ours]`: `ClearLookupTable(type, i)` and `ClearVIfTable(i)`.
//!
//! A program that all servers of a run share reads each server's own data from variables `[ours]`:
//! `my_bcube_id` is its address, `nhas` a list of the bytes that name its neighbours as next hops;
//! of each, `dstmac[nha]` and `srcmac[nha]` are the MACs at the other end and at its own,
//! `oport[nha]` the port, and `alive[nha]` 1 or 0. A run executes the text again whenever one of
//! them changes.
//!
//! A correction of Fig. 6: it never clears `val` and `mask` between entries; here such arrays are
//! empty again after each `SetLookupTable`, and a new `action.act` clears the fields of the action
//! before.

mod calls;
mod lexer;
pub mod print;
mod run;
mod server;
mod syntax;
mod value;

use crate::compile::compile;
use crate::document;
use crate::flaw::Flaw;
use crate::overlay::{Live, Overlay};
use crate::program::Program;

pub use print::print;
pub use server::Server;

/// Longest text of a program, in bytes.
pub const MAX_TEXT_BYTES: usize = 8 << 20;

/// A program as it was written, read once and executed for every server.
#[derive(Clone, Debug)]
pub struct Source(Parsed);

#[derive(Clone, Debug)]
enum Parsed {
    Text(Vec<syntax::Statement>),
    /// A program as JSON, which does not depend on the server.
    Document(Box<Program>),
}

impl Source {
    /// Parses text, or JSON if the text begins with `{`. O(bytes). Errors: too long a text, or the
    /// first syntax error with line and column; for JSON all errors.
    pub fn parse(text: &str) -> Result<Source, Vec<Flaw>> {
        if text.len() > MAX_TEXT_BYTES {
            let limit = format!("at most {MAX_TEXT_BYTES} bytes");
            let fix = "All tables filled take less than that: shorten it, for example by loops.";
            let given = format!("{} bytes", text.len());
            return Err(vec![Flaw::new("program-long", "program", given, limit, fix)]);
        }
        if text.trim_start().starts_with('{') {
            return Ok(Source(Parsed::Document(Box::new(document::read(text)?))));
        }
        let tokens = lexer::tokens(text).map_err(|flaw| vec![flaw])?;
        let statements = syntax::statements(&tokens).map_err(|flaw| vec![flaw])?;
        Ok(Source(Parsed::Text(statements)))
    }

    /// Executes the text as calls to a running chip, given its program and the entries that calls
    /// have set already. Returns the new entries of calls. O(statements executed + entries).
    /// Errors: each with line and column.
    pub fn calls(&self, base: &Program, overlay: &Overlay) -> Result<Overlay, Vec<Flaw>> {
        match &self.0 {
            Parsed::Text(statements) => {
                let (base, overlay) = (base.clone(), overlay.clone());
                run::run_live(statements, Live { base, overlay })
            }
            Parsed::Document(_) => {
                let fix = "Write calls, or commit the program as a whole.";
                Err(vec![Flaw::new(
                    "calls",
                    "calls",
                    "a program as JSON",
                    "calls as text",
                    fix,
                )])
            }
        }
    }

    /// The program, for a server if there is one. O(statements executed). Errors: each with line
    /// and column, up to [`document::MAX_FLAWS`]; without a server, that the program reads data of
    /// a server.
    pub fn program(&self, server: Option<&Server>) -> Result<Program, Vec<Flaw>> {
        match &self.0 {
            Parsed::Text(statements) => run::run(statements, server),
            Parsed::Document(program) => Ok((**program).clone()),
        }
    }
}

impl Source {
    /// Checks that every server can run the program, with its neighbours alive and dead, and on
    /// request also in the kernel. O(servers x statements executed). Errors: those at the first
    /// server that has any, which a message names.
    pub fn check_for(
        &self,
        servers: impl IntoIterator<Item = Server>,
        in_kernel: bool,
    ) -> Result<(), Vec<Flaw>> {
        for server in servers {
            for alive in [true, false] {
                let server = server.clone().with_neighbours(alive);
                let program = self.program(Some(&server));
                let runs = program.and_then(|program| match in_kernel {
                    true => compile(&program).map(drop),
                    false => Ok(()),
                });
                runs.map_err(|flaws| {
                    let which = if alive { "alive" } else { "dead" };
                    let place = format!("at {} with its neighbours {which}", server.address);
                    let told = |flaw: Flaw| {
                        let message = format!("{} ({place})", flaw.message.trim_end_matches('.'));
                        flaw.saying(message + ".")
                    };
                    flaws.into_iter().map(told).collect::<Vec<_>>()
                })?;
            }
        }
        Ok(())
    }
}

/// Reads a program that is complete without a server. Errors: those of [`Source::parse`] and
/// [`Source::program`].
pub fn read(text: &str) -> Result<Program, Vec<Flaw>> {
    Source::parse(text)?.program(None)
}

/// Line and column, both from 1.
pub(crate) type At = (u32, u32);
