//! What became of the ranks of programs, summed up by traffic entry and role.
use crate::names::{NameError, Names};
use backwater_fabric::record::RankRecord;
use backwater_units::Time;
use serde::Serialize;
use std::collections::BTreeMap;

/// The ranks of one traffic entry in one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankSummary {
    /// Name of the entry.
    pub traffic: String,
    /// What they do.
    pub role: String,
    /// How many there are.
    pub ranks: u64,
    /// Those whose program ended.
    pub finished: u64,
    /// When the last of these ended; `None` if none has.
    pub last_finish_ps: Option<u64>,
    /// Messages that they sent.
    pub sent_messages: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages that came in for them.
    pub received_messages: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Time for which they waited for messages and requests, all together.
    pub waited_ps: u64,
    /// Messages that had come in and that nobody had taken.
    pub unexpected: u64,
}

impl RankSummary {
    /// One for each traffic entry and role that has ranks, in the order of their indices.
    ///
    /// # Errors
    /// If a rank's traffic entry or role has no name.
    pub fn of(ranks: &[RankRecord], names: &Names) -> Result<Vec<Self>, NameError> {
        let mut groups: BTreeMap<(u16, u16), Vec<&RankRecord>> = BTreeMap::new();
        for rank in ranks {
            groups.entry((rank.group, rank.role)).or_default().push(rank);
        }
        let summary = |((entry, role), ranks): ((u16, u16), Vec<&RankRecord>)| {
            let sum = |count: fn(&RankRecord) -> u64| ranks.iter().map(|rank| count(rank)).sum();
            Ok(Self {
                traffic: names.traffic(entry)?.to_owned(),
                role: names.role(role)?.to_owned(),
                ranks: ranks.len() as u64,
                finished: sum(|r| u64::from(r.finish.is_some())),
                last_finish_ps: ranks.iter().filter_map(|rank| rank.finish).max().map(Time::as_ps),
                sent_messages: sum(|r| r.sent_messages),
                sent_bytes: sum(|r| r.sent_bytes.get()),
                received_messages: sum(|r| r.received_messages),
                received_bytes: sum(|r| r.received_bytes.get()),
                waited_ps: sum(|r| r.waited.as_ps()),
                unexpected: sum(|r| u64::from(r.unexpected)),
            })
        };
        groups.into_iter().map(summary).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_units::{Bytes, Span};

    fn rank(rank: u32, role: u16, finish: Option<u64>) -> RankRecord {
        RankRecord {
            rank,
            node: 0,
            group: 0,
            number: rank,
            role,
            finish: finish.map(Time::from_ps),
            sent_messages: 2,
            sent_bytes: Bytes::new(10),
            received_messages: 3,
            received_bytes: Bytes::new(20),
            waited: Span::from_ns(1),
            unexpected: 1,
        }
    }

    fn names() -> Names {
        let names = Names::new(vec!["h".to_owned()], &[vec![]], vec!["app".to_owned()], Vec::new()).unwrap();
        let roles = ["test", "incast"].map(str::to_owned).to_vec();
        names.with_programs(roles, vec!["ring".to_owned()], vec![(0, 1), (0, 0), (0, 1)]).unwrap()
    }

    #[test]
    fn ranks_are_summed_by_role_and_congestors_without_an_end_have_none() {
        let ranks = [rank(0, 1, None), rank(1, 0, Some(7)), rank(2, 1, None)];
        let [test, incast] = &RankSummary::of(&ranks, &names()).unwrap()[..] else { panic!("two roles") };
        assert_eq!(
            (test.role.as_str(), test.ranks, test.finished, test.last_finish_ps),
            ("test", 1, 1, Some(7))
        );
        assert_eq!((incast.role.as_str(), incast.ranks, incast.last_finish_ps), ("incast", 2, None));
        assert_eq!(
            (incast.sent_bytes, incast.received_bytes, incast.waited_ps, incast.unexpected),
            (20, 40, 2000, 2)
        );
    }

    #[test]
    fn a_rank_in_an_unknown_role_is_an_error_that_names_it() {
        let error = RankSummary::of(&[rank(0, 2, None)], &names()).unwrap_err().to_string();
        assert!(error.contains("role 2 of rank programs, but only 0..2"), "{error}");
    }
}
