//! Data and actions of a service. Belongs to the template: nothing here needs to be changed.

/// A coordinate of the torus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u32);

impl Key {
    /// From its three numbers.
    pub const fn new(x: u8, y: u8, z: u8) -> Key {
        Key(x as u32 | (y as u32) << 8 | (z as u32) << 16)
    }

    /// Its three numbers.
    pub const fn bytes(self) -> [u8; 3] {
        [self.0 as u8, (self.0 >> 8) as u8, (self.0 >> 16) as u8]
    }
}

/// Result of `packet` for a packet that arrived.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send it on to its key; if that is here, F is called.
    Pass = 0,
    /// F is called here.
    Route = 1,
    /// The service has consumed it.
    Consumed = 2,
    /// It is dropped.
    Drop = 3,
}

/// The bytes of a packet or message, which may be changed in place.
pub struct Packet {
    length: usize,
}

#[allow(dead_code)]
impl Packet {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the host fills the buffer before a call and does not touch it during the call; a
        // call has one packet.
        unsafe { core::slice::from_raw_parts(buffer() as *const u8, self.length) }
    }

    /// Its bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this packet is borrowed as a whole.
        unsafe { core::slice::from_raw_parts_mut(buffer(), self.length) }
    }

    /// Makes it shorter or longer, up to `Server::max_payload`; new bytes keep the buffer's
    /// contents.
    pub fn set_length(&mut self, length: usize) {
        self.length = length.min(BUFFER_BYTES);
        unsafe { imports::set_length(self.length as u32) }
    }
}

/// The server that the instance runs on, during one call.
pub struct Server(());

#[allow(dead_code)]
impl Server {
    /// This server's coordinate.
    pub fn here(&self) -> Key {
        Key(unsafe { imports::here() })
    }
    /// Servers along an axis.
    pub fn size(&self, axis: u32) -> u32 {
        unsafe { imports::size(axis) }
    }
    /// The neighbour at a port (0 to 5), if it lives.
    pub fn neighbour(&self, port: u32) -> Option<Key> {
        some(unsafe { imports::neighbour(port) })
    }
    /// Whether the server of a coordinate can be reached.
    pub fn reachable(&self, key: Key) -> bool {
        unsafe { imports::reachable(key.0) != 0 }
    }
    /// The server that answers for a key.
    pub fn root_of(&self, key: Key) -> Option<Key> {
        some(unsafe { imports::root_of(key.0) })
    }
    /// Whether this server answers for a key.
    pub fn responsible(&self, key: Key) -> bool {
        unsafe { imports::responsible(key.0) != 0 }
    }
    /// Hops between two coordinates.
    pub fn dist(&self, a: Key, b: Key) -> u32 {
        unsafe { imports::dist(a.0, b.0) }
    }
    /// Hops between two coordinates along an axis.
    pub fn dist_axis(&self, a: Key, b: Key, axis: u32) -> u32 {
        unsafe { imports::dist_axis(a.0, b.0, axis) }
    }
    /// The neighbouring coordinate along an axis.
    pub fn neighbour_key(&self, key: Key, axis: u32, up: bool) -> Option<Key> {
        some(unsafe { imports::neighbour_key(key.0, axis, up.into()) })
    }
    /// The key of the packet that the call is about.
    pub fn key(&self) -> Key {
        Key(unsafe { imports::key() })
    }
    /// Its colour, a number that the service chooses.
    pub fn colour(&self) -> u32 {
        unsafe { imports::colour() }
    }
    /// Changes its colour, and that of packets sent from now on.
    pub fn set_colour(&mut self, colour: u16) {
        unsafe { imports::set_colour(colour.into()) }
    }
    /// In F: one of the keys that the packet may go to, at most 16.
    pub fn next(&mut self, key: Key) -> bool {
        unsafe { imports::next(key.0) != 0 }
    }
    /// Hands a packet to the routing service, which calls F here; at most 16 packets a call.
    pub fn route(&mut self, bytes: &[u8], key: Key) -> bool {
        unsafe { imports::route(bytes.as_ptr(), bytes.len(), key.0) != 0 }
    }
    /// Sends a packet to a key without calling F here.
    pub fn transmit(&mut self, bytes: &[u8], key: Key) -> bool {
        unsafe { imports::transmit(bytes.as_ptr(), bytes.len(), key.0) != 0 }
    }
    /// Sends a packet one hop by a port, if its link is free.
    pub fn send(&mut self, port: u32, bytes: &[u8]) -> bool {
        unsafe { imports::send(port, bytes.as_ptr(), bytes.len()) != 0 }
    }
    /// Answers the client outside the network, at most 4096 bytes.
    pub fn answer(&mut self, bytes: &[u8]) -> bool {
        unsafe { imports::answer(bytes.as_ptr(), bytes.len()) != 0 }
    }
    /// Packets of this service that wait here.
    pub fn waiting(&self) -> u32 {
        unsafe { imports::waiting() }
    }
    /// Longest packet, in bytes.
    pub fn max_payload(&self) -> u32 {
        unsafe { imports::max_payload() }
    }
    /// The time in milliseconds, from an arbitrary start.
    pub fn now_ms(&self) -> u64 {
        unsafe { imports::now_ms() }
    }
    /// A random number.
    pub fn random(&mut self) -> u64 {
        unsafe { imports::random() }
    }
    /// Requests a call of `timer` after this number of milliseconds; each server has a single
    /// timer.
    pub fn set_timer(&mut self, millis: u32) {
        unsafe { imports::set_timer(millis) }
    }
    /// Adds to one of the counters 0 to 7, which the inspector shows.
    pub fn count(&mut self, counter: u32, by: u32) {
        unsafe { imports::count(counter, by) }
    }
}

