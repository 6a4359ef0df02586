//! DCell's row of the comparison of structures; those of the others are in `dcell_table3_others`.
//! `[dcell §8, Table 3]`

use cubeyard_routing::Failures;
use cubeyard_routing::shortest::{Choice, Shortest};
use serde_json::json;

use super::{Context, Outcome, Row, built, dcell_table3_others};
use crate::flow::PredictError;
use crate::flows::{Flows, Pattern};
use crate::scheme::Scheme;

const BOUND: &str = "the paper gives a bound";

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let mut rows = Vec::new();
    for (n, k) in [(4u32, 1u32), (4, 2), (6, 2)] {
        let dcell = built(&json!({"family": "dcell", "n": n, "k": k}))?;
        let servers = dcell.server_count();
        let log = f64::from(servers).log(f64::from(n));
        let name = |what: &str| format!("DCell({n},{k}), {servers} servers: {what}");
        rows.push(Row::printed(
            name("node degree, k+1"),
            "",
            f64::from(k + 1),
            1e-9,
            f64::from(dcell.server_ports()),
        ));
        let shortest = Shortest::new(&dcell, Failures::none(&dcell), Choice::First);
        // From server 0's own sub-DCells all distances occur: sub-DCells are alike but for
        // numbering, so take all.
        let diameter = (0..servers)
            .map(|server| {
                let half_hops = shortest.half_hops(server);
                half_hops[..servers as usize].iter().copied().max().unwrap_or(0) / 2
            })
            .max()
            .unwrap_or(0);
        let bound = 2.0 * log - 1.0;
        rows.push(
            Row::at_most(
                name("diameter, below 2 log_n N - 1"),
                "hops",
                bound,
                f64::from(diameter),
            )
            .because(BOUND),
        );
        let bisection = dcell.metrics().bisection.value;
        let least = f64::from(servers) / (4.0 * log);
        rows.push(
            Row::at_least(
                name("bisection width, above N / (4 log_n N)"),
                "links",
                least,
                bisection,
            )
            .because(BOUND),
        );
        let flows = Flows::new((0..servers).collect(), Pattern::AllToAll);
        let scheme = Scheme::new(Some("dcell"), &dcell, Failures::none(&dcell))?;
        let load = scheme.count_links(&flows, &[], 0, context.progress)?;
        let both: Vec<u32> = load
            .per_directed_link
            .chunks_exact(2)
            .map(|link| link[0] + link[1])
            .collect();
        let most = both.iter().copied().max().unwrap_or(0);
        let bound = f64::from(servers) * log;
        rows.push(
            Row::at_most(
                name("bottleneck degree, below N log_n N"),
                "flows",
                bound,
                f64::from(load.most()),
            )
            .because(BOUND),
        );
        rows.push(
            Row::at_most(
                name("bottleneck degree, both directions of a link"),
                "flows",
                bound,
                f64::from(most),
            )
            .because("the paper's bound is for one direction where links are full duplex"),
        );
    }
    rows.extend(dcell_table3_others::rows(context)?);
    Ok(Outcome {
        rows,
        choices: vec![
            "complete DCells, DCellRouting, all-to-all; degree and bounds as in the table, logarithms to base n",
            "the bisection is that of the best cut known, an upper bound: it can contradict the paper's bound, not prove it",
            dcell_table3_others::CHOICE,
        ],
        ..Outcome::default()
    })
}
