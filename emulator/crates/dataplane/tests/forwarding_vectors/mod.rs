//! The common format of frame vectors for all protocols, and the comparison of a forwarding in user
//! space with them.
#![allow(dead_code, reason = "each test uses some of it")]

use std::time::Duration;

use cubeyard_dataplane::forwarding::{Forwarding, Verdict as Software};
use cubeyard_dataplane::frame::PacketBuffer;
use serde::Deserialize;

/// The result of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Sent by a port, which the frame's hardware address identifies.
    Send,
    Deliver,
    Pass,
    Drop(String),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entrance {
    /// From the server's own applications.
    Vnic,
    /// Arrived from a neighbour.
    Port,
}

/// The expected result of a frame.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaves {
    drop: Option<String>,
    /// The port by which it is sent, as a number in the protocol's own numbering.
    send: Option<u32>,
    frame: Option<String>,
    deliver: Option<String>,
    #[serde(default)]
    pass: bool,
}

impl Leaves {
    /// The verdict with the sent frame, which is empty if there is none. `port_of` returns the port
    /// of a frame's hardware address.
    pub fn outcome(&self, case: &str, port_of: impl Fn(&[u8]) -> Option<u32>) -> (Verdict, Vec<u8>) {
        match self {
            Leaves {
                drop: Some(reason), ..
            } => (Verdict::Drop(reason.clone()), Vec::new()),
            Leaves {
                deliver: Some(frame), ..
            } => (Verdict::Deliver, bytes(frame)),
            Leaves {
                send: Some(port),
                frame: Some(frame),
                ..
            } => {
                let frame = bytes(frame);
                assert_eq!(port_of(&frame), Some(*port), "{case}");
                (Verdict::Send, frame)
            }
            Leaves { pass: true, .. } => (Verdict::Pass, Vec::new()),
            _ => panic!("{case}: nothing is said of what becomes of it"),
        }
    }
}

/// The result of a frame with a forwarding in user space. `port_of` returns the port of a frame's
/// hardware address.
pub fn in_user_space(
    software: &mut dyn Forwarding,
    enters: Entrance,
    frame: &[u8],
    port_of: impl Fn(&[u8]) -> Option<u8>,
) -> (Verdict, Vec<u8>) {
    let mut buffer = PacketBuffer::of(software.headroom_bytes(), frame);
    let mut verdicts = Vec::new();
    match enters {
        Entrance::Vnic => software.send(&mut buffer, Duration::ZERO, &mut verdicts),
        Entrance::Port => software.receive(0, &mut buffer, Duration::ZERO, &mut verdicts),
    }
    let frame = buffer.frame().to_vec();
    match &verdicts[..] {
        [Software::Send { port }] => {
            assert_eq!(port_of(&frame), Some(*port), "the port's own address");
            (Verdict::Send, frame)
        }
        [Software::Deliver] => (Verdict::Deliver, frame),
        [Software::Pass] => (Verdict::Pass, Vec::new()),
        [Software::Drop(reason)] => (Verdict::Drop(reason.name().to_owned()), Vec::new()),
        other => panic!("one frame has one verdict here, not {other:?}"),
    }
}

pub fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| {
            let pair = std::str::from_utf8(pair).expect("hex is ASCII");
            u8::from_str_radix(pair, 16).expect("two hex digits")
        })
        .collect()
}

pub fn mac(text: &str) -> [u8; 6] {
    bytes(&text.replace(':', "")).try_into().expect("six bytes")
}
