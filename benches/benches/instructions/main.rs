//! Instructions of whole runs, counted by callgrind; `gate.rs` divides them by the packet-hops and compares.
//!
//! Building the fabric is set-up and not counted; neither is dropping it.
#![allow(missing_docs, unused_qualifications, reason = "gungraun's macros write such items")]
mod cases;

use std::hint::black_box;

use backwater_fabric::Simulation;
use cases::{
    Case, K4_RANKS, K8_BATCHED, K8_CREDITS, K8_GO_BACK_N, K8_HEAP, K8_IN_ORDER, K8_ISOLATION, K8_PFT,
    K8_PUTS, K8_SELECTIVE, K16_BATCHED, K16_CREDITS, K16_IN_ORDER,
};
use gungraun::{Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};

#[library_benchmark(setup = Case::build)]
#[bench::k8_in_order(K8_IN_ORDER)]
#[bench::k8_batched(K8_BATCHED)]
#[bench::k8_heap(K8_HEAP)]
#[bench::k8_credits(K8_CREDITS)]
#[bench::k16_credits(K16_CREDITS)]
#[bench::k8_pft(K8_PFT)]
#[bench::k4_ranks(K4_RANKS)]
#[bench::k8_isolation(K8_ISOLATION)]
#[bench::k8_puts(K8_PUTS)]
#[bench::k8_go_back_n(K8_GO_BACK_N)]
#[bench::k8_selective(K8_SELECTIVE)]
#[bench::k16_in_order(K16_IN_ORDER)]
#[bench::k16_batched(K16_BATCHED)]
fn run(mut simulation: Simulation) -> Simulation {
    black_box(cases::run(&mut simulation));
    simulation
}

library_benchmark_group!(name = runs, benchmarks = run);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups = runs
);
