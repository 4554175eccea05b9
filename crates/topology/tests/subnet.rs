//! `InfiniBand` subnets from the files of their tools, and forwarding tables written out.
use backwater_topology::generate::{Edge, from_edges, from_parallel_edges};
use backwater_topology::read::{self, subnet};
use backwater_topology::{Network, RouteError, Routes, Routing, deadlock};
use backwater_units::{Rate, Span};

const DISCOVERED: &str = include_str!("../../../scenarios/subnet/hdr.ibnetdiscover");
const DUMPED: &str = include_str!("../../../scenarios/subnet/hdr.lfts");
const LISTED: &str = include_str!("../../../fuzz/seeds/subnet/lst.txt");
const DIAGNOSED: &str = include_str!("../../../fuzz/seeds/subnet/db_csv.txt");

fn network(subnet: &subnet::Subnet) -> Network {
    let edge = |cable: &subnet::Cable| Edge {
        a: cable.a.clone(),
        b: cable.b.clone(),
        rate: cable.rate,
        delay: Span::from_ns(50),
    };
    let edges: Vec<Edge> = subnet.cables.iter().map(edge).collect();
    from_parallel_edges(&subnet.hosts, &subnet.switches, &edges).unwrap()
}

#[test]
fn a_discovered_subnet_has_its_hosts_its_switches_and_each_cable_once() {
    let subnet = subnet::discovered(DISCOVERED).unwrap();
    assert_eq!(subnet.hosts, (1..=8).map(|i| format!("node0{i}")).collect::<Vec<_>>());
    assert_eq!(subnet.switches, ["leaf-1", "leaf-2", "spine-1", "spine-2"]);
    // 8 hosts, and two cables from each of two leaves to each of two spines
    assert_eq!(subnet.cables.len(), 8 + 2 * 2 * 2);
    assert!(subnet.cables.iter().all(|cable| cable.rate == Rate::from_gbps(200)));
    assert!(subnet.notes.is_empty());
}

#[test]
fn packets_take_the_ports_of_the_dumped_tables() {
    let subnet = subnet::discovered(DISCOVERED).unwrap();
    let net = network(&subnet);
    let (table, notes) = subnet::tables(&subnet, DUMPED).unwrap();
    // 4 switches have entries for the 4 LIDs of switches.
    assert_eq!(
        notes,
        ["entries for LIDs that are no hosts' first ones, such as those of switches, are left out: 16"]
    );
    let routes = Routes::from_entries(&net, &read::table(&table, &net).unwrap()).unwrap();
    let way = |src: &str, dst: &str| -> Vec<String> {
        let host = |name| net.host_index(net.find(name).unwrap()).unwrap();
        let path = routes.path(&net, host(src), host(dst), |_| 0);
        path.into_iter().map(|(node, port)| net.port_name(node, port)).collect()
    };
    // leaf-1 has for LID 9 port 37, for 10, 11 and 12 ports 38, 39 and 40: spine-1 twice, then spine-2 twice. spine-1 has port 3 for LIDs 9
    // and 10, port 4 for 11 and 12, and so has spine-2.
    let up = ["spine-1:0", "spine-1:1", "spine-2:0", "spine-2:1"];
    let down = ["spine-1->leaf-2:0", "spine-1->leaf-2:0", "spine-2->leaf-2:1", "spine-2->leaf-2:1"];
    for (i, dst) in ["node05", "node06", "node07", "node08"].iter().enumerate() {
        let expected = [
            "node01->leaf-1".to_owned(),
            format!("leaf-1->{}", up[i]),
            down[i].to_owned(),
            format!("leaf-2->{dst}"),
        ];
        assert_eq!(way("node01", dst), expected);
    }
    assert_eq!(way("node01", "node02"), ["node01->leaf-1", "leaf-1->node02"]);
    assert!(deadlock::check(&net, &routes).is_ok());
}

