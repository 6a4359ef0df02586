//! All integration tests of this crate in one program: otherwise each file would be linked
//! separately with everything it uses. `bin/check-crates.py` finds a file that is missing here.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

mod bcube_common;
mod bcube_kernel;
mod bcube_run;
mod camcube_common;
#[path = "../../topology/tests/cases.rs"]
mod cases;
mod chain;
#[path = "bcube_kernel/chip_header.rs"]
mod chip_header;
mod corruption;
mod dcell_common;
mod forwarding_vectors;
mod header_file;
mod kernel_run;
mod kernel_tables;

mod addresses;
mod bcube_fast_path;
mod bcube_header;
mod bcube_routes;
mod bcube_shared_header;
mod bcube_vectors;
mod bcube_wire;
mod camcube_fast_path;
mod camcube_runtime;
mod camcube_shared_header;
mod camcube_vectors;
mod chip_alone;
mod chip_bcube;
mod chip_changes;
mod chip_programs;
mod chip_shared_header;
mod dcell_fast_path;
mod dcell_shared_header;
mod dcell_vectors;
mod link_state;
mod shared_header;
mod verified;
