//! What must hold of every reader of text or files that a user brings, whatever it is given. `make fuzz` looks for inputs that break it;
//! `cargo test --test readers` gives it seeds that were changed here and there.
mod chakra;
mod flows;
mod frame;
mod goal;
mod goal_binary;
mod htsim;
mod overrides;
mod program;
mod quantities;
mod scenario;
mod sizes;
mod subnet;
mod testbed;
mod topology;
mod trace;
mod vef;

use backwater_traffic::trace::Program;

/// What a reader is given.
#[derive(Clone, Copy)]
pub enum Reader {
    Bytes(fn(&[u8])),
    Text(fn(&str)),
}

impl Reader {
    /// Panics if anything is wrong with how the input is read. Of text, what is no UTF-8 is cut off.
    pub fn read(self, input: &[u8]) {
        match self {
            Self::Bytes(read) => read(input),
            Self::Text(read) => read(match std::str::from_utf8(input) {
                Ok(text) => text,
                Err(error) => std::str::from_utf8(&input[..error.valid_up_to()]).expect("valid up to there"),
            }),
        }
    }
}

/// Every reader, by the name of its folder of seeds.
pub const READERS: [(&str, Reader); 16] = [
    ("chakra", Reader::Bytes(chakra::target)),
    ("flows", Reader::Text(flows::target)),
    ("frame", Reader::Bytes(frame::target)),
    ("goal", Reader::Text(goal::target)),
    ("goal_binary", Reader::Bytes(goal_binary::target)),
    ("htsim", Reader::Text(htsim::target)),
    ("overrides", Reader::Text(overrides::target)),
    ("program", Reader::Text(program::target)),
    ("quantities", Reader::Text(quantities::target)),
    ("scenario", Reader::Text(scenario::target)),
    ("sizes", Reader::Text(sizes::target)),
    ("subnet", Reader::Text(subnet::target)),
    ("testbed", Reader::Text(testbed::target)),
    ("topology", Reader::Bytes(topology::target)),
    ("trace", Reader::Text(trace::target)),
    ("vef", Reader::Text(vef::target)),
];

/// A program without the lines that its steps stand on: a trace that is written has its records in another order.
fn without_lines(mut program: Program) -> Program {
    program.steps.iter_mut().for_each(|step| step.line = 0);
    program
}
