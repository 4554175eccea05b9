//! Reliable streams of PUTs over a channel that drops, delays and reorders: whatever the policy and its variant, every packet is
//! accepted once and in order, and none waits for ever.
mod model;
mod variants;

use backwater_control::notify::put::{TargetConfig, Triggers};
use backwater_control::reaction::{AimdConfig, DackConfig, OptConfig, PolicyConfig};
use backwater_control::transport::ReplayMoves;
use model::{Channel, Setting, World};
use proptest::prelude::*;

/// Most ticks without a packet accepted or an ACK that takes effect: fifty retries. At most 30 % of the frames are lost each way, so
/// that fifty in vain are out of the question.
const PATIENCE: u64 = 50 * model::RETRY;

fn finish(setting: Setting, channel: Channel, seed: u64) -> World {
    let mut world = World::new(setting, channel, seed);
    world.run(PATIENCE);
    world
}

fn channel() -> impl Strategy<Value = Channel> {
    (0..=300_u32, 0..=300_u32, 1..40_u64, 0..60_u64).prop_map(|(data, acks, delay, spread)| Channel {
        data,
        acks,
        delay,
        spread,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn every_packet_is_accepted_once_and_in_order_whatever_the_network_does(
        setting in variants::any_setting(),
        channel in channel(),
        seed in any::<u64>(),
    ) {
        finish(setting, channel, seed);
    }

    #[test]
    fn a_network_that_only_delays_costs_no_timeout(
        setting in variants::any_setting(),
        delay in 1..20_u64,
        seed in any::<u64>(),
    ) {
        // Everything that there is to be sent is processed before a packet expires.
        let roomy = Setting { depth: 1 << 20, drain: setting.drain.max(400), ..setting };
        let world = finish(roomy, Channel { data: 0, acks: 0, delay, spread: 0 }, seed);
        prop_assert_eq!(world.timeouts, 0);
        prop_assert_eq!(world.lost_in_queue, 0);
        prop_assert_eq!(world.resent, 0);
    }
}

fn unicast(policy: PolicyConfig, target: TargetConfig, moves: ReplayMoves) -> Setting {
    let (triggers, sizes) = (Triggers::standard(), (1_000, 1_000));
    Setting {
        policy,
        target,
        triggers,
        moves,
        streams: 1,
        packets: 400,
        sizes,
        depth: 40_000,
        drain: 500,
        reverse: 0,
    }
}

#[test]
fn pacing_by_duplicate_acks_loses_nothing_where_the_overshoot_fits_the_queue() {
    // 1000 B per tick in, 500 out, and 40 ticks there and back: T + half of what is under way for that long is below 40 kB.
    let target = TargetConfig { threshold: 4_000, ..TargetConfig::standard() };
    let setting = unicast(PolicyConfig::Dack(DackConfig::standard()), target, ReplayMoves::AtOnce);
    let world = finish(setting, Channel { data: 0, acks: 0, delay: 19, spread: 0 }, 1);
    assert_eq!((world.lost_in_queue, world.resent, world.timeouts), (0, 0, 0));
}

#[test]
fn a_window_of_outstanding_packets_alone_loses_packets_again_and_again() {
    let setting =
        unicast(PolicyConfig::Opt(OptConfig::standard()), TargetConfig::baseline(), ReplayMoves::AtEnd);
    let world = finish(setting, Channel { data: 0, acks: 0, delay: 19, spread: 0 }, 1);
    // The sender is always at line rate and half of that gets in: what is resent is about what is accepted.
    assert!(world.nacks >= 3, "{} NACKs", world.nacks);
    assert!((200..=500).contains(&world.resent), "{} packets resent", world.resent);
    let aimd = PolicyConfig::Aimd(AimdConfig { mss: 1_000, initial: 1_000, ..AimdConfig::standard() });
    let setting = unicast(aimd, TargetConfig::baseline(), ReplayMoves::AtEnd);
    let tcp = finish(setting, Channel { data: 0, acks: 0, delay: 19, spread: 0 }, 1);
    assert!(tcp.nacks >= 1);
    assert!(tcp.resent < world.resent, "{} and {} packets resent", tcp.resent, world.resent);
}
