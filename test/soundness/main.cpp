// check-soundness: random sets that the admission tests just accept run in the simulator under adversarial releases,
// execution and transfer times; tiny ones under every release pattern. No job may respond later than it is promised.
// Then the same for tests that are broken deliberately, each of which must be refuted. Exits 1 where a promise was
// broken, or an error was not seen.
//
// SOUNDNESS_SETS=, SOUNDNESS_JOBS=, SOUNDNESS_TINY=: at least so many; SOUNDNESS_SEED=, SOUNDNESS_THREADS=.
// SOUNDNESS_ONE="NAME/NUMBER": that set alone, with all its steps. An argument names the file of the summary, in JSON.
#include "test/rtexec/adversary.hpp"
#include "test/soundness/ambush.hpp"
#include "test/soundness/subjects.hpp"
#include "test/policies/tiny_devices.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace rtexec::soundness {
namespace {

using simulator::chance;

std::uint64_t asked(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Wanted {
  std::uint64_t sets = asked("SOUNDNESS_SETS", 1'000'000), jobs = asked("SOUNDNESS_JOBS", 1'000'000'000),
                tiny = asked("SOUNDNESS_TINY", 50'000);
  std::uint64_t seed = asked("SOUNDNESS_SEED", 1);
  unsigned threads =
      static_cast<unsigned>(asked("SOUNDNESS_THREADS", std::max(1U, std::thread::hardware_concurrency())));
};

/// The same set for the same subject, number and seed.
Random random_of(std::uint64_t seed, std::size_t subject, std::uint64_t number) {
  std::uint64_t mixed = seed;
  for (const std::uint64_t each : {std::uint64_t{subject}, number})
    mixed = (mixed ^ (mixed >> 29) ^ each) * 0x9e3779b97f4a7c15 + 0xbf58476d1ce4e5b9;
  return Random(mixed ^ (mixed >> 32));
}

struct Score {
  std::atomic<std::uint64_t> drawn = 0, sets = 0, jobs = 0, broken = 0;
};

class Report {
 public:
  void broke(const std::string& where, const std::string& what) {
    const std::scoped_lock lock(mutex_);
    if (++told_ <= 20) std::fprintf(stderr, "\n%s: %s\n", where.c_str(), what.c_str());
  }

 private:
  std::mutex mutex_;
  int told_ = 0;
};

/// Some runs, and for a few sets a search.
std::optional<std::string> attack(const Claim& claim, Random& random, std::uint64_t jobs, bool search, Score& score) {
  constexpr std::uint64_t run = 256; // jobs
  for (std::uint64_t done = 0; done < jobs; done += run) {
    const Ambush found = ambush(claim, random, run);
    score.jobs += found.jobs;
    if (found.broken) return test::describe(claim, *found.broken) + test::describe(claim);
  }
  if (!search) return std::nullopt;
  const auto found = simulator::Adversary(claim, random).attack(20);
  return found ? std::optional(test::describe(claim, *found) + test::describe(claim)) : std::nullopt;
}

template <class Work> void on_all_cores(unsigned threads, Work work) {
  std::vector<std::jthread> running;
  for (unsigned i = 0; i < threads; ++i) running.emplace_back(work);
}

/// Calls `tell` every other second.
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
  /// On a terminal alone.
  static bool shown() { return isatty(STDERR_FILENO) == 1; }

 private:
  std::jthread thread_;
};

// ---- the tests that promise ----

bool attack_sound_tests(const Wanted& wanted, nlohmann::json& summary) {
  const std::vector<Subject> subjects = sound_tests();
  std::vector<std::size_t> turns;
  for (std::size_t i = 0; i < subjects.size(); ++i) turns.insert(turns.end(), subjects[i].weight, i);
  std::vector<Score> scores(subjects.size());
  std::atomic<std::uint64_t> next = 0, sets = 0, jobs = 0;
  Report report;
  {
    const Progress progress([&] {
      std::fprintf(stderr, "\r%12llu sets, %14llu jobs", static_cast<unsigned long long>(sets),
                   static_cast<unsigned long long>(jobs));
    });
    on_all_cores(wanted.threads, [&] {
      while (sets < wanted.sets || jobs < wanted.jobs) {
        const std::uint64_t number = next++;
        const std::size_t which = turns[number % turns.size()];
        Random random = random_of(wanted.seed, which, number);
        Score& score = scores[which];
        ++score.drawn;
        const auto claim = subjects[which].next(random);
        if (!claim) continue;
        Score own;
        if (const auto found = attack(*claim, random, 1024, number % 1024 == 0, own)) {
          ++score.broken;
          report.broke(subjects[which].name + "/" + std::to_string(number), *found);
        }
        ++score.sets;
        ++sets;
        score.jobs += own.jobs;
        jobs += own.jobs;
      }
    });
  }
  bool held = true;
  std::printf("%-32s %10s %14s %8s\n", "test", "sets", "jobs", "broken");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Score& score = scores[i];
    std::printf("%-32s %10llu %14llu %8llu\n", subjects[i].name.c_str(), static_cast<unsigned long long>(score.sets),
                static_cast<unsigned long long>(score.jobs), static_cast<unsigned long long>(score.broken));
    summary["tests"].push_back({{"name", subjects[i].name},
                                {"drawn", score.drawn.load()},
                                {"sets", score.sets.load()},
                                {"jobs", score.jobs.load()},
                                {"broken", score.broken.load()}});
    held = held && score.broken == 0;
  }
  std::printf("%-32s %10llu %14llu\n", "all", static_cast<unsigned long long>(sets),
              static_cast<unsigned long long>(jobs));
  summary["sets"] = sets.load();
  summary["jobs"] = jobs.load();
  return held;
}

// ---- tiny sets ----

bool enumerate_tiny_sets(const Wanted& wanted, nlohmann::json& summary) {
  const std::vector<Way> ways = device_ways();
  std::vector<Score> scores(ways.size()); // jobs: states
  std::vector<std::atomic<std::uint64_t>> exact(ways.size());
  std::atomic<std::uint64_t> next = 0, sets = 0;
  Report report;
  {
    const Progress progress([&] { std::fprintf(stderr, "\r%12llu tiny sets", static_cast<unsigned long long>(sets)); });
    on_all_cores(wanted.threads, [&] {
      while (sets < wanted.tiny) {
        const std::uint64_t number = next++;
        const std::size_t which = number % ways.size();
        Random random = random_of(wanted.seed, 1000 + which, number);
        const auto set = test::random_tiny(
            random, {ways[which].policy, ways[which].test, ways[which].order, ways[which].copy_engines});
        if (!set) continue;
        const auto found = test::explore(set->set, 30'000);
        if (!found.complete) continue;
        ++sets;
        ++scores[which].sets;
        scores[which].jobs += found.states;
        for (std::size_t i = 0; i < set->bounds.size(); ++i) {
          exact[which] += set->bounds[i] && found.worst[i] == *set->bounds[i];
          if (!set->bounds[i] || found.worst[i] <= *set->bounds[i]) continue;
          ++scores[which].broken;
          report.broke(ways[which].name + " tiny/" + std::to_string(number), test::described(*set, found));
          break;
        }
      }
    });
  }
  bool held = true;
  std::printf("\n%-32s %10s %14s %8s %14s\n", "every release pattern", "sets", "states", "broken", "bounds reached");
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const Score& score = scores[i];
    std::printf("%-32s %10llu %14llu %8llu %14llu\n", ways[i].name.c_str(), static_cast<unsigned long long>(score.sets),
                static_cast<unsigned long long>(score.jobs), static_cast<unsigned long long>(score.broken),
                static_cast<unsigned long long>(exact[i]));
    summary["tiny"].push_back({{"name", ways[i].name},
                               {"sets", score.sets.load()},
                               {"states", score.jobs.load()},
                               {"broken", score.broken.load()},
                               {"bounds_reached", exact[i].load()}});
    held = held && score.broken == 0;
  }
  return held;
}

// ---- deliberate errors ----

bool refute_broken_tests(const Wanted& wanted, nlohmann::json& summary) {
  constexpr std::uint64_t most_draws = 200'000;
  const std::vector<Subject> subjects = broken_tests();
  std::vector<Score> scores(subjects.size());
  std::atomic<std::size_t> next = 0;
  {
    const Progress progress(
        [&] { std::fprintf(stderr, "\r%zu of %zu errors", std::min(next.load(), subjects.size()), subjects.size()); });
    on_all_cores(wanted.threads, [&] {
      for (std::size_t which = next++; which < subjects.size(); which = next++) {
        Score& score = scores[which];
        while (score.broken == 0 && score.drawn < most_draws) {
          Random random = random_of(wanted.seed, 2000 + which, score.drawn++);
          const auto claim = subjects[which].next(random);
          if (!claim) continue;
          ++score.sets;
          if (attack(*claim, random, 1024, !claim->plan.swap || score.sets % 16 == 0, score)) ++score.broken;
        }
      }
    });
  }
  bool seen = true;
  std::printf("\n%-44s %10s %12s\n", "deliberate error", "sets", "refuted");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Score& score = scores[i];
    std::printf("%-44s %10llu %12s\n", subjects[i].name.c_str(), static_cast<unsigned long long>(score.sets),
                score.broken > 0 ? "yes" : "NO");
    summary["errors"].push_back({{"name", subjects[i].name},
                                 {"sets", score.sets.load()},
                                 {"jobs", score.jobs.load()},
                                 {"refuted", score.broken > 0}});
    seen = seen && score.broken > 0;
  }
  return seen;
}

// ---- one set ----

int show(const std::string& one, const Wanted& wanted) {
  const std::size_t slash = one.rfind('/');
  const std::vector<Subject> subjects = sound_tests();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (subjects[i].name != one.substr(0, slash)) continue;
    Random random = random_of(wanted.seed, i, std::strtoull(one.c_str() + slash + 1, nullptr, 10));
    const auto claim = subjects[i].next(random);
    if (!claim) return 2;
    std::printf("%s\n", test::describe(*claim).c_str());
    for (int run = 0; run < 4; ++run) {
      std::vector<std::string> history;
      const Ambush found = ambush(*claim, random, 256, [&](const simulator::Step& step) {
        static constexpr const char* kinds[] = {"release",    "skip",  "request", "hand-on", "start", "end",
                                                "completion", "abort", "stop",    "begin",   "moved", "fail"};
        const bool in = step.action.kind == policies::Action::Kind::copy_in;
        const bool moves =
            step.kind == simulator::Step::Kind::transfer_begin || step.kind == simulator::Step::Kind::transfer_end;
        history.push_back(
            std::to_string(step.now.time_since_epoch().count()) + " t" + std::to_string(step.job.task) + "." +
            std::to_string(step.job.number) + " " + kinds[static_cast<std::size_t>(step.kind)] +
            (moves ? std::string(in ? " in" : " out") + " of t" + std::to_string(step.action.transfer.task) : ""));
      });
      if (!found.broken) continue;
      for (const std::string& line : history) std::printf("%s\n", line.c_str());
      std::printf("%s\n", test::describe(*claim, *found.broken).c_str());
      return 1;
    }
    return 0;
  }
  return 2;
}

int check(const char* file) {
  const Wanted wanted;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (const char* one = std::getenv("SOUNDNESS_ONE")) return show(one, wanted);
  nlohmann::json summary{{"seed", wanted.seed}, {"threads", wanted.threads}};
  std::printf("seed %llu, %u threads\n", static_cast<unsigned long long>(wanted.seed), wanted.threads);
  const auto start = std::chrono::steady_clock::now();
  const bool held = attack_sound_tests(wanted, summary);
  const bool held_tiny = enumerate_tiny_sets(wanted, summary);
  const bool seen = refute_broken_tests(wanted, summary);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  summary["seconds"] = seconds;
  summary["held"] = held && held_tiny;
  summary["seen"] = seen;
  if (file != nullptr) std::ofstream(file) << summary.dump(2) << "\n";
  std::printf("\n%s; %s; %.0f s\n", held && held_tiny ? "every promise was kept" : "A PROMISE WAS BROKEN",
              seen ? "every deliberate error was refuted" : "AN ERROR WAS NOT SEEN", seconds);
  return held && held_tiny && seen ? 0 : 1;
}

} // namespace
} // namespace rtexec::soundness

int main(int count, char** arguments) { return rtexec::soundness::check(count > 1 ? arguments[1] : nullptr); }
