//! The program `cubeyard-fabric`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use cubeyard_fabric::api::{END_SIGNALS, Fabric, Options, Rights, end_after, serve, stop_on_signal};
use cubeyard_fabric::error::{FabricError, Result};
use cubeyard_fabric::host::{namespace, probe};
use cubeyard_fabric::journal::State;
use cubeyard_fabric::reap;
use nix::sys::signal::SigSet;

const USAGE: &str = "\
usage: cubeyard-fabric serve --socket PATH --state DIR [--uid USER] [--node PATH] [--starter PID]
                       [--api-socket PATH]
       cubeyard-fabric probe [--json]
       cubeyard-fabric reap --state DIR [--uid USER]

serve   makes networks for callers of the socket, until SIGTERM, SIGINT, SIGHUP or SIGQUIT; needs root.
        Callers of --api-socket may look at runs, not make, change or end them.
        With --starter it also ends after that process, once it has no run and no caller
probe   shows what this host supports
reap    removes what a killed fabric has left";

#[derive(Debug, Default)]
struct Arguments {
    socket: Option<PathBuf>,
    api_socket: Option<PathBuf>,
    state: Option<PathBuf>,
    node: Option<PathBuf>,
    uid: Option<u32>,
    starter: Option<u32>,
    json: bool,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_default();
    let result = read_arguments(words).and_then(|arguments| match verb.as_str() {
        "serve" => run_server(&arguments),
        "probe" => print_probe(arguments.json),
        "reap" => print_reaped(&arguments),
        _ => Err(FabricError::malformed(USAGE)),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "cubeyard-fabric: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read_arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut arguments = Arguments::default();
    while let Some(word) = words.next() {
        if word == "--json" {
            arguments.json = true;
            continue;
        }
        let value = words
            .next()
            .ok_or_else(|| FabricError::malformed(format!("{word} needs a value\n{USAGE}")))?;
        match word.as_str() {
            "--socket" => arguments.socket = Some(value.into()),
            "--api-socket" => arguments.api_socket = Some(value.into()),
            "--state" => arguments.state = Some(value.into()),
            "--node" => arguments.node = Some(value.into()),
            "--uid" => arguments.uid = Some(number(&word, &value, "give the number of id -u")?),
            "--starter" => {
                arguments.starter = Some(number(&word, &value, "give the number of a process")?);
            }
            _ => {
                return Err(FabricError::malformed(format!(
                    "there is no option {word}\n{USAGE}"
                )));
            }
        }
    }
    Ok(arguments)
}

fn number(option: &str, value: &str, fix: &str) -> Result<u32> {
    let wrong = |_| FabricError::bad(option, value, "a number", fix);
    value.parse().map_err(wrong)
}

fn required(value: Option<&PathBuf>, name: &str) -> Result<PathBuf> {
    value
        .cloned()
        .ok_or_else(|| FabricError::malformed(format!("{name} is missing\n{USAGE}")))
}

fn run_server(arguments: &Arguments) -> Result<()> {
    let socket = required(arguments.socket.as_ref(), "--socket")?;
    let beside_this_program = || {
        let own = std::env::current_exe().unwrap_or_default();
        own.with_file_name("cubeyard-node")
    };
    let options = Options {
        state: required(arguments.state.as_ref(), "--state")?,
        uid: arguments.uid,
        node_program: arguments.node.clone().unwrap_or_else(beside_this_program),
    };
    if !rustix::process::geteuid().is_root() {
        return Err(FabricError::denied(
            "making networks needs root: start it with sudo",
        ));
    }
    // Blocked before any thread starts, so that only the thread that waits for these signals
    // receives them.
    SigSet::from_iter(END_SIGNALS)
        .thread_block()
        .map_err(|cause| FabricError::system("blocking signals", cause))?;
    let fabric = Arc::new(Fabric::open(options)?);
    if let Some(starter) = arguments.starter {
        end_after(&fabric, starter)?;
    }
    let sockets = [
        (Some(socket), Rights::All),
        (arguments.api_socket.clone(), Rights::Watch),
    ];
    let sockets = sockets.map(|(path, rights)| path.map(|path| (path, rights)));
    for (path, rights) in sockets.iter().flatten().cloned() {
        let fabric = fabric.clone();
        std::thread::spawn(move || {
            if let Err(error) = serve(&fabric, &path, rights) {
                let _ = writeln!(std::io::stderr(), "cubeyard-fabric: {error}");
                std::process::exit(1);
            }
        });
    }
    stop_on_signal(&fabric, sockets.iter().flatten().map(|(path, _)| path.as_path()));
    Ok(())
}

fn print_probe(json: bool) -> Result<()> {
    let probe = probe::probe();
    let text = if json {
        serde_json::to_string(&probe).map_err(|error| FabricError::system("writing", error))?
    } else {
        let yes_or_no = |can: bool| if can { "yes" } else { "no" };
        let mut text = format!("kernel {}\n", probe.kernel);
        for (name, can) in [
            ("root", probe.root),
            ("namespaces", probe.namespaces),
            ("bridges", probe.bridges),
            ("htb", probe.htb),
            ("netem", probe.netem),
            ("ebpf", probe.ebpf),
            ("vxlan", probe.vxlan),
            ("mptcp", probe.mptcp),
        ] {
            let reason = probe
                .reasons
                .get(name)
                .map(|reason| format!(": {reason}"))
                .unwrap_or_default();
            text.push_str(&format!("{name:<11}{}{reason}\n", yes_or_no(can)));
        }
        text
    };
    print_line(text.trim_end())
}

fn print_reaped(arguments: &Arguments) -> Result<()> {
    let state = State::open(&required(arguments.state.as_ref(), "--state")?, arguments.uid)?;
    namespace::prepare_names()?;
    let runs = reap::reap_all(&state)?;
    print_line(&format!("{} runs removed", runs.len()))
}

fn print_line(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").map_err(|error| FabricError::system("printing", error))
}
