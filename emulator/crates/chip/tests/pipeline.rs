//! A packet through the chip: priorities, modifications, copies, discards, registers.

use cubeyard_chip::action::RawAction;
use cubeyard_chip::{
    Chip, DiscardReason, Frame, Profile, Program, Register, ServerSwitch, Table, Verdict, text,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common;
use common::{checksum_is_right, ipv4, mpls};

const HOST: u32 = 0x0a02_0007;

fn chip(program: &str) -> Chip {
    Chip::new(text::read(program).unwrap()).unwrap()
}

/// Ports and packets that leave, and the verdict.
fn send(chip: &mut Chip, in_port: u8, packet: &[u8]) -> (Vec<(u8, Vec<u8>)>, Verdict) {
    let mut out = Vec::new();
    let mut frame = Frame::new(packet).unwrap();
    let verdict = chip
        .receive(in_port, &mut frame, &mut |port, bytes| {
            out.push((port, bytes.to_vec()));
        })
        .unwrap();
    (out, verdict)
}

fn ports(chip: &mut Chip, in_port: u8, packet: &[u8]) -> Vec<u8> {
    send(chip, in_port, packet)
        .0
        .into_iter()
        .map(|(port, _)| port)
        .collect()
}

#[test]
fn the_tcam_goes_before_exact_matches_and_those_before_prefixes() {
    let lpm = "SetLookupTable(LPM, 0, 0, 10.0.0.0, 255.0.0.0, {act=REDIRECT_PORT, port=0});";
    let em = "SetLookupTable(EM_IPV4, 0, 0, 10.2.0.7, NULL, {act=REDIRECT_PORT, port=1});";
    let tcam =
        "SetUDLK(1, (B30-33)); SetLookupTable(TCAM, 5, 1, \"0a020007\", NULL, {act=REDIRECT_PORT, port=2});";
    let higher = "SetLookupTable(TCAM, 9, 1, \"0a000000\", \"ff000000\", {act=REDIRECT_PORT, port=3});";
    let mut program = String::new();
    for (line, port) in [(lpm, 0), (em, 1), (tcam, 2), (higher, 3)] {
        program.push_str(line);
        assert_eq!(ports(&mut chip(&program), 0, &ipv4(HOST, 9, b"")), [port]);
    }
}

#[test]
fn routes_count_the_ttl_down_mend_the_checksum_and_set_macs() {
    let mut chip = chip(include_str!("../programs/ipv4-routes.chip"));
    let (out, verdict) = send(&mut chip, 0, &ipv4(HOST, 9, b"data"));
    assert_eq!(verdict, Verdict::Sent);
    let (port, packet) = &out[0];
    assert_eq!(*port, 2);
    assert_eq!(packet[..12], [2, 0, 0, 0, 3, 2, 2, 0, 0, 0, 0, 2]);
    assert_eq!(
        (packet[22], packet[15]),
        (8, 46 << 2 | 3),
        "the TTL, the DSCP with ECN as it was"
    );
    assert!(checksum_is_right(packet));
    assert_eq!(ports(&mut chip, 0, &ipv4(0x0a02_0063, 9, b"")), [] as [u8; 0]);
    assert_eq!(
        ports(&mut chip, 3, &ipv4(0x0a00_0001, 9, b"")),
        [7],
        "port 3 belongs to CPU port 7"
    );
    assert_eq!(
        ports(&mut chip, 0, &ipv4(0x0101_0101, 9, b"")),
        [0],
        "the default route"
    );
    for ttl in [0, 1] {
        assert_eq!(
            send(&mut chip, 0, &ipv4(HOST, ttl, b"")).1,
            Verdict::Discarded(DiscardReason::Ttl)
        );
    }
    assert_eq!(chip.read_register(Register::by_name("DISCARDS_TTL").unwrap()), 2);
}

#[test]
fn labels_are_pushed_swapped_and_popped_and_carry_the_ttl() {
    let mut chip = chip(include_str!("../programs/mpls-tags.chip"));
    let plain = ipv4(0x0a01_0005, 9, b"data");
    let (pushed, _) = send(&mut chip, 0, &plain);
    assert_eq!(pushed[0].1[12..18], [0x88, 0x47, 0, 6, 0x41, 8]);
    assert_eq!(pushed[0].1[18..], {
        let mut inner = plain.clone();
        inner[22] = 8;
        mend(&mut inner);
        inner[14..].to_vec()
    });

    let inner = &ipv4(0x0a01_0005, 9, b"data")[14..];
    let (swapped, _) = send(&mut chip, 0, &mpls(&[(200, 7)], inner));
    assert_eq!(
        swapped[0].1[14..18],
        [0, 0xc, 0x91, 6],
        "label 201, bottom of the stack, TTL 6"
    );

    let (popped, _) = send(&mut chip, 1, &mpls(&[(300, 7)], inner));
    let (port, packet) = &popped[0];
    assert_eq!((*port, &packet[12..14], packet[22]), (2, &[8, 0][..], 6));
    assert!(checksum_is_right(packet));

    let (below, _) = send(&mut chip, 1, &mpls(&[(300, 7), (42, 60)], inner));
    assert_eq!(
        below[0].1[12..18],
        [0x88, 0x47, 0, 2, 0xa1, 6],
        "the label below gets the lower TTL"
    );

    assert_eq!(
        send(&mut chip, 0, &mpls(&[(300, 1)], inner)).1,
        Verdict::Discarded(DiscardReason::Ttl)
    );
    assert_eq!(
        send(&mut chip, 0, &mpls(&[(300, 7)], b"?")).1,
        Verdict::Discarded(DiscardReason::NotApplicable)
    );
    assert_eq!(ports(&mut chip, 0, &mpls(&[(15, 1)], inner)), [4]);
    assert_eq!(
        send(&mut chip, 0, &mpls(&[(16, 9)], inner)).1,
        Verdict::Discarded(DiscardReason::NoMatch)
    );
}

fn mend(packet: &mut [u8]) {
    packet[24..26].fill(0);
    let checksum = !cubeyard_chip::frame::ones_complement_sum(&packet[14..34]);
    packet[24..26].copy_from_slice(&checksum.to_be_bytes());
}

#[test]
fn portland_rewrites_pmacs_and_hands_arp_to_the_cpu() {
    let mut chip = chip(include_str!("../programs/portland-edge.chip"));
    let mut packet = ipv4(HOST, 1, b"");
    packet[..6].copy_from_slice(&[0, 0, 1, 1, 0, 1]);
    let (out, _) = send(&mut chip, 2, &packet);
    assert_eq!(
        (out[0].0, &out[0].1[..6]),
        (1, &[0x00, 0x1f, 0x29, 0xd4, 0x17, 0xe9][..])
    );
    assert_eq!(out[0].1[6..], packet[6..], "nothing else changes: L3 is off");
    packet[..6].copy_from_slice(&[0, 3, 0, 0, 0, 1]);
    assert_eq!(ports(&mut chip, 0, &packet), [3], "odd pods by port 3");
    packet[12..14].copy_from_slice(&[8, 6]);
    assert_eq!(ports(&mut chip, 1, &packet), [5]);
}

#[test]
fn mirrors_and_duplicates_send_packets_as_they_came() {
    let mirrored = "SetVIfTable(1, \"020000000001\", NULL, 1); SetUDLK(1, (B30-33));
        SetLookupTable(LPM, 0, 0, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=1, mirror=6});
        SetLookupTable(TCAM, 0, 1, 10.2.0.7, NULL, {act=MIRROR, port=4});";
    let packet = ipv4(HOST, 9, b"data");
    let (out, _) = send(&mut chip(mirrored), 0, &packet);
    assert_eq!(out.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [4, 6, 1]);
    assert_eq!((&out[0].1, &out[1].1), (&packet, &packet));
    assert_ne!(out[2].1, packet);
    let duplicated = "SetLookupTable(EM_MAC, 0, 0, \"aaaaaaaaaaaa\", NULL, {act=DUPLICATE, ports=(1, 3, 5)}); WriteRegister(L3_ENABLE, 0);";
    let mut chip = chip(duplicated);
    let (out, _) = send(&mut chip, 0, &packet);
    assert_eq!(
        out,
        [(1, packet.clone()), (3, packet.clone()), (5, packet.clone())]
    );
    assert_eq!(chip.read_register(Register::OutBytes(3)), packet.len() as u64);
}

