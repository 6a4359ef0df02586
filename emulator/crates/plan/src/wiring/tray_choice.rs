//! Chooses the trays: the smallest that hold the cables at their fullest point, one or several side
//! by side. Reports trays that are still too full, with fixes and with the plan's acceptances.

use cubeyard_topology::Finding;
use serde_json::json;

use super::trays::{TrayKind, Trays};
use crate::book::{Book, PartKind};
use crate::geometry::Frame;
use crate::layout::Layout;
use crate::spec::{PlanSpec, USUAL_TRAY_FILL};

/// Inner cross-section assumed when the book has no tray `[ours]`.
const DEFAULT_TRAY_MM: [f64; 2] = [300.0, 100.0];
/// Most trays side by side that a repair proposes; the spec takes no more.
const MOST_SIDE_BY_SIDE: u32 = 8;
/// Share of a tray that round cables can fill at all `[ours]`: a plan may accept a fill up to here.
const MOST_FILL: f64 = 0.7;

/// A tray of the book.
#[derive(Clone, Copy)]
struct Offer {
    part: Option<usize>,
    width_metres: f64,
    area_cm2: f64,
}

/// Trays of one model side by side.
#[derive(Clone, Copy)]
struct Choice {
    offer: Offer,
    count: u32,
}

impl Choice {
    fn area_cm2(&self) -> f64 {
        f64::from(self.count) * self.offer.area_cm2
    }
}

/// The book's trays, smallest cross-section first; never empty.
fn offers_of(book: &Book) -> Vec<Offer> {
    let offer = |part, width_mm: f64, depth_mm: f64| Offer {
        part,
        width_metres: width_mm / 1000.0,
        area_cm2: width_mm * depth_mm / 100.0,
    };
    let mut offers: Vec<Offer> = book
        .parts_of(PartKind::Tray)
        .filter_map(|(i, p)| Some(offer(Some(i), p.attributes.width_mm?, p.attributes.depth_mm?)))
        .collect();
    offers.sort_by(|a, b| a.area_cm2.total_cmp(&b.area_cm2));
    if offers.is_empty() {
        offers.push(offer(None, DEFAULT_TRAY_MM[0], DEFAULT_TRAY_MM[1]));
    }
    offers
}

/// Width that the trays of one line may take `[ours]`: over a column the rack and half the aisle in
/// front of it; on a crossing the distance to the next crossing.
fn room_metres(layout: &Layout, kind: TrayKind) -> f64 {
    let site = &layout.site;
    match kind {
        TrayKind::Column | TrayKind::Underfloor => site.rack_depth_metres + site.aisle_metres / 2.0,
        TrayKind::Crossing => {
            let crossing = |&(at, _): &(usize, &f64)| layout.crossing_at[at];
            let at: Vec<f64> = layout
                .position_x_metres
                .iter()
                .enumerate()
                .filter(crossing)
                .map(|(_, &x)| x)
                .collect();
            let pitches = at.windows(2).map(|pair| pair[1] - pair[0]);
            pitches.fold(site.length_metres, f64::min)
        }
    }
}

/// The possible choices for one line: a single tray of any model, or several if they have room.
fn possible(offers: &[Offer], most: u32, room_metres: f64) -> impl Iterator<Item = Choice> {
    (1..=most).flat_map(move |count| {
        offers
            .iter()
            .filter(move |offer| count == 1 || f64::from(count) * offer.width_metres <= room_metres + 1e-9)
            .map(move |&offer| Choice { offer, count })
    })
}

/// For each kind the fewest and then smallest trays that stay within the limit at its fullest
/// place; the largest when none do.
pub(super) fn choose_trays(
    spec: &PlanSpec,
    layout: &Layout,
    book: &Book,
    trays: &mut Trays,
    findings: &mut Vec<Finding>,
) {
    let limit = spec.cabling.tray_fill_limit;
    // A limit above the usual fill allows fuller trays; it does not request smaller ones.
    let wanted = limit.min(USUAL_TRAY_FILL);
    let most = spec.cabling.trays_side_by_side.unwrap_or(1);
    let offers = offers_of(book);
    trays.fill = vec![0.0; trays.len()];
    for kind in TrayKind::ALL {
        let of_kind: Vec<usize> = (0..trays.len()).filter(|&i| trays.kind[i] == kind).collect();
        let Some(&worst) = of_kind
            .iter()
            .max_by(|&&a, &&b| trays.area_cm2[a].total_cmp(&trays.area_cm2[b]).then(b.cmp(&a)))
        else {
            continue;
        };
        let peak = trays.area_cm2[worst];
        let room = room_metres(layout, kind);
        let fits = |choice: &Choice| peak <= wanted * choice.area_cm2();
        let largest =
            |most| possible(&offers, most, room).max_by(|a, b| a.area_cm2().total_cmp(&b.area_cm2()));
        let Some(choice) = possible(&offers, most, room).find(fits).or_else(|| largest(most)) else {
            continue;
        };
        trays.part[kind.index()] = choice.offer.part;
        trays.side_by_side[kind.index()] = choice.count;
        for &i in &of_kind {
            trays.fill[i] = trays.area_cm2[i] / choice.area_cm2();
        }
        if trays.fill[worst] > limit {
            let over = of_kind.iter().filter(|&&i| trays.fill[i] > limit).count();
            let more = possible(&offers, MOST_SIDE_BY_SIDE, room).find(fits);
            findings.push(over_fill(trays, worst, over, choice, more, limit));
        }
    }
    findings.extend(accepted(trays, limit));
    report_clearance(layout, book, trays, findings);
}

