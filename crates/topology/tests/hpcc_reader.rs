//! Topology files of the HPCC ns-3 simulator are read as that simulator means them, and bad ones fail by line.
use backwater_topology::read::{ReadErrorKind, hpcc, hpcc_bytes};
use backwater_topology::{Routes, Routing, deadlock, summary};
use backwater_units::{Rate, Span};
use proptest::prelude::*;

const MICRO: &str = include_str!("../../../tests/differential/data/micro/topology.txt");
const K4: &str = include_str!("../../../tests/differential/data/k4/topology.txt");
const INCAST: &str = include_str!("../../../tests/differential/data/incast/topology.txt");

fn message(text: &str) -> String {
    hpcc(text).unwrap_err().to_string()
}

#[test]
fn the_smallest_file_is_two_hosts_at_a_switch() {
    let net = hpcc(MICRO).unwrap();
    assert_eq!(net.hosts(), [0, 1]);
    assert_eq!(net.find("n2"), Some(2));
    assert!(net.is_switch(2));
    let port = net.ports(2)[1];
    assert_eq!((port.peer, port.rate, port.delay), (1, Rate::from_gbps(100), Span::from_us(1)));
}

#[test]
fn the_k4_file_is_a_fat_tree_of_16_hosts() {
    let net = hpcc(K4).unwrap();
    let routes = Routes::new(&net, Routing::Ecmp).unwrap();
    let s = summary(&net, &routes);
    assert_eq!((s.hosts, s.switches, s.links, s.diameter), (16, 20, 48, 6));
    assert_eq!(deadlock::check(&net, &routes), Ok(()));
}

#[test]
fn the_incast_file_is_a_star_of_64_hosts() {
    let net = hpcc(INCAST).unwrap();
    assert_eq!(net.hosts().len(), 64);
    assert_eq!(net.ports(64).len(), 64);
}

#[test]
fn blank_lines_windows_line_ends_a_byte_order_mark_and_a_split_list_of_switches_are_fine() {
    let text = "\u{feff}4 2 3\r\n2\r\n\r\n3\r\n0 2 10Gbps 0.001ms 0\r\n1 3 10Gbps 1us 0.0\r\n2 3 40Gbps 1us 0e0\r\n\r\n";
    let net = hpcc(text).unwrap();
    assert_eq!((net.hosts().len(), net.links().len()), (2, 3));
}

#[test]
fn a_file_without_switches_joins_two_hosts() {
    assert_eq!(hpcc("2 0 1\n\n0 1 10Gbps 1us 0\n").unwrap().hosts(), [0, 1]);
}

#[test]
fn an_empty_file_is_no_topology() {
    assert_eq!(hpcc("").unwrap_err().kind, ReadErrorKind::Empty);
    assert_eq!(hpcc(" \n\n").unwrap_err().kind, ReadErrorKind::Empty);
}

#[test]
fn a_truncated_file_says_how_much_is_missing() {
    let cut = K4.lines().take(30).collect::<Vec<_>>().join("\n");
    assert_eq!(message(&cut), "line 30: the file ends after 28 of the 48 links that the header announces");
    let cut = &MICRO[..MICRO.trim_end().len() - 3];
    assert!(message(cut).starts_with("line 4: expected 5 fields"), "{}", message(cut));
    assert!(message("3 1 2\n").contains("announces 1 switches, but 0 switch ids are listed"));
}

#[test]
fn a_description_of_the_format_after_the_last_link_is_ignored_as_that_simulator_does() {
    // The words with which the files that come with it end.
    let described = format!(
        "{MICRO}\n\nFirst line: total node #, switch node #, link #\nSecond line: switch node IDs...\nsrc0 dst0 rate delay error_rate\n...\n"
    );
    assert_eq!(hpcc(&described).unwrap(), hpcc(MICRO).unwrap());
    // Before it, nothing is.
    let early = K4.replacen("\n1 ", "\nsrc1 dst1 rate delay error_rate\n1 ", 1);
    assert!(message(&early).contains("the first node \"src1\" is not a whole number"), "{}", message(&early));
}

