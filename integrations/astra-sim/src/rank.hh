// A rank of ASTRA-sim whose messages go through Backwater.
#pragma once

#include <astra-sim/common/AstraNetworkAPI.hh>

#include "network.hh"

namespace backwater {

class Rank : public AstraSim::AstraNetworkAPI {
      public:
	// All ranks share the network, which lives longer than they do.
	Rank(int rank, Network &network) : AstraNetworkAPI(rank), network_(network) {}

	// Starts the transfer. `msg_handler` is called when the last byte is at its destination.
	int sim_send(void *buffer, uint64_t count, int type, int dst, int tag, AstraSim::sim_request *request,
		     void (*msg_handler)(void *fun_arg), void *fun_arg) override;
	// Waits for the message of this size and tag. `msg_handler` is called when its last byte is here.
	int sim_recv(void *buffer, uint64_t count, int type, int src, int tag, AstraSim::sim_request *request,
		     void (*msg_handler)(void *fun_arg), void *fun_arg) override;
	// The units of ASTRA-sim down to femtoseconds are understood.
	void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void *fun_arg), void *fun_arg) override;
	// In whole nanoseconds, as ASTRA-sim counts; the network goes on in picoseconds.
	AstraSim::timespec_t sim_get_time() override;
	void sim_notify_finished() override;

	bool is_finished() const { return is_finished_; }
	uint64_t finished_ps() const { return finished_ps_; }

      private:
	Network &network_;
	bool is_finished_ = false;
	uint64_t finished_ps_ = 0;
};

} // namespace backwater
