//! Rings of bits, one for each number from the oldest that matters on: a power of two of words, and number n has bit n modulo their bits.

/// Whether the bit of a number is set.
#[inline]
pub(super) fn get(bits: &[u64], number: u32) -> bool {
    bits[word(bits, number)] >> (number % 64) & 1 == 1
}

/// Sets it.
#[inline]
pub(super) fn set(bits: &mut [u64], number: u32) {
    let at = word(bits, number);
    bits[at] |= 1 << (number % 64);
}

/// Clears it.
#[inline]
pub(super) fn clear(bits: &mut [u64], number: u32) {
    let at = word(bits, number);
    bits[at] &= !(1 << (number % 64));
}

/// The bits of the 64 numbers from one on, that of the first lowest.
#[inline]
pub(super) fn window(bits: &[u64], from: u32) -> u64 {
    let shift = from % 64;
    let low = bits[word(bits, from)] >> shift;
    if shift == 0 { low } else { low | bits[word(bits, from.wrapping_add(64))] << (64 - shift) }
}

/// The first number from `from` on, but before `to`, whose bit is set.
#[inline]
pub(super) fn first(bits: &[u64], from: u32, to: u32) -> Option<u32> {
    let mut at = from;
    while at < to {
        let word = bits[word(bits, at)] >> (at % 64);
        if word != 0 {
            let found = at + word.trailing_zeros();
            return (found < to).then_some(found);
        }
        at = (at | 63) + 1;
    }
    None
}

#[inline]
const fn word(bits: &[u64], number: u32) -> usize {
    (number / 64) as usize & (bits.len() - 1)
}

/// Numbers that a ring of so many words has room for.
#[inline]
pub(super) const fn room(bits: &[u64]) -> u32 {
    bits.len() as u32 * 64
}

/// What a ring has of the numbers from `from` on goes to a larger one.
pub(super) fn copy(old: &[u64], new: &mut [u64], from: u32) {
    for number in from..from + room(old) {
        if get(old, number) {
            set(new, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_across_words_and_around_the_end() {
        let mut bits = [0; 2];
        for number in [100, 127, 130, 190] {
            set(&mut bits, number);
        }
        assert_eq!(window(&bits, 100), 1 | 1 << 27 | 1 << 30);
        assert_eq!(window(&bits, 128), 1 << 2 | 1 << 62);
        assert_eq!(
            [first(&bits, 101, 228), first(&bits, 128, 130), first(&bits, 131, 228)],
            [Some(127), None, Some(190)]
        );
        clear(&mut bits, 190);
        assert_eq!((get(&bits, 190), get(&bits, 130)), (false, true));
        let mut larger = [0; 4];
        copy(&bits, &mut larger, 100);
        assert_eq!([100, 127, 130, 190].map(|number| get(&larger, number)), [true, true, true, false]);
    }
}
