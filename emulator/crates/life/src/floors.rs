//! When lives fall below a floor.

use serde_json::{Value, json};

/// The `share` quantile of sorted values by nearest rank.
pub(crate) fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// The first point of each life below `floor`, as a document: the share of lives by month, and
/// months of quantiles. `null` for a quantile that the lives do not reach.
pub(crate) fn below<'a>(lives: impl Iterator<Item = &'a [f64]>, floor: f64, months: &[f64]) -> Value {
    let firsts: Vec<Option<usize>> = lives
        .map(|values| values.iter().position(|&value| value < floor * (1.0 - 1e-12)))
        .collect();
    let count = firsts.len().max(1) as f64;
    let mut fallen: Vec<usize> = firsts.iter().flatten().copied().collect();
    fallen.sort_unstable();
    // Lives that never fall below the floor are sorted to the end.
    let at = |share: f64| {
        let rank = (share * count).ceil().max(1.0) as usize - 1;
        fallen.get(rank).map(|&point| months[point])
    };
    let by_month: Vec<f64> = (0..months.len())
        .map(|point| fallen.partition_point(|&first| first <= point) as f64 / count)
        .collect();
    json!({
        "floor": floor,
        "probability": fallen.len() as f64 / count,
        "months": {"p5": at(0.05), "median": at(0.5), "p95": at(0.95)},
        "by_month": by_month,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fall_counts_even_if_a_visit_repairs_it() {
        let lives = [vec![1.0, 0.8, 1.0, 1.0], vec![1.0, 1.0, 1.0, 0.89], vec![1.0; 4]];
        let told = below(lives.iter().map(Vec::as_slice), 0.9, &[0.0, 6.0, 12.0, 18.0]);
        assert_eq!(told["by_month"][1], 1.0 / 3.0);
        assert_eq!(told["by_month"][2], 1.0 / 3.0);
        assert_eq!(told["probability"], 2.0 / 3.0);
        assert_eq!(told["months"]["p5"], 6.0);
        assert_eq!(told["months"]["median"], 18.0);
        assert_eq!(told["months"]["p95"], Value::Null);
    }

    #[test]
    fn at_the_floor_is_not_below_it() {
        let lives = [vec![0.9, 0.9]];
        assert_eq!(
            below(lives.iter().map(Vec::as_slice), 0.9, &[0.0, 1.0])["probability"],
            0.0
        );
    }
}
