// Messages and the clock: what a network of Backwater does for a simulator of training. Nothing here depends on ASTRA-sim.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

struct bw_run;

namespace backwater {

using Handler = void (*)(void *argument);

// A message that has arrived.
struct Arrival {
	uint32_t src, dst;
	int tag;
	uint64_t size_bytes;
	uint64_t sent_ps, arrived_ps;
};

// One network that all ranks share; rank n is host n. Everything happens in one thread, in `run`. What cannot be is a
// std::runtime_error that says why.
class Network {
      public:
	// Checks the scenario. `overrides` are texts such as "run.seed=3". Results go to `folder`; nothing is written if it is empty.
	Network(const std::string &scenario, const std::vector<std::string> &overrides, const std::string &folder);
	~Network();
	Network(const Network &) = delete;
	Network &operator=(const Network &) = delete;

	uint32_t hosts() const { return hosts_; }
	// The clock of all ranks.
	uint64_t now_ps() const { return now_ps_; }
	// Calls `handler` after this time.
	void schedule(uint64_t delay_ps, Handler handler, void *argument);
	// Sends a message now. `handler` is called when its last byte has arrived.
	void send(uint32_t src, uint32_t dst, uint64_t size_bytes, int tag, Handler handler, void *argument);
	// Waits for such a message. `handler` is called when its last byte has arrived, at once if it is here.
	void receive(uint32_t src, uint32_t dst, uint64_t size_bytes, int tag, Handler handler, void *argument);
	// Is called with each message that has arrived.
	void on_arrival(std::function<void(const Arrival &)> observer) { observer_ = std::move(observer); }
	// Runs until no event is left and no message is under way, or to the end that the scenario says.
	void run();
	// What ranks still wait for, a line each; empty if nothing.
	std::string waiting() const;
	// Runs what is left, such as the last ACKs, and writes the results. No call may follow.
	void finish();

      private:
	struct Call {
		Handler handler;
		void *argument;
	};
	struct Event {
		uint64_t time_ps, number;
		Call call;
		bool operator>(const Event &other) const
		{
			return std::tie(time_ps, number) > std::tie(other.time_ps, other.number);
		}
	};
	struct Message {
		Arrival of;
		Call sent;
	};
	// Messages of one kind are received in the order in which they arrive.
	using Key = std::tuple<uint32_t, uint32_t, int, uint64_t>;
	struct Mailbox {
		uint64_t here = 0;
		std::deque<Call> waiting;
	};
	struct RunEnd {
		void operator()(bw_run *run) const;
	};

	[[noreturn]] void refuse(const std::string &what);
	void check(uint32_t host);
	void at(uint64_t time_ps, Call call);
	void inject();
	void advance();
	void arrive(const Message &message);

	std::unique_ptr<bw_run, RunEnd> run_;
	// What went wrong first.
	std::string failure_;
	uint32_t hosts_ = 0;
	uint64_t now_ps_ = 0;
	uint64_t events_ = 0;
	std::priority_queue<Event, std::vector<Event>, std::greater<Event>> calls_;
	// Sent since the last step; they go into the network together.
	std::vector<Message> outgoing_;
	// By the number of its flow less that of the first one.
	std::vector<Message> flows_;
	uint32_t first_flow_ = 0;
	// Messages under way.
	uint64_t open_ = 0;
	std::map<Key, Mailbox> mailboxes_;
	std::function<void(const Arrival &)> observer_;
};

} // namespace backwater
