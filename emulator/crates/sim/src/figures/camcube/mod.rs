//! CamCube's services on a 20-ary 3-cube of 8,000 servers. `[camcube §3]`
//!
//! Inside: one file for each figure (`fig1` to `fig5`), the links of aggregation (`table1`), and
//! the network itself (`structure`), which they share.
//!
//! Packets of a service are counted on the paths of its routing, without clocks or queues.
//!
//! All but `structure` accept a smaller torus, to compare them with measured results.
//!
//! Not here: the services' routing (`cubeyard_routing::torus`).

pub(super) mod fig1;
pub(super) mod fig2;
pub(super) mod fig3;
pub(super) mod fig4;
pub(super) mod fig5;
pub(super) mod structure;
pub(super) mod table1;

pub(crate) use fig5::used_live;

use cubeyard_routing::torus::Shape;
use cubeyard_topology::Topology;
use serde_json::json;

use super::{Context, built, setup};
use crate::flow::PredictError;

/// The server that others send to; by symmetry any would do.
const ROOT: u32 = 0;

/// Servers along each axis of the paper's torus.
const SIDE: u32 = 20;

fn topology(context: &Context<'_>) -> Result<Topology, PredictError> {
    let side = context.torus_side.unwrap_or(SIDE);
    built(&json!({"family": "torus3d", "x": side, "y": side, "z": side}))
}

fn shape(context: &Context<'_>) -> Result<Shape, PredictError> {
    Shape::new(&topology(context)?).ok_or_else(setup)
}
