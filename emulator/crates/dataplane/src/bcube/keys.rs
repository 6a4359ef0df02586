//! Maps next-hop bytes to the neighbours of this server. `[bcube §7.1]`

use super::nha::Nha;
use super::structure::Structure;
use crate::configuration::{Configuration, ConfigurationError};

/// Neighbours by their index in the configuration, and by their next-hop byte.
#[derive(Debug)]
pub struct NeighbourKeys {
    by_index: Vec<Nha>,
    by_nha: Vec<Option<u16>>,
}

impl NeighbourKeys {
    /// The bytes of a server's neighbours: the level is the port's number, the digit is the
    /// neighbour's digit at that level.
    ///
    /// Errors: a neighbour that the topology does not have at that port.
    pub fn new(
        structure: &Structure,
        configuration: &Configuration,
    ) -> Result<NeighbourKeys, ConfigurationError> {
        let mut keys = NeighbourKeys {
            by_index: Vec::new(),
            by_nha: vec![None; Nha::VALUES],
        };
        for port in &configuration.ports {
            for neighbour in &port.neighbours {
                let nha = structure.key(configuration.server, port.port, neighbour.server);
                let Some(nha) = nha.filter(|_| neighbour.port == port.port) else {
                    return Err(ConfigurationError {
                        field: format!("ports[{}].neighbours", port.port),
                        value: format!("server {} by its port {}", neighbour.server, neighbour.port),
                        limit: "a server whose address differs at the port's level alone".to_owned(),
                        fix: "Take the neighbours from the topology's wiring.".to_owned(),
                    });
                };
                keys.by_nha[nha.index()] = Some(keys.by_index.len() as u16);
                keys.by_index.push(nha);
            }
        }
        Ok(keys)
    }

    /// The byte of a neighbour.
    pub fn nha(&self, index: usize) -> Nha {
        self.by_index[index]
    }

    /// The neighbour that a byte names.
    pub fn index(&self, nha: Nha) -> Option<usize> {
        self.by_nha[nha.index()].map(usize::from)
    }

    /// All bytes, in the order of the neighbours.
    pub fn all(&self) -> &[Nha] {
        &self.by_index
    }
}
