use super::*;
use proptest::prelude::*;

/// What a reader makes of the hybrid, by the words of the format: a header of at least a byte; an even one is a run.
fn read(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
    let mut values = Vec::new();
    while values.len() < count {
        let (mut header, mut shift) = (0usize, 0);
        loop {
            let byte = bytes[0];
            bytes = &bytes[1..];
            header |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        if header & 1 == 0 {
            let (value, rest) = bytes.split_at(width.div_ceil(8) as usize);
            let value = value.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            values.extend(std::iter::repeat_n(value, header >> 1));
            bytes = rest;
        } else {
            let (packed, rest) = bytes.split_at((header >> 1) * width as usize);
            let bit = |at: usize| u32::from(packed[at / 8] >> (at % 8) & 1);
            let value =
                |at: usize| (0..width as usize).fold(0, |sum, n| sum | bit(at * width as usize + n) << n);
            values.extend((0..(header >> 1) * 8).map(value));
            bytes = rest;
        }
    }
    assert!(bytes.is_empty(), "{} bytes too many", bytes.len());
    values.truncate(count);
    values
}

proptest! {
    #[test]
    fn what_is_written_as_runs_and_packed_bits_is_read_back(
        width in 1u32..=32,
        runs in prop::collection::vec((any::<u32>(), 1usize..40), 0..40),
        single in prop::collection::vec(any::<u32>(), 0..40),
    ) {
        let runs = runs.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count));
        let values: Vec<u32> = runs.chain(single).map(|value| value >> (32 - width)).collect();
        let mut bytes = Vec::new();
        hybrid(&values, width, &mut bytes);
        prop_assert_eq!(read(&bytes, width, values.len()), values);
    }

    #[test]
    fn every_key_has_the_number_of_its_value(keys in prop::collection::vec(0u32..70_000, 0..600), far in any::<bool>()) {
        let keys: Vec<u32> = keys.into_iter().map(|key| if far { key.wrapping_mul(60_000) } else { key % 97 }).collect();
        let (uniques, indices) = numbered(&keys);
        let back: Vec<u32> = indices.iter().map(|&index| uniques[index as usize]).collect();
        prop_assert_eq!(&back, &keys);
        let once: std::collections::BTreeSet<u32> = uniques.iter().copied().collect();
        prop_assert_eq!(once.len(), uniques.len());
    }
}

#[test]
fn one_value_alone_takes_no_bits() {
    let mut bytes = Vec::new();
    hybrid(&[0; 1000], 0, &mut bytes);
    // 2000 = 0b1111_1010000: the header of a run of 1000, and no byte of value.
    assert_eq!(bytes, [0b1101_0000, 0b1111]);
}
