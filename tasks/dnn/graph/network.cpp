#include "tasks/dnn/graph/network.hpp"

namespace rtexec::tasks {

Result<> Network::use(std::span<const std::string> tuning) {
  if (tuning.empty()) return {};
  return fail(Errc::bad_input,
              "the profile holds choices for a network on a GPU, and this network runs on the host device, which has "
              "none to make: "
              "profile the task set again, on this board");
}

Result<std::vector<std::string>> Network::tune(Device&, const TuningProgress&) { return std::vector<std::string>{}; }

} // namespace rtexec::tasks
