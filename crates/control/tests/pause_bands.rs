//! Which classes of an ingress port are paused: their own thresholds, strays, the guard of the port.
use backwater_control::flow_control::{Band, Bands, Strays};
use backwater_units::Bytes;
use proptest::prelude::*;

/// Class 0 is control, 1 the CFQ, 2 the NFQ.
const CFQ: u8 = 1;
const NFQ: u8 = 2;
const NONE: u8 = 0;
const BOTH: u8 = 1 << CFQ | 1 << NFQ;

/// The thresholds of the ICI paper: 50/45 packets per port, 22/20 and 17/15 per class.
fn bands() -> Bands {
    let mut own = [Band::NONE; 8];
    own[usize::from(CFQ)] = Band::congested();
    own[usize::from(NFQ)] = Band::normal();
    Bands { own, port: Band::port() }
}

/// The port stores so many packets of 4 KiB for each class.
fn paused(cfq: u32, nfq: u32, strays: bool, before: u8) -> u8 {
    let strays = strays.then_some(Strays { of: CFQ, held_in: NFQ });
    bands().paused(&[0, cfq * 4096, nfq * 4096], strays, before)
}

#[test]
fn a_class_is_paused_at_its_stop_and_resumed_at_its_go() {
    assert_eq!(paused(16, 21, false, NONE), NONE);
    assert_eq!(paused(17, 21, false, NONE), 1 << CFQ);
    assert_eq!(paused(16, 22, false, NONE), 1 << NFQ);
    assert_eq!(paused(16, 21, false, BOTH), BOTH, "between go and stop nothing changes");
    assert_eq!(paused(15, 21, false, BOTH), 1 << NFQ);
    assert_eq!(paused(15, 20, false, BOTH), NONE);
}

#[test]
fn congested_packets_that_fill_the_nfq_are_stopped_with_it() {
    assert_eq!(paused(0, 22, true, NONE), BOTH, "else upstream goes on sending them as congested ones");
    assert_eq!(paused(0, 21, true, NONE), NONE);
    assert_eq!(paused(0, 21, true, BOTH), BOTH);
    assert_eq!(paused(0, 20, true, BOTH), NONE, "until the NFQ is back at its go");
    assert_eq!(paused(0, 21, false, BOTH), 1 << NFQ, "or holds none of them");
    assert_eq!(paused(0, 22, false, NONE), 1 << NFQ);
}

#[test]
fn a_full_port_pauses_every_class_until_the_sum_is_back_at_45_packets() {
    // 33 + 17 = 50: a burst of congested packets was under way when the CFQ was paused.
    assert_eq!(paused(33, 17, false, 1 << CFQ), BOTH);
    assert_eq!(paused(32, 17, false, 1 << CFQ), 1 << CFQ);
    assert_eq!(paused(32, 14, false, BOTH), BOTH, "46 of 45");
    assert_eq!(paused(31, 14, false, BOTH), 1 << CFQ, "45: the NFQ is below its own go too");
    assert_eq!(paused(14, 31, false, BOTH), 1 << NFQ);
}

#[test]
fn a_class_without_thresholds_is_never_paused_even_by_a_full_port() {
    assert_eq!(bands().paused(&[100 * 4096, 0, 0], None, NONE), BOTH);
    assert_eq!(bands().paused(&[0, 0, 0, 4096 * 60], None, NONE), BOTH);
}

#[test]
fn one_class_alone_is_paused_at_50_and_resumed_at_45_packets() {
    let mut own = [Band::NONE; 8];
    own[1] = Band::port();
    let bands = Bands { own, port: Band::port() };
    let at = |packets: u32, before| bands.paused(&[0, packets * 4096], None, before);
    assert_eq!([at(49, 0), at(50, 0), at(46, 2), at(45, 2)], [0, 2, 2, 0]);
}

#[test]
fn bytes_are_counted_not_packets() {
    // 1 408 packets of 64 B are 22 of 4 KiB.
    assert_eq!(bands().paused(&[0, 0, 1_408 * 64 - 1], None, NONE), NONE);
    assert_eq!(bands().paused(&[0, 0, 1_408 * 64], None, NONE), 1 << NFQ);
}

#[test]
fn a_resume_threshold_that_would_take_the_pause_back_at_once_is_refused() {
    let band = |stop, go| Band::new(Bytes::new(stop), Bytes::new(go)).validate();
    assert_eq!(band(88 << 10, 80 << 10), Ok(()));
    assert_eq!(Band::NONE.validate(), Ok(()));
    let same = band(80_000, 80_000).unwrap_err().to_string();
    assert!(same.starts_with("go = 80KB: must be below stop"), "{same}");
    let never = band(0, 0).unwrap_err().to_string();
    assert!(never.starts_with("stop = 0B: must be above 0B"), "{never}");
}

proptest! {
    #[test]
    fn every_pause_is_followed_by_a_resume_and_a_class_past_its_stop_is_always_paused(
        script in prop::collection::vec((0..64_u32, 0..64_u32, any::<bool>()), 1..100),
    ) {
        let mut before = NONE;
        for (cfq, nfq, strays) in script {
            let now = paused(cfq, nfq, strays && nfq > 0, before);
            prop_assert!(now & 1 << CFQ != 0 || cfq < 17 && cfq + nfq < 50);
            prop_assert!(now & 1 << NFQ != 0 || nfq < 22 && cfq + nfq < 50);
            // Nothing is due to chance: the same facts again give the same answer.
            prop_assert_eq!(paused(cfq, nfq, strays && nfq > 0, now), now);
            before = now;
        }
        prop_assert_eq!(paused(0, 0, false, before), NONE);
    }
}
