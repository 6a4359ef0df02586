//! Checks of users' services: number, size and names. The contents of modules are checked by the
//! nodes, which run them.

use std::collections::BTreeSet;

use cubeyard_dataplane::catalog::ProtocolEntry;
use cubeyard_dataplane::service::{FIRST_USER_ID, MAX_MODULE_BYTES, MAX_USER_SERVICES, is_name};

use super::Description;
use crate::error::{FabricError, Result};

/// Checks the services of a description. Errors name the first field that is wrong.
pub fn check(description: &Description, entry: &ProtocolEntry) -> Result<()> {
    let services = &description.services;
    let most = if entry.services.is_empty() {
        0
    } else {
        MAX_USER_SERVICES
    };
    if services.len() > most {
        let limit = format!("at most {most} with {}", entry.name);
        let given = format!("{} services", services.len());
        return Err(FabricError::bad(
            "network.services",
            given,
            limit,
            "leave some out",
        ));
    }
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (at, service) in services.iter().enumerate() {
        let bad = |field: &str, value: String, limit: &str, fix: &str| {
            let field = format!("network.services.{at}.{field}");
            Err(FabricError::bad(field, value, limit, fix))
        };
        let reserved = entry.services.iter().any(|own| own.name == service.name);
        if !is_name(&service.name) || reserved || !names.insert(&service.name) {
            let limit = "small letters, digits and hyphens, and a name of its own";
            return bad("name", service.name.clone(), limit, "give another name");
        }
        if service.id < FIRST_USER_ID || !ids.insert(service.id) {
            let limit = format!("{FIRST_USER_ID} to 65535, each once");
            return bad("id", service.id.to_string(), &limit, "give another number");
        }
        let length = service.module.0.len();
        if service.process && length > 0 {
            let limit = "no module for a service in processes";
            return bad(
                "module",
                format!("{length} bytes"),
                limit,
                "leave one of the two out",
            );
        }
        if !service.process && !(1..=MAX_MODULE_BYTES).contains(&length) {
            let limit = format!("1 to {MAX_MODULE_BYTES} bytes");
            return bad("module", format!("{length} bytes"), &limit, "build it for size");
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cubeyard_dataplane::catalog;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn description(services: &[(String, u16, usize, bool)]) -> Description {
        let services: Vec<_> = services
            .iter()
            .map(|(name, id, length, process)| {
                json!({"name": name, "id": id, "module": "00".repeat(*length), "process": process})
            })
            .collect();
        let text = json!({"run": "0a1b2c3d4e5f6g", "spec": {}, "protocol": "", "rate_bits_per_sec": 1e8,
                          "mtu": 9000, "servers": [], "links": [], "services": services});
        serde_json::from_value(text).unwrap()
    }

    proptest! {
        /// Accepted services have unique names and numbers within the limits, and exist only where
        /// servers host services.
        #[test]
        fn accepted_services_are_distinguishable(services in prop::collection::vec(("[a-z-]{0,3}|cache", 250u16..262, 0usize..3, any::<bool>()), 0..6)) {
            let described = description(&services);
            for entry in catalog::PROTOCOLS {
                if check(&described, entry).is_ok() {
                    let names: BTreeSet<_> = services.iter().map(|(name, ..)| name).collect();
                    let ids: BTreeSet<_> = services.iter().map(|(_, id, ..)| id).collect();
                    prop_assert!(names.len() == services.len() && ids.len() == services.len());
                    prop_assert!(services.len() <= MAX_USER_SERVICES);
                    prop_assert!(!entry.services.is_empty() || services.is_empty());
                    prop_assert!(services.iter().all(|(name, id, ..)| name != "cache" && *id >= FIRST_USER_ID));
                    prop_assert!(services.iter().all(|(_, _, length, process)| (*length > 0) != *process));
                }
            }
        }
    }
}
