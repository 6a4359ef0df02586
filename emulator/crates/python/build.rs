//! A digest of the sources that the binding is built from: two builds of one version compute the
//! same only if it is the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = own.parent().expect("the folder of all crates");
    let lock = crates.with_file_name("Cargo.lock");
    let mut names = BTreeSet::from(["python".to_owned()]);
    let mut next = names.clone();
    while let Some(name) = next.pop_first() {
        let manifest = fs::read_to_string(crates.join(&name).join("Cargo.toml"))?;
        for line in manifest.lines() {
            let dependency = line
                .strip_prefix("cubeyard-")
                .and_then(|rest| rest.split(['.', ' ', '=']).next());
            if let Some(dependency) = dependency
                && crates.join(dependency).is_dir()
                && names.insert(dependency.to_owned())
            {
                next.insert(dependency.to_owned());
            }
        }
    }
    let mut files = vec![lock];
    for name in &names {
        collect(&crates.join(name), &mut files)?;
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

/// All files below a folder but for its tests, in an order that is the same on every machine. The
/// folder itself is watched for new ones.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut entries = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        if entry.ends_with("tests") || entry.ends_with("benches") {
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