#[test]
fn counts_that_do_not_match_are_errors_in_the_line_where_it_shows() {
    let more = format!("{MICRO}\n1 2 100Gbps 1us 0\n");
    assert!(message(&more).contains("the header announces 2 links, but here is another one"));
    // Whatever else is wrong with it: the header is what says how many there are.
    assert!(message(&format!("{MICRO}\n1 2 fast\n")).contains("but here is another one"));
    assert!(
        message("3 2 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n")
            .starts_with("line 3: the header announces 2 switches")
    );
    assert!(message("3 1 2\n1 2\n").starts_with("line 2: the header announces 1 switches, but 2 switch ids"));
    assert!(message("3 4 2\n").starts_with("line 1: the number of switches is 4; expected at most 3"));
    assert!(
        message("4000000000 1 2\n").contains("the number of nodes is 4000000000; expected at most 1048576")
    );
    assert!(
        message("3 1\n").starts_with("line 1: expected 3 numbers (nodes, switches, links), found 2 fields")
    );
}

#[test]
fn a_bad_field_is_quoted_with_its_line() {
    let file = |link: &str| message(&format!("3 1 2\n2\n0 2 100Gbps 1us 0\n{link}\n"));
    assert!(
        file("1 2 100Gbits 1us 0").starts_with("line 4: the rate \"100Gbits\": expected one of the units")
    );
    assert!(file("1 2 -1Gbps 1us 0").starts_with("line 4: the rate \"-1Gbps\": expected a non-negative"));
    assert!(file("1 2 100Gbps 1 0").starts_with("line 4: the delay \"1\": expected one of the units"));
    assert!(file("1 2 0Gbps 1us 0").starts_with("line 4: link 1 (n1 - n2) has a rate of 0bps"));
    assert!(file("1 2 1Gbps 0us 0").starts_with("line 4: link 1 (n1 - n2) has a propagation delay of 0ps"));
    assert!(file("x 2 1Gbps 1us 0").starts_with("line 4: the first node \"x\" is not a whole number"));
    assert!(
        file("1 3 1Gbps 1us 0")
            .starts_with("line 4: the second node is 3, but the 3 nodes have ids from 0 to 2")
    );
    assert!(file("2 2 1Gbps 1us 0").starts_with("line 4: link 1 joins \"n2\" to itself"));
    assert!(message("3 1 1\n2\n0 2 1Gbps 1us 0\n").starts_with("line 1: host n1 has 0 links"));
    assert!(message("4 2 2\n2 2\n").starts_with("line 2: the switch id 2 is listed twice"));
    assert!(message("3 1 2\n7\n").starts_with("line 2: the switch id is 7"));
}

#[test]
fn links_that_lose_packets_are_refused_rather_than_made_lossless() {
    let file = |loss: &str| message(&format!("3 1 2\n2\n0 2 100Gbps 1us {loss}\n1 2 100Gbps 1us 0\n"));
    assert_eq!(
        file("0.01"),
        "line 3: the loss rate is 0.01, but links that lose packets are not supported; set it to 0"
    );
    assert!(file("NaN").starts_with("line 3: the loss rate \"NaN\" is not a number"));
    assert!(file("none").starts_with("line 3: the loss rate \"none\" is not a number"));
}

#[test]
fn a_file_that_is_no_text_says_where() {
    let error = hpcc_bytes(b"3 1 2\n2\n0 2 \xff\n").unwrap_err();
    assert_eq!((error.line, error.kind), (3, ReadErrorKind::NotUtf8));
    assert!(hpcc_bytes(MICRO.as_bytes()).is_ok());
}

