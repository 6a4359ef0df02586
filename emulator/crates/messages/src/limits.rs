//! Every limit of both directions.

/// Longest datagram, in bytes.
pub const DATAGRAM_BYTES: usize = 64 * 1024;
/// The most messages that wait for a node which does not read; further ones that may be lost are
/// dropped.
pub const WAITING_FOR_NODE: usize = 1024;
/// Messages that wait for a fabric which does not read; the oldest are dropped beyond.
pub const WAITING_FOR_FABRIC: usize = 8192;
/// Messages per second that a fabric accepts from one node in the long run; twice as many in a
/// burst.
pub const NODE_MESSAGES_PER_SEC: f64 = 4000.0;
/// Longest message to a service, in bytes.
pub const SERVICE_MESSAGE_BYTES: usize = cubeyard_dataplane::service::MAX_MESSAGE_BYTES;
/// Bytes of a service's module in one datagram.
pub const MODULE_PART_BYTES: usize = 24 * 1024;
/// Rows of flows in one datagram.
pub const ROWS: usize = 200;
/// Bytes of flow orders in one datagram, well below what it may hold.
pub const ORDER_BYTES: usize = 32 * 1024;
/// Flows that one server may have, both ends together.
pub const FLOWS: usize = 8192;
/// Rates that links and flows may have, in bits per second.
pub const RATES_BITS_PER_SEC: std::ops::RangeInclusive<f64> = 1e3..=1e12;
/// Bytes of a chip's tables in one answer, which has two digits a byte on its way.
pub const CHIP_PART_BYTES: usize = 24 * 1024;
/// Longest request to a chip that goes through a datagram, in bytes: two digits each.
pub const CHIP_REQUEST_BYTES: usize = 28 * 1024;
