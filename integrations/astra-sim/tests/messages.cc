// Times at which messages arrive, against arithmetic, through the interface that ASTRA-sim uses. Usage: messages star.toml.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rank.hh"

namespace {

constexpr int HOSTS = 4;
// Packets of 1000 B at 100 Gbps, over two links of 1 us and a switch that stores and forwards.
constexpr uint64_t PACKET_PS = 80000;
constexpr uint64_t DELAY_PS = 1000000;

// Of so many packets, if nothing is in their way.
constexpr uint64_t alone_ps(uint64_t packets)
{
	return (packets + 1) * PACKET_PS + 2 * DELAY_PS;
}

void expect(const char *what, uint64_t found, uint64_t expected)
{
	std::printf("%s: %llu, expected %llu\n", what, static_cast<unsigned long long>(found),
		    static_cast<unsigned long long>(expected));
	if (found != expected)
		std::exit(1);
}

void expect(const char *what, bool is_so)
{
	expect(what, is_so ? 1 : 0, 1);
}

struct Ranks {
	backwater::Network network;
	std::vector<std::unique_ptr<backwater::Rank>> of;
	std::vector<backwater::Arrival> arrivals;

	explicit Ranks(const char *scenario, std::vector<std::string> overrides = {"run.seed=3"})
		: network(scenario, overrides, "")
	{
		for (int rank = 0; rank < HOSTS; rank++)
			of.push_back(std::make_unique<backwater::Rank>(rank, network));
		network.on_arrival([this](const backwater::Arrival &arrival) { arrivals.push_back(arrival); });
	}
	AstraSim::AstraNetworkAPI &operator[](int rank) { return *of[rank]; }
	void send(int src, int dst, uint64_t packets, int tag, void (*handler)(void *), void *argument)
	{
		(*this)[src].sim_send(nullptr, packets * 1000, 0, dst, tag, nullptr, handler, argument);
	}
	void receive(int dst, int src, uint64_t packets, int tag, void (*handler)(void *), void *argument)
	{
		(*this)[dst].sim_recv(nullptr, packets * 1000, 0, src, tag, nullptr, handler, argument);
	}
};

void count(void *calls)
{
	++*static_cast<int *>(calls);
}

// Two messages leave by one link: the later of them ends when all their packets have passed it.
void two_messages_on_one_link(const char *scenario)
{
	Ranks ranks(scenario);
	int sent = 0, received = 0;
	ranks.send(0, 1, 30, 1, count, &sent);
	ranks.send(0, 2, 50, 1, count, &sent);
	ranks.receive(1, 0, 30, 1, count, &received);
	ranks.receive(2, 0, 50, 1, count, &received);
	ranks.network.run();
	expect("calls of senders", sent, 2);
	expect("calls of receivers", received, 2);
	expect("the later one arrives", ranks.arrivals[1].arrived_ps, alone_ps(30 + 50));
	expect("it is the longer one", ranks.arrivals[1].size_bytes, 50000);
	// The two take turns: of the first 60 packets on the link half are of the shorter one, whose last is the 59th or the 60th.
	const uint64_t shorter = ranks.arrivals[0].arrived_ps;
	expect("the shorter one has half of the link", shorter == alone_ps(59) || shorter == alone_ps(60));
	// ASTRA-sim's clock says whole nanoseconds.
	expect("the clock", static_cast<uint64_t>(ranks[0].sim_get_time().time_val), alone_ps(80) / 1000);
	ranks.network.finish();
}

// Three ranks send to one: its link is busy from the first packet to the last.
void incast(const char *scenario)
{
	Ranks ranks(scenario);
	int received = 0;
	for (int src = 1; src < HOSTS; src++) {
		ranks.send(src, 0, 40, 7, count, &received);
		ranks.receive(0, src, 40, 7, count, &received);
	}
	ranks.network.run();
	expect("calls", received, 6);
	expect("the last one arrives", ranks.arrivals.back().arrived_ps, alone_ps(3 * 40));
	ranks.network.finish();
}

// Each rank passes on what it gets, as in a ring all-gather: after three rounds all have all.
struct Member {
	Ranks *ranks;
	int rank, rounds;
	static void got(void *argument)
	{
		Member &me = *static_cast<Member *>(argument);
		if (++me.rounds < HOSTS - 1)
			me.pass_on();
		else
			(*me.ranks)[me.rank].sim_notify_finished();
	}
	static void nothing(void *) {}
	void pass_on()
	{
		ranks->send(rank, (rank + 1) % HOSTS, 25, rounds, nothing, nullptr);
		ranks->receive(rank, (rank + HOSTS - 1) % HOSTS, 25, rounds, got, this);
	}
};

void ring(const char *scenario)
{
	Ranks ranks(scenario);
	std::vector<Member> members;
	for (int rank = 0; rank < HOSTS; rank++)
		members.push_back(Member{&ranks, rank, 0});
	for (Member &member : members)
		member.pass_on();
	ranks.network.run();
	expect("messages", ranks.arrivals.size(), HOSTS * (HOSTS - 1));
	// What comes of an arrival starts a picosecond later.
	for (int rank = 0; rank < HOSTS; rank++) {
		expect("a rank is finished", ranks.of[rank]->is_finished());
		expect("when it is", ranks.of[rank]->finished_ps(), (HOSTS - 1) * (alone_ps(25) + 1) - 1);
	}
	ranks.network.finish();
}

// Events of ranks go by their own times, between arrivals.
struct Clock {
	Ranks *ranks;
	std::vector<uint64_t> at;
	static void tick(void *argument)
	{
		Clock &clock = *static_cast<Clock *>(argument);
		clock.at.push_back(clock.ranks->network.now_ps());
	}
	static void send(void *argument)
	{
		Clock &clock = *static_cast<Clock *>(argument);
		tick(argument);
		clock.ranks->send(0, 1, 1, 0, tick, argument);
	}
};

void computing(const char *scenario)
{
	Ranks ranks(scenario);
	Clock clock{&ranks, {}};
	ranks[0].sim_schedule({AstraSim::US, 3}, Clock::send, &clock);
	ranks[1].sim_schedule({AstraSim::NS, 500}, Clock::tick, &clock);
	ranks[1].sim_schedule({AstraSim::NS, 5100}, Clock::tick, &clock);
	ranks[2].sim_schedule({AstraSim::MS, 1}, Clock::tick, &clock);
	ranks.network.run();
	const std::vector<uint64_t> expected = {500000, 3000000, 5100000, 3000000 + alone_ps(1), 1000000000};
	expect("calls", clock.at.size(), expected.size());
	for (size_t i = 0; i < expected.size(); i++)
		expect("a call comes at its time", clock.at[i], expected[i]);
	// A message that is here before its receiver asks for it, one to itself, and one that never comes.
	int received = 0;
	ranks.receive(1, 0, 1, 0, count, &received);
	ranks.send(2, 2, 5, 4, count, &received);
	ranks.receive(2, 2, 5, 4, count, &received);
	ranks.receive(3, 0, 9, 6, count, &received);
	ranks.network.run();
	expect("calls", received, 3);
	expect("no time has passed", ranks.network.now_ps(), 1000000000);
	expect("one still waits",
	       ranks.network.waiting() == "rank 3 waits for 1 message of 9000 B from rank 0 with tag 6\n");
	ranks.network.finish();
}

// Others' traffic ends while a rank computes and a message is under way: nothing comes before its time.
void beside_others(const char *scenario)
{
	Ranks ranks(scenario, {"traffic.others.start=1us"});
	Clock clock{&ranks, {}};
	ranks.send(0, 1, 25, 0, Clock::tick, &clock);
	ranks[2].sim_schedule({AstraSim::US, 10}, Clock::tick, &clock);
	ranks.network.run();
	expect("calls", clock.at.size(), 2);
	expect("the message comes first", clock.at[0], alone_ps(25));
	expect("then the event", clock.at[1], 10000000);
	ranks.network.finish();
}

void refused(const char *scenario)
{
	Ranks ranks(scenario);
	// ASTRA-sim swallows exceptions of what it calls: the run still ends with the reason.
	try {
		ranks.send(0, HOSTS, 1, 0, Member::nothing, nullptr);
	} catch (const std::exception &) {
	}
	try {
		ranks.network.run();
	} catch (const std::runtime_error &error) {
		expect("it says which rank", std::string(error.what()).find("rank 4 has no host") == 0);
		return;
	}
	expect("there is no rank 4", false);
}

} // namespace

int main(int arguments, char **argument)
{
	if (arguments != 2) {
		std::fprintf(stderr, "usage: messages SCENARIO\n");
		return 2;
	}
	try {
		two_messages_on_one_link(argument[1]);
		incast(argument[1]);
		ring(argument[1]);
		computing(argument[1]);
		beside_others(argument[1]);
		refused(argument[1]);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
	return 0;
}
