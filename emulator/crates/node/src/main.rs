//! The program `cubeyard-node`.

use std::path::PathBuf;
use std::process::ExitCode;

use cubeyard_node::node;

/// Where the fabric's directory is mounted in a container.
const SOCKET: &str = "/run/cubeyard/fabric.sock";
const USAGE: &str = "usage: cubeyard-node [--socket PATH | --socket @NAME]";

fn main() -> ExitCode {
    let mut socket = PathBuf::from(SOCKET);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.to_str(), arguments.next()) {
            (Some("--socket"), Some(path)) => socket = path.into(),
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match node::run(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cubeyard-node: {error}");
            ExitCode::FAILURE
        }
    }
}
