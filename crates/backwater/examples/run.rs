//! Runs a scenario file and prints what became of its flows: `cargo run --example run -- scenarios/incast.toml results/incast`.
use backwater::{Run, Scenario};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("give a scenario file, such as scenarios/incast.toml")?;
    let folder = arguments.next().ok_or("give a folder for the results, such as results/incast")?;

    let scenario = Scenario::load(file.as_ref(), &["run.seed=3".to_owned()])?;
    let results = Run::new(scenario)?.in_folder(&folder).start()?;

    println!("{} flows, digest {}", results.json()["totals"]["flows"], results.digest());
    results.caveats().for_each(|caveat| println!("{caveat}"));
    Ok(())
}
