//! Profile roce at every rate for which it is meant: no packet is lost, PAUSEs come only when the memory runs out, marks come
//! first.
use backwater::{Run, Scenario};
use serde_json::Value;

const GBPS: [u64; 4] = [25, 100, 400, 800];

/// What 65 ports of a switch leave of its memory to share: 16 MiB for each 50 Gbps, less the headroom and 4 KiB of each port.
fn pool(gbps: u64, ports: u64) -> u64 {
    // 1 us is `gbps` · 125 B, and 394 pause quanta at 100 Gbps are 2.01728 us.
    let headroom = 2 * gbps * 125 + 3 * 4158 + 64 + (gbps * 201_728).div_ceil(800);
    gbps * (16 << 20) / 50 - ports * (headroom + 4096)
}

/// 64 hosts send so many packets of 4096 B each to another one, all at once.
fn incast(topology: &str, gbps: u64, packets: u64, overrides: &[&str]) -> Value {
    let text = format!(
        "profile = \"roce\"\n[topology]\n{topology}\nrate = \"{gbps}Gbps\"\ndelay = \"1us\"\n[[traffic]]\nname = \"incast\"\n\
         kind = \"incast\"\nfrom = [\"*\", \"!h0\"]\nto = \"h0\"\nsize = \"{}B\"\n[probe]\nblame = false\n",
        packets * 4096
    );
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let scenario = Scenario::parse(&text, "incast.toml", ".".as_ref(), &overrides).unwrap();
    // What does not fit the memory stops the run.
    let results = Run::new(scenario).unwrap().start().unwrap_or_else(|error| panic!("{gbps} Gbps: {error}"));
    assert_eq!(results.caveats().count(), 0, "{gbps} Gbps");
    results.json()["totals"].clone()
}

const STAR: &str = "kind = \"star\"\nhosts = 65";

#[test]
fn sixty_four_senders_to_one_host_lose_nothing_and_pause_only_when_the_memory_runs_out() {
    for gbps in GBPS {
        let pool = pool(gbps, 65);
        // A port is paused when it has as much as is free. While all flows and one more fit, no port has.
        let few = incast(STAR, gbps, pool / 66 / 4158, &["cc.kind=none"]);
        assert_eq!((&few["pauses"], &few["finished"]), (&Value::from(0), &Value::from(64)), "{gbps} Gbps");
        // Of 64 flows at line rate 63/64 stay in the memory: 63 shares of the pool and the reserves, where each port has pool/50
        // of them.
        let many = incast(STAR, gbps, pool / 50 / 4158, &["cc.kind=none"]);
        assert!(many["pauses"].as_u64() > Some(0), "{gbps} Gbps");
        assert_eq!(many["finished"], 64);
        assert_eq!(many["switch_drops"], 0);
    }
}

#[test]
fn no_ingress_port_has_more_than_its_threshold_allows_and_its_headroom_holds() {
    for gbps in GBPS {
        // The spines have the fewest ports, and with them most to share.
        let clos = "kind = \"leaf-spine\"\nleaves = 5\nspines = 4\nhosts-per-leaf = 13";
        for (topology, ports) in [(STAR, 65), (clos, 5)] {
            let totals = incast(topology, gbps, 500, &["cc.kind=none"]);
            assert_eq!((&totals["finished"], &totals["switch_drops"]), (&Value::from(64), &Value::from(0)));
            // Shared memory of a port is at most what is free: half of the pool, if no other port has any.
            let pool = pool(gbps, ports);
            let headroom = (gbps * (16 << 20) / 50 - pool) / ports - 4096;
            let peak = totals["peak_ingress"]["bytes"].as_u64().unwrap();
            assert!(peak <= 4096 + pool / 2 + headroom, "{gbps} Gbps: {peak} B");
        }
    }
}

/// By when senders are slowed down, and how long they are looked at: later than the last PAUSE of such runs, which came after
/// about 93, 43, 15 and 20 ms. So these instants follow from runs; that there are marks and no PAUSE after them is the test.
const SLOWED_DOWN: [(u64, &str, &str); 4] =
    [(25, "120ms", "160ms"), (100, "60ms", "80ms"), (400, "25ms", "32ms"), (800, "30ms", "37ms")];

#[test]
fn once_senders_are_slowed_down_marks_hold_the_queue_and_nothing_is_paused() {
    for (gbps, early, late) in SLOWED_DOWN {
        // A 64th of 800 Gbps is 14,100 packets in 37 ms: with a lot more, no flow ends.
        let until = |end: &str| incast(STAR, gbps, 40_000, &[&format!("run.until={end}")]);
        let (early, late) = (until(early), until(late));
        assert_eq!(early["pauses"], late["pauses"], "{gbps} Gbps: a PAUSE");
        assert!(early["ce_packets"].as_u64() < late["ce_packets"].as_u64(), "{gbps} Gbps: no marks");
        assert_eq!(late["finished"], 0);
    }
}