#[test]
fn the_extended_profile_counts_up_and_tunnels() {
    let program = "SetProfile(extended); SetVIfTable(1, NULL, NULL, 1); SetVIfTable(2, NULL, NULL, 2);
        SetLookupTable(EM_IPV4, 0, 0, 10.2.0.7, NULL, {act=REDIRECT_VIF, vif=1, count=B18});
        SetLookupTable(EM_IPV4, 1, 0, 10.2.0.8, NULL, {act=REDIRECT_VIF, vif=1, tunnel=PUSH, src=10.0.0.1, dst=10.9.0.9});
        SetLookupTable(EM_IPV4, 2, 0, 10.9.0.9, NULL, {act=REDIRECT_VIF, vif=2, tunnel=POP});";
    let mut chip = chip(program);
    let (out, _) = send(&mut chip, 0, &ipv4(HOST, 9, b""));
    assert_eq!(out[0].1[18], 0x13, "0x12 of the identification and one");
    assert!(checksum_is_right(&out[0].1));
    let inner = ipv4(HOST + 1, 9, b"data");
    let (tunnelled, _) = send(&mut chip, 0, &inner);
    assert_eq!(tunnelled[0].1.len(), inner.len() + 20);
    assert!(checksum_is_right(&tunnelled[0].1));
    assert_eq!(tunnelled[0].1[30..34], [10, 9, 0, 9]);
    let (back, _) = send(&mut chip, 0, &tunnelled[0].1);
    let mut expected = inner;
    expected[22] -= 1;
    mend(&mut expected);
    assert_eq!(back[0], (2, expected));
    assert_eq!(
        send(&mut chip, 0, &ipv4(0x0a09_0009, 9, b"data")).1,
        Verdict::Discarded(DiscardReason::NotApplicable)
    );
}

