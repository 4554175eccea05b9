//! Which message goes to which receive: the rules of MPI.
use backwater_traffic::program::{ANY, Op};
use backwater_units::Bytes;
use scene::{START, WAIT, compute, irecv, isend, recv, send, stop};

use crate::{each, end_of, timings, why};

/// A receive in a set of its own.
const fn post(from: u32, size: u64, tag: u32, set: u8) -> Op {
    Op::Irecv { from, size, tag, set }
}

const fn wait(set: u8) -> Op {
    Op::Wait { sets: 1 << set }
}

#[test]
fn of_two_messages_with_one_tag_the_first_receive_gets_the_one_sent_first() {
    // The first one is ten times as long: if the second one got the first receive, the other would have no room.
    let sender = [isend(1, 10_000, 5), isend(1, 1_000, 5), WAIT].to_vec();
    for late in [0, 50_000] {
        let receiver = [compute(late), irecv(0, 10_000, 5), irecv(0, 1_000, 5), WAIT].to_vec();
        assert!(timings(each(vec![sender.clone(), receiver])).is_empty());
    }
}

#[test]
fn a_small_message_does_not_overtake_the_rendezvous_before_it_in_matching_though_it_is_done_before() {
    let sender = [START, isend(1, 50_000, 5), isend(1, 8, 5), WAIT].to_vec();
    for late in [0, 50_000] {
        let receiver = [
            START,
            compute(late),
            post(0, 50_000, 5, 1),
            post(0, 8, 5, 2),
            wait(2),
            stop(2),
            wait(1),
            stop(1),
        ];
        let timings = timings(each(vec![sender.clone(), receiver.to_vec()]));
        assert!(end_of(&timings, 2) < end_of(&timings, 1), "{timings:?}");
    }
}

#[test]
fn a_receive_for_another_tag_leaves_a_message_where_it_is() {
    let sender = [isend(1, 8, 1), isend(1, 100, 2), isend(1, 1_000, 3), WAIT].to_vec();
    let receiver = [&[compute(50_000)], &recv(0, 1_000, 3)[..], &recv(0, 100, 2), &recv(0, 8, 1)].concat();
    assert!(timings(each(vec![sender, receiver])).is_empty());
}

#[test]
fn a_receive_from_anybody_takes_the_message_that_came_first() {
    // Rank 2 sends at once, rank 1 after 20 us; the room of each receive tells them apart.
    let early = send(0, 8, 0).to_vec();
    let late = [&[compute(20_000)], &send(0, 1_000, 0)[..]].concat();
    for posted in [0, 50_000] {
        let receiver = [&[compute(posted)], &recv(ANY, 8, 0)[..], &recv(ANY, 1_000, 0)].concat();
        assert!(timings(each(vec![receiver, late.clone(), early.clone()])).is_empty());
    }
}

#[test]
fn a_receive_of_any_tag_takes_the_messages_of_one_sender_in_the_order_sent() {
    let sender = [isend(1, 8, 9), isend(1, 100, 3), isend(1, 20_000, 7), isend(1, 1_000, 1), WAIT].to_vec();
    for posted in [0, 50_000] {
        let posts = [8, 100, 20_000, 1_000].map(|size| irecv(0, size, ANY));
        let receiver = [&[compute(posted)], &posts[..], &[WAIT]].concat();
        assert!(timings(each(vec![sender.clone(), receiver])).is_empty());
    }
}

#[test]
fn of_two_receives_that_a_message_fits_the_one_posted_first_gets_it() {
    // The message of 8 B goes to the receive of anything, the one of 100 B to the other one.
    let sender = [compute(10_000), isend(1, 8, 2), isend(1, 100, 2), WAIT].to_vec();
    let receiver = [irecv(ANY, 8, ANY), irecv(0, 100, 2), WAIT].to_vec();
    assert!(timings(each(vec![sender.clone(), receiver])).is_empty());
    // The other way round there is no room.
    let receiver = [irecv(0, 100, 2), irecv(ANY, 8, ANY), WAIT].to_vec();
    why(each(vec![sender, receiver]));
}

#[test]
fn a_message_from_one_rank_is_not_for_a_receive_from_another() {
    let sender = |size| send(2, size, 0).to_vec();
    let receiver = [&[compute(20_000)], &recv(1, 100, 0)[..], &recv(0, 8, 0)].concat();
    assert!(timings(each(vec![sender(8), sender(100), receiver])).is_empty());
}

#[test]
fn a_receive_of_any_tag_takes_no_message_of_a_collective_call() {
    // A tag of 2^31 and above is that of a barrier, say.
    let internal = 1 << 31;
    let sender = [isend(1, 8, internal), isend(1, 100, 4), WAIT].to_vec();
    for posted in [0, 20_000] {
        let receiver = [compute(posted), irecv(0, 100, ANY), irecv(0, 8, internal), WAIT].to_vec();
        assert!(timings(each(vec![sender.clone(), receiver])).is_empty());
    }
}

#[test]
fn a_message_may_be_shorter_than_the_room_for_it() {
    let sender = [isend(1, 0, 0), isend(1, 20_000, 0), WAIT].to_vec();
    let receiver = [irecv(0, 1_000, 0), irecv(0, 50_000, 0), WAIT].to_vec();
    assert!(timings(each(vec![sender, receiver])).is_empty());
}

#[test]
fn a_message_longer_than_its_receive_is_an_error_that_names_both_ranks_and_both_sizes() {
    for (size, room) in [(101, 100), (20_001, 20_000)] {
        for posted in [0, 20_000] {
            let sender = [isend(1, size, 7), WAIT].to_vec();
            let receiver = [compute(posted), irecv(0, room, 7), WAIT].to_vec();
            let text = why(each(vec![sender, receiver])).to_string();
            let [size, room] = [size, room].map(|bytes| Bytes::new(bytes).to_string());
            let facts = ["rank 0", "rank 1", &size, &room];
            assert!(facts.iter().all(|fact| text.contains(fact)), "{text}");
        }
    }
}

#[test]
fn an_answer_of_a_wrong_size_is_an_error_even_within_a_host() {
    let a = [isend(1, 9, 0), WAIT].to_vec();
    let b = recv(0, 8, 0).to_vec();
    why(scene::messages(crate::network(2), &[(0, a), (0, b)], scene::COSTS));
}
