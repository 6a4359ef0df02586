//! Adaptive load balancing: where new flows go, and where existing ones move. `[subways §5.2]`

/// The least share of a link, and of a ToR, that rebinding counts with `[ours]`: by the text's
/// formula a server that sends nothing over a ToR would never send anything over it again.
pub const LEAST_SHARE: f64 = 0.01;

/// The text's c: how far one rebinding goes towards even use.
pub const AGGRESSIVENESS: f64 = 0.5;

/// The weight of a server's measured split relative to the split that its weights intended
/// `[ours]`. A few flows cannot be split exactly by weights. With the measured split alone, weights
/// that moved no flow would never change. With the intended split alone, flows that fill every link
/// (so that all links look equally used) would stay unevenly split.
const MEASURED: f64 = 0.1;

/// One of a server's links, in one direction, when the server rebinds its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundLink {
    /// Capacity of its ToR's uplinks, in any one unit.
    pub tor_capacity: f64,
    /// The fraction of them in use.
    pub tor_utilisation: f64,
    /// The probability with which flows are bound to the link now, relative to the server's others.
    pub weight: f64,
    /// The rate of the server's flows over this link, in the unit of `rate`.
    pub carried: f64,
    /// The capacity of the link.
    pub rate: f64,
}

/// The probabilities with which a server's flows are bound to its links from now on: rebinding, or
/// placement by [`placement_weights`] where the server has no flow to rebind.
pub fn rebind(links: &[BoundLink]) -> Vec<f64> {
    let column = |of: fn(&BoundLink) -> f64| links.iter().map(of).collect::<Vec<f64>>();
    let (capacity, utilisation) = (
        column(|link| link.tor_capacity),
        column(|link| link.tor_utilisation),
    );
    let (carried, rates) = (column(|link| link.carried), column(|link| link.rate));
    let traffic: f64 = carried.iter().sum();
    if traffic <= 0.0 {
        return placement_weights(&capacity, &utilisation);
    }
    let meant = normalised(&column(|link| link.weight));
    let split = meant.iter().zip(&carried);
    let share: Vec<f64> = split
        .map(|(meant, carried)| meant + MEASURED * (carried / traffic - meant))
        .collect();
    // As fractions of links, so that no link gets more than it carries. Averages may exceed what
    // all links carry together.
    let used: f64 = share.iter().zip(&rates).map(|(share, rate)| share * rate).sum();
    let scale = (traffic.min(rates.iter().sum()) / used).max(1.0);
    let share: Vec<f64> = share.iter().map(|share| share * scale).collect();
    rebind_probabilities(&capacity, &utilisation, &share, &rates, AGGRESSIVENESS)
}

/// The probability of placing a new flow on each of a server's ToRs: in proportion to the capacity
/// left, `B_i (1 - U_i)`. For source ToRs `utilisation` is that of the uplinks, for destination
/// ToRs that of the links down to them (the text's V and E).
///
/// `capacity` in any unit, `utilisation` as fractions; equally many. Where nothing is left
/// anywhere, in proportion to the capacities.
pub fn placement_weights(capacity: &[f64], utilisation: &[f64]) -> Vec<f64> {
    let left: Vec<f64> = capacity
        .iter()
        .zip(utilisation)
        .map(|(capacity, used)| capacity * (1.0 - used).max(0.0))
        .collect();
    if left.iter().sum::<f64>() > 0.0 {
        normalised(&left)
    } else {
        normalised(capacity)
    }
}

/// The probability that a flow is rebound to each of a server's ToRs.
///
/// `tor_capacity` and `tor_utilisation` are the ToRs' `B_i` and `U_i`; `link_share` the fraction
/// `u_i` of its link to each ToR that the server uses, `link_rate` the links' `b_i` (in one unit);
/// `aggressiveness` the text's c (0.5 there). The target is
/// `t_i = c u_i U_target / U_i + (1 - c) u_i` with `U_target` the mean utilisation by capacity, and
/// `P_i = t_i / sum t`. Where `P_i` of the server's traffic exceeds `b_i`, the link gets as much as
/// fits and the excess goes evenly to the others, again capped where that overfills them.
pub fn rebind_probabilities(
    tor_capacity: &[f64],
    tor_utilisation: &[f64],
    link_share: &[f64],
    link_rate: &[f64],
    aggressiveness: f64,
) -> Vec<f64> {
    let used: f64 = tor_capacity
        .iter()
        .zip(tor_utilisation)
        .map(|(capacity, used)| capacity * used)
        .sum();
    let target = used / tor_capacity.iter().sum::<f64>();
    let targets: Vec<f64> = link_share
        .iter()
        .zip(tor_utilisation)
        .map(|(&share, &used)| {
            let share = share.max(LEAST_SHARE);
            let scaled = share * target.max(LEAST_SHARE) / used.max(LEAST_SHARE);
            aggressiveness * scaled + (1.0 - aggressiveness) * share
        })
        .collect();
    let mut probabilities = normalised(&targets);
    let traffic: f64 = link_share
        .iter()
        .zip(link_rate)
        .map(|(share, rate)| share * rate)
        .sum();
    if traffic > 0.0 {
        cap(&mut probabilities, link_rate, traffic);
    }
    probabilities
}

/// Cuts what exceeds a link and spreads it evenly over those with room. The traffic fits the links
/// as a whole (it came from them), so this ends, after at most one round a link.
fn cap(probabilities: &mut [f64], link_rate: &[f64], traffic: f64) {
    let mut full = vec![false; probabilities.len()];
    loop {
        let mut excess = 0.0;
        for (index, probability) in probabilities.iter_mut().enumerate() {
            let most = link_rate[index] / traffic;
            if *probability > most {
                excess += *probability - most;
                *probability = most;
                full[index] = true;
            }
        }
        let open = full.iter().filter(|&&full| !full).count();
        if excess <= 0.0 || open == 0 {
            return;
        }
        for (probability, _) in probabilities.iter_mut().zip(&full).filter(|(_, full)| !**full) {
            *probability += excess / open as f64;
        }
    }
}

fn normalised(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}
