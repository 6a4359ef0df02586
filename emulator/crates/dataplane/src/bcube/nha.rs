//! The next-hop byte, which names a neighbour. `[bcube §7.1]`

/// A next hop in one byte, NHA [bcube §7.1]: DP (two bits), the digit of the address that differs
/// from the previous server's, and DV (six bits), the value of that digit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nha(pub u8);

impl Nha {
    /// Number of levels that DP can name: `k` is at most 3.
    pub const LEVELS: u8 = 4;
    /// Number of digits that DV can name: `n` is at most 64.
    pub const DIGITS: u8 = 64;
    /// Number of values of the byte, which is the length of the neighbour status table.
    pub const VALUES: usize = 256;

    /// The neighbour with this digit at this level; `None` if they exceed two and six bits.
    pub fn new(level: u32, digit: u32) -> Option<Nha> {
        (level < u32::from(Nha::LEVELS) && digit < u32::from(Nha::DIGITS))
            .then_some(Nha((level << 6 | digit) as u8))
    }

    /// DP: the level of the digit that differs, and of the switch between the two servers.
    pub fn level(self) -> u32 {
        u32::from(self.0 >> 6)
    }

    /// DV: the neighbour's digit at that level.
    pub fn digit(self) -> u32 {
        u32::from(self.0 & 0x3f)
    }

    /// Index in the neighbour status table.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
