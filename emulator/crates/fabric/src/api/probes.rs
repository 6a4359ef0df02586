//! `probe`: features of this host. A probe makes a dozen namespaces, so the answer is cached for
//! callers that ask again soon.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{FabricError, Result};
use crate::host::{probe, underlay};
use crate::network::hosts::Hosts;

const LASTS: Duration = Duration::from_secs(10);

/// The last answer, and its time.
#[derive(Debug, Default)]
pub struct Probes(Mutex<Option<(Instant, Value)>>);

impl Probes {
    /// Returns the features; if the caller names hosts, also the MTU between them.
    pub fn answer(&self, params: &Value) -> Result<Value> {
        let mut features = self.features()?;
        if let Some(hosts) = params.get("hosts") {
            let hosts: Hosts = serde_path_to_error::deserialize(hosts).map_err(|error| {
                FabricError::malformed(format!("hosts.{}: {}", error.path(), error.inner()))
            })?;
            hosts.check("hosts", 0)?;
            match underlay::mtu(&hosts, "hosts") {
                Ok(mtu) => features["underlay_mtu"] = json!(mtu),
                Err(error) => features["reasons"]["underlay"] = json!(error.message),
            }
        }
        Ok(features)
    }

    fn features(&self) -> Result<Value> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, features)) = &*last
            && at.elapsed() < LASTS
        {
            return Ok(features.clone());
        }
        let features =
            serde_json::to_value(probe::probe()).map_err(|error| FabricError::system("probing", error))?;
        *last = Some((Instant::now(), features.clone()));
        Ok(features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_again_for_a_while() {
        let probes = Probes(Mutex::new(Some((Instant::now(), json!({"made": "before"})))));
        assert_eq!(
            probes.answer(&json!({})).expect("an answer"),
            json!({"made": "before"})
        );
        let old = Instant::now()
            .checked_sub(LASTS)
            .expect("a machine that is up for longer");
        let probes = Probes(Mutex::new(Some((old, json!({"made": "before"})))));
        assert!(probes.answer(&json!({})).expect("an answer")["made"].is_null());
    }
}