/// Numbers and words that bring a random file past the first checks.
fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0u32..6).prop_map(|n| n.to_string()),
        2 => Just("10Gbps".to_owned()),
        2 => Just("1us".to_owned()),
        4 => Just("\n".to_owned()),
        1 => "[0-9a-zA-Z.µ-]{0,12}",
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let lines = bytes.split(|&byte| byte == b'\n').count();
        if let Err(error) = hpcc_bytes(&bytes) {
            prop_assert!((1..=lines).contains(&error.line));
        }
    }

    #[test]
    fn no_sequence_of_plausible_fields_makes_the_reader_panic(tokens in prop::collection::vec(token(), 0..60)) {
        let text = tokens.join(" ");
        if let Err(error) = hpcc(&text) {
            prop_assert!((1..=text.split('\n').count()).contains(&error.line));
        }
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_with_a_line_of_it(
        at in 0..K4.len(), length in 0usize..40, insert in "[0-9 \nGbps.-]{0,8}",
    ) {
        let end = (at + length).min(K4.len());
        let text = format!("{}{insert}{}", &K4[..at], &K4[end..]);
        if let Err(error) = hpcc(&text) {
            prop_assert!((1..=text.split('\n').count()).contains(&error.line));
        }
    }
}

/// Two servers of two GPUs under two leaves and a spine, as SimAI's generator writes it: NVSwitches first, all ids in one line.
const SIMAI: &str = "9 2 2 3 10 H100\n4 5 6 7 8 \n\
    0 4 2880Gbps 0.000025ms 0\n0 6 400Gbps 0.0005ms 0\n1 4 2880Gbps 0.000025ms 0\n1 7 400Gbps 0.0005ms 0\n\
    2 5 2880Gbps 0.000025ms 0\n2 6 400Gbps 0.0005ms 0\n3 5 2880Gbps 0.000025ms 0\n3 7 400Gbps 0.0005ms 0\n\
    6 8 400Gbps 0.0005ms 0\n7 8 400Gbps 0.0005ms 0\n";

#[test]
fn the_nvswitches_of_simai_are_scale_up_switches() {
    let net = hpcc(SIMAI).unwrap();
    assert_eq!(net.hosts(), [0, 1, 2, 3]);
    let within: Vec<u32> = (0..9).filter(|node| net.is_scale_up(*node)).collect();
    assert_eq!(within, [4, 5]);
    assert_eq!(net.server_of(3), Some(5));
    assert_eq!((net.ports(0)[0].rate, net.ports(0)[0].delay), (Rate::from_gbps(2880), Span::from_ns(25)));
    // A later version writes the number of GPUs of a node once more.
    assert_eq!(hpcc(&SIMAI.replace("H100", "H100 2")).unwrap(), net);
}

#[test]
fn servers_that_nothing_joins_are_stars() {
    let net = hpcc("3 2 1 0 2 H100\n2\n0 2 2880Gbps 25ns 0\n1 2 2880Gbps 25ns 0\n").unwrap();
    assert!(!net.is_scale_up(2));
    assert_eq!(net.server_of(0), None);
}

#[test]
fn a_wrong_header_of_simai_says_what_is_wrong() {
    let said = |header: &str| message(&SIMAI.replacen("9 2 2 3 10 H100", header, 1));
    assert_eq!(
        said("9 8 2 3 10 H100"),
        "line 1: the header announces servers of 8 GPUs, but the NVSwitch 4 joins 2; correct one of them"
    );
    assert_eq!(said("9 2 10 3 10 H100"), "line 1: the number of NVSwitches is 10; expected at most 9");
    assert_eq!(said("9 2 2 8 10 H100"), "line 1: the number of switches is 8; expected at most 7");
    assert!(said("9 2 2 3 10 H100 2 2").contains("found 8 fields"), "{}", said("9 2 2 3 10 H100 2 2"));
    assert!(said("9 2 x 3 10 H100").contains("NVSwitches \"x\" is not a whole number"));
    // Of the five switches the last two were the NVSwitches: they forward between switches.
    assert!(said("9 2 5 0 10 H100").starts_with("line 1: "), "{}", said("9 2 5 0 10 H100"));
}
