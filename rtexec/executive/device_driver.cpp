#include "rtexec/executive/device_driver.hpp"

#include "traces/emit.hpp"

#include <cassert>

namespace rtexec::executive {

using policies::Action;
using policies::Event;

/// The way of one task to the device and back.
struct DeviceDriver::Lane {
  DeviceDriver* driver = nullptr;
  DeviceClient* client = nullptr;
  policies::JobId executing;
  Ring<Event, 8> events; // from the task's release thread: at most a stale withdrawal, a request and its withdrawal

  Status execute() noexcept {
    if (driver->recording()) traces::device_begin(executing, hal::now());
    return client->execute(executing.number);
  }

  void executed(Status outcome, Instant begin, Instant end) noexcept {
    if (driver->recording()) traces::device_end(executing, end, outcome);
    // The completion must be queued before the task can request its next job: see take_events().
    const policies::JobId job = executing;
    const bool queued = driver->completions_.push({.kind = Event::Kind::execution_done, .job = job, .now = end, .deadline = {}});
    assert(queued);
    static_cast<void>(queued);
    client->executed(job.number, outcome, begin, end);
    driver->wake_.raise();
  }
};

DeviceDriver::DeviceDriver(const Plan& plan, hal::Engine& compute, const std::vector<DeviceClient*>& clients)
    : scheduler_(plan), actions_(policies::DeviceScheduler::actions_per_event), compute_(compute) {
  for (DeviceClient* client : clients) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->driver = this;
    lanes_.back()->client = client;
  }
}

DeviceDriver::~DeviceDriver() = default;

void DeviceDriver::post(const Event& event) noexcept {
  const bool queued = lanes_[event.job.task]->events.push(event);
  assert(queued);
  static_cast<void>(queued);
  wake_.raise();
}

void DeviceDriver::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  wake_.raise();
}

void DeviceDriver::run() noexcept {
  traces::prepare_thread();
  for (;;) {
    const std::uint32_t seen = wake_.value();
    if (step()) continue;
    const auto& state = scheduler_.state();
    if (stopping_.load(std::memory_order_acquire) && !state.running && state.waiting.empty()) return;
    wake_.wait(seen);
  }
}

bool DeviceDriver::step() noexcept {
  // Requests before the completion: a job that was requested before the device fell free takes part in the choice.
  const bool events = take_events();
  Event completion;
  if (!completions_.pop(completion)) return events;
  decide(completion);
  return true;
}

bool DeviceDriver::take_events() noexcept {
  bool any = false;
  for (std::uint32_t task = 0; task < lanes_.size(); ++task) {
    auto& events = lanes_[task]->events;
    while (const Event* event = events.front()) {
      // The task's job before has ended, and its completion is queued but not yet decided upon: that comes first.
      const auto& running = scheduler_.state().running;
      if (event->kind == Event::Kind::job_requested && running && running->task == task) break;
      decide(*event);
      events.pop_front();
      any = true;
    }
  }
  return any;
}

void DeviceDriver::decide(const Event& event) noexcept {
  if (recording() && event.kind == Event::Kind::job_requested) traces::device_request(event.job, event.now, event.deadline);
  actions_.clear();
  scheduler_.on(event, actions_);
  for (const Action& action : actions_.all()) {
    // A withdrawal that comes after its job has left the device has nothing to withdraw.
    if (action.kind == Action::Kind::refuse && event.kind == Event::Kind::job_withdrawn) continue;
    carry_out(action);
  }
}

void DeviceDriver::carry_out(const Action& action) noexcept {
  Lane& lane = *lanes_[action.job.task];
  switch (action.kind) {
  case Action::Kind::start_execution:
    return start(lane, action.job);
  case Action::Kind::drop: {
    const Instant now = hal::now();
    return lane.client->executed(action.job.number, std::unexpected(Errc::cancelled), now, now);
  }
  case Action::Kind::refuse:
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

void DeviceDriver::start(Lane& lane, policies::JobId job) noexcept {
  lane.executing = job;
  const hal::Work work{.run = [](void* self) noexcept { return static_cast<Lane*>(self)->execute(); },
                       .done = [](void* self, Status outcome, Instant begin,
                                  Instant end) noexcept { static_cast<Lane*>(self)->executed(outcome, begin, end); },
                       .context = &lane};
  const auto submitted = compute_.submit(work);
  // Only one job executes at a time, so the engine's queue has room; were it refused, the engine is idle and the job has failed.
  if (!submitted) lane.executed(submitted, hal::now(), hal::now());
}

} // namespace rtexec::executive
