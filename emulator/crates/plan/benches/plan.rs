//! Time of a whole plan by step, for the paper's 2,048 servers and for growing structures.
//!
//! `cargo bench -p cubeyard-plan` prints one line a structure: the least of several runs, in
//! milliseconds. The promise is a whole plan (topology, layout, wiring, bill) of 2,048 servers
//! within 40 ms.
#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::hint::black_box;
use std::time::Instant;

use cubeyard_plan::book::Book;
use cubeyard_plan::{bom, builtin_books, lay_out, plan, read_spec, scene, summary, wire};
use cubeyard_topology::Topology;

fn least_ms<T>(runs: usize, mut work: impl FnMut() -> T) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        black_box(work());
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
    }
    least
}

fn main() {
    let text = builtin_books().pop().expect("a built-in book");
    let book = Book::from_json(text).expect("a sound book");
    println!(
        "read the price book: {:.2} ms",
        least_ms(20, || Book::from_json(text))
    );
    println!(
        "structure                              links  topology  layout  wiring    bill  whole plan  scene  summary"
    );
    for spec in [
        r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#,
        r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#,
        r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#,
        r#"{"family":"tree","edge_ports":48,"servers":2048}"#,
        r#"{"family":"torus3d","x":16,"y":16,"z":8}"#,
        r#"{"family":"subways","type":1,"p":2,"q":32,"l":16,"clusters":8}"#,
        r#"{"family":"torus3d","x":15,"y":15,"z":15}"#,
        r#"{"family":"torus3d","x":32,"y":32,"z":33}"#,
        r#"{"family":"torus3d","x":69,"y":69,"z":70}"#,
    ] {
        let spec = read_spec(spec).expect("a spec");
        let topology = Topology::build(&spec.topology).expect("a topology");
        let layout = lay_out(&spec, &topology, &book, &mut Vec::new());
        let wiring = wire(&spec, &topology, &layout, &book, &mut Vec::new());
        let links = topology.links().len();
        let runs = (2_000_000 / links).clamp(3, 50);
        let whole = plan(&spec, &book).expect("a plan");
        println!(
            "{:<36} {links:>7} {:>9.2} {:>7.2} {:>7.2} {:>7.2} {:>11.2} {:>6.2} {:>8.2}",
            spec.topology.title(),
            least_ms(runs, || Topology::build(&spec.topology)),
            least_ms(runs, || lay_out(&spec, &topology, &book, &mut Vec::new())),
            least_ms(runs, || wire(&spec, &topology, &layout, &book, &mut Vec::new())),
            least_ms(runs, || bom::bill(&spec, &topology, &book, &layout, &wiring)),
            least_ms(runs, || plan(&spec, &book).map(|p| p.hash.len())),
            least_ms(runs.min(10), || scene::scene_json(&whole).len()),
            // The certificate is worked out once a plan and is part of the first summary only.
            least_ms(1, || summary::summary_json(&whole).len()),
        );
    }
}
