//! NAME: a service of a CamCube. Every server of the torus runs an instance of it.
//!
//! It carries a greeting to the server that answers for a key: change it into what you want.
//! Build: make. Try: cubeyard service test NAME.wasm
const cube = @import("cubeyard.zig");

// A packet: the key it is for, the coordinate it comes from, two bytes of nothing, and the text.
const text = 8;

var out: [1024]u8 = undefined;

/// A message from people or programs outside: cubeyard service send RUN SERVICE '2,1,0 hello'
export fn message(length: u32) void {
    var numbers = [3]u8{ 0, 0, 0 };
    var axis: usize = 0;
    var at: usize = 0;
    while (at < length and axis < 3) : (at += 1) {
        const byte = cube.packet[at];
        if (byte >= '0' and byte <= '9') {
            numbers[axis] = numbers[axis] *% 10 +% (byte - '0');
        } else {
            axis += 1;
        }
    }
    const to = cube.makeKey(numbers[0], numbers[1], numbers[2]);
    cube.writeKey(out[0..3], to);
    cube.writeKey(out[3..6], cube.here());
    var size: usize = text;
    while (at < length and size < out.len) : (at += 1) {
        out[size] = cube.packet[at];
        size += 1;
    }
    _ = cube.route(&out, @intCast(size), to);
}

/// The next key coordinates; the packet goes to one of them. None: it is delivered here.
export fn F(at: cube.Key, length: u32) void {
    const to = cube.readKey(cube.packet[0..3]);
    if (length >= text and to != at) {
        _ = cube.next(to);
    }
}

/// The queue of a packet, 0 to 15.
export fn classify(length: u32) u32 {
    _ = length;
    return 0;
}

/// A packet is at its end.
export fn deliver(at: cube.Key, length: u32) void {
    _ = at;
    cube.count(0, 1);
    if (length >= text) {
        _ = cube.answer(cube.packet[text..].ptr, length - text);
    }
}
