//! The comparison as text, kept in `docs/fidelity.md` between two marks.
use std::fmt::Write;
use std::path::PathBuf;

use crate::fat_tree::{self, CLASSES, MEASURES};
use crate::statistics::{deviation, mean, z};
use crate::{incast, micro, peer};

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

fn fat_tree() -> String {
    let comparison = fat_tree::comparison();
    let unmodified = peer::draws("k4", "fct-ns.csv");
    let mut text = format!(
        "#### Fat tree (`k4`), slowdown\n\n\
         | flows | measure | peer, {} draws | Backwater, {} seeds | difference | z | unmodified peer, {} draws |\n",
        comparison.peer.fcts.len(),
        comparison.ours.len(),
        unmodified.fcts.len()
    );
    text += "|---|---|---|---|---|---|---|\n";
    for (class, (name, above, up_to)) in CLASSES.iter().enumerate() {
        let inside = |bytes: u64| bytes > *above && bytes <= *up_to;
        let count = comparison.case.flows.iter().filter(|flow| inside(flow.size.get())).count();
        for (measure, measured) in MEASURES.iter().enumerate() {
            let [peer, ours] = comparison.both(class, measure);
            let original = comparison.slowdowns(&unmodified, &unmodified.fcts, class, measure);
            let _ = writeln!(
                text,
                "| {name} ({count}) | {measured} | {} | {} | {:+.1} % | {:+.1} | {} |",
                spread(&peer, 2),
                spread(&ours, 2),
                100.0 * (mean(&ours) / mean(&peer) - 1.0),
                z(&ours, &peer),
                spread(&original, 2)
            );
        }
    }
    let [across, of_peer, of_ours] = comparison.distances();
    text + &format!(
        "\nFlow by flow the median of our FCT over the peer's is {:.4}. The standard deviation of the log ratio is {across:.2} between a run \
         of ours and one of the peer. It is {of_peer:.2} between two of the peer, and {of_ours:.2} between two of ours.\n",
        comparison.median_ratio()
    )
}

/// Mean and standard deviation.
fn spread(values: &[f64], digits: usize) -> String {
    format!("{:.digits$} ± {:.digits$}", mean(values), deviation(values))
}

fn incast() -> String {
    let mut text = format!(
        "#### Incast (`incast`)\n\n| | peer, 20 draws | Backwater, {} seeds | difference | z | unmodified peer, 20 draws |\n\
         |---|---|---|---|---|---|\n",
        incast::SEEDS
    );
    for (figure, name) in incast::FIGURES.iter().enumerate() {
        let [peer, ours] = incast::both(figure);
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {:+.1} % | {:+.1} | {} |",
            spread(&peer, 0),
            spread(&ours, 0),
            100.0 * (mean(&ours) / mean(&peer) - 1.0),
            z(&ours, &peer),
            spread(&incast::of_peer("ns", figure), 0)
        );
    }
    text
}

fn comparison() -> String {
    format!("{}\n{}\n{}", lone_flows(), fat_tree(), incast())
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
