//! Compiles the few calls of MPI with the compiler of whatever MPI is there, and links what that says.

fn main() {
    println!("cargo::rerun-if-changed=src/calls.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    with_mpi();
}

#[cfg(feature = "mpi")]
fn with_mpi() {
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    // Open MPI, MPICH and their descendants all print the command that they stand for.
    let shown = std::process::Command::new(&compiler).arg("-show").output();
    let shown = shown.unwrap_or_else(|error| {
        panic!("{compiler} cannot be started ({error}): install an MPI, such as libopenmpi-dev, or set MPICC")
    });
    let words = String::from_utf8_lossy(&shown.stdout).into_owned();
    cc::Build::new()
        .compiler(&compiler)
        .file("src/calls.c")
        .warnings_into_errors(true)
        .compile("backwater_mpi");
    for word in words.split_whitespace() {
        if let Some(path) = word.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={path}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={library}");
        }
    }
}
