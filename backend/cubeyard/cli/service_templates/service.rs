//! NAME: a service of a CamCube. Every server of the torus runs an instance of it.
//!
//! It carries a greeting to the server that answers for a key: change it into what you want. Build:
//! `cargo build --release`. Try:
//! `cubeyard service test target/wasm32-unknown-unknown/release/CRATE.wasm`.
#![no_std]

mod cubeyard;

use cubeyard::{Key, Packet, Server, Service};

/// The state of the instance on one server.
struct Greeting {
    delivered: u32,
}

// A packet: the key it is for, the coordinate it comes from, two bytes of nothing, and the text.
const TEXT: usize = 8;

fn key_at(bytes: &[u8], at: usize) -> Option<Key> {
    Some(Key::new(*bytes.get(at)?, *bytes.get(at + 1)?, *bytes.get(at + 2)?))
}

/// `X,Y,Z text` as a key and where the text begins.
fn read(message: &[u8]) -> Option<(Key, usize)> {
    let mut numbers = [0u8; 3];
    let mut axis = 0;
    for (at, byte) in message.iter().enumerate() {
        match byte {
            b'0'..=b'9' => numbers[axis] = numbers[axis].checked_mul(10)?.checked_add(byte - b'0')?,
            b',' if axis < 2 => axis += 1,
            b' ' if axis == 2 => return Some((Key::new(numbers[0], numbers[1], numbers[2]), at + 1)),
            _ => return None,
        }
    }
    None
}

impl Service for Greeting {
    const NEW: Greeting = Greeting { delivered: 0 };

    /// A message from people or programs outside:
    /// `cubeyard service send RUN SERVICE '2,1,0 hello'`.
    fn message(&mut self, server: &mut Server, message: &mut Packet) {
        let Some((to, text)) = read(message.bytes()) else {
            server.answer(b"error: say X,Y,Z and a text");
            return;
        };
        let mut bytes = [0u8; 1024];
        bytes[..3].copy_from_slice(&to.bytes());
        bytes[3..6].copy_from_slice(&server.here().bytes());
        let text = &message.bytes()[text..];
        let length = text.len().min(bytes.len() - TEXT);
        bytes[TEXT..TEXT + length].copy_from_slice(&text[..length]);
        server.route(&bytes[..TEXT + length], to);
    }

    /// F: the next key coordinates; the packet goes to one of them. None: it is delivered here.
    fn next(&mut self, server: &mut Server, at: Key, packet: &mut Packet) {
        if let Some(to) = key_at(packet.bytes(), 0)
            && to != at
        {
            server.next(to);
        }
    }

    /// The queue of a packet, 0 to 15.
    fn classify(&mut self, _packet: &mut Packet) -> u8 {
        0
    }

    /// A packet is at its end.
    fn deliver(&mut self, server: &mut Server, _at: Key, packet: &mut Packet) {
        self.delivered += 1;
        server.count(0, 1);
        if let Some(text) = packet.bytes().get(TEXT..) {
            server.answer(text);
        }
    }
}

crate::service!(Greeting);
