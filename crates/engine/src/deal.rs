//! Which shard runs which node.
use std::collections::BTreeMap;

/// Where a node belongs, and how much there is to do for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// Nodes of one group run on one thread, and groups with neighbouring numbers too, where that balances. `None`: the node is as
    /// near to one group as to another, and runs where there is least to do.
    pub group: Option<u32>,
    /// How much there will be to do for it, beside the others.
    pub work: u32,
}

/// So many parts in a hundred a shard may have above its share before a group is divided.
const SLACK: u64 = 2;
/// The same where whole regions on a shard let it meet the others more seldom. Chosen, not measured.
const SLACK_APART: u64 = 10;

/// The shard of each node, for the `work` there is with each. Nodes of one region have short links with each other; shards that have whole
/// regions meet more seldom. One region, or none: all links are alike.
pub(crate) fn deal(homes: &[Home], work: &[u64], regions: &[u32], shards: usize) -> Vec<u16> {
    by_regions(homes, work, regions, shards).unwrap_or_else(|| by_groups(homes, work, shards))
}

/// Regions one after the other, as many to each shard as make its share; `None` if these differ too much.
fn by_regions(homes: &[Home], work: &[u64], regions: &[u32], shards: usize) -> Option<Vec<u16>> {
    let first = *regions.first()?;
    if shards == 1 || regions.iter().all(|region| *region == first) {
        return None;
    }
    let mut group_of: BTreeMap<u32, u32> = BTreeMap::new();
    for (region, home) in regions.iter().zip(homes) {
        let group = home.group.unwrap_or(u32::MAX);
        let least = group_of.entry(*region).or_insert(u32::MAX);
        *least = group.min(*least);
    }
    // Those in which no node has a group fill up, the largest first.
    let region_of = |node: u32| regions[node as usize];
    let mut nodes: Vec<u32> = (0..homes.len() as u32).collect();
    nodes.sort_by_key(|node| (group_of[&region_of(*node)], region_of(*node), *node));
    let bound = nodes.partition_point(|node| group_of[&region_of(*node)] < u32::MAX);
    let work_of = |node: u32| work[node as usize];
    let all: u64 = nodes[..bound].iter().copied().map(work_of).sum();
    let mut dealt = vec![0; homes.len()];
    let is_one = |a: &u32, b: &u32| region_of(*a) == region_of(*b);
    let mut loads = cut(nodes[..bound].chunk_by(is_one), all, &work_of, &mut dealt, vec![0; shards]);
    let mut free: Vec<(u64, &[u32])> =
        nodes[bound..].chunk_by(is_one).map(|part| (part.iter().copied().map(work_of).sum(), part)).collect();
    free.sort_by_key(|(work, part)| (std::cmp::Reverse(*work), part[0]));
    for (work, part) in free {
        let (shard, load) = loads.iter_mut().enumerate().min_by_key(|(_, load)| **load).expect("a shard");
        *load += work.max(1);
        for node in part {
            dealt[*node as usize] = shard as u16;
        }
    }
    let share = work.iter().sum::<u64>() / shards as u64;
    loads.iter().all(|load| *load <= share + share * SLACK_APART / 100).then_some(dealt)
}

/// Groups one after the other, and what has none where there is least to do.
fn by_groups(homes: &[Home], work: &[u64], shards: usize) -> Vec<u16> {
    let (mut bound, mut free): (Vec<u32>, Vec<u32>) =
        (0..homes.len() as u32).partition(|node| homes[*node as usize].group.is_some());
    let work_of = |node: u32| work[node as usize];
    bound.sort_by_key(|node| (homes[*node as usize].group, *node));
    let all: u64 = bound.iter().copied().map(work_of).sum();
    let share = (all + free.iter().copied().map(work_of).sum::<u64>()) / shards as u64;
    let groups = bound.chunk_by(|a, b| homes[*a as usize].group == homes[*b as usize].group);
    let mut dealt = vec![0; homes.len()];
    let mut loads = cut(groups, all, &work_of, &mut dealt, vec![0; shards]);
    if loads.iter().any(|load| *load > share + share * SLACK / 100) {
        loads = cut(bound.chunks(1), all, &work_of, &mut dealt, vec![0; shards]);
    }
    // The largest first: then the last ones fill up what is left.
    free.sort_by_key(|node| (std::cmp::Reverse(work_of(*node)), *node));
    for node in free {
        let (shard, load) = loads.iter_mut().enumerate().min_by_key(|(_, load)| **load).expect("a shard");
        *load += work_of(node).max(1);
        dealt[node as usize] = shard as u16;
    }
    dealt
}

