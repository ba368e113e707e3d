#include "rtexec/sharing/daemon/recording.hpp"

#include "hal/machine_files.hpp"
#include "hal/thread.hpp"
#include "traces/emit.hpp"

#include <algorithm>

namespace rtexec::daemon {

void Recording::begin(const std::string& file, const AdmissionOptions& admission,
                      const DispatcherOptions& dispatcher) const {
  const Bytes chunk = admission.device.chunk;
  traces::task_set(file.c_str());
  traces::swap_plan(dispatcher.policy, dispatcher.frames, dispatcher.copy_engines, chunk, "the clients' memory");
  traces::plan(true, admission.device.tasks.executive.order, 0, Bytes{0}, chunk * dispatcher.frames, chunk, "", "",
               Duration(0)); // each client is either proved or refused
  traces::run_begin(RTEXEC_VERSION, hal::machine_name().c_str(), false, hal::now());
}

std::uint32_t Recording::task_of(std::uint32_t place, const AdmittedClient& client, Duration best_effort_wcet) {
  std::optional<RecordedTask>& known = tasks_[place];
  const Contract& contract = client.contract;
  const bool same = known && known->contract.real_time == contract.real_time &&
                    known->contract.period == contract.period && known->contract.deadline == contract.deadline &&
                    known->contract.wcet == contract.wcet;
  if (!same) known = RecordedTask{.number = next_++, .contract = contract, .bound = Duration(0)};
  known->bound = std::max(known->bound, client.response_bound.value_or(Duration(0)));
  const bool declared = client.declaration.has_value();
  const Duration deadline = declared ? contract.deadline : contract.task.device_done_by;
  const std::string name = client.identity.name + " (" + std::to_string(place) + ")";
  traces::task_info(known->number, name.c_str(), declared, declared ? contract.period : contract.task.device_done_by,
                    deadline, Duration(0), place, 0, contract.task.rank, Duration(0),
                    declared ? contract.wcet : best_effort_wcet, Duration(0), Duration(0), contract.task.device_done_by,
                    declared ? std::optional(known->bound) : std::nullopt,
                    declared ? Criticality::real_time : Criticality::best_effort, client.slots, std::nullopt);
  return known->number;
}

void Recording::changed(std::optional<std::uint32_t> place, pid_t process, const std::string& name,
                        const std::string& what, Instant at) {
  const bool known = place && tasks_[*place];
  traces::client_change(known ? std::optional(tasks_[*place]->number) : std::nullopt, place.value_or(0),
                        static_cast<std::uint32_t>(process), name.c_str(), what.c_str(), at);
  if (known && what == "ended") tasks_[*place].reset();
}

} // namespace rtexec::daemon
