#include "test/soundness/search.hpp"

#include "test/policies/tiny_devices.hpp"
#include "test/rtexec/studies/soundness_budget.hpp"
#include "test/soundness/ambush.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>

namespace rtexec::soundness {
namespace {

struct Score {
  std::atomic<std::uint64_t> drawn = 0, sets = 0, jobs = 0, preempted = 0, restored = 0, broken = 0, exact = 0;
};

/// Collects the sets whose bound was exceeded.
class Broken {
 public:
  void add(const std::string& where, const std::string& what) {
    const std::scoped_lock lock(mutex_);
    names_.insert(where);
    if (names_.size() <= 20) std::fprintf(stderr, "\n%s: %s\n", where.c_str(), what.c_str());
  }
  void add_to(nlohmann::json& summary) const {
    for (const std::string& name : names_) summary["broken"].push_back(name);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

/// Simulates some runs of a claim, and for a few sets also searches.
std::optional<std::string> attack(const Claim& claim, Random& random, std::uint64_t jobs, bool search, Score& score) {
  constexpr std::uint64_t run = 256; // jobs
  for (std::uint64_t done = 0; done < jobs; done += run) {
    const Ambush found = ambush(claim, random, run);
    score.jobs += found.jobs;
    score.preempted += found.preempted;
    score.restored += found.restored;
    if (!found.broken_chain.empty()) return found.broken_chain + test::describe(claim);
    if (found.broken) return test::describe(claim, *found.broken) + test::describe(claim);
  }
  // The search only knows cores with priorities.
  if (!search || !claim.regulated.empty() || !claim.interference.empty()) return std::nullopt;
  const auto found = simulator::Adversary(claim, random).attack(20);
  return found ? std::optional(test::describe(claim, *found) + test::describe(claim)) : std::nullopt;
}

/// Tries a random set. Returns how its bound was exceeded, if it was, or nullopt if there was no set.
std::optional<std::optional<std::string>> tried(const Subject& subject, Random& random,
                                                const std::function<bool(const Claim&)>& search, Score& score) {
  if (!subject.exchange) {
    const auto claim = subject.next(random);
    if (!claim) return std::nullopt;
    return attack(*claim, random, 1024, search(*claim), score);
  }
  const auto found = subject.exchange(random, {});
  if (!found) return std::nullopt;
  score.jobs += found->jobs;
  return found->broken.empty() ? std::optional<std::string>() : found->broken;
}

template <class Work> void on_all_cores(unsigned threads, Work work) {
  std::vector<std::jthread> running;
  for (unsigned i = 0; i < threads; ++i) running.emplace_back(work);
}

/// Calls `work` once with each of the numbers 0 to `end` that belong to the part.
template <class Work> void in_turn(const Wanted& wanted, std::uint64_t end, Work work) {
  std::atomic<std::uint64_t> next = 0;
  on_all_cores(wanted.threads, [&] {
    for (std::uint64_t number = next++; number < end; number = next++)
      if (wanted.part.has(number)) work(number);
  });
}

/// Returns the lot's share of `all`.
std::uint64_t share_of(std::uint64_t lot, std::uint64_t all) { return all / lots + (lot < all % lots ? 1 : 0); }

/// Calls `tell` every two seconds.
class Progress {
 public:
  template <class Tell>
  explicit Progress(Tell tell)
      : thread_([tell](const std::stop_token& stop) {
          for (int tick = 0; !stop.stop_requested(); ++tick) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            if (tick % 20 == 19 && shown()) tell();
          }
        }) {}
  ~Progress() {
    thread_.request_stop();
    thread_.join();
    if (shown()) std::fprintf(stderr, "\r%60s\r", "");
  }
  /// Returns true if progress is shown, which is on a terminal only.
  static bool shown() { return isatty(STDERR_FILENO) == 1; }

 private:
  std::jthread thread_;
};

} // namespace

Random random_of(std::uint64_t seed, std::size_t subject, std::uint64_t number) {
  std::uint64_t mixed = seed;
  for (const std::uint64_t each : {std::uint64_t{subject}, number})
    mixed = (mixed ^ (mixed >> 29) ^ each) * 0x9e3779b97f4a7c15 + 0xbf58476d1ce4e5b9;
  return Random(mixed ^ (mixed >> 32));
}

void attack_sound_tests(const Wanted& wanted, nlohmann::json& summary) {
  const std::vector<Subject> subjects = sound_tests();
  std::vector<std::size_t> turns;
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (subjects[i].name.starts_with(wanted.tests)) turns.insert(turns.end(), subjects[i].weight, i);
  std::vector<Score> scores(subjects.size());
  std::atomic<std::uint64_t> sets = 0, jobs = 0;
  Broken broken;
  {
    const Progress progress([&] {
      std::fprintf(stderr, "\r%12llu sets, %14llu jobs", static_cast<unsigned long long>(sets),
                   static_cast<unsigned long long>(jobs));
    });
    in_turn(wanted, lots, [&](std::uint64_t lot) {
      std::uint64_t sets_left = share_of(lot, wanted.sets);
      auto jobs_left = static_cast<std::int64_t>(share_of(lot, wanted.jobs));
      for (std::uint64_t number = lot; sets_left > 0 || jobs_left > 0; number += lots) {
        const std::size_t which = turns[number % turns.size()];
        Random random = random_of(wanted.seed, which, number);
        Score& score = scores[which];
        ++score.drawn;
        Score own;
        const auto found = tried(
            subjects[which], random, [number](const Claim&) { return number % 1024 == 0; }, own);
        if (!found) continue;
        if (*found) {
          ++score.broken;
          broken.add(subjects[which].name + "/" + std::to_string(number), **found);
        }
        ++score.sets;
        ++sets;
        sets_left -= sets_left > 0 ? 1 : 0;
        score.jobs += own.jobs;
        score.preempted += own.preempted;
        score.restored += own.restored;
        jobs += own.jobs;
        jobs_left -= static_cast<std::int64_t>(own.jobs);
      }
    });
  }
  for (std::size_t i = 0; i < subjects.size(); ++i)
    summary["tests"].push_back({{"name", subjects[i].name},
                                {"drawn", scores[i].drawn.load()},
                                {"sets", scores[i].sets.load()},
                                {"jobs", scores[i].jobs.load()},
                                {"preempted", scores[i].preempted.load()},
                                {"restored", scores[i].restored.load()},
                                {"broken", scores[i].broken.load()}});
  broken.add_to(summary);
}

void enumerate_tiny_sets(const Wanted& wanted, nlohmann::json& summary) {
  const std::vector<Way> ways = device_ways();
  std::vector<Score> scores(ways.size()); // their `jobs` are states
  std::atomic<std::uint64_t> sets = 0;
  Broken broken;
  {
    const Progress progress([&] { std::fprintf(stderr, "\r%12llu tiny sets", static_cast<unsigned long long>(sets)); });
    in_turn(wanted, lots, [&](std::uint64_t lot) {
      std::uint64_t left = share_of(lot, wanted.tiny);
      for (std::uint64_t number = lot; left > 0; number += lots) {
        const std::size_t which = number % ways.size();
        Score& score = scores[which];
        Random random = random_of(wanted.seed, 1000 + which, number);
        const auto set = test::random_tiny(
            random, {ways[which].policy, ways[which].test, ways[which].order, ways[which].copy_engines});
        if (!set) continue;
        const auto found = test::explore(set->set, 30'000);
        if (!found.complete) continue;
        --left;
        ++sets;
        ++score.sets;
        score.jobs += found.states;
        for (std::size_t i = 0; i < set->bounds.size(); ++i) {
          score.exact += set->bounds[i] && found.worst[i] == *set->bounds[i] ? 1 : 0;
          if (!set->bounds[i] || found.worst[i] <= *set->bounds[i]) continue;
          ++score.broken;
          broken.add(ways[which].name + " tiny/" + std::to_string(number), test::described(*set, found));
          break;
        }
      }
    });
  }
  for (std::size_t i = 0; i < ways.size(); ++i)
    summary["tiny"].push_back({{"name", ways[i].name},
                               {"sets", scores[i].sets.load()},
                               {"states", scores[i].jobs.load()},
                               {"broken", scores[i].broken.load()},
                               {"bounds_reached", scores[i].exact.load()}});
  broken.add_to(summary);
}

void refute_broken_tests(const Wanted& wanted, nlohmann::json& summary) {
  constexpr std::uint64_t max_draws = 200'000;
  const std::vector<Subject> subjects = broken_tests();
  std::vector<Score> scores(subjects.size());
  std::atomic<std::size_t> begun = 0;
  {
    const Progress progress([&] { std::fprintf(stderr, "\r%zu of %zu errors", begun.load(), subjects.size()); });
    in_turn(wanted, subjects.size(), [&](std::uint64_t which) {
      ++begun;
      Score& score = scores[which];
      while (score.broken == 0 && score.drawn < max_draws) {
        Random random = random_of(wanted.seed, 2000 + which, score.drawn++);
        const auto found = tried(
            subjects[which], random, [&](const Claim& claim) { return !claim.plan.swap || (score.sets + 1) % 16 == 0; },
            score);
        if (!found) continue;
        ++score.sets;
        if (*found) ++score.broken;
      }
    });
  }
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (wanted.part.has(i))
      summary["errors"].push_back({{"number", i},
                                   {"name", subjects[i].name},
                                   {"sets", scores[i].sets.load()},
                                   {"jobs", scores[i].jobs.load()},
                                   {"refuted", scores[i].broken > 0}});
}

} // namespace rtexec::soundness
