//! The build script of the binding and of the fabric: a digest of all sources. Two builds of one
//! version compute the same, and understand each other, only if it is the same.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Not in a program, or made by running tests.
const LEFT_OUT: [&str; 4] = ["tests", "benches", "proptest-regressions", "__pycache__"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let emulator = own.ancestors().nth(2).expect("crates are in emulator/crates");
    let mut files = vec![emulator.join("Cargo.lock")];
    for folder in ["bpf", "crates"] {
        collect(&emulator.join(folder), &mut files)?;
    }
    let mut digest = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a: no secret, only a difference
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        for byte in fs::read(&file)? {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=CUBEYARD_SOURCES={digest:016x}");
    Ok(())
}

/// All files below a folder, in an order that is the same on every machine. A new file of a program
/// comes with a change of another, so folders are not watched.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || LEFT_OUT.contains(&&*name) {
            continue;
        }
        if entry.is_dir() {
            collect(&entry, files)?;
        } else {
            files.push(entry);
        }
    }
    Ok(())
}
