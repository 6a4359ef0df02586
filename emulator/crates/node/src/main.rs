//! The program `cubeyard-node`.

use std::path::PathBuf;
use std::process::ExitCode;

use cubeyard_node::{isolation, node};

/// Path of the fabric's socket in a container.
const SOCKET: &str = "/run/cubeyard/fabric.sock";
const USAGE: &str = "usage: cubeyard-node [--socket PATH | --socket @NAME | --until-isolated]";

fn main() -> ExitCode {
    let mut socket = PathBuf::from(SOCKET);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.to_str(), arguments.next()) {
            (Some("--socket"), Some(path)) => socket = path.into(),
            (Some("--until-isolated"), None) => return ended(isolation::wait()),
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    ended(node::run(&socket))
}

fn ended(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cubeyard-node: {error}");
            ExitCode::FAILURE
        }
    }
}
