//! Reads and writes the payloads of services: numbers are big-endian, and bytes follow their
//! length.

use cubeyard_topology::address::TorusAddresses;
use cubeyard_topology::{NodeId, Torus3dSpec};

use crate::service::{Context, Key};

/// Reads a payload from its start; every read returns `None` if the payload is too short.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads this number of bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads a number of one byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads a big-endian number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads a big-endian number of eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads a key coordinate.
    pub fn key(&mut self) -> Option<Key> {
        self.array()
    }

    /// Reads bytes that follow their length of two bytes.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(u16::from_be_bytes(self.array()?));
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }
}

/// Appends bytes, at most 65,535 of them, after their length of two bytes.
pub fn put_bytes(payload: &mut Vec<u8>, bytes: &[u8]) {
    payload.extend((bytes.len() as u16).to_be_bytes());
    payload.extend(bytes);
}

/// FNV-1a, 64 bits: the checksum of files and the hash of keys.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The addresses of a context's torus, for rules that services share with the models.
pub fn torus(context: &dyn Context) -> TorusAddresses {
    let [x, y, z] = context.size();
    TorusAddresses::new(&Torus3dSpec { x, y, z })
}

/// The number of a key's home server.
pub fn number(torus: &TorusAddresses, key: Key) -> NodeId {
    torus.server(key.map(u32::from))
}

/// The coordinate of a server as a key.
pub fn key_of(torus: &TorusAddresses, server: NodeId) -> Key {
    [0, 1, 2].map(|axis| torus.coordinate(server, axis) as u8)
}

/// Parses `x,y,z` as a key inside the torus.
pub fn read_key(text: &str, size: [u32; 3]) -> Option<Key> {
    let mut numbers = text.split(',').map(|word| word.parse::<u8>().ok());
    let key = [numbers.next()??, numbers.next()??, numbers.next()??];
    let inside = key.iter().zip(size).all(|(at, size)| u32::from(*at) < size);
    (inside && numbers.next().is_none()).then_some(key)
}
