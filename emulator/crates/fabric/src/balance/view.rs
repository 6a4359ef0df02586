//! A node's load state as sections of columns and rows.

use cubeyard_dataplane::inspection::{Cell, ColumnKind, Section};

use super::Balancing;
use super::agent::{Agent, millis};

/// The state of a node as tables: controllers, reports of ToRs, and weights.
pub fn sections(balancing: &Balancing, agent: &Agent, now_secs: f64) -> Vec<Section> {
    let mut all = vec![
        controllers(balancing, agent, now_secs),
        reports(balancing, agent, now_secs),
        weights(balancing, agent),
    ];
    all.extend(balancing.periods.hot.map(|_| detours(balancing, agent)));
    all
}

/// The name of a direction of detours, for users.
pub fn direction(side: usize) -> &'static str {
    if side == 0 { "from the rack" } else { "to the rack" }
}

fn detours(balancing: &Balancing, agent: &Agent) -> Section {
    let racks = balancing.plan.racks;
    let all = (0..racks.count).flat_map(|rack| [(0, rack), (1, rack)]);
    let rows = all.flat_map(|(side, rack)| {
        let first = racks.first_of_loop(rack);
        agent.detours(side, rack).into_iter().flat_map(move |known| {
            let all: f64 = known.ways.detours.iter().map(|(_, capacity)| capacity).sum();
            let total = known.ways.straight + all;
            let tors = known.tors(&balancing.plan);
            let ways = known.ways.detours.iter().zip(tors);
            ways.map(move |((path, capacity), tors)| {
                let relays = path.steps.iter().skip(1).step_by(2);
                let relays: Vec<String> = relays.map(|place| (first + place).to_string()).collect();
                vec![
                    Cell::Count(rack as u64),
                    Cell::Text(direction(side).to_owned()),
                    Cell::Servers(tors),
                    Cell::Text(relays.join(", ")),
                    Cell::Number(capacity.round()),
                    Cell::Text(percent((capacity / total) as f32)),
                ]
            })
        })
    });
    Section::new(
        "detours",
        "Detours of hot racks",
        &[
            ("rack", "Rack", ColumnKind::Count),
            ("direction", "Direction", ColumnKind::Text),
            ("tors", "ToRs, the last is farthest", ColumnKind::Servers),
            ("relays", "Relaying racks", ColumnKind::Text),
            ("capacity", "Capacity", ColumnKind::BitsPerSec),
            ("share", "Share of the rack's flows", ColumnKind::Text),
        ],
        rows,
    )
}

fn controllers(balancing: &Balancing, agent: &Agent, now_secs: f64) -> Section {
    let plan = &balancing.plan;
    let rows = (0..plan.racks.loops()).filter_map(|number| {
        let newest = plan.members(number).filter_map(|rack| agent.weights(rack));
        let newest = newest.max_by_key(|weights| weights.at_millis);
        // Until weights arrive, a ToR knows only its own loop's controller.
        let own = agent.tor().filter(|&tor| plan.loop_of(tor) == number);
        let lowest = own.and_then(|_| agent.lowest_alive(plan, number, balancing.periods, now_secs));
        let lowest = lowest.map(|tor| plan.racks.tor_node(tor));
        let controller = lowest.or(newest.map(|weights| weights.controller))?;
        let is_here = own.and(agent.controller.as_ref());
        let age = |at_millis: u32| Cell::Number(f64::from(millis(now_secs).saturating_sub(at_millis)) / 1e3);
        let rebound = is_here.filter(|here| here.rebindings > 0);
        Some(vec![
            Cell::Count(number as u64),
            Cell::Count(controller.into()),
            Cell::Number(balancing.periods.rebind),
            is_here.map_or(Cell::Empty, |here| Cell::Count(here.rebindings)),
            rebound.map_or(Cell::Empty, |here| {
                Cell::Number(rounded(now_secs - here.rebound_secs))
            }),
            newest.map_or(Cell::Empty, |weights| age(weights.at_millis)),
            Cell::Count(agent.refused),
        ])
    });
    Section::new(
        "controllers",
        "Controllers, as known here",
        &[
            ("loop", "Loop", ColumnKind::Count),
            ("controller", "Controller at", ColumnKind::Server),
            ("period", "Rebinding interval", ColumnKind::Secs),
            ("rebindings", "Rebindings", ColumnKind::Count),
            ("rebound", "Last rebinding ago", ColumnKind::Secs),
            ("weights", "Weights set ago", ColumnKind::Secs),
            ("refused", "Refused messages", ColumnKind::Count),
        ],
        rows,
    )
}

fn reports(balancing: &Balancing, agent: &Agent, now_secs: f64) -> Section {
    let plan = &balancing.plan;
    let rows = (0..plan.racks.count).filter_map(|tor| {
        let (heard, report) = agent.report(tor)?;
        Some(vec![
            Cell::Count(plan.racks.tor_node(tor).into()),
            Cell::Number(report.capacity.into()),
            Cell::Text(percent(report.used[0])),
            Cell::Text(percent(report.used[1])),
            Cell::Number(rounded(now_secs - heard)),
        ])
    });
    Section::new(
        "tor-uplinks",
        "Uplinks of ToRs",
        &[
            ("tor", "ToR", ColumnKind::Server),
            ("capacity", "Capacity", ColumnKind::BitsPerSec),
            ("up", "Used up", ColumnKind::Text),
            ("down", "Used down", ColumnKind::Text),
            ("heard", "Heard ago", ColumnKind::Secs),
        ],
        rows,
    )
}

fn weights(balancing: &Balancing, agent: &Agent) -> Section {
    let plan = &balancing.plan;
    let rows = (0..plan.racks.count).flat_map(|rack| {
        let known = agent.weights(rack);
        let links = plan.rack_links[rack].iter().enumerate();
        let links = links.filter_map(move |(at, &link)| Some((link, known?.links[at])));
        let own =
            links.filter(|(link, _)| plan.rack(agent.node).is_none() || plan.ends(*link).0 == agent.node);
        own.map(|(link, [source, destination])| {
            let (server, tor) = plan.ends(link);
            vec![
                Cell::Count(server.into()),
                Cell::Count(plan.racks.tor_node(tor).into()),
                Cell::Text(percent(source)),
                Cell::Text(percent(destination)),
            ]
        })
    });
    Section::new(
        "tor-weights",
        "Weights of servers' links",
        &[
            ("server", "Server", ColumnKind::Server),
            ("tor", "ToR", ColumnKind::Server),
            ("source", "As source", ColumnKind::Text),
            ("destination", "As destination", ColumnKind::Text),
        ],
        rows,
    )
}

fn percent(fraction: f32) -> String {
    format!("{:.1} %", 100.0 * fraction)
}

fn rounded(secs: f64) -> f64 {
    (secs * 1e3).round() / 1e3
}
