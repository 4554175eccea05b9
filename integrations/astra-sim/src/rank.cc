#include "rank.hh"

#include <stdexcept>

namespace backwater {

namespace {

constexpr uint64_t PS_PER_NS = 1000;

uint64_t picoseconds(const AstraSim::timespec_t &time)
{
	switch (time.time_res) {
	case AstraSim::SE:
		return static_cast<uint64_t>(time.time_val * 1e12L + 0.5L);
	case AstraSim::MS:
		return static_cast<uint64_t>(time.time_val * 1e9L + 0.5L);
	case AstraSim::US:
		return static_cast<uint64_t>(time.time_val * 1e6L + 0.5L);
	case AstraSim::NS:
		return static_cast<uint64_t>(time.time_val * 1e3L + 0.5L);
	case AstraSim::FS:
		return static_cast<uint64_t>(time.time_val / 1e3L + 0.5L);
	}
	throw std::runtime_error("sim_schedule: unknown unit of time");
}

} // namespace

int Rank::sim_send(void *, uint64_t count, int, int dst, int tag, AstraSim::sim_request *, void (*msg_handler)(void *),
		   void *fun_arg)
{
	network_.send(static_cast<uint32_t>(rank), static_cast<uint32_t>(dst), count, tag, msg_handler, fun_arg);
	return 0;
}

int Rank::sim_recv(void *, uint64_t count, int, int src, int tag, AstraSim::sim_request *, void (*msg_handler)(void *),
		   void *fun_arg)
{
	network_.receive(static_cast<uint32_t>(src), static_cast<uint32_t>(rank), count, tag, msg_handler, fun_arg);
	return 0;
}

void Rank::sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void *), void *fun_arg)
{
	if (delta.time_val < 0)
		throw std::runtime_error("sim_schedule: an instant that has passed");
	network_.schedule(picoseconds(delta), fun_ptr, fun_arg);
}

AstraSim::timespec_t Rank::sim_get_time()
{
	AstraSim::timespec_t now;
	now.time_res = AstraSim::NS;
	now.time_val = static_cast<long double>(network_.now_ps() / PS_PER_NS);
	return now;
}

void Rank::sim_notify_finished()
{
	is_finished_ = true;
	finished_ps_ = network_.now_ps();
}

} // namespace backwater
