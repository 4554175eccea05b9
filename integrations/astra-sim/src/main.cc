// ASTRA-sim on a network of Backwater. The options are those of ASTRA-sim's other back ends, and a few more: see README.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <astra-sim/common/Logging.hh>
#include <astra-sim/system/Sys.hh>
#include <json/json.hpp>
#include <remote_memory_backend/analytical/AnalyticalRemoteMemory.hh>

#include "rank.hh"

namespace {

// Options with their defaults; "!" stands for none.
std::map<std::string, std::string> options = {
	{"workload-configuration", "!"},
	{"system-configuration", "!"},
	{"network-configuration", "!"},
	{"remote-memory-configuration", "!"},
	{"logical-topology-configuration", ""},
	{"comm-group-configuration", "empty"},
	{"logging-configuration", "empty"},
	{"logging-folder", "log"},
	{"num-queues-per-dim", "1"},
	{"comm-scale", "1"},
	{"injection-scale", "1"},
	{"rendezvous-protocol", "false"},
	{"results-folder", ""},
	{"messages", ""},
};
// Values of --set.
std::vector<std::string> overrides;

void read_options(int count, char **arguments)
{
	for (int i = 1; i < count; i++) {
		std::string name = arguments[i], value;
		const size_t is = name.find('=');
		if (is != std::string::npos) {
			value = name.substr(is + 1);
			name.resize(is);
		} else if (i + 1 < count) {
			value = arguments[++i];
		}
		name = name.rfind("--", 0) == 0 ? name.substr(2) : "";
		if (name == "set") {
			overrides.push_back(value);
		} else if (const auto option = options.find(name); option != options.end()) {
			option->second = value;
		} else {
			throw std::runtime_error(std::string(arguments[i]) + " is no option: see README.md");
		}
	}
	for (const auto &[name, value] : options) {
		if (value == "!")
			throw std::runtime_error("--" + name + " is missing");
	}
}

double number(const char *name)
{
	const std::string &text = options[name];
	size_t end = 0;
	double value = 0;
	try {
		value = std::stod(text, &end);
	} catch (const std::exception &) {
	}
	if (end != text.size() || !(value > 0))
		throw std::runtime_error("--" + std::string(name) + "=" + text + ": allowed: numbers above 0");
	return value;
}

// Ranks in each dimension of the logical topology: as the file says that ASTRA-sim's ns-3 back end reads, else all hosts in one.
std::vector<int> dimensions(uint32_t hosts)
{
	const std::string &file = options["logical-topology-configuration"];
	if (file.empty())
		return {static_cast<int>(hosts)};
	std::ifstream stream(file);
	if (!stream)
		throw std::runtime_error(file + " cannot be read");
	std::vector<int> sizes;
	uint64_t ranks = 1;
	for (const auto &size : nlohmann::json::parse(stream).at("logical-dims")) {
		sizes.push_back(std::stoi(size.get<std::string>()));
		ranks *= sizes.back() > 0 ? sizes.back() : UINT32_MAX;
	}
	if (ranks > hosts) {
		throw std::runtime_error(file + ": logical-dims have " + std::to_string(ranks) + " ranks, the scenario has " +
					 std::to_string(hosts) + " hosts; allowed: at most as many ranks as hosts");
	}
	return sizes;
}

int simulate()
{
	AstraSim::LoggerFactory::init(options["logging-configuration"], options["logging-folder"]);
	backwater::Network network(options["network-configuration"], overrides, options["results-folder"]);
	std::ofstream messages;
	if (const std::string &file = options["messages"]; !file.empty()) {
		messages.open(file);
		if (!messages)
			throw std::runtime_error(file + " cannot be written");
		messages << "src,dst,tag,size_bytes,sent_ps,arrived_ps\n";
		network.on_arrival([&messages](const backwater::Arrival &of) {
			messages << of.src << ',' << of.dst << ',' << of.tag << ',' << of.size_bytes << ',' << of.sent_ps << ','
				 << of.arrived_ps << '\n';
		});
	}
	const std::vector<int> sizes = dimensions(network.hosts());
	const double per_dimension = number("num-queues-per-dim");
	if (per_dimension != std::floor(per_dimension) || per_dimension > 1e6)
		throw std::runtime_error("--num-queues-per-dim=" + options["num-queues-per-dim"] + ": allowed: whole numbers from 1 to 1000000");
	const std::string &rendezvous = options["rendezvous-protocol"];
	if (rendezvous != "true" && rendezvous != "false")
		throw std::runtime_error("--rendezvous-protocol=" + rendezvous + ": allowed: true or false");
	const std::vector<int> queues(sizes.size(), static_cast<int>(per_dimension));
	int count = 1;
	for (const int size : sizes)
		count *= size;

	Analytical::AnalyticalRemoteMemory memory(options["remote-memory-configuration"]);
	std::vector<std::unique_ptr<backwater::Rank>> ranks;
	std::vector<std::unique_ptr<AstraSim::Sys>> systems;
	for (int rank = 0; rank < count; rank++) {
		ranks.push_back(std::make_unique<backwater::Rank>(rank, network));
		systems.push_back(std::make_unique<AstraSim::Sys>(
			rank, options["workload-configuration"], options["comm-group-configuration"],
			options["system-configuration"], &memory, ranks.back().get(), sizes, queues, number("injection-scale"),
			number("comm-scale"), rendezvous == "true"));
	}
	for (const auto &system : systems)
		system->workload->fire();
	network.run();

	uint64_t last = 0;
	int left = 0;
	for (const auto &rank : ranks) {
		left += !rank->is_finished();
		last = std::max(last, rank->finished_ps());
	}
	// A system asks for the time when it ends, so that it ends before the network.
	systems.clear();
	network.finish();
	AstraSim::LoggerFactory::shutdown();
	if (left > 0) {
		std::cerr << "error: " << left << " of " << count << " ranks are not finished, and nothing is left to do\n"
			  << network.waiting();
		return 1;
	}
	std::cout << count << " ranks are finished after " << last / 1000 << " ns\n";
	return 0;
}

} // namespace

int main(int count, char **arguments)
{
	try {
		read_options(count, arguments);
		return simulate();
	} catch (const std::exception &error) {
		std::cerr << "error: " << error.what() << "\n";
		return 1;
	}
}
