// Checks that the scheduler without classes and segments decides as it did before it had them. Its actions in random
// histories are folded into one number for each rule. The numbers were recorded with the scheduler of that time.
#include "config/names.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"
#include "test/policies/swap_history.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rtexec::policies {
namespace {

using namespace policies::test;

/// FNV-1a, value by value.
class Digest {
 public:
  void add(std::uint64_t value) { value_ = (value_ ^ value) * 0x100000001b3; }
  void add(const Action& action) {
    add(static_cast<std::uint64_t>(action.kind) + 1);
    add(action.job.task);
    add(action.job.number);
    add(action.transfer.task);
    add(action.transfer.slot);
    add(action.transfer.frame);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// A device that carries out its actions and reports in random order, either with failures and withdrawals or with
/// tasks that are exchanged for others.
class Device {
 public:
  Device(const Plan& plan, bool exchanges, Random& random, Digest& digest)
      : frames_(plan.swap->frames),
        scheduler_(plan, exchanges ? frames_ : 0),
        exchanges_(exchanges),
        random_(random),
        digest_(digest),
        jobs_(plan.tasks.size()) {}

  void step() {
    now_ += random_() % 4;
    const auto task = static_cast<std::uint32_t>(random_() % jobs_.size());
    Job& job = jobs_[task];
    switch (random_() % 8) {
    case 0:
    case 1:
      if (job.outstanding) return;
      job = {.number = ++number_, .outstanding = true};
      return tell(request(task, job.number, static_cast<std::int64_t>(now_ + random_() % 200)));
    case 2:
      if (exchanges_ && random_() % 4 == 0) return exchange(task);
      if (exchanges_ || !job.outstanding || std::exchange(job.withdrawn, true)) return;
      return tell(withdrawal(task, job.number));
    case 3: return end_execution();
    case 4:
    case 5: return end_transfer(Event::Kind::copied_in, ins_);
    default: return end_transfer(Event::Kind::copied_out, outs_);
    }
  }

  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  struct Job {
    std::uint64_t number = 0;
    bool outstanding = false;
    bool withdrawn = false;
  };

  void end_transfer(Event::Kind kind, std::vector<Transfer>& flights) {
    if (flights.empty()) return;
    std::swap(flights[random_() % flights.size()], flights.back());
    const Transfer ended = flights.back();
    flights.pop_back();
    const bool failed = !exchanges_ && random_() % 32 == 0;
    tell({kind, {}, at(0), {}, ended, failed});
  }

  void tell(const Event& event) {
    ++events_;
    obey(scheduler_.on(event));
  }

  void end_execution() {
    if (!running_) return;
    const JobId job = *running_;
    running_.reset();
    jobs_[job.task].outstanding = false;
    tell(completion(job.task, job.number));
  }

  void exchange(std::uint32_t task) {
    obey(scheduler_.exchange(task, {.rank = static_cast<std::uint32_t>(random_() % 3),
                                    .device_done_by = Duration(1 + random_() % 100),
                                    .period = Duration(1 + random_() % 300),
                                    .slots = static_cast<std::uint32_t>(random_() % (frames_ + 1)),
                                    .stays = random_() % 2 == 0}));
  }

  void obey(std::span<const Action> actions) {
    digest_.add(0);
    for (const Action& action : actions) {
      digest_.add(action);
      switch (action.kind) {
      case Action::Kind::start_execution: running_ = action.job; break;
      case Action::Kind::copy_in: ins_.push_back(action.transfer); break;
      case Action::Kind::copy_out: outs_.push_back(action.transfer); break;
      case Action::Kind::drop:
      case Action::Kind::fail: jobs_[action.job.task].outstanding = false; break;
      case Action::Kind::refuse: break; // an exchange while a job is outstanding or a chunk moves
      }
    }
  }

  std::uint32_t frames_;
  DeviceScheduler scheduler_;
  bool exchanges_;
  Random& random_;
  Digest& digest_;
  std::vector<Job> jobs_;
  std::optional<JobId> running_;
  std::vector<Transfer> ins_, outs_;
  std::uint64_t number_ = 0, now_ = 0, events_ = 0;
};

struct Recorded {
  SwapPolicy policy;
  std::uint64_t events; // at least
  std::uint64_t digest;
};

TEST(SingleLevelScheduler, MatchesRecordedDecisions) {
  for (const auto& [policy, events, digest] : {Recorded{SwapPolicy::pipelined, 3'000'000, 4511385825446851809},
                                               Recorded{SwapPolicy::serial, 500'000, 4328111967823279632},
                                               Recorded{SwapPolicy::rt_swap, 500'000, 9843072042841939412U},
                                               Recorded{SwapPolicy::lru, 500'000, 17256266260055823088U}}) {
    Random random(static_cast<std::uint64_t>(policy));
    Digest found;
    std::uint64_t seen = 0;
    for (int history = 0; seen < events; ++history) {
      const Plan plan = random_plan(policy, random);
      Device device(plan, history % 4 == 0, random, found);
      for (int step = 0; step < 4'000; ++step) device.step();
      seen += device.events();
    }
    EXPECT_EQ(found.value(), digest) << spelling(policy);
  }
}

} // namespace
} // namespace rtexec::policies
