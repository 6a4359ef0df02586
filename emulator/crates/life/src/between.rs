//! Throughput between computed states: a curve that never rises, over a weighted share of failed
//! parts.
//!
//! The weights of servers, switches and links are chosen from a coarse grid by cross-validation:
//! those that best predict states left out of the fit. The curve is the isotonic regression of the
//! computed states (pool adjacent violators) with straight lines between. Each value has the
//! cross-validation error, and lives scatter around the curve like the left-out states. `[ours]`

/// Shares of servers, switches, links and PDUs that are down. The servers and switches of a failed
/// PDU count too; the PDU's weight is for their simultaneous failure.
pub type Shares = [f64; 4];

/// Steps of the grid of weights.
const STEPS: usize = 10;
/// Number of parts into which the computed states are divided for cross-validation; each is left
/// out once.
const FOLDS: usize = 10;
/// The least loss of the curve at which its error is measured.
const LEAST_LOSS: f64 = 0.03;
/// The loss above which lives scatter as much as states do; or the farthest state, if that is more.
const FULL_SCATTER: f64 = 0.1;

/// A computed state: the shares that are down, and the remaining share of the whole network's
/// throughput.
pub type Known = (Shares, f64);

/// The fitted curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Weights of servers, switches, links and PDUs; their sum is 1.
    pub weights: Shares,
    /// Ascending weighted shares, with the remaining throughput at each.
    knots: Vec<(f64, f64)>,
    /// The differences of left-out states from the curve, ascending.
    scatter: Vec<f64>,
    /// The error of the curve for left-out states, as a share of the whole network's throughput:
    /// mean and largest.
    pub error: Option<(f64, f64)>,
}

impl Between {
    /// Fits the curve to states in any order; without any states, nothing is lost anywhere.
    pub fn new(known: &[Known]) -> Between {
        let mut best: Option<(f64, f64, Shares)> = None;
        for weights in grid() {
            let (mean, most) = error_of(known, &left_out(known, weights));
            if best.is_none_or(|(least, ..)| mean < least - 1e-12) {
                best = Some((mean, most, weights));
            }
        }
        let (mean, most, weights) = best.unwrap_or((0.0, 0.0, [1.0, 0.0, 0.0, 0.0]));
        Between {
            weights,
            scatter: scatter_of(known, &left_out(known, weights)),
            knots: fitted(
                known
                    .iter()
                    .map(|&(shares, left)| (weighed(shares, weights), left)),
            ),
            error: (known.len() > 1).then_some((mean, most)),
        }
    }

    /// The remaining share of the throughput if these shares are down.
    pub fn left(&self, shares: Shares) -> f64 {
        on_line(&self.knots, weighed(shares, self.weights))
    }

    /// The same for a life with this rank, 0 to 1, among lives with the same shares down. The
    /// position of failed servers and switches matters too, so states scatter around the curve. A
    /// life keeps its rank, so that its throughput never rises by itself. The scatter is small if
    /// few parts are down, and zero if none are.
    pub fn left_at(&self, shares: Shares, place: f64) -> f64 {
        let left = self.left(shares);
        let at = (place * self.scatter.len() as f64) as usize;
        let more = self.scatter.get(at).copied().unwrap_or(0.0);
        let most = self
            .scatter
            .iter()
            .fold(FULL_SCATTER, |most, more| most.max(more.abs()));
        (left + more * ((1.0 - left) / most).min(1.0)).clamp(0.0, 1.0)
    }
}

/// All weights of the grid.
fn grid() -> impl Iterator<Item = Shares> {
    let part = |steps: usize| steps as f64 / STEPS as f64;
    (0..=STEPS).flat_map(move |server| {
        (0..=STEPS - server).flat_map(move |switch| {
            let rest = STEPS - server - switch;
            (0..=rest).map(move |link| [part(server), part(switch), part(link), part(rest - link)])
        })
    })
}

fn weighed(shares: Shares, weights: Shares) -> f64 {
    shares
        .iter()
        .zip(weights)
        .map(|(share, weight)| share * weight)
        .sum()
}

/// The predictions of curves for states that were left out of their fit.
fn left_out(known: &[Known], weights: Shares) -> Vec<f64> {
    let folds = FOLDS.min(known.len());
    let mut told = vec![1.0; known.len()];
    for fold in 0..folds {
        let rest = known.iter().enumerate().filter(|(i, _)| i % folds != fold);
        let knots = fitted(rest.map(|(_, &(shares, left))| (weighed(shares, weights), left)));
        for (i, (shares, _)) in known.iter().enumerate().skip(fold).step_by(folds) {
            told[i] = on_line(&knots, weighed(*shares, weights));
        }
    }
    told
}