/// Gives each shard as many of the `pieces` one after the other as make its share of `all`; what each has got then.
fn cut<'a>(
    pieces: impl Iterator<Item = &'a [u32]>,
    all: u64,
    work_of: &impl Fn(u32) -> u64,
    dealt: &mut [u16],
    mut loads: Vec<u64>,
) -> Vec<u64> {
    let (mut before, shards) = (0, loads.len());
    for piece in pieces {
        let work: u64 = piece.iter().copied().map(work_of).sum();
        // A piece is where its middle is.
        let middle = u128::from(2 * before + work) * shards as u128;
        let shard = (middle / u128::from(2 * all).max(1)).min(shards as u128 - 1) as usize;
        for node in piece {
            dealt[*node as usize] = shard as u16;
        }
        loads[shard] += work;
        before += work;
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes(groups: &[Option<u32>]) -> Vec<Home> {
        groups.iter().map(|group| Home { group: *group, work: 1 }).collect()
    }

    #[test]
    fn groups_stay_whole_where_free_nodes_fill_up() {
        // Three groups on two shards: two of them on one side, and all that is free on the other.
        let homes = homes(&[Some(0), Some(0), Some(1), Some(1), Some(2), Some(2), None, None]);
        let dealt = deal(&homes, &[1; 8], &[], 2);
        assert_eq!(dealt[0], dealt[1]);
        assert_eq!(dealt[2], dealt[3]);
        assert_eq!(dealt[4], dealt[5]);
        assert_eq!(dealt.iter().filter(|shard| **shard == 0).count(), 4);
    }

    #[test]
    fn regions_stay_whole_where_that_balances() {
        // Four groups in two regions, and one that belongs to neither.
        let homes = homes(&[Some(0), Some(2), Some(1), Some(3), None, None]);
        let regions = [7, 7, 5, 5, 6, 4];
        let dealt = deal(&homes, &[1; 6], &regions, 2);
        assert_eq!((dealt[0], dealt[2]), (dealt[1], dealt[3]));
        assert_ne!((dealt[0], dealt[4]), (dealt[2], dealt[5]));
        // Four shards would differ: groups are dealt out.
        assert_eq!(deal(&homes, &[1; 6], &regions, 4), deal(&homes, &[1; 6], &[], 4));
    }

    #[test]
    fn a_group_with_most_of_the_work_is_divided() {
        let homes = homes(&[Some(0), Some(0), Some(0), Some(0), Some(1)]);
        let work = [5, 5, 5, 5, 1];
        let dealt = deal(&homes, &work, &[], 2);
        let load = |of: u16| (0..5).filter(|node| dealt[*node] == of).map(|node| work[node]).sum::<u64>();
        assert!(load(0).max(load(1)) <= 11, "{dealt:?}");
    }

    #[test]
    fn work_of_any_kind_leaves_no_shard_out_of_range() {
        for work in [[0; 6], [u64::MAX / 64; 6], [0, 0, 7, 0, 0, 1]] {
            for shards in 1..=9 {
                let dealt =
                    deal(&homes(&[None, Some(3), Some(3), Some(1), None, Some(7)]), &work, &[], shards);
                assert!(dealt.iter().all(|shard| usize::from(*shard) < shards));
            }
        }
    }
}
