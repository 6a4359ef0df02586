//! The container of 2,048 servers and 1,280 switches. `[bcube §5.2]`

use cubeyard_plan::{builtin_book, plan, read_spec};
use cubeyard_topology::Finding;

use super::{Context, Outcome, Row};
use crate::flow::PredictError;

/// The plan of a spec with the paper's parts.
pub(super) fn paper_plan(spec: &str) -> Result<cubeyard_plan::Plan, PredictError> {
    let findings = |error: cubeyard_plan::PlanError| PredictError::Findings(error.findings);
    let book = builtin_book("paper-2009").ok_or_else(|| {
        PredictError::Findings(vec![Finding::error(
            "no-such-book",
            "catalog",
            "The price book paper-2009 is not built in.",
            "Build the engine with it.",
        )])
    })?;
    plan(&read_spec(spec).map_err(findings)?, &book).map_err(findings)
}

pub(super) fn compute(_: &Context<'_>) -> Result<Outcome, PredictError> {
    let plan = paper_plan(r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#)?;
    let (racks, cuts) = (&plan.layout.racks, &plan.wiring.cuts);
    let level_peak = |level: u8| {
        let peak = cuts.peak_by_level.iter().find(|peak| peak.level == level);
        peak.map_or(0.0, |peak| f64::from(peak.cables))
    };
    let most = |values: &[u32]| f64::from(values.iter().copied().max().unwrap_or(0));
    let units = racks.units_used.iter().copied().max().unwrap_or(0);
    let in_rack = (0..2).fold(0.0, |leaving, level: u8| leaving + level_peak(level));
    Ok(Outcome {
        rows: vec![
            Row::printed("switches", "", 1280.0, 1.0, f64::from(plan.topology.switch_count())),
            Row::printed("racks", "", 32.0, 1.0, racks.len() as f64),
            Row::printed("columns of racks", "", 2.0, 1.0, f64::from(plan.layout.site.columns)),
            Row::printed("servers in a rack", "", 64.0, 1.0, most(&racks.servers)),
            Row::printed("switches in a rack", "", 40.0, 1.0, most(&racks.switches)),
            Row::printed("units used in a rack", "U", 42.0, 1.0, f64::from(units)),
            Row::printed("wires of levels 0 and 1 that leave a rack", "", 0.0, 1.0, in_rack),
            Row::printed("most level-2 wires on a column", "", 256.0, 1.0, level_peak(2)),
            Row::printed("most level-3 wires on a column", "", 512.0, 1.0, level_peak(3)),
            Row::printed(
                "level-2 and level-3 wires on a column, sum of both peaks",
                "",
                768.0,
                1.0,
                f64::from(cuts.sum_of_peaks_cables),
            ),
            Row::printed("space for them", "cm2", 176.0, 1.0, cuts.sum_of_peaks_area_cm2),
            Row::at_most("wires on a column's worst single cut", "", 768.0, f64::from(cuts.worst_cables))
                .because("the peaks of the two levels lie at different cuts: 768 is an upper bound that no cut reaches"),
        ],
        choices: vec!["no packing loss between round wires, as in the paper: 768 pi 0.27 cm squared"],
        ..Outcome::default()
    })
}
