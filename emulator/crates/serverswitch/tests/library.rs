//! The libraries in Rust and in C against a chip behind a socket.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};

use cubeyard_chip::api::{self, Limits, Session, request};
use cubeyard_chip::{Frame, ServerSwitch as Chip, text};
use cubeyard_serverswitch::{Action, Error, ServerSwitch, Table};

const LIMITS: Limits = Limits {
    packet_bytes: 1514,
    ports: 0b1111,
    part_bytes: 24 * 1024,
};

/// Packets that a program has sent: port and bytes.
type Sent = Arc<Mutex<Vec<(u8, Vec<u8>)>>>;

/// A chip behind a socket, which the packets given to it come in by port 0 as soon as a program
/// listens.
struct Server {
    path: PathBuf,
    packets: mpsc::Sender<Vec<u8>>,
    sent: Sent,
}

fn serve(name: &str, program: &str) -> Server {
    let folder = std::env::temp_dir().join(format!("cubeyard-library-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("chip.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (packets, waiting) = mpsc::channel::<Vec<u8>>();
    let sent = Sent::default();
    let mut chip = Chip::new();
    chip.load(text::read(program).unwrap()).unwrap();
    let out = sent.clone();
    std::thread::spawn(move || {
        let mut session = Session::default();
        let (mut stream, _) = listener.accept().unwrap();
        while let Some((request, mut answer)) = answer_next(&mut stream, &mut session, &mut chip, &out) {
            if request == request::LISTEN {
                // Packets between a request and its answer are the hard case.
                let mut before = Vec::new();
                while let Ok(packet) = waiting.try_recv() {
                    let mut frame = Frame::new(&packet).unwrap();
                    let _ = chip.receive_beside(0, &mut frame, &mut |_, _| {}).unwrap();
                }
                while let Some((port, packet)) = chip.recv_packet() {
                    before.extend(api::packet(3, port, &packet));
                }
                before.append(&mut answer);
                answer = before;
            }
            if stream.write_all(&answer).is_err() {
                break;
            }
        }
    });
    Server { path, packets, sent }
}

fn answer_next(
    stream: &mut UnixStream,
    session: &mut Session,
    chip: &mut Chip,
    out: &Sent,
) -> Option<(u8, Vec<u8>)> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut request = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut request).ok()?;
    let answered = session.handle(&request, &LIMITS, chip, &mut |port, bytes| {
        out.lock().unwrap().push((port, bytes.to_vec()));
    });
    Some((request[0], answered.bytes))
}

