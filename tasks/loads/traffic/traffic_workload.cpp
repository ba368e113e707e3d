#include "tasks/loads/traffic/traffic_workload.hpp"

#include "tasks/base/fingerprint.hpp"
#include "tasks/loads/traffic/caches.hpp"

namespace rtexec::tasks {

TrafficWorkload::TrafficWorkload(const Task& task, std::unique_ptr<LineGenerator> generator)
    : pattern_(task.pattern),
      before_(task.traffic_before.value_or(Bytes{0})),
      after_(task.traffic_after.value_or(Bytes{0})),
      generator_(std::move(generator)) {}

Result<std::unique_ptr<TrafficWorkload>> TrafficWorkload::make(const Task& task, const hal::Machine& machine) {
  const auto caches = cache_facts(machine);
  auto generator = LineGenerator::make(task.pattern, task.buffer.value_or(sweep_size(caches)), caches.line);
  if (!generator) return Unexpected(generator.error());
  std::unique_ptr<TrafficWorkload> workload(new TrafficWorkload(task, std::move(*generator)));
  if (workload->before_ + workload->after_ == Bytes{0})
    return fail(Errc::bad_input, "it has no traffic: say in traffic_before how much memory each job moves");
  const Bytes unit = workload->generator_->unit();
  for (const auto& [key, amount] :
       {std::pair("traffic_before", workload->before_), std::pair("traffic_after", workload->after_)})
    if (amount > Bytes{0} && amount < unit)
      return fail(Errc::bad_input, std::string(key) + " = " + to_string(amount) + " is less than it moves at once, " +
                                       to_string(unit) + ": give at least that, or for 0B");
  return workload;
}

std::string TrafficWorkload::fingerprint() const {
  Fingerprint fingerprint;
  fingerprint.add(static_cast<std::uint64_t>(pattern_));
  for (const auto size : {before_, after_, Bytes{generator_->buffer().size()}, generator_->unit()})
    fingerprint.add(size.count);
  return "traffic-" + fingerprint.text();
}

Status TrafficWorkload::move(Bytes bytes) noexcept {
  (void)generator_->run(bytes);
  return {};
}

} // namespace rtexec::tasks
