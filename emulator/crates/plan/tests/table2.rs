//! BCube Table 2 `[bcube §8]`, cell by cell: cost, power and wires of four structures for 2,048
//! servers, with the paper's parts. Printed values are the paper's, rounded as it rounds; ours are
//! exact.

use cubeyard_plan::{Plan, builtin_book, plan, read_spec};

struct Row {
    spec: &'static str,
    switches_usd: f64,
    nics_usd: f64,
    total_usd: f64,
    switches_watts: f64,
    nics_watts: f64,
    total_watts: f64,
    wires: usize,
    switches: u32,
    /// switch k$, NIC k$, total k$, switch kW, NIC kW, total kW, as printed.
    printed: [&'static str; 6],
    /// The cells that the paper does not round to the nearest.
    slips: &'static [usize],
}

const ROWS: [(&str, Row); 4] = [
    (
        "tree",
        Row {
            spec: r#"{"family":"tree","edge_ports":48,"servers":2048}"#,
            switches_usd: 55_000.0,
            nics_usd: 10_240.0,
            total_usd: 4_161_240.0,
            switches_watts: 4_532.0,
            nics_watts: 10_240.0,
            total_watts: 424_372.0,
            wires: 2_091,
            switches: 44,
            // 4.4 kW is 43 switches; with the root, which the cost has, it is 4.53.
            printed: ["55", "10", "4161", "4.4", "10", "424"],
            slips: &[3],
        },
    ),
    (
        "fat-tree",
        Row {
            spec: r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#,
            switches_usd: 92_160.0,
            nics_usd: 10_240.0,
            total_usd: 4_198_400.0,
            switches_watts: 10_368.0,
            nics_watts: 10_240.0,
            total_watts: 430_208.0,
            wires: 10_240,
            switches: 2_304,
            printed: ["92", "10", "4198", "10", "10", "430"],
            slips: &[],
        },
    ),
    (
        "dcell",
        Row {
            spec: r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#,
            switches_usd: 10_240.0,
            nics_usd: 40_960.0,
            total_usd: 4_147_200.0,
            switches_watts: 1_152.0,
            nics_watts: 20_480.0,
            total_watts: 431_232.0,
            wires: 3_468,
            switches: 256,
            printed: ["10", "41", "4147", "1.2", "20", "431"],
            slips: &[],
        },
    ),
    (
        "bcube",
        Row {
            spec: r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#,
            switches_usd: 51_200.0,
            nics_usd: 40_960.0,
            total_usd: 4_188_160.0,
            switches_watts: 5_760.0,
            nics_watts: 20_480.0,
            total_watts: 435_840.0,
            wires: 8_192,
            switches: 1_280,
            // 435.84 kW is printed 435: cut off, not rounded.
            printed: ["51", "41", "4188", "5.8", "20", "435"],
            slips: &[5],
        },
    ),
];

fn paper_plan(spec: &str) -> Plan {
    let book = builtin_book("paper-2009").expect("a built-in book");
    plan(&read_spec(spec).expect("a spec"), &book).expect("a plan")
}

#[test]
fn every_cell_of_table_2_comes_out() {
    for (name, row) in ROWS {
        let plan = paper_plan(row.spec);
        let (cost, power) = (plan.cost, plan.power);
        assert_eq!(plan.topology.server_count(), 2_048, "{name}");
        assert_eq!(plan.topology.switch_count(), row.switches, "{name}");
        assert_eq!(plan.wiring.part.len(), row.wires, "{name}: wires");
        assert_eq!(cost.switches, row.switches_usd, "{name}: switch cost");
        assert_eq!(cost.nics, row.nics_usd, "{name}: NIC cost");
        assert_eq!(cost.servers, 4_096_000.0, "{name}: server cost");
        assert_eq!(cost.total, row.total_usd, "{name}: total cost");
        assert!(
            (power.switches - row.switches_watts).abs() < 1e-6,
            "{name}: {} W",
            power.switches
        );
        assert!(
            (power.nics - row.nics_watts).abs() < 1e-6,
            "{name}: {} W",
            power.nics
        );
        assert!(
            (power.total - row.total_watts).abs() < 1e-6,
            "{name}: {} W",
            power.total
        );
        assert!(!power.at_least, "{name}: every device has a power in the paper");
        assert!(cost.at_least, "{name}: the paper prices no cable and no rack");
        assert_eq!(
            cost.cables + cost.racks + cost.labour + cost.trays + cost.labels,
            0.0,
            "{name}"
        );
    }
}

/// The printed cells are ours rounded to the printed digits, except the two errors named above.
#[test]
fn the_printed_cells_are_ours_rounded() {
    let mut slips = 0;
    for (name, row) in ROWS {
        let plan = paper_plan(row.spec);
        let ours = [
            plan.cost.switches,
            plan.cost.nics,
            plan.cost.total,
            plan.power.switches,
            plan.power.nics,
            plan.power.total,
        ];
        for (cell, (&value, printed)) in ours.iter().zip(row.printed).enumerate() {
            let digits = printed.split_once('.').map_or(0, |(_, after)| after.len());
            let same = format!("{:.digits$}", value / 1e3) == printed;
            assert_eq!(
                !same,
                row.slips.contains(&cell),
                "{name}, cell {cell}: {value} printed as {printed}"
            );
            slips += usize::from(!same);
        }
    }
    assert_eq!(slips, 2);
}

/// One 4-port card even where a server has three ports `[bcube §8]`.
#[test]
fn dcell_servers_take_one_four_port_card() {
    let plan = paper_plan(ROWS[2].1.spec);
    assert_eq!(plan.topology.server_ports(), 3);
    let nics: Vec<_> = plan
        .layout
        .parts
        .nics
        .iter()
        .map(|n| (plan.book.parts[n.part].sku.as_str(), n.cards))
        .collect();
    assert_eq!(nics, [("NIC-4PORT", 1)]);
}
