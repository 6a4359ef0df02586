//! Engines and the names by which experiments choose them.

use cubeyard_sim::{ENGINES, Experiment};
use serde_json::json;

#[test]
fn engines_have_the_names_by_which_experiments_choose_them() {
    for kind in ENGINES {
        let name = kind.engine().name();
        assert_eq!(json!(kind), name);
        let experiment = Experiment::from_json(&json!({"engine": name}).to_string()).expect("a known engine");
        assert_eq!(experiment.engine, *kind);
    }
}

#[test]
fn an_unknown_engine_is_refused_with_those_there_are() {
    let findings = Experiment::from_json(r#"{"engine": "abacus"}"#).expect_err("unknown");
    assert_eq!(findings[0].field, "engine");
    for kind in ENGINES {
        assert!(
            findings[0].message.contains(kind.engine().name()),
            "{}",
            findings[0].message
        );
    }
}
