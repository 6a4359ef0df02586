//! The torus of a run: its shape, the set of existing servers, and the check that CamCube can run
//! on it.

use cubeyard_routing::torus::Shape;
use cubeyard_topology::{NodeId, Topology, TopologySpec, Torus2dSpec, Torus3dSpec};

use super::tables::SERVERS;
use crate::configuration::{Configuration, ConfigurationError};

/// A torus with the set of its existing servers.
#[derive(Clone, Debug)]
pub struct Structure {
    shape: Shape,
    present: Vec<bool>,
}

/// Whether a topology can run CamCube: it must be a torus whose keys fit the header and the tables.
/// An axis of two servers has one link, an axis of one server none.
pub fn check(spec: &TopologySpec) -> Result<(), ConfigurationError> {
    shape(spec).map(|_| ())
}

fn wrong(field: &str, value: String, limit: &str, fix: &str) -> ConfigurationError {
    ConfigurationError {
        field: field.to_owned(),
        value,
        limit: limit.to_owned(),
        fix: fix.to_owned(),
    }
}

fn shape(spec: &TopologySpec) -> Result<Shape, ConfigurationError> {
    let torus = match spec {
        TopologySpec::Torus3d(torus) => torus.clone(),
        // A torus with a single plane.
        &TopologySpec::Torus2d(Torus2dSpec { x, y }) => Torus3dSpec { x, y, z: 1 },
        _ => {
            let fix = "Take a torus, or a protocol of this family.";
            let limit = "torus2d or torus3d";
            return Err(wrong("spec.family", spec.family().to_owned(), limit, fix));
        }
    };
    // A key has a byte per coordinate. Checked first, before anything large is built.
    for (name, size) in [("x", torus.x), ("y", torus.y), ("z", torus.z)] {
        if size > 256 {
            let fix = "A key coordinate has one byte: take a shorter axis.";
            return Err(wrong(
                &format!("spec.{name}"),
                size.to_string(),
                "at most 256",
                fix,
            ));
        }
    }
    let servers = torus.x as usize * torus.y as usize * torus.z as usize;
    if !(2..=SERVERS).contains(&servers) {
        let limit = format!("2 to {SERVERS} servers");
        let fix = "Take a smaller torus, for example 6 x 6 x 6, or at least two servers.";
        return Err(wrong("spec", format!("{servers} servers"), &limit, fix));
    }
    let topology = Topology::build(spec).map_err(|error| {
        wrong(
            "spec",
            error.to_string(),
            "a topology that can be built",
            "See its findings.",
        )
    })?;
    Shape::new(&topology).ok_or_else(|| {
        wrong(
            "spec.family",
            spec.family().to_owned(),
            "torus2d or torus3d",
            "Take a torus.",
        )
    })
}

impl Structure {
    /// A whole torus, of any size.
    pub fn whole(shape: Shape) -> Structure {
        let present = vec![true; shape.servers() as usize];
        Structure { shape, present }
    }

    /// The torus of a configuration. Errors: no torus, or one that is too large; a server or
    /// neighbour that it does not have.
    pub fn new(configuration: &Configuration) -> Result<Structure, ConfigurationError> {
        let shape = shape(&configuration.spec)?;
        let servers = shape.servers();
        let mut present = vec![configuration.present.is_none(); servers as usize];
        let named = configuration.present.iter().flatten().copied();
        for server in named.chain([configuration.server]) {
            let Some(present) = present.get_mut(server as usize) else {
                let fix = "Name servers of the topology.";
                return Err(wrong(
                    "present",
                    server.to_string(),
                    &format!("below {servers}"),
                    fix,
                ));
            };
            *present = true;
        }
        let structure = Structure { shape, present };
        for port in &configuration.ports {
            let far = structure.far(configuration.server, port.port);
            let fits = port
                .neighbours
                .iter()
                .all(|neighbour| Some(neighbour.server) == far);
            if !fits || port.neighbours.len() > 1 {
                let fix = "Cable each port to its neighbour in the torus.";
                return Err(wrong(
                    "ports",
                    format!("port {}", port.port),
                    "cabled as in the torus",
                    fix,
                ));
            }
        }
        Ok(structure)
    }

    /// Coordinates and the port table.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether a server is in the run.
    pub fn is_present(&self, server: NodeId) -> bool {
        self.present.get(server as usize).copied().unwrap_or(false)
    }

    /// Number of ports of a server, at most 6.
    pub fn ports(&self) -> u8 {
        self.shape.degree() as u8
    }

    /// The server at the other end of a port's cable, even if it does not exist in the run; `None`
    /// for a missing port.
    pub fn far(&self, server: NodeId, port: u8) -> Option<NodeId> {
        (port < self.ports()).then(|| self.shape.ports().far(server, port.into()))
    }

    /// The neighbour's port at the other end of a port's cable.
    pub fn far_port(&self, port: u8) -> u8 {
        let (axis, up) = self.way(port);
        self.port(axis, !up)
    }

    /// The axis and direction of a port. In a ring of two servers, the only port goes up.
    pub fn way(&self, port: u8) -> (usize, bool) {
        let port = u32::from(port);
        let along = |axis: &usize| {
            let first = self.shape.first_port(*axis);
            (first..first + self.shape.ports_along(*axis)).contains(&port)
        };
        let axis = (0..3).find(along).unwrap_or(0);
        (axis, port == self.shape.first_port(axis))
    }

    /// The port along an axis with more than one server.
    pub fn port(&self, axis: usize, up: bool) -> u8 {
        let down = !up && self.shape.sizes()[axis] > 2;
        (self.shape.first_port(axis) + u32::from(down)) as u8
    }

    /// The coordinate of a server, as a key.
    pub fn key(&self, server: NodeId) -> [u8; 3] {
        [0, 1, 2].map(|axis| self.shape.coordinate(server, axis) as u8)
    }

    /// The home server of a key; `None` outside the torus.
    pub fn home(&self, key: [u8; 3]) -> Option<NodeId> {
        let place = key.map(u32::from);
        let inside = place.iter().zip(self.shape.sizes()).all(|(at, size)| *at < size);
        inside.then(|| self.shape.server(place))
    }

    /// The coordinate of a server for users: `(x,y,z)`.
    pub fn name(&self, server: NodeId) -> String {
        let [x, y, z] = self.key(server);
        format!("({x},{y},{z})")
    }
}
