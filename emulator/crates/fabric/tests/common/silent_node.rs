//! A node for tests: reports that it is ready, answers inspections, and does not use the network
//! otherwise.
//!
//! It reports received messages as events, so that a test sees them in the frames.

use std::path::PathBuf;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with,
};
use serde_json::{Value, json};

/// In a run with this seed, the first server's node sends messages without end once it is ready.
const FLOODING_SEED: u64 = 666;

/// In a run with this seed, nodes do not answer the first inspection.
const DEAF_SEED: u64 = 667;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--socket"), Some(path)) => PathBuf::from(path),
        _ => return Err("usage: silent_node --socket PATH".into()),
    };
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let mut deaf = false;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        if length == 0 {
            return Ok(());
        }
        let message: Value = serde_json::from_slice(&buffer[..length])?;
        if message["t"] == "inspect" && std::mem::take(&mut deaf) {
            continue;
        }
        deaf |= message["configuration"]["seed"] == DEAF_SEED;
        let answer = match message["t"].as_str().unwrap_or_default() {
            "configure" => json!({"t": "ready"}),
            "inspect" => json!({"t": "inspected", "sections": []}),
            told => {
                json!({"t": "event", "at_nanos": 0, "event": {"kind": "reported", "what": told, "cells": []}})
            }
        };
        send(&socket, answer.to_string().as_bytes(), SendFlags::NOSIGNAL)?;
        if message["configuration"]["seed"] == FLOODING_SEED && message["configuration"]["server"] == 0 {
            loop {
                let noise = json!({"t": "event", "at_nanos": 0, "event": {"kind": "reported", "what": "noise", "cells": []}});
                send(&socket, noise.to_string().as_bytes(), SendFlags::NOSIGNAL)?;
            }
        }
    }
}