/// The fullest tray of a kind is over the limit; `more` would hold its cables, where there is room
/// for it.
fn over_fill(
    trays: &Trays,
    worst: usize,
    over: usize,
    choice: Choice,
    more: Option<Choice>,
    limit: f64,
) -> Finding {
    let fill = trays.fill[worst];
    let kind = trays.kind[worst].name();
    let hint = match more {
        Some(more) => format!("Allow up to {} trays side by side.", more.count),
        None => "No tray of the price book, nor as many side by side as have room there, holds these cables. Thinner cables \
                 (cabling.media), a price book with larger trays, or open rows would help."
            .to_owned(),
    };
    let finding = Finding::warning(
        "tray-over-fill",
        "cabling.tray_fill_limit",
        format!(
            "{over} {kind} tray segments are fuller than {:.0} %; {} holds {} cables, {:.0} cm2 of {:.0} cm2 ({:.0} %).",
            limit * 100.0,
            trays.name[worst],
            trays.cables[worst],
            trays.area_cm2[worst],
            choice.area_cm2(),
            fill * 100.0
        ),
        hint,
    )
    .with_value(fill)
    .with_limit(limit);
    let finding = match more {
        Some(more) => finding.with_fix(json!({"cabling": {"trays_side_by_side": more.count}})),
        None => finding,
    };
    let needed = (fill * 100.0).ceil() / 100.0;
    if needed > MOST_FILL {
        return finding;
    }
    finding.with_acceptance(
        format!("Accept {:.0} %", needed * 100.0),
        json!({"cabling": {"tray_fill_limit": needed}}),
    )
}

/// Trays that only a limit above the usual one lets pass.
fn accepted(trays: &Trays, limit: f64) -> Option<Finding> {
    let passed = |&i: &usize| trays.fill[i] > USUAL_TRAY_FILL && trays.fill[i] <= limit;
    let fullest = (0..trays.len())
        .filter(passed)
        .max_by(|&a, &b| trays.fill[a].total_cmp(&trays.fill[b]).then(b.cmp(&a)))?;
    let count = (0..trays.len()).filter(passed).count();
    Some(
        Finding::info(
            "tray-fill-accepted",
            "cabling.tray_fill_limit",
            format!(
                "Accepted by the plan: tray fill limit {:.0} % (usual: {:.0} %). {count} tray segments are fuller than usual; {} \
                 is {:.0} % full.",
                limit * 100.0,
                USUAL_TRAY_FILL * 100.0,
                trays.name[fullest],
                trays.fill[fullest] * 100.0
            ),
            "Leave cabling.tray_fill_limit out to be warned again.",
        )
        .with_value(trays.fill[fullest])
        .with_limit(limit),
    )
}

/// Trays need their depth between the rack tops and the ceiling.
fn report_clearance(layout: &Layout, book: &Book, trays: &Trays, findings: &mut Vec<Finding>) {
    let depth_mm = trays.part[..2]
        .iter()
        .flatten()
        .filter_map(|&i| book.parts[i].attributes.depth_mm)
        .fold(0.0f64, f64::max);
    let frame = Frame::of_site(&layout.site);
    let room_mm = (layout.site.height_metres - frame.tray_z_metres) * 1000.0;
    if depth_mm > room_mm {
        findings.push(Finding::warning(
            "tray-clearance",
            "site.rack",
            format!(
                "The trays are {depth_mm:.0} mm deep; {:.0} mm are left between them and the ceiling.",
                room_mm.max(0.0)
            ),
            "Choose a lower rack or a higher enclosure.",
        ));
    }
}
