//! "Did you mean": the known word that is nearest to a misspelt one.

/// The nearest of `known` to `word`, if it is near enough to be meant. Underscores count as hyphens.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    let far = (word.chars().count() / 3).max(1);
    let near = known.into_iter().map(|name| (name, plain(name)));
    let near = near.map(|(name, plain)| {
        (distance_to(&word, &plain), far + usize::from(begin_alike(&word, &plain)), name)
    });
    near.filter(|(distance, far, _)| distance <= far)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., name)| name)
}

/// Shorter beginnings of a word fit too many others to be taken for it.
const SHORTEST_START: usize = 4;

/// The distance to a known word, or to its beginning if that is nearer: `hppc` means `hpcc-ns3`.
fn distance_to(word: &str, known: &str) -> usize {
    let length = word.chars().count();
    let start: String = known.chars().take(length).collect();
    let whole = distance(word, known);
    if length < SHORTEST_START { whole } else { whole.min(distance(word, &start)) }
}

/// Whether words of about the same length agree where they begin, as those do that are written by ear: `alfa` means `alpha`.
fn begin_alike(word: &str, known: &str) -> bool {
    let (length, other) = (word.chars().count(), known.chars().count());
    length >= SHORTEST_START && length.abs_diff(other) <= 1 && word.chars().take(2).eq(known.chars().take(2))
}

fn plain(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other (optimal string
/// alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let differ = usize::from(a[i - 1] != b[j - 1]);
            let mut steps = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + differ);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                steps = steps.min(before[j - 2] + 1);
            }
            row.push(steps);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        let known = ["xoff", "xon", "alpha", "control-priority"];
        assert_eq!(nearest("xof", known), Some("xoff"));
        assert_eq!(nearest("alhpa", known), Some("alpha"));
        assert_eq!(nearest("control_priorty", known), Some("control-priority"));
        assert_eq!(nearest("alfa", known), Some("alpha"), "written by ear");
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("hppc", ["authors", "hpcc-ns3"]), Some("hpcc-ns3"));
        assert_eq!(nearest("max", ["max-ton"]), None, "too short to tell");
    }

    #[test]
    fn distances_are_those_of_the_textbook() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
