//! Cuts bulk cable: assigns pieces to boxes, and computes the remaining length.

use std::cmp::Reverse;

/// Pieces of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub length_mm: u32,
    pub pieces: u32,
}

/// The boxes a cut list takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boxes {
    pub boxes: u32,
    /// Metres left over in all of them.
    pub waste_mm: u64,
    /// Pieces longer than a box, which cannot be cut and are in no box.
    pub too_long: u32,
}

/// First-fit decreasing: longest pieces first, each from the first box with enough left. Never more
/// than 11/9 of the fewest boxes possible plus one (Dosa 2007).
///
/// `cuts` may come in any order; equal lengths may be split over entries.
pub fn first_fit_decreasing(cuts: &[Cut], box_mm: u32) -> Boxes {
    let mut sorted = cuts.to_vec();
    sorted.sort_by_key(|cut| Reverse(cut.length_mm));
    let mut left_mm: Vec<u32> = Vec::new();
    let mut out = Boxes::default();
    for cut in sorted {
        if cut.length_mm > box_mm {
            out.too_long += cut.pieces;
            continue;
        }
        let length = cut.length_mm.max(1);
        let mut pieces = cut.pieces;
        for left in &mut left_mm {
            let taken = pieces.min(*left / length);
            *left -= taken * length;
            pieces -= taken;
            if pieces == 0 {
                break;
            }
        }
        while pieces > 0 {
            let taken = pieces.min(box_mm / length);
            left_mm.push(box_mm - taken * length);
            pieces -= taken;
        }
    }
    out.boxes = left_mm.len() as u32;
    out.waste_mm = left_mm.iter().map(|&mm| u64::from(mm)).sum();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Metres in = metres out, and no more than FFD's bound over the least number of boxes by
        /// volume.
        #[test]
        fn what_is_cut_and_what_is_left_fill_the_boxes(
            lengths in proptest::collection::vec((300u32..60_000, 1u32..50), 1..40),
        ) {
            let cuts: Vec<Cut> =
                lengths.iter().map(|&(length_mm, pieces)| Cut { length_mm, pieces }).collect();
            let boxes = first_fit_decreasing(&cuts, 305_000);
            let used: u64 = cuts.iter().map(|c| u64::from(c.length_mm) * u64::from(c.pieces)).sum();
            prop_assert_eq!(used + boxes.waste_mm, u64::from(boxes.boxes) * 305_000);
            prop_assert_eq!(boxes.too_long, 0);
            // No piece is above a fifth of a box, so first fit leaves every box but the last over
            // 4/5 full.
            let full_enough = u64::from(boxes.boxes.saturating_sub(1)) * (305_000 - 60_000);
            prop_assert!(used >= full_enough, "{used} mm in {} boxes", boxes.boxes);
        }

        /// The same as placing the pieces one by one.
        #[test]
        fn grouping_equal_pieces_changes_nothing(
            lengths in proptest::collection::vec(100u32..1000, 1..60),
        ) {
            let cuts: Vec<Cut> = lengths.iter().map(|&length_mm| Cut { length_mm, pieces: 1 }).collect();
            let mut sorted = lengths;
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let mut boxes: Vec<u32> = Vec::new();
            for piece in sorted {
                match boxes.iter_mut().find(|left| **left >= piece) {
                    Some(left) => *left -= piece,
                    None => boxes.push(1000 - piece),
                }
            }
            prop_assert_eq!(first_fit_decreasing(&cuts, 1000).boxes as usize, boxes.len());
        }
    }

    #[test]
    fn a_piece_longer_than_a_box_is_reported() {
        let cuts = [
            Cut {
                length_mm: 400_000,
                pieces: 2,
            },
            Cut {
                length_mm: 100_000,
                pieces: 3,
            },
        ];
        let boxes = first_fit_decreasing(&cuts, 305_000);
        assert_eq!(
            boxes,
            Boxes {
                boxes: 1,
                waste_mm: 5_000,
                too_long: 2
            }
        );
    }
}
