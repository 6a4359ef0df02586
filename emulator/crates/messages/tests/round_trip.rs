//! Every message survives encoding and decoding, and invalid messages are rejected.

#![allow(clippy::unwrap_used)]

mod random;

use cubeyard_messages::limits::{DATAGRAM_BYTES, ORDER_BYTES};
use cubeyard_messages::{ToFabric, ToNode, decode, encode, split_orders};
use proptest::prelude::*;
use random::Random;

proptest! {
    #[test]
    fn a_message_to_a_node_survives_its_datagram(seed: u64) {
        for kind in 0..14 {
            let message = Random::of(seed).message_to_node(kind);
            prop_assert_eq!(decode::<ToNode>(&encode(&message).unwrap()).unwrap(), message);
        }
    }

    #[test]
    fn a_message_to_the_fabric_survives_its_datagram(seed: u64) {
        for kind in 0..9 {
            let message = Random::of(seed).message_to_fabric(kind);
            prop_assert_eq!(decode::<ToFabric>(&encode(&message).unwrap()).unwrap(), message);
        }
    }

    #[test]
    fn what_is_no_message_is_refused_in_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        prop_assert!(decode::<ToNode>(&bytes).is_err_and(|sentence| sentence.ends_with('.')));
        prop_assert!(decode::<ToFabric>(&bytes).is_err_and(|sentence| sentence.ends_with('.')));
    }

    #[test]
    fn orders_are_split_into_datagrams_in_their_order(seed: u64) {
        let orders = Random::of(seed).list(400, Random::order);
        let lists = split_orders(&orders);
        for list in &lists {
            prop_assert!(!list.is_empty());
            let datagram = encode(&ToNode::Workload { flows: list.clone() }).unwrap();
            prop_assert!(datagram.len() <= ORDER_BYTES + 64);
        }
        prop_assert_eq!(lists.concat(), orders);
    }
}

#[test]
fn a_message_longer_than_a_datagram_is_refused() {
    let message = ToFabric::Error {
        message: "x".repeat(DATAGRAM_BYTES),
    };
    assert!(encode(&message).is_err());
}

#[test]
fn fields_that_nobody_knows_are_refused() {
    let text = br#"{"t": "carrier", "port": 1, "up": true, "speed": 3}"#;
    assert!(decode::<ToNode>(text).is_err());
}
