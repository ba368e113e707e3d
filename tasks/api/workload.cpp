#include <rtexec/workload.hpp>

namespace rtexec {

Result<> Workload::use(std::span<const std::string> tuning) {
  if (tuning.empty()) return {};
  return fail(Errc::bad_input,
              "this workload has only one implementation, but the profile gives a choice: " + tuning.front());
}

Result<std::vector<std::string>> Workload::tune(Device&, const TuningProgress&) { return std::vector<std::string>{}; }

Result<> Workload::cut(std::span<const std::uint32_t> after) {
  if (after.empty()) return {};
  return fail(Errc::bad_input, "this workload cannot be cut into segments: it has no layers");
}

Result<MemoryDemand> Workload::memory_if_cut(std::span<const std::uint32_t>) const { return memory(); }

} // namespace rtexec
