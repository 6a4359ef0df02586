//! Programs as text and JSON: writing and reading gives the same program, and errors name line,
//! column, field, limit and fix.

use cubeyard_chip::action::RawAction;
use cubeyard_chip::{
    Action, Field, Forward, Mpls, Profile, Program, Register, Table, Tunnel, diff::diff, document, text,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn any_action(vifs: u16, profile: Profile) -> impl Strategy<Value = Action> {
    let forward = prop_oneof![
        4 => (0..vifs).prop_map(Forward::Vif),
        1 => (0..8_u8).prop_map(Forward::Port),
        1 => Just(Forward::Discard),
        1 => (1..=255_u8).prop_map(Forward::Duplicate),
        1 => (0..8_u8).prop_map(Forward::Mirror),
        1 => Just(Forward::ToCpu),
    ];
    let mpls = prop_oneof![
        Just(None),
        (0..1_u32 << 20).prop_map(|label| Some(Mpls::Push(label))),
        Just(Some(Mpls::Pop)),
        (0..1_u32 << 20).prop_map(|label| Some(Mpls::Swap(label))),
    ];
    let tunnel = prop_oneof![
        Just(None),
        any::<(u32, u32)>().prop_map(|(a, b)| Some(Tunnel::Push(a.into(), b.into()))),
        Just(Some(Tunnel::Pop)),
    ];
    let rest = (
        proptest::option::of(0..8_u8),
        proptest::option::of(0..64_u8),
        mpls,
        tunnel,
        proptest::option::of(14..128_u8),
    );
    (forward, rest).prop_map(move |(forward, (mirror, dscp, mpls, tunnel, count_up))| {
        let plain = Action::to(forward);
        let mirror = mirror.filter(|_| !matches!(forward, Forward::Mirror(_)));
        if !matches!(forward, Forward::Vif(_)) {
            return Action { mirror, ..plain };
        }
        let extended = profile == Profile::Extended;
        Action {
            mirror,
            dscp,
            mpls,
            tunnel: tunnel.filter(|_| extended && mpls.is_none()),
            count_up: count_up.filter(|_| extended),
            ..plain
        }
    })
}

/// A program with a few entries in every table.
fn any_program() -> impl Strategy<Value = Program> {
    let profile = prop_oneof![Just(Profile::Bcm56338), Just(Profile::Extended)];
    profile.prop_flat_map(|profile| {
        let mac = proptest::option::of(any::<[u8; 6]>());
        let vifs = vec((mac.clone(), mac, 0..8_u64), 1..6);
        let entry = (
            any::<[u8; 17]>(),
            any::<[u8; 17]>(),
            0..=32_u32,
            any_action(1, profile),
        );
        (
            vifs,
            vec((0..5_usize, 0..2048_u64, 1..=2_u64, entry), 0..40),
            vec(0..=1_u64, 0..3),
        )
            .prop_map(move |(vifs, entries, switches)| {
                let mut program = Program::new(profile);
                program
                    .set_udlk(1, vec![Field::Bytes(22, 25), Field::Bytes(34, 41)])
                    .unwrap();
                program
                    .set_udlk(2, vec![Field::InPort, Field::Bytes(30, 33), Field::Bytes(42, 45)])
                    .unwrap();
                for (i, (dmac, smac, port)) in vifs.iter().enumerate() {
                    let of = |mac: &Option<[u8; 6]>| mac.map(|mac| mac.to_vec());
                    program
                        .set_vif_table(i as u64, of(dmac).as_deref(), of(smac).as_deref(), *port)
                        .unwrap();
                }
                let registers = [Register::L3Enable, Register::MplsEnable, Register::MissToCpu];
                for (register, value) in registers.into_iter().zip(switches) {
                    program.set_register(register, value).unwrap();
                }
                for (table, i, iudlk, (value, mask, length, action)) in entries {
                    let table = Table::ALL[table];
                    let bytes = program.key_bytes(table, iudlk).unwrap();
                    let mut value = value[..bytes].to_vec();
                    let prefix = u32::MAX.checked_shl(32 - length).unwrap_or(0).to_be_bytes();
                    let mask = match table {
                        Table::Tcam => Some(mask[..bytes].to_vec()),
                        Table::LpmIpv4 => Some(prefix.to_vec()),
                        _ => None,
                    };
                    if table == Table::EmMpls {
                        value[0] &= 0x0f;
                    }
                    let before = program.clone();
                    let raw = RawAction::from(&action);
                    program
                        .set_lookup_table(table, i, iudlk, &value, mask.as_deref(), &raw)
                        .unwrap();
                    if !program.check().is_empty() {
                        program = before;
                    }
                }
                program
            })
    })
}

proptest! {
    #[test]
    fn a_printed_program_is_read_as_the_same(program in any_program()) {
        let printed = text::print(&program);
        let read = text::read(&printed).unwrap();
        prop_assert_eq!(&read, &program);
        prop_assert_eq!(text::print(&read), printed);
        let json = document::write(&program);
        prop_assert_eq!(&text::read(&json).unwrap(), &program);
        prop_assert!(diff(&read, &program).is_empty());
    }

    #[test]
    fn a_difference_is_told_exactly_where_programs_differ(first in any_program(), second in any_program()) {
        let found = diff(&first, &second);
        prop_assert_eq!(found.is_empty(), first == second);
        let back = diff(&second, &first);
        prop_assert_eq!(found.len(), back.len());
        for (one, other) in found.iter().zip(&back) {
            prop_assert_eq!((&one.what, &one.before, &one.after), (&other.what, &other.after, &other.before));
        }
    }

    /// No text makes the reader panic, and each mistake has its place.
    #[test]
    fn any_text_is_read_or_refused(
        cut in any::<prop::sample::Index>(),
        put in prop_oneof!["[ -~\n]{0,12}", "\\PC{0,6}", Just("(((((((((((((((((((((((((((((((((((((((((((((((((".to_owned()), Just("for(i=0;i<9;i=i){".to_owned())],
    ) {
        let whole = include_str!("../programs/bcube-fig6.chip");
        let places: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
        let at = *cut.get(&places);
        let mutated = format!("{}{put}{}", &whole[..at], &whole[at..]);
        if let Err(flaws) = text::read(&mutated) {
            prop_assert!(!flaws.is_empty());
            for flaw in flaws {
                let line = mutated.lines().nth(flaw.line as usize - 1).unwrap_or("");
                prop_assert!(flaw.column as usize <= line.chars().count() + 1, "{} in {:?}", flaw, line);
                prop_assert!(!flaw.hint.is_empty() && !flaw.limit.is_empty());
            }
        }
    }
}

/// Programs with one mistake: the line and column, the code and the field.
const MISTAKES: &[(&str, (u32, u32), &str, &str)] = &[
    ("SetUDLK(3, (B0-5));", (1, 9), "udlk-number", "i"),
    ("SetUDLK(1, (B0-5,\n  B126-129));", (2, 3), "udlk-beyond", "udlk"),
    (
        "SetUDLK(1, (B0-5, B10, B20, B30));",
        (1, 12),
        "udlk-blocks",
        "udlk",
    ),
    ("SetUDLK(1, (B5-0));", (1, 13), "udlk-order", "udlk"),
    ("SetUDLK(1, (B0-5, B5));", (1, 12), "udlk-twice", "udlk"),
    ("SetUDLK(1, (TTL));", (1, 13), "udlk-field", "udlk"),
    ("SetVIfTable(4096, NULL, NULL, 0);", (1, 13), "vif-full", "i"),
    (
        "SetVIfTable(1, \"0011\", NULL, 0);",
        (1, 16),
        "mac-length",
        "dmac",
    ),
    ("SetVIfTable(1, mac, NULL, 0);", (1, 16), "unset", "mac"),
    (
        "SetVIfTable(1, dstmac, NULL, 0);",
        (1, 16),
        "server-unset",
        "dstmac",
    ),
    ("foreach nha in nhas { }", (1, 16), "server-unset", "nhas"),
    ("foreach i in lsit { }", (1, 14), "unset", "lsit"),
    ("foreach i in (1, lsit) { }", (1, 18), "unset", "lsit"),
    ("x = oport[1];", (1, 5), "server-unset", "oport"),
    ("x = 10.0.0.1; y = x[4];", (1, 19), "index", "x"),
    ("x = (1, 2); y = x[0];", (1, 17), "type", "x"),
    ("x = y[0];", (1, 5), "unset", "y"),
    ("if (1 == 1) { x = y; } else { }", (1, 19), "unset", "y"),
    ("if (1 == 2) { x = y; } else { x = z; }", (1, 35), "unset", "z"),
    ("if (1) { }", (1, 6), "syntax", "program"),
    ("else { }", (1, 6), "syntax", "program"),
    (
        "x = (1, 2); for (i = 0; i < 64; i++) { x = (x, x); }",
        (1, 44),
        "list-long",
        "value",
    ),
    ("SetVIfTable(1, NULL, NULL, 8);", (1, 28), "port-range", "oport"),
    (
        "SetLookupTable(TCAM, 0, 1, \"00\", NULL, {act=DISCARD});",
        (1, 25),
        "udlk-unset",
        "iudlk",
    ),
    (
        "SetLookupTable(EM_IPV4, 8192, 0, 10.0.0.1, NULL, {act=DISCARD});",
        (1, 25),
        "table-full",
        "i",
    ),
    (
        "SetLookupTable(EM_MAC, 32768, 0, \"000000000000\", NULL, {act=DISCARD});",
        (1, 24),
        "table-full",
        "i",
    ),
    (
        "SetLookupTable(EM_MPLS, 4096, 0, 1, NULL, {act=DISCARD});",
        (1, 25),
        "table-full",
        "i",
    ),
    (
        "SetLookupTable(LPM, 6144, 0, 10.0.0.0, 255.0.0.0, {act=DISCARD});",
        (1, 21),
        "table-full",
        "i",
    ),
    (
        "SetUDLK(1, (B0));\nSetLookupTable(TCAM, 2048, 1, \"00\", NULL, {act=DISCARD});",
        (2, 22),
        "table-full",
        "i",
    ),
    (
        "SetUDLK(1, (B0));\nSetLookupTable(TCAM, 0, 1, \"0011\", NULL, {act=DISCARD});",
        (2, 28),
        "key-length",
        "value",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, \"ffffffff\", {act=DISCARD});",
        (1, 41),
        "mask-exact",
        "mask",
    ),
    (
        "SetLookupTable(LPM, 0, 0, 10.0.0.1, 255.0.255.0, {act=DISCARD});",
        (1, 37),
        "mask-prefix",
        "mask",
    ),
    (
        "SetLookupTable(EM_MPLS, 0, 0, 1048576, NULL, {act=DISCARD});",
        (1, 31),
        "label-range",
        "value",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL, {act=FLOOD});",
        (1, 48),
        "action-unknown",
        "action.act",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL, {act=REDIRECT_PORT, port=9});",
        (1, 67),
        "action-range",
        "action.port",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL, {act=DISCARD, dscp=1});",
        (1, 48),
        "action-modifies",
        "action.act",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL, {act=REDIRECT_VIF, vif=7});",
        (1, 1),
        "vif-unset",
        "action.vif",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL, {act=REDIRECT_VIF, vif=7, count=B36});",
        (1, 73),
        "action-profile",
        "action.count",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL, {act=DISCARD, when=1});",
        (1, 61),
        "action-field",
        "action",
    ),
    (
        "SetLookupTable(ACL, 0, 0, 10.0.0.1, NULL, {act=DISCARD});",
        (1, 16),
        "table",
        "type",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, \"10.0.0.300\", NULL, {act=DISCARD});",
        (1, 31),
        "address",
        "value",
    ),
    (
        "SetLookupTable(EM_MAC, 0, 0, \"00112233445g\", NULL, {act=DISCARD});",
        (1, 30),
        "hex-digit",
        "value",
    ),
    (
        "SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL);",
        (1, 1),
        "call-arguments",
        "SetLookupTable",
    ),
    ("ReadRegister(L3_ENABLE);", (1, 1), "call-unknown", "call"),
    (
        "WriteRegister(IN_BYTES_PORT1, 0);",
        (1, 15),
        "register-counter",
        "reg",
    ),
    ("WriteRegister(L3_ENABLE, 2);", (1, 26), "register-value", "value"),
    ("SetProfile(bcm56340);", (1, 12), "profile", "profile"),
    ("val[0] = 256;", (1, 10), "byte-range", "val"),
    ("val[1:4] = \"0011\";", (1, 12), "byte-count", "val"),
    ("i = 1 - 2;", (1, 5), "arithmetic", "value"),
    ("for (i = 0; i < 4; i = i) { }", (1, 20), "too-long", "program"),
    ("SetUDLK(1 (B0));", (1, 11), "syntax", "program"),
    ("foreach nha of (1) { }", (1, 13), "syntax", "program"),
    ("for (i = 0; i < 4; i++) {", (1, 26), "syntax", "program"),
    ("/* open", (1, 1), "comment-open", "program"),
    ("x = \"00", (1, 5), "text-open", "program"),
    ("x = 12zz;", (1, 5), "number", "program"),
    ("x = §;", (1, 5), "character", "program"),
];