fn ipv4(destination: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0, 0, 20, 0, 0, 0, 0, 9, 17, 0, 0, 10, 0, 0, 2,
    ];
    bytes.extend(destination);
    let sum = !cubeyard_chip::frame::ones_complement_sum(&bytes[14..]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn the_papers_example_in_rust() {
    let server = serve("rust", "");
    server.packets.send(ipv4([10, 0, 0, 7])).unwrap();
    let mut chip = ServerSwitch::connect(&server.path).unwrap();
    // [serverswitch §3.3.2]
    chip.set_udlk(1, "(B0-5)").unwrap();
    chip.set_udlk(2, "(INPORT, B30-33, B42-45)").unwrap();
    chip.begin();
    chip.set_lookup_table(
        Table::Tcam,
        1,
        1,
        "000001020001",
        Some("FFFFFF000000"),
        &Action::redirect_vif(3),
    )
    .unwrap();
    chip.set_vif_table(3, Some("001F29D417E8"), None, 2).unwrap();
    chip.commit().unwrap();
    chip.set_lookup_table(Table::EmIpv4, 0, 0, "10.0.0.7", None, &Action::to_cpu())
        .unwrap();
    let (packet, iport) = chip.recv_packet().unwrap();
    assert_eq!((packet, iport), (ipv4([10, 0, 0, 7]), 4));
    assert_eq!(chip.lost_packets(), 3);
    let mut to_pmac = ipv4([10, 0, 0, 9]);
    to_pmac[..6].copy_from_slice(&[0, 0, 1, 9, 9, 9]);
    assert!(chip.send_packet(&to_pmac, 5).unwrap(), "into the chip");
    assert!(
        !chip.send_packet(&ipv4([10, 0, 0, 9]), 5).unwrap(),
        "nothing matches"
    );
    assert!(chip.send_packet(&ipv4([10, 0, 0, 9]), 1).unwrap(), "straight out");
    let sent = server.sent.lock().unwrap().clone();
    assert_eq!(sent.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(sent[0].1[..6], [0x00, 0x1f, 0x29, 0xd4, 0x17, 0xe8]);
    assert_eq!(chip.read_register("IN_PACKETS_PORT5").unwrap(), 2);
    chip.write_register("IN_PACKETS_PORT5", 0).unwrap();
    assert_eq!(chip.read_register("IN_PACKETS_PORT5").unwrap(), 0);
    chip.clear_lookup_table(Table::EmIpv4, 0).unwrap();
    let refused = chip.set_vif_table(3, Some("00"), None, 2).unwrap_err();
    assert!(
        matches!(&refused, Error::Refused { code, .. } if code == "mac-length"),
        "{refused}"
    );
    let again = chip.clear_lookup_table(Table::EmIpv4, 0).unwrap_err();
    assert!(
        again
            .to_string()
            .contains("an entry of EM_IPV4 that a call has set"),
        "{again}"
    );
}

#[test]
fn a_program_in_c() {
    let server = serve("c", "SetVIfTable(0, NULL, NULL, 0);");
    let folder = server.path.parent().unwrap();
    let (program, sources) = (folder.join("example"), concat!(env!("CARGO_MANIFEST_DIR"), "/c"));
    let compiled = Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-O1",
            "-o",
        ])
        .arg(&program)
        .args(["example.c", "serverswitch.c"])
        .current_dir(sources)
        .output()
        .expect("cc is needed to compile the library for C");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    for last in [1, 2, 1] {
        server.packets.send(ipv4([10, 0, 0, last])).unwrap();
    }
    let run = |address: &str| {
        Command::new(&program)
            .arg(&server.path)
            .args([address, "2"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap()
    };
    let output = run("10.0.0.1");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (String::from_utf8_lossy(&output.stdout).trim(), &*said),
        ("3", "")
    );
    let sent = server.sent.lock().unwrap();
    let mut back = ipv4([10, 0, 0, 1]);
    back[..12].rotate_left(6);
    assert_eq!(*sent, [(0, back.clone()), (0, back)]);
}

#[test]
fn a_program_in_c_is_told_what_is_wrong() {
    let server = serve("wrong", "");
    let folder = server.path.parent().unwrap();
    let program = folder.join("wrong");
    let source = folder.join("wrong.c");
    std::fs::write(
        &source,
        r#"#include <stdio.h>
#include "serverswitch.h"
int main(int argc, char **argv)
{
    ServerSwitch *chip = OpenServerSwitch(argv[argc - 1]);
    ACTION action = {.act = REDIRECT_VIF, .vif = 3}, none = {.act = 9};
    int failed = SetLookupTable(chip, EM_MPLS, 1, 0, "000007", NULL, &action);
    printf("%d %s\n", failed, ServerSwitchError(chip));
    failed = SetLookupTable(chip, EM_MPLS, 1, 0, "000007", NULL, &none);
    printf("%d %s\n", failed, ServerSwitchError(chip));
    printf("%d ", SendPacket(chip, "short", 5, 4));
    printf("%s\n", ServerSwitchError(chip));
    CloseServerSwitch(chip);
    return OpenServerSwitch("/nowhere") != NULL;
}
"#,
    )
    .unwrap();
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/c");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Werror", "-I", sources, "-o"])
        .args([&program, &source])
        .arg(format!("{sources}/serverswitch.c"))
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(&program).arg(&server.path).output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("-1 ") && lines[0].contains("action.vif is 3"),
        "{said}"
    );
    assert!(lines[1].starts_with("-1 act is 9, but must be 0 to 5."), "{said}");
    assert!(lines[2].starts_with("-1 pkt is 5 bytes"), "{said}");
}
