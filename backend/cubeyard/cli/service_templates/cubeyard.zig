//! What a CamCube service can ask and do. Belongs to the template: nothing here needs to be changed. The functions are those of
//! `cubeyard.h`.
//!
//! Exports that a service needs: F(at, length), classify(length), deliver(at, length). It may have more: init(),
//! packet(port, length) -> 0 pass, 1 route, 2 consumed, 3 drop; queue(number) -> milliseconds << 32 | weight (64 bits);
//! neighbour(port, up); timer(); message(length). The packet or message is in `packet`.

/// A coordinate: x | y << 8 | z << 16; all bits set: none.
pub const Key = u32;
pub const none: Key = 0xffff_ffff;

/// The packet or message that a call is about.
pub var packet: [32 * 1024]u8 = undefined;

/// This server's coordinate.
pub extern "cubeyard" fn here() Key;
/// Servers along an axis.
pub extern "cubeyard" fn size(axis: u32) u32;
/// At a port 0 to 5, if it lives.
pub extern "cubeyard" fn neighbour(port: u32) Key;
pub extern "cubeyard" fn reachable(server: Key) i32;
/// Who answers for a key.
pub extern "cubeyard" fn root_of(key_: Key) Key;
/// Whether this server does.
pub extern "cubeyard" fn responsible(key_: Key) i32;
/// Hops.
pub extern "cubeyard" fn dist(a: Key, b: Key) u32;
pub extern "cubeyard" fn dist_axis(a: Key, b: Key, axis: u32) u32;
pub extern "cubeyard" fn neighbour_key(key_: Key, axis: u32, up: i32) Key;

/// The packet's key.
pub extern "cubeyard" fn key() Key;
/// A number of the service's own.
pub extern "cubeyard" fn colour() u32;
pub extern "cubeyard" fn set_colour(colour_: u32) void;
/// Of the packet in `packet`.
pub extern "cubeyard" fn set_length(length: u32) void;
/// In F: one of the next keys, at most 16.
pub extern "cubeyard" fn next(key_: Key) i32;
/// Asks F here.
pub extern "cubeyard" fn route(at: [*]const u8, length: u32, key_: Key) i32;
/// Without F here.
pub extern "cubeyard" fn transmit(at: [*]const u8, length: u32, key_: Key) i32;
/// One hop, if the link is free.
pub extern "cubeyard" fn send(port: u32, at: [*]const u8, length: u32) i32;
/// To the outside, at most 4096 bytes.
pub extern "cubeyard" fn answer(at: [*]const u8, length: u32) i32;
/// Packets of this service that wait here.
pub extern "cubeyard" fn waiting() u32;
pub extern "cubeyard" fn max_payload() u32;

pub extern "cubeyard" fn now_ms() i64;
pub extern "cubeyard" fn random() u64;
/// One timer; the latest call counts.
pub extern "cubeyard" fn set_timer(millis: u32) void;
/// Counters 0 to 7, for the inspector.
pub extern "cubeyard" fn count(counter: u32, by: u32) void;

export fn buffer() [*]u8 {
    return &packet;
}

pub fn makeKey(x: u8, y: u8, z: u8) Key {
    return @as(Key, x) | @as(Key, y) << 8 | @as(Key, z) << 16;
}

pub fn readKey(at: []const u8) Key {
    return makeKey(at[0], at[1], at[2]);
}

pub fn writeKey(at: []u8, key_: Key) void {
    at[0] = @truncate(key_);
    at[1] = @truncate(key_ >> 8);
    at[2] = @truncate(key_ >> 16);
}
