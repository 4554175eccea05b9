//! The comparison as text, kept in `docs/fidelity.md` between two marks.
use std::fmt::Write;
use std::path::PathBuf;

use crate::fat_tree::{self, CLASSES, MEASURES};
use crate::statistics::{deviation, mean};
use crate::{Wire, incast, micro};

const BEGIN: &str = "<!-- comparison: begin; written by the command above -->\n";
const END: &str = "<!-- comparison: end -->";
/// Set to write the page instead of comparing it.
const WRITE: &str = "BACKWATER_WRITE_FIDELITY";

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/fidelity.md")
}

fn lone_flows() -> String {
    let mut text = String::from(
        "#### Lone flows (`micro`), FCT to the last ACK\n\n\
         | flow | peer | its own arithmetic | Backwater | exact arithmetic |\n|---|---|---|---|---|\n",
    );
    for row in micro::rows() {
        let _ = writeln!(
            text,
            "| {} B | {} ns | {} ns | {:.2} ns | {:.2} ns |",
            row.bytes,
            row.peer / 1000,
            row.cut / 1000,
            row.ours as f64 / 1e3,
            row.exact as f64 / 1e3
        );
    }
    text
}

fn fat_tree(wire: Wire) -> String {
    let comparison = fat_tree::comparison(wire);
    let mut text =
        format!("| flows | measure | peer | Backwater, {} seeds | difference |\n", fat_tree::SEEDS);
    text += "|---|---|---|---|---|\n";
    for (class, (name, above, up_to)) in CLASSES.iter().enumerate() {
        let inside = |bytes: u64| bytes > *above && bytes <= *up_to;
        let count = comparison.case.flows.iter().filter(|flow| inside(flow.size.get())).count();
        for (measure, measured) in MEASURES.iter().enumerate() {
            let peer = comparison.slowdown(&comparison.peer, class, measure);
            let ours = comparison.slowdowns(class, measure);
            let (ours, spread) = (mean(&ours), deviation(&ours));
            let difference = 100.0 * (ours / peer - 1.0);
            let _ = writeln!(
                text,
                "| {name} ({count}) | {measured} | {peer:.2} | {ours:.2} ± {spread:.2} | {difference:+.1} % |"
            );
        }
    }
    let (to_peer, among) = comparison.distances();
    text + &format!(
        "\nFlow by flow: median of our FCT over the peer's {:.4}; standard deviation of the log ratio {to_peer:.2} to \
         the peer, {among:.2} between two seeds of ours.\n",
        comparison.median_ratio()
    )
}

fn incast() -> String {
    let mut text = format!(
        "#### Incast (`incast`)\n\n| | peer | Backwater, {0} seeds | difference | with links at 101.012 Gbps |\n\
         |---|---|---|---|---|\n",
        incast::SEEDS
    );
    let peer = incast::peers();
    let rows = ["PAUSEs", "paused, all senders, ms", "mean FCT, us", "median FCT, us", "last FCT, us"];
    for (figure, name) in rows.iter().enumerate() {
        let theirs = peer.figures()[figure];
        let [exact, fast] = [Wire::Exact, Wire::AsFast].map(|wire| incast::over_seeds(wire, figure));
        let shown = |values: &[f64]| {
            let digits = usize::from(theirs < 100.0);
            format!("{:.digits$} ± {:.digits$}", mean(values), deviation(values))
        };
        let difference = 100.0 * (mean(&exact) / theirs - 1.0);
        let theirs = if theirs < 100.0 { format!("{theirs:.1}") } else { format!("{theirs:.0}") };
        let _ = writeln!(
            text,
            "| {name} | {theirs} | {} | {difference:+.1} % | {} |",
            shown(&exact),
            shown(&fast)
        );
    }
    text
}

fn comparison() -> String {
    format!(
        "{}\n#### Fat tree (`k4`), slowdown\n\n{}\nThe same with links at 101.012 Gbps, as fast as the peer's:\n\n{}\n{}",
        lone_flows(),
        fat_tree(Wire::Exact),
        fat_tree(Wire::AsFast),
        incast()
    )
}

#[test]
fn the_page_on_fidelity_shows_what_the_comparison_gives() {
    let page_text = std::fs::read_to_string(page()).expect("docs/fidelity.md");
    let (head, rest) = page_text.split_once(BEGIN).expect("the first mark");
    let (kept, tail) = rest.split_once(END).expect("the second mark");
    let new = format!("\n{}\n", comparison());
    if std::env::var_os(WRITE).is_some() {
        let text = format!("{head}{BEGIN}{new}{END}{tail}");
        std::fs::write(page(), text).expect("docs/fidelity.md can be written");
    } else {
        assert!(kept == new, "docs/fidelity.md is not what comes out; run the command in it. Now:\n{new}");
    }
}
