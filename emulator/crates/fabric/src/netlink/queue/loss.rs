//! Loss: a classifier at an end's shaper drops a random share of packets. The request contains its
//! program of four instructions, so that it needs no kernel module beyond those of shaping.
//!
//! As with `netem`, the sender is not notified, a super-packet is kept or lost as a whole, and the
//! shaper counts the drops. `[ours]`

use super::{
    CREATE, DIRECT_ACTION, HTB, LOSS_PRIORITY, REPLACE, RTM_DELTFILTER, RTM_NEWTFILTER, TCA_BPF_FLAGS,
    TCA_BPF_NAME, TCA_BPF_OPS, TCA_BPF_OPS_LEN, TCA_KIND, TCA_OPTIONS, filter_header,
};
use crate::netlink::message::Batch;

const CLASSIFIER: u32 = 1;
/// Instruction: load a random number of 32 bits. `[linux/filter.h SKF_AD_RANDOM]`
const LOAD_DRAWN: Instruction = (0x20, 0, 0, 0xffff_f038);
const JUMP_IF_GREATER: u16 = 0x25;
const RETURN: u16 = 0x06;
/// Verdict: leave the packet to the next classifier.
const PASS: u32 = u32::MAX;
const DROP: u32 = 2;

/// Instruction: code, instructions to skip if true and if false, operand.
type Instruction = (u16, u8, u8, u32);

/// Makes an end lose this share of its packets, 0 to 1. `lost_before`: whether the end has a loss
/// already.
pub fn lose(batch: &mut Batch, index: u32, ratio: f64, lost_before: bool) {
    let Some(program) = program(ratio) else {
        if lost_before {
            let header = filter_header(index, 0, HTB, LOSS_PRIORITY);
            let purpose = format!("ending the loss of interface {index}");
            batch.request(RTM_DELTFILTER, 0, &header, purpose, |_| {});
        }
        return;
    };
    let header = filter_header(index, CLASSIFIER, HTB, LOSS_PRIORITY);
    let purpose = format!("setting the loss of interface {index}");
    batch.request(RTM_NEWTFILTER, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put_text(TCA_KIND, "bpf");
        attributes.nest(TCA_OPTIONS, |options| {
            options.put(TCA_BPF_OPS_LEN, &(program.len() as u16).to_ne_bytes());
            options.put(TCA_BPF_OPS, &program.map(encode).concat());
            options.put_text(TCA_BPF_NAME, "cubeyard-loss");
            options.put_u32(TCA_BPF_FLAGS, DIRECT_ACTION);
        });
    });
}

/// The program for a share; `None` if nothing is lost.
fn program(ratio: f64) -> Option<[Instruction; 4]> {
    let lost_draws = (ratio.clamp(0.0, 1.0) * 2_f64.powi(32)).round() as u64;
    let largest_lost = u32::try_from(lost_draws.checked_sub(1)?).unwrap_or(u32::MAX);
    Some([
        LOAD_DRAWN,
        (JUMP_IF_GREATER, 0, 1, largest_lost),
        (RETURN, 0, 0, PASS),
        (RETURN, 0, 0, DROP),
    ])
}

fn encode((code, if_true, if_false, operand): Instruction) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&code.to_ne_bytes());
    bytes[2..4].copy_from_slice(&[if_true, if_false]);
    bytes[4..].copy_from_slice(&operand.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_lost(ratio: f64) -> f64 {
        program(ratio).map_or(0.0, |program| (f64::from(program[1].3) + 1.0) / 2_f64.powi(32))
    }

    #[test]
    fn the_share_of_draws_that_lose_a_packet_is_the_ratio() {
        for ratio in [0.0, 1e-9, 0.001, 0.05, 0.5, 0.999_999_999_9, 1.0] {
            assert!((share_lost(ratio) - ratio).abs() <= 2_f64.powi(-33), "{ratio}");
        }
    }
}
