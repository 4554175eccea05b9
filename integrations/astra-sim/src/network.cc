#include "network.hh"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "backwater_run.h"

namespace backwater {

namespace {

// Reasons are sentences; the longest ones list what a scenario has wrong.
constexpr size_t REASON = 4000;

} // namespace

// ASTRA-sim swallows exceptions in its events: the run ends with the first one whatever becomes of it.
void Network::refuse(const std::string &what)
{
	if (failure_.empty())
		failure_ = what;
	throw std::runtime_error(what);
}

void Network::RunEnd::operator()(bw_run *run) const
{
	bw_run_stop(run, nullptr, 0);
}

Network::Network(const std::string &scenario, const std::vector<std::string> &overrides, const std::string &folder)
{
	std::vector<const char *> texts;
	for (const std::string &text : overrides)
		texts.push_back(text.c_str());
	char why[REASON];
	run_.reset(bw_run_begin(scenario.c_str(), texts.data(), texts.size(), folder.empty() ? nullptr : folder.c_str(), why,
				sizeof(why)));
	if (!run_)
		refuse(why);
	char name[2];
	while (bw_run_host_name(run_.get(), hosts_, name, sizeof(name)) > 0)
		hosts_++;
}

Network::~Network() = default;

void Network::check(uint32_t host)
{
	if (host >= hosts_) {
		refuse("rank " + std::to_string(host) + " has no host: the scenario has " + std::to_string(hosts_) +
		       ", and rank n is host n; give it more hosts, or run fewer ranks");
	}
}

void Network::at(uint64_t time_ps, Call call)
{
	calls_.push(Event{time_ps, events_++, call});
}

void Network::schedule(uint64_t delay_ps, Handler handler, void *argument)
{
	at(now_ps_ + delay_ps, Call{handler, argument});
}

void Network::send(uint32_t src, uint32_t dst, uint64_t size_bytes, int tag, Handler handler, void *argument)
{
	check(src);
	check(dst);
	outgoing_.push_back(Message{Arrival{src, dst, tag, size_bytes, now_ps_, 0}, Call{handler, argument}});
}

void Network::receive(uint32_t src, uint32_t dst, uint64_t size_bytes, int tag, Handler handler, void *argument)
{
	check(src);
	check(dst);
	Mailbox &mailbox = mailboxes_[Key{src, dst, tag, size_bytes}];
	if (mailbox.here > 0) {
		mailbox.here--;
		at(now_ps_, Call{handler, argument});
	} else {
		mailbox.waiting.push_back(Call{handler, argument});
	}
}

void Network::arrive(const Message &message)
{
	const Arrival &of = message.of;
	if (observer_)
		observer_(of);
	at(of.arrived_ps, message.sent);
	Mailbox &mailbox = mailboxes_[Key{of.src, of.dst, of.tag, of.size_bytes}];
	if (mailbox.waiting.empty()) {
		mailbox.here++;
	} else {
		at(of.arrived_ps, mailbox.waiting.front());
		mailbox.waiting.pop_front();
	}
}

// What was sent goes into the network, in the order of the calls. A network has no message without a byte: an empty one has one. What a
// rank sends to itself is there at once.
void Network::inject()
{
	std::vector<Message> outgoing;
	std::swap(outgoing, outgoing_);
	std::vector<bw_flow> flows;
	for (Message &message : outgoing) {
		if (message.of.src == message.of.dst) {
			message.of.arrived_ps = now_ps_;
			arrive(message);
			continue;
		}
		bw_flow flow = {};
		flow.size_bytes = std::max<uint64_t>(message.of.size_bytes, 1);
		// Right after an arrival the network stands a picosecond later.
		flow.start_ps = std::max(now_ps_, bw_run_now_ps(run_.get()));
		flow.src = message.of.src;
		flow.dst = message.of.dst;
		flows.push_back(flow);
	}
	if (flows.empty())
		return;
	char why[REASON];
	uint32_t first = 0;
	if (!bw_run_inject(run_.get(), flows.data(), flows.size(), &first, why, sizeof(why)))
		refuse(why);
	if (flows_.empty())
		first_flow_ = first;
	for (const Message &message : outgoing) {
		if (message.of.src != message.of.dst)
			flows_.push_back(message);
	}
	open_ += flows.size();
}

// Lets the network go on to the next call that is due, or to the next arrival, whatever comes first.
void Network::advance()
{
	char why[REASON];
	const uint64_t until = calls_.empty() ? UINT64_MAX : calls_.top().time_ps;
	if (until >= bw_run_now_ps(run_.get()) && !bw_run_step_to_completion(run_.get(), until, why, sizeof(why)))
		refuse(why);
	bool any = false;
	bw_completion ended[64];
	for (size_t count; (count = bw_run_completions(run_.get(), ended, std::size(ended))) > 0;) {
		for (size_t i = 0; i < count; i++) {
			// Flows of the scenario's own are others' traffic.
			if (flows_.empty() || ended[i].flow < first_flow_)
				continue;
			Message &message = flows_[ended[i].flow - first_flow_];
			if (ended[i].finish_ps == UINT64_MAX) {
				std::ostringstream what;
				what << "the network has given up a message of " << message.of.size_bytes << " B from rank "
				     << message.of.src << " to " << message.of.dst
				     << ": its packets were sent again too often; look for faults in the scenario";
				refuse(what.str());
			}
			message.of.arrived_ps = ended[i].finish_ps;
			open_--;
			arrive(message);
			any = true;
		}
	}
	// It may have stopped sooner, where others' traffic ended.
	const bool is_there = bw_run_now_ps(run_.get()) >= until || bw_run_is_over(run_.get());
	if (!any && is_there && until < UINT64_MAX)
		now_ps_ = std::max(now_ps_, until);
}

void Network::run()
{
	while (true) {
		if (!failure_.empty())
			refuse(failure_);
		inject();
		if (!calls_.empty() && calls_.top().time_ps <= std::max(now_ps_, bw_run_now_ps(run_.get()))) {
			const Event event = calls_.top();
			calls_.pop();
			now_ps_ = std::max(now_ps_, event.time_ps);
			event.call.handler(event.call.argument);
		} else if (calls_.empty() && (open_ == 0 || bw_run_is_over(run_.get()))) {
			return;
		} else {
			advance();
		}
	}
}

std::string Network::waiting() const
{
	std::ostringstream lines;
	for (const auto &[key, mailbox] : mailboxes_) {
		const auto &[src, dst, tag, size] = key;
		if (!mailbox.waiting.empty()) {
			lines << "rank " << dst << " waits for " << mailbox.waiting.size() << (mailbox.waiting.size() == 1 ? " message of " : " messages of ") << size << " B from rank "
			      << src << " with tag " << tag << "\n";
		}
	}
	return lines.str();
}

void Network::finish()
{
	char why[REASON];
	if (!bw_run_finish(run_.release(), why, sizeof(why)))
		refuse(why);
}

} // namespace backwater
