//! The byte that names a neighbour. `[bcube §7.1]`

/// A next hop in one byte, NHA [bcube §7.1]: which digit of its address differs from the server
/// before it (DP, two bits) and what that digit is (DV, six bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nha(pub u8);

impl Nha {
    /// Levels that DP can name: `k` is at most 3.
    pub const LEVELS: u8 = 4;
    /// Digits that DV can name: `n` is at most 64.
    pub const DIGITS: u8 = 64;
    /// Values of the byte: the length of the neighbour status table.
    pub const VALUES: usize = 256;

    /// The neighbour with digit `digit` at level `level`. `None` where two and six bits do not hold
    /// them.
    pub fn new(level: u32, digit: u32) -> Option<Nha> {
        (level < u32::from(Nha::LEVELS) && digit < u32::from(Nha::DIGITS))
            .then_some(Nha((level << 6 | digit) as u8))
    }

    /// DP: the level of the digit that differs, and of the switch in between.
    pub fn level(self) -> u32 {
        u32::from(self.0 >> 6)
    }

    /// DV: the neighbour's digit at that level.
    pub fn digit(self) -> u32 {
        u32::from(self.0 & 0x3f)
    }

    /// Index of the neighbour status table.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