#[test]
fn mistakes_are_named_with_their_place() {
    let wrong: Vec<String> = MISTAKES
        .iter()
        .filter_map(|(program, place, code, field)| {
            let flaw = text::read(program).unwrap_err().remove(0);
            let found = ((flaw.line, flaw.column), flaw.code, &*flaw.field);
            (found != (*place, *code, *field)).then(|| format!("{program}\n  {found:?} {flaw}"))
        })
        .collect();
    assert_eq!(wrong, [] as [String; 0]);
}

#[test]
fn a_message_says_value_limit_and_fix() {
    let flaws =
        text::read("SetUDLK(1, (B22));\n\nSetLookupTable(TCAM, 2048, 1, \"00\", NULL, {act=DISCARD});")
            .unwrap_err();
    let expected = "line 3, column 22: i is 2048, but must be 0 to 2047. TCAM has 2048 entries.";
    assert_eq!(flaws[0].to_string(), expected);
}

#[test]
fn several_mistakes_are_reported_together_and_a_loop_reports_its_own_once() {
    let program = "for (i = 0; i < 300; i++) { SetVIfTable(i, \"00\", NULL, 0); }\nSetProfile(none);";
    let flaws = text::read(program).unwrap_err();
    assert_eq!(
        flaws.iter().map(|flaw| flaw.code).collect::<Vec<_>>(),
        ["mac-length", "profile"]
    );
}