/// The same subnet as in `db_csv`, but that the second host is at port 0x1A, which is 26 in the tables.
#[test]
fn a_listed_subnet_has_hexadecimal_ports_and_its_fdbs_decimal_ones() {
    let (list, fdbs) = LISTED.split_once("%\n").unwrap();
    let subnet = subnet::read(list).unwrap();
    let diagnosed = subnet::read(DIAGNOSED.split_once("%\n").unwrap().0).unwrap();
    assert_eq!((&subnet.hosts, &subnet.switches), (&diagnosed.hosts, &diagnosed.switches));
    assert_eq!(subnet.cables.len(), 2);
    assert!(subnet.cables.iter().all(|cable| cable.rate == Rate::from_gbps(200)));
    let (table, _) = subnet::tables(&subnet, fdbs).unwrap();
    assert_eq!(table, "leaf-1 node01 node01\nleaf-1 node02 node02\n");
    let one_down = list.replace("PN:1A } PHY=4x LOG=ACT", "PN:1A } PHY=4x LOG=INI");
    let (hosts, notes) = subnet::read(&one_down).map(|subnet| (subnet.hosts, subnet.notes)).unwrap();
    assert_eq!(hosts.len(), 2, "the other end is still active");
    assert_eq!(notes, ["ends of cables that are not active (LOG=ACT) are left out: 1"]);
    let unknown = subnet::read(&list.replacen("SPD=50", "SPD=51", 1)).unwrap_err();
    assert_eq!(unknown.line, 1);
    assert!(unknown.what.contains("SPD=51"), "{unknown}");
    let cut = subnet::read(&list[..list.len() - 10]).unwrap_err();
    assert_eq!(cut.line, 4);
}

#[test]
fn a_diagnosed_subnet_and_its_fdbs_are_read() {
    let (csv, fdbs) = DIAGNOSED.split_once("%\n").unwrap();
    let subnet = subnet::diagnosed(csv).unwrap();
    assert_eq!(
        (subnet.hosts.as_slice(), subnet.switches.as_slice()),
        (&["node01", "node02"].map(String::from)[..], &["leaf-1".to_owned()][..])
    );
    // Width 2 is 4 lanes, speed 1024 HDR.
    assert!(subnet.cables.iter().all(|cable| cable.rate == Rate::from_gbps(200)));
    let (table, _) = subnet::tables(&subnet, fdbs).unwrap();
    assert_eq!(table, "leaf-1 node01 node01\nleaf-1 node02 node02\n");
}

#[test]
fn widths_and_speeds_are_data_rates() {
    for (word, bps) in [
        ("1xSDR", 2_000_000_000),
        ("4xDDR", 16_000_000_000),
        ("4xQDR", 32_000_000_000),
        ("4xFDR10", 40_000_000_000),
        // 4 x 14.0625 x 64/66
        ("4xFDR", 54_545_454_544),
        ("4xEDR", 100_000_000_000),
        ("2xHDR", 100_000_000_000),
        ("4xNDR", 400_000_000_000),
        ("4xXDR", 800_000_000_000),
    ] {
        let subnet = subnet::discovered(&DISCOVERED.replace("4xHDR", word)).unwrap();
        assert_eq!(subnet.cables[0].rate, Rate::from_bps(bps), "{word}");
    }
}

