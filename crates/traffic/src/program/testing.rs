//! Programs in a network without any delay: whether they come to an end, and who knows of whom.
use std::collections::VecDeque;

use super::{ANY, FOREVER, INTERNAL, Op};

/// What a rank has done.
#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    /// (to, size, tag) of what it sent.
    pub(super) sent: Vec<(u32, u64, u32)>,
    /// (series, label) of its stopwatches.
    pub(super) timed: Vec<(u16, u32)>,
    /// The ranks, at most 128, of which it can know by way of messages: bit r.
    pub(super) knows: u128,
    /// Whether its program is over.
    pub(super) ended: bool,
    at: usize,
    turns: Vec<u32>,
    /// (from, tag, set) of receives without a message.
    posted: Vec<(u32, u32, u8)>,
    /// (from, tag, knows) of messages without a receive.
    come: VecDeque<(u32, u32, u128)>,
}

impl Done {
    fn matches(wanted: u32, tag: u32, (from, sent, _): (u32, u32, u128)) -> bool {
        let right = if tag == ANY { sent & INTERNAL == 0 } else { sent == tag };
        (wanted == ANY || wanted == from) && right
    }

    fn arrive(&mut self, message: (u32, u32, u128)) {
        match self.posted.iter().position(|(from, tag, _)| Self::matches(*from, *tag, message)) {
            Some(place) => {
                self.posted.remove(place);
                self.knows |= message.2;
            }
            None => self.come.push_back(message),
        }
    }

    fn post(&mut self, from: u32, tag: u32, set: u8) {
        match self.come.iter().position(|message| Self::matches(from, tag, *message)) {
            Some(place) => self.knows |= self.come.remove(place).map_or(0, |message| message.2),
            None => self.posted.push((from, tag, set)),
        }
    }

    /// Executes some ops; false: it waits, or its program is over.
    fn step(&mut self, number: u32, ops: &[Op], mail: &mut Vec<(u32, (u32, u32, u128))>) -> bool {
        let Some(op) = ops.get(self.at) else {
            self.ended = true;
            return false;
        };
        self.at += 1;
        match *op {
            Op::Isend { to, size, tag, .. } => {
                self.sent.push((to, size, tag));
                mail.push((to, (number, tag, self.knows)));
            }
            Op::Irecv { from, tag, set, .. } => self.post(from, tag, set),
            Op::Wait { sets } if self.posted.iter().any(|(.., set)| sets & (1 << set) != 0) => {
                self.at -= 1;
                return false;
            }
            Op::Loop { times, .. } => self.turns.push(times),
            Op::End { begin } => {
                let left = self.turns.last_mut().expect("a loop");
                *left -= u32::from(*left != FOREVER);
                if *left == 0 {
                    self.turns.pop();
                } else {
                    self.at = begin as usize;
                }
            }
            Op::Stop { series, label, .. } => self.timed.push((series, label)),
            _ => {}
        }
        true
    }
}

/// Executes programs until nothing moves any more, or all that end have ended.
pub(super) fn execute(programs: &[Vec<Op>]) -> Vec<Done> {
    let fresh =
        |number: usize| Done { knows: 1u128.checked_shl(number as u32).unwrap_or(0), ..Done::default() };
    let mut ranks: Vec<Done> = (0..programs.len()).map(fresh).collect();
    let mut moved = true;
    while moved && ranks.iter().zip(programs).any(|(rank, ops)| !rank.ended && !super::is_endless(ops)) {
        moved = false;
        for number in 0..programs.len() {
            let mut mail = Vec::new();
            let endless = super::is_endless(&programs[number]);
            for _ in 0..if endless { 50 } else { 100_000 } {
                if !ranks[number].step(number as u32, &programs[number], &mut mail) {
                    break;
                }
                moved = true;
                for (to, message) in mail.drain(..) {
                    ranks[to as usize].arrive(message);
                }
            }
        }
    }
    ranks
}
