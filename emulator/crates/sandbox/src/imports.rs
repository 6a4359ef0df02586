//! The functions that a module can call: the imports of module `cubeyard`. A coordinate is
//! `x | y << 8 | z << 16`; -1 is none.
//!
//! Every import burns fuel, and reads and writes nothing but the module's own memory and the state
//! of its own call.

use cubeyard_dataplane::service::{Key, MAX_KEYS, Packet};
use wasmi::{Caller, Error, Linker, errors::LinkerError};

use crate::guest::{Ask, Guest};
use crate::limits::{ANSWER_BYTES, IMPORT_FUEL, SEND_FUEL, SENDS};

/// The module that all imports belong to.
pub const MODULE: &str = "cubeyard";
/// Numbered counters of a service, as the inspector names them.
pub const COUNTERS: [&str; 8] = [
    "counter-0",
    "counter-1",
    "counter-2",
    "counter-3",
    "counter-4",
    "counter-5",
    "counter-6",
    "counter-7",
];

type Call<'a> = Caller<'a, Guest>;

/// A coordinate as a number.
pub fn pack(key: Key) -> i32 {
    let [x, y, z] = key.map(i32::from);
    x | y << 8 | z << 16
}

/// Unpacks a number into a coordinate; bits above the lower 24 are ignored.
pub fn unpack(number: i32) -> Key {
    [number as u8, (number >> 8) as u8, (number >> 16) as u8]
}

fn optional(key: Option<Key>) -> i32 {
    key.map_or(-1, pack)
}

/// Burns the fuel of an import, plus `more`. Errors: too little fuel is left.
fn burn(caller: &mut Call<'_>, more: usize) -> Result<(), Error> {
    let cost = IMPORT_FUEL + more as u64;
    let left = caller.get_fuel()?;
    caller.set_fuel(left.saturating_sub(cost))?;
    if left < cost {
        return Err(Error::from(wasmi::TrapCode::OutOfFuel));
    }
    Ok(())
}

/// Bytes of the module's memory, to be sent. Errors: they are not all in it, there are too many, or
/// too little fuel is left.
fn read(caller: &mut Call<'_>, at: i32, length: i32, most: usize) -> Result<Vec<u8>, Error> {
    let length = length as u32 as usize;
    if length > most {
        return Err(Error::new(format!("{length} bytes are more than {most}")));
    }
    burn(caller, SEND_FUEL as usize + length)?;
    let memory = caller.get_export("memory").and_then(wasmi::Extern::into_memory);
    let memory = memory.ok_or_else(|| Error::new("there is no memory"))?;
    let mut bytes = vec![0; length];
    memory.read(&*caller, at as u32 as usize, &mut bytes)?;
    Ok(bytes)
}

fn packet(caller: &mut Call<'_>, at: i32, length: i32, key: Key) -> Result<Packet, Error> {
    let most = caller.data().max_payload;
    let payload = read(caller, at, length, most)?;
    let colour = caller.data().colour;
    Ok(Packet { key, colour, payload })
}

/// Queues an action of the module; returns 0 if the call has queued too many.
fn ask(caller: &mut Call<'_>, ask: Ask) -> i32 {
    let guest = caller.data_mut();
    if guest.asks.len() >= SENDS {
        guest.too_many += 1;
        return 0;
    }
    guest.asks.push(ask);
    1
}

/// Offers all imports. Errors: never, as no two have one name.
pub fn offer(linker: &mut Linker<Guest>) -> Result<(), LinkerError> {
    questions(linker)?;
    packets(linker)?;
    linker.func_wrap(MODULE, "now_ms", |mut caller: Call<'_>| {
        burn(&mut caller, 0)?;
        Ok::<i64, Error>(caller.data().now.as_millis() as i64)
    })?;
    linker.func_wrap(MODULE, "random", |mut caller: Call<'_>| {
        burn(&mut caller, 0)?;
        Ok::<i64, Error>(caller.data_mut().next_random() as i64)
    })?;
    linker.func_wrap(MODULE, "set_timer", |mut caller: Call<'_>, millis: i32| {
        burn(&mut caller, 0)?;
        caller.data_mut().timer_millis = Some(millis.max(0) as u32);
        Ok::<(), Error>(())
    })?;
    linker.func_wrap(MODULE, "count", |mut caller: Call<'_>, counter: i32, by: i32| {
        burn(&mut caller, 0)?;
        let guest = caller.data_mut();
        if let Some(count) = guest.counts.get_mut(counter as u32 as usize) {
            *count += u64::from(by.max(0) as u32);
        }
        Ok::<(), Error>(())
    })?;
    Ok(())
}