fn some(key: i32) -> Option<Key> {
    u32::try_from(key).ok().map(Key)
}

/// A service.
#[allow(unused_variables)]
pub trait Service {
    /// The state of an instance that starts.
    const NEW: Self;
    /// Once, before anything else; no packets can be sent yet.
    fn init(&mut self) {}
    /// A packet arrived by a port (0 to 5), or from this server itself (255).
    fn packet(&mut self, server: &mut Server, port: u32, packet: &mut Packet) -> Action {
        Action::Pass
    }
    /// F: names the next key coordinates by `server.next`; none is the packet's end.
    fn next(&mut self, server: &mut Server, at: Key, packet: &mut Packet);
    /// The queue of a packet, 0 to 15.
    fn classify(&mut self, packet: &mut Packet) -> u8;
    /// Longest time in a queue, in milliseconds, and its weight. Called once for each queue.
    fn queue(&mut self, queue: u8) -> (u32, u32) {
        (1000, 1)
    }
    /// A packet is at its end.
    fn deliver(&mut self, server: &mut Server, at: Key, packet: &mut Packet);
    /// A neighbour lives or died.
    fn neighbour(&mut self, server: &mut Server, port: u32, up: bool) {}
    /// The time of `set_timer` has come.
    fn timer(&mut self, server: &mut Server) {}
    /// A message from outside.
    fn message(&mut self, server: &mut Server, message: &mut Packet) {}
}

pub const BUFFER_BYTES: usize = 32 * 1024;

static mut BUFFER: [u8; BUFFER_BYTES] = [0; BUFFER_BYTES];

pub fn buffer() -> *mut u8 {
    &raw mut BUFFER as *mut u8
}

pub fn packet(length: u32) -> Packet {
    Packet { length: (length as usize).min(BUFFER_BYTES) }
}

pub fn server() -> Server {
    Server(())
}

pub const fn key(key: u32) -> Key {
    Key(key)
}