#[test]
fn the_papers_calls_set_tables_send_and_receive() {
    let mut switch = ServerSwitch::new();
    let action = |act: &str, vif| RawAction {
        act: act.to_owned(),
        vif,
        ..RawAction::default()
    };
    switch
        .set_vif_table(3, Some(&[0, 0x1f, 0x29, 0xd4, 0x17, 0xe8]), None, 2)
        .unwrap();
    switch
        .set_lookup_table(
            Table::LpmIpv4,
            0,
            0,
            &[10, 0, 0, 0],
            Some(&[255, 0, 0, 0]),
            &action("REDIRECT_VIF", Some(3)),
        )
        .unwrap();
    switch
        .set_lookup_table(Table::EmIpv4, 0, 0, &[10, 2, 0, 7], None, &action("TO_CPU", None))
        .unwrap();
    let mut out = Vec::new();
    let other = ipv4(HOST + 1, 9, b"");
    assert_eq!(
        switch
            .send_packet(&other, 4, &mut |port, _| out.push(port))
            .unwrap(),
        Verdict::Discarded(DiscardReason::NoMatch),
        "calls count from the commit on"
    );
    switch.commit().unwrap();
    let _ = switch
        .send_packet(&other, 4, &mut |port, _| out.push(port))
        .unwrap();
    let _ = switch
        .send_packet(&other, 1, &mut |port, _| out.push(port))
        .unwrap();
    assert_eq!(out, [2, 1]);
    for ttl in 2..=255_u8 {
        let mut frame = Frame::new(&ipv4(HOST, ttl, b"")).unwrap();
        let _ = switch
            .receive(ttl % 4, &mut frame, &mut |_, _| panic!("it is for the CPU"))
            .unwrap();
    }
    for _ in 0..4 {
        let mut frame = Frame::new(&ipv4(HOST, 9, b"")).unwrap();
        let _ = switch.receive(0, &mut frame, &mut |_, _| {}).unwrap();
    }
    assert_eq!(switch.lost_punts(), 2, "254 and 4 arrived for 256 places");
    for ttl in 2..=255_u8 {
        let (port, packet) = switch.recv_packet().unwrap();
        assert_eq!((port, packet[22]), (4 + ttl % 4, ttl), "in order, as they came");
    }
    assert_eq!(switch.read_register("OUT_PACKETS_PORT2").unwrap(), 1);
    assert_eq!(switch.read_register("DISCARDS_NO_MATCH").unwrap(), 1);
    switch.write_register("DISCARDS_NO_MATCH", 0).unwrap();
    assert_eq!(switch.read_register("DISCARDS_NO_MATCH").unwrap(), 0);
    assert_eq!(
        switch
            .write_register("OUTPUT_QUEUE_BYTES_PORT0", 0)
            .unwrap_err()
            .code,
        "register-read-only"
    );
    assert_eq!(
        switch.write_register("OUT_BYTES_PORT0", 7).unwrap_err().code,
        "register-value"
    );
    assert_eq!(
        switch.read_register("OUTPUT_QUEUE").unwrap_err().code,
        "register-unknown"
    );
    switch.write_register("MISS_TO_CPU", 1).unwrap();
    let mut frame = Frame::new(&ipv4(1, 9, b"")).unwrap();
    assert_eq!(
        switch.receive(2, &mut frame, &mut |_, _| {}).unwrap(),
        Verdict::Sent
    );
}