/// Questions about the network.
fn questions(linker: &mut Linker<Guest>) -> Result<(), LinkerError> {
    linker.func_wrap(MODULE, "here", |mut caller: Call<'_>| {
        burn(&mut caller, 0)?;
        Ok::<i32, Error>(pack(caller.data().world.here))
    })?;
    linker.func_wrap(MODULE, "size", |mut caller: Call<'_>, axis: i32| {
        burn(&mut caller, 0)?;
        let size = caller.data().world.size.get(axis as u32 as usize);
        Ok::<i32, Error>(size.map_or(0, |size| *size as i32))
    })?;
    linker.func_wrap(MODULE, "neighbour", |mut caller: Call<'_>, port: i32| {
        burn(&mut caller, 0)?;
        let neighbours = &caller.data().world.neighbours;
        let neighbour = neighbours.get(port as u32 as usize).copied().flatten();
        Ok::<i32, Error>(optional(neighbour))
    })?;
    linker.func_wrap(MODULE, "reachable", |mut caller: Call<'_>, key: i32| {
        burn(&mut caller, 0)?;
        Ok::<i32, Error>(caller.data().world.reachable(unpack(key)).into())
    })?;
    linker.func_wrap(MODULE, "root_of", |mut caller: Call<'_>, key: i32| {
        burn(&mut caller, 0)?;
        Ok::<i32, Error>(optional(caller.data().world.root_of(unpack(key))))
    })?;
    linker.func_wrap(MODULE, "responsible", |mut caller: Call<'_>, key: i32| {
        burn(&mut caller, 0)?;
        let world = &caller.data().world;
        Ok::<i32, Error>((world.root_of(unpack(key)) == Some(world.here)).into())
    })?;
    linker.func_wrap(
        MODULE,
        "dist_axis",
        |mut caller: Call<'_>, a: i32, b: i32, axis: i32| {
            burn(&mut caller, 0)?;
            let (a, b) = (unpack(a), unpack(b));
            Ok::<i32, Error>(caller.data().world.dist_axis(a, b, axis as u32 as usize) as i32)
        },
    )?;
    linker.func_wrap(MODULE, "dist", |mut caller: Call<'_>, a: i32, b: i32| {
        burn(&mut caller, 0)?;
        let (world, a, b) = (&caller.data().world, unpack(a), unpack(b));
        let hops: u32 = (0..3).map(|axis| world.dist_axis(a, b, axis)).sum();
        Ok::<i32, Error>(hops as i32)
    })?;
    linker.func_wrap(
        MODULE,
        "neighbour_key",
        |mut caller: Call<'_>, key: i32, axis: i32, up: i32| {
            burn(&mut caller, 0)?;
            let world = &caller.data().world;
            Ok::<i32, Error>(optional(world.beside(unpack(key), axis as u32 as usize, up != 0)))
        },
    )?;
    Ok(())
}

/// Imports that forward, drop or send packets.
fn packets(linker: &mut Linker<Guest>) -> Result<(), LinkerError> {
    linker.func_wrap(MODULE, "key", |mut caller: Call<'_>| {
        burn(&mut caller, 0)?;
        Ok::<i32, Error>(pack(caller.data().key))
    })?;
    linker.func_wrap(MODULE, "colour", |mut caller: Call<'_>| {
        burn(&mut caller, 0)?;
        Ok::<i32, Error>(caller.data().colour.into())
    })?;
    linker.func_wrap(MODULE, "set_colour", |mut caller: Call<'_>, colour: i32| {
        burn(&mut caller, 0)?;
        caller.data_mut().colour = colour as u16;
        Ok::<(), Error>(())
    })?;
    linker.func_wrap(MODULE, "set_length", |mut caller: Call<'_>, length: i32| {
        burn(&mut caller, 0)?;
        caller.data_mut().length = length as u32 as usize;
        Ok::<(), Error>(())
    })?;
    linker.func_wrap(MODULE, "waiting", |mut caller: Call<'_>| {
        burn(&mut caller, 0)?;
        Ok::<i32, Error>(caller.data().waiting as i32)
    })?;
    linker.func_wrap(MODULE, "max_payload", |mut caller: Call<'_>| {
        burn(&mut caller, 0)?;
        Ok::<i32, Error>(caller.data().max_payload as i32)
    })?;
    linker.func_wrap(MODULE, "next", |mut caller: Call<'_>, key: i32| {
        burn(&mut caller, 0)?;
        let keys = &mut caller.data_mut().keys;
        let room = keys.len() < MAX_KEYS;
        if room {
            keys.push(unpack(key));
        }
        Ok::<i32, Error>(room.into())
    })?;
    linker.func_wrap(
        MODULE,
        "send",
        |mut caller: Call<'_>, port: i32, at: i32, length: i32| {
            let guest = caller.data();
            let free = u32::try_from(port).is_ok_and(|port| port < 8 && guest.free >> port & 1 == 1);
            let packet = packet(&mut caller, at, length, [0; 3])?;
            if !free || ask(&mut caller, Ask::Send(port as u8, packet)) == 0 {
                return Ok::<i32, Error>(0);
            }
            caller.data_mut().free &= !(1 << port);
            Ok(1)
        },
    )?;
    linker.func_wrap(
        MODULE,
        "route",
        |mut caller: Call<'_>, at: i32, length: i32, key: i32| {
            let packet = packet(&mut caller, at, length, unpack(key))?;
            Ok::<i32, Error>(ask(&mut caller, Ask::Route(packet)))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "transmit",
        |mut caller: Call<'_>, at: i32, length: i32, key: i32| {
            let packet = packet(&mut caller, at, length, unpack(key))?;
            Ok::<i32, Error>(ask(&mut caller, Ask::Transmit(packet)))
        },
    )?;
    linker.func_wrap(MODULE, "answer", |mut caller: Call<'_>, at: i32, length: i32| {
        let length = length.clamp(0, ANSWER_BYTES as i32);
        let bytes = read(&mut caller, at, length, ANSWER_BYTES)?;
        Ok::<i32, Error>(ask(&mut caller, Ask::Answer(bytes)))
    })?;
    Ok(())
}