#[test]
fn what_is_wrong_with_a_subnet_is_said_with_its_line() {
    let leaf = "[1]\t\"H-0c42a10300a1b200\"[1](c42a10300a1b200)";
    for (before, after, told) in [
        ("Switch\t40", "Swich\t40", "line 9: expected a node (Switch, Ca, Rt)"),
        (leaf, "[1] to the host", "line 10: expected [PORT] \"ID\"[PORT]"),
        (leaf, "[300]\t\"H-0c42a10300a1b200\"[1]", "line 10: expected [PORT] \"ID\"[PORT]"),
        ("lid 5 4xHDR", "lid 5 4xABC", "line 10: 4xABC is no width and speed"),
        ("lid 5 4xHDR", "lid 5 4xEDR", "line 10: this cable has 100Gbps here and 200Gbps at its other end"),
        ("[2]\t\"H-", "[1]\t\"H-", "line 11: port 1 of S-b8cef60300e5d200 is joined in line 10 already"),
        (
            "\"H-0c42a10300a1b200\"[1]",
            "\"H-0c42a10300a1b2ff\"[1]",
            "line 10: H-0c42a10300a1b2ff has no record of its own",
        ),
    ] {
        let error = subnet::discovered(&DISCOVERED.replacen(before, after, 1)).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
    let cut = DISCOVERED.split_once("Ca\t1").unwrap().0;
    let error = subnet::discovered(cut).unwrap_err().to_string();
    assert!(error.contains("has no record of its own in this file; give the whole output"), "{error}");
    assert_eq!(
        subnet::discovered("").unwrap_err().to_string(),
        "line 1: there is no host (Ca) with a cable in this file"
    );
}

/// As `ibnetdiscover -g` prints it: the headings of its groups say nothing of cables.
#[test]
fn headings_of_a_grouped_output_are_passed_over() {
    let grouped = format!("Chassis 1 (guid 0xb8cef60300e5d2)\n{DISCOVERED}").replacen(
        "vendid=",
        "Non-Chassis Nodes\n\nvendid=",
        1,
    );
    assert_eq!(subnet::discovered(&grouped).unwrap().cables, subnet::discovered(DISCOVERED).unwrap().cables);
}

#[test]
fn a_cable_whose_ends_have_two_speeds_is_refused_in_db_csv_too() {
    // The first host's port: 512 is EDR, 1024 HDR.
    let mixed = DIAGNOSED.replacen("0x0c42a10300a1b200,1,5,2,1024", "0x0c42a10300a1b200,1,5,2,512", 1);
    let error = subnet::diagnosed(mixed.split_once("%\n").unwrap().0).unwrap_err().to_string();
    assert!(error.contains("200Gbps at one end of this cable and 100Gbps at the other"), "{error}");
}

#[test]
fn a_host_with_two_cables_is_refused_with_what_to_do() {
    let more = DISCOVERED.replace(
        "[40]\t\"S-b8cef60300e5d2c0\"[2]\t\t# \"MF0;spine-2:MQM8790/U1\" lid 4 4xHDR",
        "[40]\t\"H-0c42a10300a1b200\"[2](c42a10300a1b201)\t\t# \"node01 mlx5_0\" lid 40 4xHDR",
    );
    let more =
        more.replacen("[2]\t\"S-b8cef60300e5d200\"[40]\t\t# \"MF0;leaf-1:MQM8790/U1\" lid 1 4xHDR\n", "", 1);
    let error = subnet::discovered(&more).unwrap_err().to_string();
    assert!(error.starts_with("line 17: H-0c42a10300a1b200 (node01 mlx5_0) has a second cable, at port 2 beside port 1 of line 10"), "{error}");
    assert!(error.ends_with("remove the lines of one of its ports"), "{error}");
}

#[test]
fn nodes_that_send_nothing_are_left_out_with_a_note() {
    let sharp = DISCOVERED.replace("# \"node08 mlx5_0\"", "# \"Mellanox Technologies Aggregation Node\"");
    let subnet = subnet::discovered(&sharp).unwrap();
    assert_eq!((subnet.hosts.len(), subnet.cables.len()), (7, 15));
    assert_eq!(subnet.notes, ["aggregation nodes of SHARP are left out: 1"]);
}

#[test]
fn hosts_of_the_same_name_keep_what_tells_them_apart() {
    let twins =
        DISCOVERED.replace("node02 mlx5_0", "node01 mlx5_1").replace("node03 mlx5_0", "node04 mlx5_0");
    let subnet = subnet::discovered(&twins).unwrap();
    assert_eq!(
        subnet.hosts[..4],
        ["node01-mlx5_0", "node01-mlx5_1", "H-0c42a10300a1b208", "H-0c42a10300a1b20c"]
    );
}

#[test]
fn what_is_wrong_with_tables_is_said_with_its_line() {
    let subnet = subnet::discovered(DISCOVERED).unwrap();
    for (before, after, told) in [
        (
            "0x0005 001",
            "0x0005 077",
            "line 8: port 77 of leaf-1 leads to node01 here, but the topology file has no cable at it",
        ),
        ("0x0005 001", "0x0005 1001", "line 8: port \"1001\" is no number from 0 to 255"),
        ("0x0006 002", "0x0005 002", "line 9: LID 0x0005 of leaf-1 stands in line 8 already"),
        ("guid 0xb8cef60300e5d200", "guid none", "line 1: expected the GUID of a switch"),
    ] {
        let error = subnet::tables(&subnet, &DUMPED.replacen(before, after, 1)).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
    let error = subnet::tables(&subnet, "0x0005 001 : yes\n").unwrap_err().to_string();
    assert!(error.starts_with("line 1: a LID before the first switch"), "{error}");
    let error = subnet::tables(&subnet, "\n\n").unwrap_err().to_string();
    assert!(error.starts_with("line 2: no table of a switch"), "{error}");
}

/// Two switches with two hosts each and one link.
fn pair() -> Network {
    let edge = |a: &str, b: &str| Edge {
        a: a.to_owned(),
        b: b.to_owned(),
        rate: Rate::from_gbps(100),
        delay: Span::from_us(1),
    };
    let edges = [edge("a", "s"), edge("b", "s"), edge("c", "t"), edge("d", "t"), edge("s", "t")];
    from_edges(&["a", "b", "c", "d"], &["s", "t"], &edges).unwrap()
}

const PAIR: &str = "s a a # to itself\ns b b\ns t c d\nt c c\nt d d\nt s a b\n";

#[test]
fn a_table_written_out_is_followed_and_what_does_not_arrive_is_named() {
    let net = pair();
    let routes = |text: &str| Routes::from_entries(&net, &read::table(text, &net).unwrap());
    assert_eq!(routes(PAIR).unwrap(), Routes::new(&net, Routing::DModK).unwrap());
    let missing =
        |switch: &str, host: &str| RouteError::Missing { switch: switch.to_owned(), host: host.to_owned() };
    assert_eq!(routes(&PAIR.replace("s t c d", "s t c")).unwrap_err(), missing("s", "d"));
    // A way that ends at another host
    assert_eq!(routes(&PAIR.replace("t d d", "t c d")).unwrap_err(), missing("c", "d"));
    let round = RouteError::Loop { switch: "s".to_owned(), host: "d".to_owned() };
    assert_eq!(routes(&PAIR.replace("t d d", "t s d")).unwrap_err(), round);
    assert!(round.to_string().contains("packets for d that leave s come back to it"));
}

#[test]
fn what_is_wrong_with_a_table_is_said_with_its_line() {
    let net = pair();
    for (text, told) in [
        ("x a a", "line 1: there is no switch \"x\""),
        ("\na s b", "line 2: there is no switch \"a\""),
        ("s", "line 1: expected a switch, a port and hosts"),
        ("s c c", "line 1: s has no port \"c\""),
        ("s t:0 c", "line 1: s has no port \"t:0\""),
        ("s t x", "line 1: there is no host \"x\""),
        ("s t c c", "line 1: s sends to c by t already"),
        ("s t # nobody", "line 1: s t leads to no host"),
    ] {
        let error = read::table(text, &net).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
}

#[test]
fn a_table_that_leads_round_a_ring_can_deadlock_and_is_found_out() {
    let edge = |a: &str, b: &str| Edge {
        a: a.to_owned(),
        b: b.to_owned(),
        rate: Rate::from_gbps(100),
        delay: Span::from_us(1),
    };
    // A ring of four switches: everything goes one way round.
    let edges: Vec<Edge> = (0..4)
        .flat_map(|i| {
            [edge(&format!("h{i}"), &format!("s{i}")), edge(&format!("s{i}"), &format!("s{}", (i + 1) % 4))]
        })
        .collect();
    let ring = from_edges(&["h0", "h1", "h2", "h3"], &["s0", "s1", "s2", "s3"], &edges).unwrap();
    let lines = |i: usize| {
        let others: Vec<String> = (0..4).filter(|j| *j != i).map(|j| format!("h{j}")).collect();
        format!("s{i} h{i} h{i}\ns{i} s{} {}\n", (i + 1) % 4, others.join(" "))
    };
    let table: String = (0..4).map(lines).collect();
    let routes = Routes::from_entries(&ring, &read::table(&table, &ring).unwrap()).unwrap();
    let cycle = deadlock::check(&ring, &routes).unwrap_err();
    assert_eq!(cycle.ports.len(), 4);
}
