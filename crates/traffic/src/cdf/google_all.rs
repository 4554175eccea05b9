//! Sizes of all RPCs of a Google data center: `Google_All` of the ICI paper, workload W3 of Homa (SIGCOMM 2018). The 126 points are
//! those of `Google_AllRPC.txt` in PlatformLab/HomaSimulation (`sizeDistributions/`), made again from fewer numbers.
//!
//! In that file every octave from 32 B to 512 KiB has eight sizes, ⅛ of its probability each; above come eight sizes with
//! equal probabilities. Its first line gives the mean, 1001.269 B, which the sizes have if nothing lies between them.

/// Probability 1 here: all numbers of the file, which has 15 digits, are rounded to 11.
pub(super) const ONE: u64 = 100_000_000_000;

/// Sizes in bytes below the first octave, and the share of messages no longer than each.
const HEAD: [(u64, u64); 6] = [
    (1, 0),
    (2, 27_669_509_491),
    (3, 46_115_849_152),
    (4, 55_339_018_982),
    (7, 64_562_188_813),
    (32, 73_785_358_643),
];

/// The share of messages no longer than 64, 128, … 524288 B.
const OCTAVES: [u64; 14] = [
    79_735_790_792,
    82_711_007_794,
    85_686_223_404,
    93_868_068_073,
    96_099_480_361,
    97_401_137_625,
    98_144_940_367,
    98_981_721_281,
    99_562_818_170,
    99_725_525_328,
    99_806_878_726,
    99_917_287_168,
    99_955_035_835,
    99_984_828_371,
];

/// Sizes above the last octave; what is left of the probability is shared equally.
const TAIL: [u64; 8] = [595_518, 689_145, 817_704, 1_005_228, 1_304_357, 1_856_928, 3_221_790, 12_158_197];

/// The points: sizes in bytes, ascending, and the share of messages no longer than each, out of [`ONE`].
pub(super) fn points() -> Vec<(u64, u64)> {
    let mut points = HEAD.to_vec();
    let (mut octave, mut below) = HEAD[HEAD.len() - 1];
    let part = |whole: u64, number: u64| (whole * number + 4) / 8;
    for end in OCTAVES {
        for number in 1..=8 {
            // 16·octave over 15, 14, … 8, rounded
            let over = 16 - number;
            points.push(((32 * octave + over) / (2 * over), below + part(end - below, number)));
        }
        (octave, below) = (2 * octave, end);
    }
    points.extend(TAIL.iter().zip(1..).map(|(&size, number)| (size, below + part(ONE - below, number))));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_126_points_are_those_of_the_published_file() {
        let points = points();
        assert_eq!(points.len(), 126);
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        // lines of the file: every size of two octaves, and one or two of each kind elsewhere
        let published = [
            (1, 0.0),
            (7, 0.645_621_888_125_812),
            (34, 0.745_291_626_615_281),
            (37, 0.752_729_666_801_062),
            (39, 0.760_167_706_986_844),
            (43, 0.767_605_747_172_625),
            (47, 0.775_043_787_358_406),
            (51, 0.782_481_827_544_188),
            (57, 0.789_919_867_729_969),
            (64, 0.797_357_907_915_75),
            (93, 0.815_953_014_181_875),
            (372, 0.907_998_763_221_419),
            (4369, 0.982_495_379_815_797),
            (4681, 0.983_541_355_957_424),
            (5041, 0.984_587_332_099_051),
            (5461, 0.985_633_308_240_678),
            (5958, 0.986_679_284_382_305),
            (6554, 0.987_725_260_523_932),
            (7282, 0.988_771_236_665_559),
            (8738, 0.990_543_583_919_079),
            (116_508, 0.999_034_861_124_759),
            (466_034, 0.999_811_043_044_409),
            (595_518, 0.999_867_248_250_217),
            (1_005_228, 0.999_924_141_857_267),
            (3_221_790, 0.999_981_035_464_317),
            (12_158_197, 1.0),
        ];
        for (size, share) in published {
            let (_, ours) = points.iter().find(|point| point.0 == size).unwrap();
            assert!((*ours as f64 / ONE as f64 - share).abs() < 2e-11, "{size}: {ours}");
        }
    }
}
