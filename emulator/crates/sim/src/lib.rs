//! What a network carries: workloads as flows, the load they put on links, fair rates, and what
//! failures leave of them.

pub mod count;
pub mod flows;
pub mod maxmin;
pub mod paths;
