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
//! | `SetProfile(name)` | `bcm56338` (so without it) or `extended` `[ours]` |
//! | `{act=REDIRECT_VIF, vif=3}` | an action; the fields are in `action.rs` |
//! | `val[4] = 1;` `val[1:4] = 10.0.0.1;` | bytes of a value or mask, both ends included; bytes that are not set are 0 |
//! | `for (i = 0; i < 4; i++) {…}`, `foreach x in (…) {…}` | loops |
//!
//! Where Fig. 6 cannot be meant as printed: it never clears `val` and `mask` between entries; here such arrays are empty again
//! after each `SetLookupTable`, and a new `action.act` clears the fields of the action before.

mod calls;
mod lexer;
pub mod print;
mod run;
mod syntax;
mod value;

use crate::document;
use crate::flaw::Flaw;
use crate::program::Program;

pub use print::print;

/// Longest text of a program, in bytes.
pub const MAX_TEXT_BYTES: usize = 8 << 20;

/// Reads a program from text, or from JSON where the text begins with `{`. Errors: what is wrong, with line and column; the
/// first mistake of the grammar alone, others up to [`document::MAX_FLAWS`].
pub fn read(text: &str) -> Result<Program, Vec<Flaw>> {
    if text.len() > MAX_TEXT_BYTES {
        let limit = format!("at most {MAX_TEXT_BYTES} bytes");
        let fix = "All tables filled take less than that: shorten it, for example by loops.";
        return Err(vec![Flaw::new(
            "program-long",
            "program",
            format!("{} bytes", text.len()),
            limit,
            fix,
        )]);
    }
    if text.trim_start().starts_with('{') {
        return document::read(text);
    }
    let tokens = lexer::tokens(text).map_err(|flaw| vec![flaw])?;
    let statements = syntax::statements(&tokens).map_err(|flaw| vec![flaw])?;
    run::run(&statements)
}

/// Line and column, both from 1.
pub(crate) type At = (u32, u32);
