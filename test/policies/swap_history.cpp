#include "test/policies/swap_history.hpp"

#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rtexec::policies::test {

using Kind = Event::Kind;

Plan plan_of(SwapPolicy policy, std::uint32_t frames, const std::vector<SwappingTask>& tasks, unsigned copy_engines) {
  Plan plan;
  plan.swap = SwapPlan{.policy = policy, .frames = frames, .copy_engines = copy_engines, .cost = {}, .store = {}};
  for (const auto& [volume, rank] : tasks) {
    PlannedTask& task = plan.tasks.emplace_back();
    task.device_rank = rank;
    task.period = task.device_done_by = Duration(1000);
    for (std::uint32_t slot = 0; slot < volume; ++slot) task.swap_slots.push_back({.slot = slot});
  }
  return plan;
}

Plan random_plan(SwapPolicy policy, Random& random) {
  const std::uint64_t count = random() % 4 == 0 ? 1 + random() % 14 : 1 + random() % 5;
  const std::uint64_t most = random() % 2 == 0 ? 20 : 3;
  const bool edf = random() % 2 == 0;
  std::vector<SwappingTask> tasks;
  std::uint64_t largest = 0, sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t volume = random() % 4 == 0 ? 0 : random() % (most + 1);
    largest = std::max(largest, volume);
    sum += volume;
    tasks.push_back({static_cast<std::uint32_t>(volume), edf ? i % 5 == 4 : static_cast<unsigned>(count) - i});
  }
  const std::uint64_t frames = largest + (random() % 4 == 0 ? 0 : random() % (sum - largest + 1));
  Plan plan = plan_of(policy, static_cast<std::uint32_t>(frames), tasks, 1 + random() % 2);
  for (PlannedTask& task : plan.tasks) {
    task.period = Duration(1 + random() % 300);
    task.device_done_by = Duration(1 + random() % 100);
  }
  return plan;
}

Environment::Environment(const Plan& plan, const Book& book, Random& random)
    : tasks_(plan.tasks.size()), book_(book), random_(random) {
  for (unsigned& weight : weights_) weight = 1 + static_cast<unsigned>(random() % 16);
  weights_[withdraw] = random() % 3 == 0 ? 4 : random() % 2;
  fails_in_a_hundred_ = random() % 2 == 0 ? 0 : 1 + random() % 10;
  spread_ = 1 + random() % 400;
}

Event Environment::any() {
  now_ += random_() % 4;
  for (;;) {
    if (random_() % 16 == 0) {
      if (const auto event = senseless()) return *event;
    } else {
      std::discrete_distribution<int> choice(weights_.begin(), weights_.end());
      if (const auto event = possible(static_cast<Choice>(choice(random_)))) return *event;
    }
  }
}

std::optional<Event> Environment::end() {
  fails_in_a_hundred_ = 0;
  std::array choices{finish, in, out};
  std::ranges::shuffle(choices, random_);
  for (const Choice choice : choices)
    if (const auto event = possible(choice)) return event;
  return std::nullopt;
}

std::optional<Event> Environment::possible(Choice choice) {
  const auto task = static_cast<std::uint32_t>(random_() % tasks_);
  const auto& job = book_.job(task);
  const bool failed = random_() % 100 < fails_in_a_hundred_;
  switch (choice) {
  case ask:
    return job ? std::nullopt
               : std::optional(request(task, ++number_, static_cast<std::int64_t>(now_ + random_() % spread_)));
  case withdraw: return job && !job->withdrawn ? std::optional(withdrawal(task, job->id.number)) : std::nullopt;
  case finish:
    return book_.running() ? std::optional(completion(book_.running()->task, book_.running()->number)) : std::nullopt;
  case in: {
    const auto& flights = book_.loading();
    if (flights.empty()) return std::nullopt;
    return copied_in(flights[random_() % flights.size()].transfer, failed);
  }
  case out: {
    const auto& flights = book_.saving();
    if (flights.empty()) return std::nullopt;
    return copied_out(flights[random_() % flights.size()].transfer, failed);
  }
  }
  return std::nullopt;
}

/// Returns an event that is similar to a possible one, but impossible.
std::optional<Event> Environment::senseless() {
  const auto little = [&](std::uint64_t most) { return static_cast<std::uint32_t>(random_() % (most + 1)); };
  const JobId job{little(tasks_), number_ - little(3)};
  Event event{static_cast<Kind>(little(6)),           job,           at(0), at(little(1000)),
              {little(tasks_), little(4), little(4)}, little(1) == 0};
  const auto& flights = random_() % 2 == 0 ? book_.loading() : book_.saving();
  if (!flights.empty() && random_() % 2 == 0) event.transfer = flights.front().transfer;
  if (random_() % 4 == 0) ++event.transfer.frame;
  if (book_.possible(event)) return std::nullopt;
  return event;
}

void Watched::feed(const Event& event) {
  const std::uint64_t before = rtexec::test::allocations();
  const auto out = scheduler_.on(event);
  ASSERT_EQ(rtexec::test::allocations(), before) << "allocated";
  ASSERT_LE(out.size(), DeviceScheduler::actions_per_event);
  if (!book.possible(event)) {
    ++refused;
    ASSERT_TRUE(std::ranges::equal(out, List{{Action::Kind::refuse, event.job, event.transfer}}));
    return;
  }
  book.enter(event, out, scheduler_.state());
  ASSERT_EQ(book.wrong(), nullptr) << book.wrong();
  ASSERT_EQ(scheduler_.idle(), book.idle());
  ASSERT_TRUE(std::ranges::equal(out, twin_.on(event))) << "the twin does otherwise";
}

DeviceScheduler::TaskParameters parameters_of(const PlannedTask& task, bool stays) {
  return {task.device_rank, task.device_done_by, task.period, static_cast<std::uint32_t>(task.swap_slots.size()),
          stays};
}

void Watched::exchange(Plan& plan, std::uint32_t task, const PlannedTask& with, bool stays, std::size_t most) {
  const std::uint64_t before = rtexec::test::allocations();
  const auto out = scheduler_.exchange(task, parameters_of(with, stays));
  ASSERT_EQ(rtexec::test::allocations(), before) << "allocated";
  ASSERT_LE(out.size(), DeviceScheduler::actions_per_event);
  if (task >= plan.tasks.size() || !book.exchangeable(task, with.swap_slots.size()) || with.swap_slots.size() > most) {
    ++refused;
    ASSERT_TRUE(std::ranges::equal(out, List{refuse(task, 0)}));
    return;
  }
  plan.tasks[task] = with;
  book.exchanged(task, stays, out, scheduler_.state());
  ASSERT_EQ(book.wrong(), nullptr) << book.wrong();
  ASSERT_EQ(scheduler_.idle(), book.idle());
  ASSERT_TRUE(std::ranges::equal(out, twin_.exchange(task, parameters_of(with, stays)))) << "the twin does otherwise";
}

} // namespace rtexec::policies::test