#[test]
fn hits_count_what_each_entry_decided() {
    let mut chip = chip(include_str!("../programs/ipv4-routes.chip"));
    for _ in 0..3 {
        send(&mut chip, 0, &ipv4(HOST, 9, b""));
    }
    send(&mut chip, 0, &ipv4(0x0a00_0001, 9, b""));
    let hits: Vec<(String, u64)> = chip
        .hits()
        .into_iter()
        .map(|(place, hits)| (place.to_string(), hits))
        .collect();
    assert_eq!(
        hits,
        [("EM_IPV4[0]".to_owned(), 1), ("LPM_IPV4[2]".to_owned(), 3)]
    );
}

fn any_program() -> impl Strategy<Value = Program> {
    let choice = prop_oneof![
        Just(include_str!("../programs/ipv4-routes.chip")),
        Just(include_str!("../programs/mpls-tags.chip")),
        Just(include_str!("../programs/bcube-fig6.chip")),
        Just(include_str!("../programs/portland-edge.chip")),
        Just("SetProfile(extended); SetVIfTable(0, NULL, NULL, 0);
              SetLookupTable(LPM, 0, 0, 0.0.0.0, 128.0.0.0, {act=REDIRECT_VIF, vif=0, tunnel=POP, dscp=1});
              SetLookupTable(LPM, 1, 0, 128.0.0.0, 128.0.0.0, {act=REDIRECT_VIF, vif=0, mpls=PUSH, label=9, count=B30});
              for (i = 0; i < 20; i++) { SetLookupTable(EM_MPLS, i, 0, i, NULL, {act=REDIRECT_VIF, vif=0, mpls=POP}); }"),
    ];
    choice.prop_map(|program| text::read(program).unwrap())
}

proptest! {
    /// For any input: no panic, packets that leave have a right checksum, and every packet is
    /// counted once.
    #[test]
    fn any_bytes_are_sent_or_discarded(
        program in any_program(),
        packets in vec((0..8_u8, prop_oneof![
            vec(any::<u8>(), 0..200),
            (any::<u32>(), any::<u8>(), vec(any::<u8>(), 0..100)).prop_map(|(to, ttl, data)| ipv4(to, ttl, &data)),
            (vec((0..20_u32, any::<u8>()), 1..4), any::<u32>()).prop_map(|(stack, to)| mpls(&stack, &ipv4(to, 7, b"x")[14..])),
            (vec((0..20_u32, any::<u8>()), 1..4), vec(any::<u8>(), 0..60)).prop_map(|(stack, data)| mpls(&stack, &data)),
        ]), 1..20),
    ) {
        let mut chip = Chip::new(program).unwrap();
        let mut discarded = 0;
        let (mut sent, count) = (0, packets.len() as u64);
        for (port, packet) in packets {
            let trace = chip.clone().trace(port, &packet).unwrap();
            let (out, verdict) = send(&mut chip, port, &packet);
            prop_assert_eq!(trace.outcome == "sent", verdict == Verdict::Sent);
            let traced: Vec<(u8, Vec<u8>)> = trace.sent.iter().map(|sent| (sent.port, common::bytes(&sent.packet))).collect();
            prop_assert_eq!(&traced, &out, "a trace is what happens");
            sent += out.len() as u64;
            discarded += u64::from(verdict != Verdict::Sent);
            let was_right = packet.len() >= 34 && packet[12..14] == [8, 0];
            for (_, bytes) in out {
                if was_right && bytes[12..14] == [8, 0] && chip.program().profile() == Profile::Bcm56338 && chip.read_register(Register::L3Enable) == 1 {
                    prop_assert!(checksum_is_right(&bytes));
                }
            }
        }
        let sum = |of: fn(u8) -> Register| (0..8).map(|port| chip.read_register(of(port))).sum::<u64>();
        let reasons = DiscardReason::ALL.map(|reason| chip.read_register(Register::Discards(reason)));
        prop_assert_eq!(sum(Register::InPackets), count);
        prop_assert_eq!(sum(Register::OutPackets), sent);
        prop_assert_eq!(reasons.iter().sum::<u64>(), discarded);
    }
}