/// Mean and largest difference.
fn error_of(known: &[Known], told: &[f64]) -> (f64, f64) {
    let off = known
        .iter()
        .zip(told)
        .map(|((_, left), told)| (told - left).abs());
    let (sum, most) = off.fold((0.0, 0.0f64), |(sum, most), off| (sum + off, most.max(off)));
    (sum / known.len().max(1) as f64, most)
}

/// Ascending differences of states from the curve, where the curve's loss is significant.
fn scatter_of(known: &[Known], told: &[f64]) -> Vec<f64> {
    let pairs = known
        .iter()
        .zip(told)
        .filter(|&(_, &told)| told < 1.0 - LEAST_LOSS);
    let mut scatter: Vec<f64> = pairs.map(|((_, left), told)| left - told).collect();
    scatter.sort_by(f64::total_cmp);
    scatter
}

/// The knots of the isotonic curve, starting at 1 with nothing down.
fn fitted(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    // A block: the sum of its shares and values, and its size.
    let mut blocks: Vec<(f64, f64, f64)> = Vec::new();
    for (share, left) in points {
        blocks.push((share, left.min(1.0), 1.0));
        while let [.., (s0, y0, n0), (s1, y1, n1)] = blocks[..] {
            let same = s0 / n0 >= s1 / n1;
            if !same && y0 / n0 >= y1 / n1 {
                break;
            }
            blocks.truncate(blocks.len() - 2);
            blocks.push((s0 + s1, y0 + y1, n0 + n1));
        }
    }
    let mut knots = vec![(0.0, 1.0)];
    knots.extend(
        blocks
            .into_iter()
            .map(|(share, left, count)| (share / count, left / count)),
    );
    knots
}

fn on_line(knots: &[(f64, f64)], share: f64) -> f64 {
    let after = knots.partition_point(|&(at, _)| at <= share);
    let (x0, y0) = knots[after.saturating_sub(1)];
    match knots.get(after) {
        Some(&(x1, y1)) if after > 0 => y0 + (y1 - y0) * (share - x0) / (x1 - x0),
        _ => y0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_through_states_that_fall_and_pools_those_that_rise() {
        let known = [
            ([0.1, 0.0, 0.0, 0.0], 0.8),
            ([0.2, 0.0, 0.0, 0.0], 0.5),
            ([0.3, 0.0, 0.0, 0.0], 0.7),
            ([0.5, 0.0, 0.0, 0.0], 0.2),
        ];
        let between = Between::new(&known);
        assert_eq!(between.left([0.0; 4]), 1.0);
        assert!((between.left([0.1, 0.0, 0.0, 0.0]) - 0.8).abs() < 1e-12);
        assert!((between.left([0.05, 0.0, 0.0, 0.0]) - 0.9).abs() < 1e-12);
        assert!((between.left([0.25, 0.0, 0.0, 0.0]) - 0.6).abs() < 1e-12);
        assert!((between.left([0.9, 0.0, 0.0, 0.0]) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn it_finds_which_kind_matters() {
        let known: Vec<Known> = (0..40)
            .map(|i| {
                let (servers, switches) = (f64::from(i % 7) / 20.0, f64::from(i % 5) / 20.0);
                ([servers, switches, 0.0, 0.0], 1.0 - switches)
            })
            .collect();
        let between = Between::new(&known);
        assert!(between.weights[1] > between.weights[0], "{:?}", between.weights);
        assert!(between.error.unwrap().1 < 0.1, "{:?}", between.error);
    }

    /// With two kinds of states of equal shares, if the loss of one kind is twice that of the
    /// other, ranks alternate regularly between both sides of the curve.
    #[test]
    fn places_spread_as_the_states_do() {
        let known: Vec<Known> = (1..60)
            .map(|i| {
                (
                    [f64::from(i) / 100.0, 0.0, 0.0, 0.0],
                    1.0 - f64::from(i) / 100.0 * f64::from(1 + i % 2),
                )
            })
            .collect();
        let between = Between::new(&known);
        let at = |place: f64| between.left_at([0.3, 0.0, 0.0, 0.0], place);
        assert!(at(0.05) < 0.5 && at(0.95) > 0.6, "{} {}", at(0.05), at(0.95));
        assert!((1..20).all(|i| at(f64::from(i) / 20.0) >= at(f64::from(i - 1) / 20.0)));
        let worse =
            |place: f64, share: u32| between.left_at([f64::from(share) / 100.0, 0.0, 0.0, 0.0], place);
        assert!(
            [0.0, 0.5, 0.99]
                .iter()
                .all(|&place| (1..60).all(|i| worse(place, i) <= worse(place, i - 1)))
        );
        assert_eq!(between.left_at([0.0; 4], 0.95), 1.0);
    }

    #[test]
    fn without_states_all_is_left() {
        assert_eq!(Between::new(&[]).left([0.5; 4]), 1.0);
    }
}
