//! The network of ASTRA-sim (`integrations/astra-sim`), with a stand-in of its interface, built from its `CMakeLists.txt`.
use std::path::Path;
use std::process::Command;

use crate::c::library;

#[test]
fn messages_of_ranks_arrive_when_arithmetic_says() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/astra-sim");
    let folder = tempfile::tempdir().expect("a folder");
    let run = |command: &mut Command| {
        let ran = match command.output() {
            Ok(ran) => ran,
            Err(error) => {
                eprintln!("skipped: there is no {command:?} ({error})");
                return false;
            }
        };
        let told = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        let has_compiler = !told.contains("No CMAKE_CXX_COMPILER could be found");
        if !has_compiler {
            eprintln!("skipped: CMake finds no C++ compiler");
        }
        assert!(ran.status.success() || !has_compiler, "{told}");
        has_compiler
    };
    let library = format!("-DBACKWATER_RUN={}", library().display());
    if run(Command::new("cmake").arg("-S").arg(&here).arg("-B").arg(folder.path()).arg(library)) {
        assert!(run(Command::new("cmake").arg("--build").arg(folder.path())));
        assert!(run(Command::new(folder.path().join("messages")).arg(here.join("tests/star.toml"))));
    }
}
