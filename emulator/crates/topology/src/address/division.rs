//! Division by a number that is fixed for a network, carried out as a multiplication.

/// A divisor from 2 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    divisor: u64,
    /// `2^64 / divisor`, rounded down, and one more.
    factor: u64,
}

impl Divisor {
    /// `divisor` is 2 or more.
    pub fn new(divisor: u64) -> Divisor {
        debug_assert!(divisor > 1);
        Divisor {
            divisor,
            factor: (u128::from(u64::MAX) + 1).div_euclid(u128::from(divisor)) as u64 + 1,
        }
    }

    /// `value / divisor`. The product is exact for values of 32 bits: the factor is too large by
    /// less than one, so that the quotient is too large by less than `2^32 / 2^64`, and no fraction
    /// of `divisor` is that near to the next whole.
    #[inline]
    pub fn quotient(self, value: u64) -> u64 {
        if value <= u64::from(u32::MAX) {
            ((u128::from(self.factor) * u128::from(value)) >> 64) as u64
        } else {
            value / self.divisor
        }
    }

    /// `value % divisor`.
    #[inline]
    pub fn remainder(self, value: u64) -> u64 {
        value - self.quotient(value) * self.divisor
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_division(
            value in prop_oneof![any::<u64>(), 0..1u64 << 33, Just(u64::from(u32::MAX))],
            divisor in prop_oneof![2..u64::MAX, 2..1u64 << 33, 2..100u64, Just(u64::MAX), Just(1 << 32)],
        ) {
            let by = Divisor::new(divisor);
            prop_assert_eq!(by.quotient(value), value / divisor);
            prop_assert_eq!(by.remainder(value), value % divisor);
        }

        /// Values next to multiples of the divisor, where an error would show first.
        #[test]
        fn it_is_division_next_to_multiples(quotient in 0..=u64::from(u32::MAX), divisor in 2..1u64 << 32, below: bool) {
            let value = (quotient / divisor * divisor).saturating_sub(u64::from(below));
            prop_assert_eq!(Divisor::new(divisor).quotient(value), value / divisor);
        }
    }
}