#[test]
fn what_stands_twice_is_refused() {
    let route = |i: u32| format!("SetLookupTable(LPM, {i}, 0, 10.0.0.0, 255.0.0.0, {{act=DISCARD}});\n");
    let flaws = text::read(&format!("{}{}", route(0), route(1))).unwrap_err();
    assert_eq!((flaws[0].code, flaws[0].line), ("value-twice", 2));
    let flaws = text::read(&format!("{}{}", route(0), route(0))).unwrap_err();
    assert_eq!((flaws[0].code, flaws[0].line), ("index-twice", 2));
    let udlk =
        "SetUDLK(1, (B22)); SetLookupTable(TCAM, 0, 1, \"01\", NULL, {act=DISCARD}); SetUDLK(1, (B23));";
    assert_eq!(text::read(udlk).unwrap_err()[0].code, "udlk-used");
}

#[test]
fn lists_are_gone_through_in_order_and_arrays_have_bytes() {
    let program = text::read(
        "SetUDLK(1, (B0-1)); j = 0; both = (3, (4, 5)); x = 10.0.9.7;\
         foreach i in both { val[0] = i; val[1] = x[2]; SetLookupTable(TCAM, j++, 1, val, NULL, {act=DISCARD}); }\
         foreach i in (both, 6) { if (i > 5) { val[0] = i; SetLookupTable(TCAM, j++, 1, val, NULL, {act=TO_CPU}); } }",
    );
    let program = program.unwrap();
    let entries = program.table(Table::Tcam).values();
    let values: Vec<Vec<u8>> = entries.map(|entry| entry.value.to_vec()).collect();
    assert_eq!(values, [[3, 9], [4, 9], [5, 9], [6, 0]]);
}

