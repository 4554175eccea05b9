//! Runs a scenario with the code of a patch: `measure <scenario> <results> [<key>…]`. Fails unless the schema knows every key, and unless a
//! run on two threads has the same digest.
use backwater::{Run, Scenario};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, results, keys @ ..] = arguments.as_slice() else {
        return Err("give a scenario file and a folder for the results".into());
    };
    let schema = backwater_scenario::schema();
    if let Some(key) = keys.iter().find(|key| !schema.contains(&format!("\"{key}\": {{"))) {
        return Err(format!("the schema does not know {key}").into());
    }
    let run = Run::new(Scenario::load(scenario.as_ref(), &[])?)?.in_folder(results).start()?;
    if !run.is_complete() {
        return Err("the run did not come to its end".into());
    }
    let threads = ["run.threads=2".to_owned()];
    let again = Run::new(Scenario::load(scenario.as_ref(), &threads)?)?.start()?;
    if again.digest() != run.digest() {
        return Err(format!("{} on one thread, {} on two", run.digest(), again.digest()).into());
    }
    println!("{}", run.digest());
    Ok(())
}
