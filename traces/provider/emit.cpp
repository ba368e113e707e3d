// The translation unit that holds the provider's probes, and the functions that hide its macros.
#include "traces/emit.hpp"

#include <algorithm>

namespace rtexec::traces {
namespace {

constexpr std::uint8_t outcome_ok = 0;
constexpr std::uint8_t outcome_of(Errc error) { return static_cast<std::uint8_t>(static_cast<int>(error) + 1); }

struct PlanRecord {
  bool proved;
  std::uint8_t order;
  std::uint32_t tasks;
  std::uint64_t demand_bytes;
  std::uint64_t capacity_bytes;
  std::uint64_t chunk_bytes;
  const char* tightest_test;
  const char* tightest_task;
  std::int64_t slack;
};

std::int64_t bound_or_none(const PlannedTask& task) { return task.response_bound ? task.response_bound->count() : -1; }

std::int64_t resident_or_none(const PlannedTask& task) {
  return task.resident_slots ? static_cast<std::int64_t>(*task.resident_slots) : -1;
}

std::int64_t deadline_or_none(const policies::Event& event) {
  return event.kind == policies::Event::Kind::job_requested ? event.deadline.time_since_epoch().count() : 0;
}

} // namespace
} // namespace rtexec::traces

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "traces/provider/events.h"

#include <lttng/ust-thread.h>

namespace rtexec::traces {
namespace {

std::int64_t ns(Instant instant) { return instant.time_since_epoch().count(); }

template <class Enum> constexpr std::uint8_t byte(Enum value) { return static_cast<std::uint8_t>(value); }

} // namespace

void prepare_thread() noexcept { lttng_ust_init_thread(); }

bool recording() noexcept { return lttng_ust_tracepoint_enabled(rtexec, job_release); }
bool recording_layers() noexcept { return lttng_ust_tracepoint_enabled(rtexec, layer_begin); }

void run_begin(const char* version, const char* machine, bool simulated, Instant start) noexcept {
  lttng_ust_tracepoint(rtexec, run_begin, version, machine, simulated, ns(start));
}

void run_end(Instant at, const char* stopped_by) noexcept { lttng_ust_tracepoint(rtexec, run_end, ns(at), stopped_by); }

void plan(const Plan& plan) noexcept {
  const auto tightest = std::ranges::min_element(plan.tests, {}, &TestVerdict::slack);
  const bool tested = tightest != plan.tests.end();
  const PlanRecord record{
      .proved = plan.proved,
      .order = byte(plan.order),
      .tasks = static_cast<std::uint32_t>(plan.tasks.size()),
      .demand_bytes = plan.demand.count,
      .capacity_bytes = plan.capacity.count,
      .chunk_bytes = plan.chunk.count,
      .tightest_test = tested ? tightest->name.c_str() : "",
      .tightest_task = tested ? tightest->limiting_task.c_str() : "",
      .slack = tested ? tightest->slack.count() : 0,
  };
  lttng_ust_tracepoint(rtexec, plan, &record);
  for (const TestVerdict& test : plan.tests) lttng_ust_tracepoint(rtexec, admission_test, &test);
}

void task_info(std::uint32_t task, const Task& asked, const PlannedTask& planned) noexcept {
  lttng_ust_tracepoint(rtexec, task_info, task, &asked, &planned);
  lttng_ust_tracepoint(rtexec, task_memory, task, &planned);
  lttng_ust_tracepoint(rtexec, task_workload, task, planned.workload.c_str());
  for (const std::string& line : planned.tuning) lttng_ust_tracepoint(rtexec, task_tuning, task, line.c_str());
}

void layer_info(std::uint32_t task, std::uint32_t layer, const char* name) noexcept {
  lttng_ust_tracepoint(rtexec, layer_info, task, layer, name);
}

void degraded(const char* what) noexcept { lttng_ust_tracepoint(rtexec, degraded, what); }

void probe(const char* service, const char* found) noexcept { lttng_ust_tracepoint(rtexec, probe, service, found); }

void device_memory(const char* name, Bytes used, Bytes context, Bytes demand, Bytes separate) noexcept {
  lttng_ust_tracepoint(rtexec, device_memory, name, used.count, context.count, demand.count, separate.count);
}

void swap_plan(const SwapPlan& plan, const char* store) noexcept {
  lttng_ust_tracepoint(rtexec, swap_plan, byte(plan.policy), plan.frames, plan.copy_engines, plan.cost.chunk.count,
                       store);
}

void regulated_core(std::uint32_t core, Duration period) noexcept {
  lttng_ust_tracepoint(rtexec, regulated_core, core, period.count());
}

void job_release(policies::JobId job, Instant nominal, Instant actual, Instant deadline) noexcept {
  lttng_ust_tracepoint(rtexec, job_release, job.task, job.number, ns(nominal), ns(actual), ns(deadline));
}

void job_start(policies::JobId job, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, job_start, job.task, job.number, ns(at));
}

