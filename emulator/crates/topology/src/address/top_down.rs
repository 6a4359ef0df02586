//! The order in which a DCell_3 grows from the top down. `[dcell §5]`
//!
//! A DCell_3 starts as a large number of incomplete, fully connected DCell_2s, so that no two parts
//! depend on a single link. DCell_1s (racks) are added whole. The paper's text leaves the order of
//! the steps open; this one is ours: in step `c` each existing DCell_2 gets its `c`th DCell_1. Then
//! DCell_2s of `c` DCell_1s are added until there are `c t_1 + 1` DCell_2s, the largest number that
//! can all be linked with each other. After the last step the DCell_3 is complete.

/// Servers of a DCell_3 in the order of their addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TopDown {
    /// Servers of a DCell_1, `t_1`, and of a complete DCell_2, `t_2`.
    unit: u64,
    below: u64,
}

impl TopDown {
    pub fn new(unit: u64, below: u64) -> TopDown {
        TopDown { unit, below }
    }

    /// DCell_1s present after step `step`: `step` in each of `step t_1 + 1` DCell_2s.
    fn after(&self, step: u64) -> u64 {
        step * (step * self.unit + u64::from(step > 0))
    }

    /// DCell_2s present after step `step`.
    fn cells_after(&self, step: u64) -> u64 {
        if step == 0 { 0 } else { step * self.unit + 1 }
    }

    /// The uid of the server that is added after `position` others.
    #[inline]
    pub fn uid(&self, position: u64) -> u64 {
        let (added, server) = (position / self.unit, position % self.unit);
        // The steps that are complete: the greatest s with s (s t_1 + 1) <= added.
        let done = ((1 + 4 * self.unit * added).isqrt() - 1) / (2 * self.unit);
        let (offset, there) = (added - self.after(done), self.cells_after(done));
        let (cell, rack) = if offset < there {
            (offset, done)
        } else {
            let offset = offset - there;
            (there + offset / (done + 1), offset % (done + 1))
        };
        cell * self.below + rack * self.unit + server
    }

    /// The number of servers added before the one with this uid: the inverse of [`TopDown::uid`].
    #[inline]
    pub fn position(&self, uid: u64) -> u64 {
        let (cell, inside) = (uid / self.below, uid % self.below);
        let (rack, server) = (inside / self.unit, inside % self.unit);
        // The step in which the DCell_2 starts.
        let start = cell.div_ceil(self.unit).max(1);
        let added = if rack < start {
            let there = self.cells_after(start - 1);
            self.after(start - 1) + there + (cell - there) * start + rack
        } else {
            self.after(rack) + cell
        };
        added * self.unit + server
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    /// The steps of the module's text, one by one: the DCell_2 of each DCell_1 that is added.
    fn step_by_step(unit: u64, racks: u64) -> Vec<(u64, u64)> {
        let mut order = Vec::new();
        let mut cells = 0;
        for step in 1..=racks {
            order.extend((0..cells).map(|cell| (cell, step - 1)));
            let most = step * unit + 1;
            order.extend((cells..most).flat_map(|cell| (0..step).map(move |rack| (cell, rack))));
            cells = most;
        }
        order
    }

    #[test]
    fn the_formulas_are_the_steps_one_by_one() {
        for n in 2..=4u64 {
            let unit = n * (n + 1);
            let order = TopDown::new(unit, unit * (unit + 1));
            let steps = step_by_step(unit, unit + 1);
            // The last step completes the DCell_3: t_2 + 1 DCell_2s.
            assert_eq!(steps.len() as u64, (unit + 1) * (unit * (unit + 1) + 1));
            for (added, (cell, rack)) in steps.into_iter().enumerate() {
                let uid = order.uid(added as u64 * unit);
                assert_eq!(uid, cell * unit * (unit + 1) + rack * unit, "n = {n}, {added}");
            }
        }
    }

    proptest! {
        #[test]
        fn positions_and_uids_are_inverse(n in 2u64..=1_000, position in 0u64..=1 << 40) {
            let unit = n * (n + 1);
            let below = unit * (unit + 1);
            let order = TopDown::new(unit, below);
            let position = position % below.saturating_mul(below + 1);
            prop_assert_eq!(order.position(order.uid(position)), position);
        }
    }
}