/// Exports a service. Once in a module.
#[macro_export]
macro_rules! service {
    ($service:ty) => {
        static mut INSTANCE: $service = <$service as $crate::cubeyard::Service>::NEW;

        fn instance() -> &'static mut $service {
            // SAFETY: a module has one thread, and the host never calls it from inside a call.
            unsafe { &mut *(&raw mut INSTANCE) }
        }

        #[unsafe(no_mangle)]
        extern "C" fn buffer() -> *mut u8 {
            $crate::cubeyard::buffer()
        }
        #[unsafe(no_mangle)]
        extern "C" fn init() {
            $crate::cubeyard::Service::init(instance());
        }
        #[unsafe(no_mangle)]
        extern "C" fn packet(port: u32, length: u32) -> u32 {
            let mut packet = $crate::cubeyard::packet(length);
            $crate::cubeyard::Service::packet(instance(), &mut $crate::cubeyard::server(), port, &mut packet) as u32
        }
        #[unsafe(export_name = "F")]
        extern "C" fn next(at: u32, length: u32) {
            let mut packet = $crate::cubeyard::packet(length);
            let at = $crate::cubeyard::key(at);
            $crate::cubeyard::Service::next(instance(), &mut $crate::cubeyard::server(), at, &mut packet);
        }
        #[unsafe(no_mangle)]
        extern "C" fn classify(length: u32) -> u32 {
            let mut packet = $crate::cubeyard::packet(length);
            $crate::cubeyard::Service::classify(instance(), &mut packet).into()
        }
        #[unsafe(no_mangle)]
        extern "C" fn queue(queue: u32) -> u64 {
            let (max_millis, weight) = $crate::cubeyard::Service::queue(instance(), queue as u8);
            u64::from(max_millis) << 32 | u64::from(weight)
        }
        #[unsafe(no_mangle)]
        extern "C" fn deliver(at: u32, length: u32) {
            let mut packet = $crate::cubeyard::packet(length);
            let at = $crate::cubeyard::key(at);
            $crate::cubeyard::Service::deliver(instance(), &mut $crate::cubeyard::server(), at, &mut packet);
        }
        #[unsafe(no_mangle)]
        extern "C" fn neighbour(port: u32, up: u32) {
            $crate::cubeyard::Service::neighbour(instance(), &mut $crate::cubeyard::server(), port, up != 0);
        }
        #[unsafe(no_mangle)]
        extern "C" fn timer() {
            $crate::cubeyard::Service::timer(instance(), &mut $crate::cubeyard::server());
        }
        #[unsafe(no_mangle)]
        extern "C" fn message(length: u32) {
            let mut message = $crate::cubeyard::packet(length);
            $crate::cubeyard::Service::message(instance(), &mut $crate::cubeyard::server(), &mut message);
        }

        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
            core::arch::wasm32::unreachable()
        }
    };
}

mod imports {
    #[link(wasm_import_module = "cubeyard")]
    unsafe extern "C" {
        pub fn here() -> u32;
        pub fn size(axis: u32) -> u32;
        pub fn neighbour(port: u32) -> i32;
        pub fn reachable(key: u32) -> u32;
        pub fn root_of(key: u32) -> i32;
        pub fn responsible(key: u32) -> u32;
        pub fn dist(a: u32, b: u32) -> u32;
        pub fn dist_axis(a: u32, b: u32, axis: u32) -> u32;
        pub fn neighbour_key(key: u32, axis: u32, up: u32) -> i32;
        pub fn key() -> u32;
        pub fn colour() -> u32;
        pub fn set_colour(colour: u32);
        pub fn set_length(length: u32);
        pub fn next(key: u32) -> u32;
        pub fn route(at: *const u8, length: usize, key: u32) -> u32;
        pub fn transmit(at: *const u8, length: usize, key: u32) -> u32;
        pub fn send(port: u32, at: *const u8, length: usize) -> u32;
        pub fn answer(at: *const u8, length: usize) -> u32;
        pub fn waiting() -> u32;
        pub fn max_payload() -> u32;
        pub fn now_ms() -> u64;
        pub fn random() -> u64;
        pub fn set_timer(millis: u32);
        pub fn count(counter: u32, by: u32);
    }
}