void cpu_end(policies::JobId job, Instant at, Duration executed) noexcept {
  lttng_ust_tracepoint(rtexec, cpu_end, job.task, job.number, ns(at), executed.count());
}

void device_request(policies::JobId job, Instant at, Instant deadline) noexcept {
  lttng_ust_tracepoint(rtexec, device_request, job.task, job.number, ns(at), ns(deadline));
}

void device_begin(policies::JobId job, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, device_begin, job.task, job.number, ns(at));
}

void device_end(policies::JobId job, Instant at, Status outcome) noexcept {
  lttng_ust_tracepoint(rtexec, device_end, job.task, job.number, ns(at),
                       outcome ? outcome_ok : outcome_of(outcome.error()));
}

void after_begin(policies::JobId job, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, after_begin, job.task, job.number, ns(at));
}

void job_end(policies::JobId job, Instant nominal, Instant at, Duration executed) noexcept {
  lttng_ust_tracepoint(rtexec, job_end, job.task, job.number, ns(at), (at - nominal).count(), executed.count());
}

void swap_begin(const policies::Action& transfer, Instant at) noexcept {
  if (transfer.kind == policies::Action::Kind::copy_in) lttng_ust_tracepoint(rtexec, swap_in_begin, &transfer, ns(at));
  else lttng_ust_tracepoint(rtexec, swap_out_begin, &transfer, ns(at));
}

void swap_end(const policies::Action& transfer, Instant at, Status outcome, Bytes copied) noexcept {
  const std::uint8_t code = outcome ? outcome_ok : outcome_of(outcome.error());
  if (transfer.kind == policies::Action::Kind::copy_in)
    lttng_ust_tracepoint(rtexec, swap_in_end, &transfer, ns(at), code, copied.count);
  else lttng_ust_tracepoint(rtexec, swap_out_end, &transfer, ns(at), code, copied.count);
}

void swap_totals(Bytes in, Bytes out, Bytes skipped, Bytes dropped) noexcept {
  lttng_ust_tracepoint(rtexec, swap_totals, in.count, out.count, skipped.count, dropped.count);
}

void scheduler_input(std::uint64_t sequence, const policies::Event& event) noexcept {
  lttng_ust_tracepoint(rtexec, scheduler_input, sequence, &event);
}

void scheduler_action(std::uint64_t sequence, const policies::Action& action) noexcept {
  lttng_ust_tracepoint(rtexec, scheduler_action, sequence, &action);
}

void throttle_begin(std::uint32_t core, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, throttle_begin, core, ns(at));
}

void throttle_end(std::uint32_t core, Instant at) noexcept { lttng_ust_tracepoint(rtexec, throttle_end, core, ns(at)); }

void bandwidth_budget(std::uint32_t core, Instant at, Bytes budget, Duration period) noexcept {
  lttng_ust_tracepoint(rtexec, bandwidth_budget, core, ns(at), budget.count, period.count());
}

void job_miss(policies::JobId job, Instant deadline, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, job_miss, job.task, job.number, ns(at), ns(deadline), (at - deadline).count());
}

void job_overrun(policies::JobId job, Instant at, OnOverrun policy, policies::ReleaseDecision::Kind decision) noexcept {
  lttng_ust_tracepoint(rtexec, job_overrun, job.task, job.number, ns(at), byte(policy), byte(decision));
}

void job_skip(std::uint32_t task, Instant nominal, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, job_skip, task, ns(nominal), ns(at));
}

void job_abort(policies::JobId job, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, job_abort, job.task, job.number, ns(at));
}

void device_fault(policies::JobId job, const char* what) noexcept {
  lttng_ust_tracepoint(rtexec, device_fault, job.task, job.number, what);
}

void layer_begin(policies::JobId job, std::uint32_t layer, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, layer_begin, job.task, job.number, layer, ns(at));
}

void layer_end(policies::JobId job, std::uint32_t layer, Instant at) noexcept {
  lttng_ust_tracepoint(rtexec, layer_end, job.task, job.number, layer, ns(at));
}

} // namespace rtexec::traces
