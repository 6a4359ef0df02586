//! Writes the files that are generated from the contract.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    cubeyard_contract::python::files()
        .into_iter()
        .try_for_each(|(path, text)| std::fs::write(top.join(path), text))
}
