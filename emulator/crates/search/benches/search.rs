//! Compares enumerating and pricing candidates with a bare loop over their counts: CPU time. Run
//! with `cargo bench -p cubeyard-search`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::time::{Duration, Instant};

use cubeyard_plan::{Book, builtin_books};
use cubeyard_search::{SearchSpec, search};
use cubeyard_sim::Progress;
use serde_json::json;

fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn main() {
    let book = Book::from_json(builtin_books().pop().expect("a built-in book")).expect("a sound book");
    let question = json!({
        "constraints": [{"metric": "servers", "at_least": 1500}],
        "objectives": [{"metric": "cost"}],
        "plan": {"site": {"enclosure": "container-40ft"}},
    })
    .to_string();
    let (begun, used) = (Instant::now(), cpu_time());
    let asked = SearchSpec::from_json(&question).expect("a question");
    let space = asked.spec.space.candidates(asked.servers, &|| true);
    println!(
        "{} candidates: {:.2} s",
        space.candidates.len(),
        begun.elapsed().as_secs_f64()
    );
    let document = search(&question, &book, &Progress::default(), &mut |_| {}).expect("a front");
    println!(
        "{} priced, whole search: {:.2} s, {:.2} s of CPU",
        document["priced"],
        begun.elapsed().as_secs_f64(),
        (cpu_time() - used).as_secs_f64()
    );
}