#[test]
fn values_and_masks_are_empty_again_after_each_entry() {
    let program = "SetUDLK(1, (B22-23)); action.act = DISCARD;
        val[0] = 1; mask[0] = 0xff; SetLookupTable(TCAM, 0, 1, val, mask, &action);
        val[1] = 2; mask[1] = 0xff; SetLookupTable(TCAM, 1, 1, val, mask, &action);";
    let read = text::read(program).unwrap();
    let entries: Vec<_> = read
        .table(Table::Tcam)
        .values()
        .map(|entry| (entry.value.to_vec(), entry.mask.to_vec()))
        .collect();
    assert_eq!(
        entries,
        [(vec![1, 0], vec![0xff, 0]), (vec![0, 2], vec![0, 0xff])]
    );
    let forgotten = format!("{program} val[0] = 3; SetLookupTable(TCAM, 2, 1, val, mask, &action);");
    assert_eq!(text::read(&forgotten).unwrap_err()[0].code, "array-empty");
}

#[test]
fn json_mistakes_name_the_place_in_the_document() {
    let at = |json: &str| {
        let flaw = text::read(json).unwrap_err().remove(0);
        (flaw.line, flaw.field.to_string())
    };
    assert_eq!(at("{\"tcam\":\n 7}"), (2, "tcam".to_owned()));
    assert_eq!(at("{\"tables\": []}").0, 1);
    let row = r#"{"em_ipv4": [{"i": 0, "value": "0a000001", "action": {"act": "DISCARD"}}, {"i": 1, "value": "0a", "action": {"act": "DISCARD"}}]}"#;
    assert_eq!(at(row), (0, "em_ipv4[1].value".to_owned()));
    assert_eq!(
        at(&row.replace("\"i\": 1", "\"i\": 0")),
        (0, "em_ipv4[1].i".to_owned())
    );
}

#[test]
fn the_examples_are_programs_and_differ_as_told() {
    let routes = text::read(include_str!("../programs/ipv4-routes.chip")).unwrap();
    let mut changed = routes.clone();
    changed.set_vif_table(2, None, None, 3).unwrap();
    changed.set_register(Register::MissToCpu, 1).unwrap();
    let found: Vec<String> = diff(&routes, &changed)
        .into_iter()
        .map(|item| item.what)
        .collect();
    assert_eq!(found, ["MISS_TO_CPU", "VIF[2]"]);
    assert_eq!(routes.shadowed(), []);
}
