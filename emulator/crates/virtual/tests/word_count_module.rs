//! Compares the paper's aggregation service as a module of `examples/services` with the built-in
//! one: the same sums by the same packets. `[camcube §3.4]`

use std::time::Duration;

use cubeyard_sandbox::{Module, UserService};
use cubeyard_topology::NodeId;
use proptest::prelude::*;

use crate::torus;
use torus::{SETTLED_SECS, answers, counter, name, torus};

const MODULE: &[u8] = include_bytes!("../../../../examples/services/word-count/word-count.wasm");
const BUILT_IN: &str = "aggregation";
const NAME: &str = "word-count";
const SERVERS: NodeId = 27;
/// The longest answer of the module: `ANSWER` in its `service.c`.
const ANSWER_BYTES: usize = 4096;
/// The longest count of a word, including separators.
const LONGEST_NUMBER: usize = 22;

/// The results: the answers, packets by direction of each link, and bytes.
type Done = (Vec<(NodeId, String)>, Vec<u64>, u64);

/// Has the servers that live count their texts' words with one of both.
fn count_words(service: &str, texts: &[String], dead: &[NodeId], root: NodeId, mode: &str) -> Done {
    let mut network = torus([3, 3, 3], 1e9);
    let module = Module::new(MODULE).unwrap();
    for server in 0..SERVERS {
        let hosted = UserService::new(NAME, &module, network.now()).unwrap();
        network.host_service(server, 256, Box::new(hosted)).unwrap();
    }
    dead.iter().for_each(|&server| network.kill(server));
    network.run(SETTLED_SECS);
    let to = name(&network.topology, root);
    for (server, text) in (0..).zip(texts).filter(|(server, _)| !dead.contains(server)) {
        network.tell(server, service, format!("count 7 {to} {mode}\n{text}").as_bytes());
    }
    network.run(4.0);
    let alive = || (0..SERVERS).filter(|server| !dead.contains(server));
    for lost in [
        "lost-trapped",
        "lost-out-of-fuel",
        "lost-over-budget",
        "lost-too-many-sent",
    ] {
        assert_eq!(
            alive()
                .map(|server| counter(&network, server, service, lost))
                .sum::<u64>(),
            0,
            "{lost}"
        );
    }
    let bytes = alive()
        .map(|server| counter(&network, server, service, "bytes-sent"))
        .sum();
    let packets = network.service_packets.iter().copied();
    (answers(&network, Duration::ZERO), packets.collect(), bytes)
}

/// The lines of an answer that the module can return: it stops before a word that may not fit,
/// assuming the longest number.
fn fitting(answer: &str) -> String {
    let (mut said, mut lines) = (String::new(), answer.split_inclusive('\n'));
    said.extend(lines.next());
    for line in lines {
        let word = line.split(' ').next().unwrap();
        if said.len() + word.len() + LONGEST_NUMBER > ANSWER_BYTES {
            break;
        }
        said.push_str(line);
    }
    said
}

proptest! {
    #![proptest_config(crate::cases::cases(6))]

    #[test]
    fn the_module_does_what_the_built_in_service_does(
        texts in prop::collection::vec(prop::collection::vec("[a-f]{1,40}", 0..12), 27),
        full in any::<bool>(),
        dead in prop::collection::btree_set(0u32..27, 0..3),
        root in 0u32..27,
    ) {
        let texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
        let dead: Vec<NodeId> = dead.into_iter().collect();
        let mode = if full { "full" } else { "none" };
        let built_in = count_words(BUILT_IN, &texts, &dead, root, mode);
        prop_assert_eq!(built_in.0.len(), 1);
        prop_assert!(built_in.1.iter().sum::<u64>() >= 26 - 2);
        let (own, links, bytes) = count_words(NAME, &texts, &dead, root, mode);
        let fits: Vec<(NodeId, String)> =
            built_in.0.iter().map(|(server, text)| (*server, fitting(text))).collect();
        prop_assert_eq!((own, links, bytes), (fits, built_in.1, built_in.2));
    }
}

/// Table 1: one packet of each server but the root, or one for each hop.
#[test]
fn it_takes_the_links_of_table_1() {
    let texts = vec!["pair".to_owned(); 27];
    for (mode, packets) in [("full", 26), ("none", 54)] {
        let (answers, links, _) = count_words(NAME, &texts, &[], 13, mode);
        assert_eq!(answers, [(13, "7 27\npair 27\n".to_owned())]);
        assert_eq!(links.iter().sum::<u64>(), packets);
    }
}

#[test]
fn a_message_that_is_none_is_refused_with_the_same_words() {
    let wrong = |service: &str| {
        let mut network = torus([3, 3, 3], 1e9);
        let module = Module::new(MODULE).unwrap();
        let hosted = UserService::new(NAME, &module, network.now()).unwrap();
        network.host_service(5, 256, Box::new(hosted)).unwrap();
        for message in [
            "",
            "count",
            "count 1 9,0,0 full",
            "count 1 0,0,0 half\nx",
            "count x 0,0,0 none",
            "count 99999999999 0,0,0 full",
        ] {
            network.tell(5, service, message.as_bytes());
        }
        network.run(0.1);
        answers(&network, Duration::ZERO)
    };
    assert_eq!(wrong(NAME).len(), 6);
    assert_eq!(wrong(NAME), wrong(BUILT_IN));
}
