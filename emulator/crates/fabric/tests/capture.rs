//! Packet captures of links and ports.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{Host, can_emulate, connect, fresh_run, row};
use serde_json::{Value, json};

fn bytes_of(answer: &Value) -> Vec<u8> {
    let digits = answer["pcapng"].as_str().expect("a file");
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The packets of a file: direction (1 in, 2 out), length, and the kept bytes.
fn packets_of(file: &[u8]) -> Vec<(u32, usize, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let mut packets = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let length = word(at + 4) as usize;
        if word(at) == 6 {
            let kept = word(at + 20) as usize;
            let flags = word(at + 28 + kept.next_multiple_of(4) + 4);
            let bytes = file[at + 28..at + 28 + kept].to_vec();
            packets.push((flags, word(at + 24) as usize, bytes));
        }
        at += length;
    }
    packets
}

/// Pings from one server to another, which end when this is dropped.
struct Pings(Child);

impl Pings {
    fn start(run: &str, from: u32, to: &str) -> Pings {
        let namespace = format!("cy-{}-{from}", &run[..8]);
        let words = [
            "netns", "exec", &namespace, "ping", "-q", "-i", "0.02", "-s", "1000", to,
        ];
        Pings(Command::new("ip").args(words).spawn().expect("ip starts"))
    }
}

impl Drop for Pings {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_capture_has_both_directions_of_a_port_and_keeps_its_limits() {
    if !can_emulate("a_capture_has_both_directions_of_a_port_and_keeps_its_limits") {
        return;
    }
    let mut host = Host::start();
    let network = row(2, &fresh_run(), "none", |_| 0);
    let run = host.build(&network);
    let pings = Pings::start(&run, 0, "10.0.0.2");
    for target in [json!({"link": 0}), json!({"port": [1, 0]})] {
        let limits = json!({"max_secs": 1.0, "packet_bytes": 60});
        let params = json!({"run": run, "target": target, "limits": limits});
        let answer = host.ask("capture", params);
        let named = (&answer["interface"], &answer["end"]);
        assert_eq!(named, (&json!("p0"), &json!("secs")), "{target}");
        let packets = packets_of(&bytes_of(&answer));
        assert_eq!(answer["packets"], packets.len());
        for direction in [1, 2] {
            let echoes = packets
                .iter()
                .filter(|(flags, length, _)| (*flags, *length) == (direction, 1042));
            assert!(echoes.count() >= 5, "{target}: direction {direction}");
        }
        let well = |kept: &[u8]| kept.len() <= 60 && kept[12..14] == [8, 0];
        assert!(packets.iter().all(|(_, _, kept)| well(kept)));
    }
    let limits = json!({"max_bytes": 4096, "max_secs": 30.0});
    let began = Instant::now();
    let answer = host.ask(
        "capture",
        json!({"run": run, "target": {"link": 0}, "limits": limits}),
    );
    assert_eq!(answer["end"], "bytes");
    assert!(bytes_of(&answer).len() <= 4096 && began.elapsed() < Duration::from_secs(10));
    drop(pings);
    for (target, limits, field) in [
        (json!({"link": 0}), json!({"max_secs": 61.0}), "limits.max_secs"),
        (
            json!({"link": 0}),
            json!({"max_bytes": 1 << 25}),
            "limits.max_bytes",
        ),
        (json!({"link": 7}), json!({}), "link"),
        (json!({"port": [0, 3]}), json!({}), "port"),
    ] {
        let params = json!({"run": run, "target": target, "limits": limits});
        assert_eq!(
            host.call("capture", &params).unwrap_err()["field"],
            field,
            "{params}"
        );
    }
}

#[test]
fn a_capture_in_parts_is_read_while_packets_flow_and_ends_with_its_caller() {
    if !can_emulate("a_capture_in_parts_is_read_while_packets_flow_and_ends_with_its_caller") {
        return;
    }
    let mut host = Host::start();
    let run = host.build(&row(2, &fresh_run(), "none", |_| 0));
    let pings = Pings::start(&run, 0, "10.0.0.2");
    let params =
        |secs: f64| json!({"run": run, "target": {"link": 0}, "limits": {"max_secs": secs}, "parts": true});
    let begin = |secs: f64| {
        let mut stream = connect(host.folder());
        let request = json!({"id": 1, "method": "capture", "params": params(secs)});
        writeln!(stream, "{request}").expect("it reads");
        BufReader::new(stream)
    };
    let line = |reader: &mut BufReader<_>| -> Value {
        let mut line = String::new();
        BufRead::read_line(reader, &mut line).expect("a line");
        serde_json::from_str(&line).expect("a document")
    };
    let digits_of = |value: &Value| bytes_of(&json!({"pcapng": value}));
    // Two captures of one link. The file's header arrives at once, its end with the answer.
    let (mut one, mut other) = (begin(1.0), begin(600.0));
    let header = line(&mut one);
    assert!(packets_of(&digits_of(&header["part"])).is_empty());
    let mut file = digits_of(&header["part"]);
    let mut parts = 0;
    let answer = loop {
        let document = line(&mut one);
        if document.get("part").is_none() {
            break document;
        }
        parts += 1;
        file.extend(digits_of(&document["part"]));
    };
    file.extend(digits_of(&answer["result"]["pcapng"]));
    assert_eq!(answer["result"]["end"], "secs");
    assert_eq!(answer["result"]["packets"], packets_of(&file).len());
    assert!(parts >= 3 && packets_of(&file).len() >= 20, "{parts} parts");
    line(&mut other);
    assert!(!packets_of(&digits_of(&line(&mut other)["part"])).is_empty());
    // A capture ends with its caller. Therefore more callers than the limit can capture one after
    // the other.
    drop(other);
    for _ in 0..20 {
        let mut brief = begin(600.0);
        assert!(line(&mut brief)["part"].is_string());
        drop(brief);
        std::thread::sleep(Duration::from_millis(100));
    }
    let refused = host.call("capture", &params(3601.0)).unwrap_err();
    assert_eq!(refused["field"], "limits.max_secs");
    drop(pings);
}

#[test]
fn a_capture_holds_nothing_up_and_ends_with_its_interface() {
    if !can_emulate("a_capture_holds_nothing_up_and_ends_with_its_interface") {
        return;
    }
    let mut host = Host::start();
    let run = host.build(&row(2, &fresh_run(), "none", |_| 0));
    let params = json!({"run": run, "target": {"link": 0}, "limits": {"max_secs": 60.0}});
    let mut stream = connect(host.folder());
    writeln!(
        stream,
        "{}",
        json!({"id": 1, "method": "capture", "params": params})
    )
    .expect("it reads");
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    host.ask("inspect", json!({"run": run, "server": 0}));
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "the run answers others meanwhile"
    );
    host.ask("destroy", json!({"run": run}));
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("it answers");
    let answer: Value = serde_json::from_str(&line).expect("a document");
    assert_eq!(answer["result"]["end"], "interface-down", "{answer}");
    assert!(began.elapsed() < Duration::from_secs(20), "long before 60 s");
}
