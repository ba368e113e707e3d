// check-soundness: random sets that the admission tests just accept run in the simulator under adversarial releases,
// execution and transfer times. Tiny sets run under every release pattern. No job may exceed its response bound.
// Then deliberately broken tests are attacked in the same way, and each must be refuted. Exits 1 if a bound was
// exceeded or a deliberate error was not detected, and 2 if the arguments make no sense.
//
// SOUNDNESS_SETS=, SOUNDNESS_JOBS=, SOUNDNESS_TINY=: minimum numbers; SOUNDNESS_SEED=, SOUNDNESS_THREADS=.
// SOUNDNESS_TESTS="reserved edf": only sound tests whose names begin with one of these words.
// SOUNDNESS_SHARD=K/N: part K of N alone. SOUNDNESS_ONE="NAME/NUMBER": that set alone, with all its steps.
// The first argument names the file of the summary, in JSON. Further arguments name summaries of parts, which are
// merged: the file then contains the findings of one machine.
#include "config/base/must.hpp"
#include "rtexec/studies/sweep/sweep_parts.hpp"
#include "test/rtexec/studies/soundness_budget.hpp"
#include "test/soundness/ambush.hpp"
#include "test/soundness/search.hpp"
#include "test/soundness/summary.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace rtexec::soundness {
namespace {

std::uint64_t asked(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string asked_tests() {
  const char* text = std::getenv("SOUNDNESS_TESTS");
  const std::string begin = text == nullptr ? "" : text;
  if (std::ranges::none_of(sound_tests(), [&](const Subject& test) { return test.name.starts_with(begin); }))
    give_up(Errc::bad_input, "SOUNDNESS_TESTS: no name of a test begins with \"" + begin + '"');
  return begin;
}

study::Part asked_part() {
  const char* text = std::getenv("SOUNDNESS_SHARD");
  if (text == nullptr || *text == '\0') return {};
  const study::Part part = value_of("SOUNDNESS_SHARD", text, study::parse_part);
  if (part.of > lots)
    give_up(Errc::bad_input, "SOUNDNESS_SHARD " + std::string(text) + ": at most " + std::to_string(lots) + " parts");
  return part;
}

Wanted wanted_search() {
  return {
      .sets = asked("SOUNDNESS_SETS", 1'000'000),
      .jobs = asked("SOUNDNESS_JOBS", 1'000'000'000),
      .tiny = asked("SOUNDNESS_TINY", 50'000),
      .seed = asked("SOUNDNESS_SEED", 1),
      .tests = asked_tests(),
      .threads = static_cast<unsigned>(asked("SOUNDNESS_THREADS", std::max(1U, std::thread::hardware_concurrency()))),
      .part = asked_part()};
}

int show(const std::string& one, const Wanted& wanted) {
  const std::size_t slash = one.rfind('/');
  const std::vector<Subject> subjects = sound_tests();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (subjects[i].name != one.substr(0, slash)) continue;
    Random random = random_of(wanted.seed, i, std::strtoull(one.c_str() + slash + 1, nullptr, 10));
    if (subjects[i].exchange) {
      const auto found =
          subjects[i].exchange(random, [](const std::string& step) { std::printf("%s\n", step.c_str()); });
      if (!found) return 2;
      std::printf("%s", found->broken.c_str());
      return found->broken.empty() ? 0 : 1;
    }
    const auto claim = subjects[i].next(random);
    if (!claim) return 2;
    std::printf("%s\n", test::describe(*claim).c_str());
    for (int run = 0; run < 4; ++run) {
      std::vector<std::string> history;
      const Ambush found = ambush(*claim, random, 256, [&](const simulator::Step& step) {
        static constexpr const char* kinds[] = {
            "release", "skip", "request",    "hand-on", "start", "segment end", "segment", "preempted",
            "resumed", "end",  "completion", "abort",   "stop",  "begin",       "moved",   "fail"};
        const bool in = step.action.kind == policies::Action::Kind::copy_in;
        const bool moves =
            step.kind == simulator::Step::Kind::transfer_begin || step.kind == simulator::Step::Kind::transfer_end;
        history.push_back(
            std::to_string(step.now.time_since_epoch().count()) + " t" + std::to_string(step.job.task) + "." +
            std::to_string(step.job.number) + " " + kinds[static_cast<std::size_t>(step.kind)] +
            (moves ? std::string(in ? " in" : " out") + " of t" + std::to_string(step.action.transfer.task) : ""));
      });
      if (!found.broken && found.broken_chain.empty()) continue;
      for (const std::string& line : history) std::printf("%s\n", line.c_str());
      std::printf("%s%s\n", found.broken_chain.c_str(),
                  found.broken ? test::describe(*claim, *found.broken).c_str() : "");
      return 1;
    }
    return 0;
  }
  return 2;
}

/// Writes a summary to its file, and prints it as a sentence.
int finish(const nlohmann::json& summary, const std::vector<std::filesystem::path>& files, const std::string& took) {
  if (!files.empty()) {
    std::ofstream file(files.front());
    if (!(file << summary.dump(2) << "\n" << std::flush))
      give_up(Errc::refused, files.front().string() + ": error: cannot write it");
  }
  const bool held = summary.at("held"), seen = summary.at("seen");
  std::printf("\n%s; %s%s\n", held ? "every promise was kept" : "A PROMISE WAS BROKEN",
              seen ? "every deliberate error was refuted" : "AN ERROR WAS NOT SEEN", took.c_str());
  return held && seen ? 0 : 1;
}

int merge(const std::vector<std::filesystem::path>& files) {
  const nlohmann::json whole = must(put_together(std::span(files).subspan(1)));
  print_tests(whole);
  print_tiny(whole);
  print_errors(whole);
  return finish(whole, files, "");
}

int search(const std::vector<std::filesystem::path>& files) {
  const Wanted wanted = wanted_search();
  if (const char* one = std::getenv("SOUNDNESS_ONE")) return show(one, wanted);
  nlohmann::json summary = summary_of(wanted);
  std::printf("seed %llu, part %s, %u threads\n", static_cast<unsigned long long>(wanted.seed),
              to_string(wanted.part).c_str(), wanted.threads);
  const auto start = std::chrono::steady_clock::now();
  attack_sound_tests(wanted, summary);
  print_tests(summary);
  enumerate_tiny_sets(wanted, summary);
  print_tiny(summary);
  refute_broken_tests(wanted, summary);
  print_errors(summary);
  conclude(summary);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  return finish(summary, files, "; " + std::to_string(seconds.count()) + " s");
}

int check(const std::vector<std::filesystem::path>& files) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto code = caught([&] { return files.size() > 1 ? merge(files) : search(files); });
  if (!code) std::fprintf(stderr, "%s\n", code.error().what.c_str());
  return code ? *code : 2;
}

} // namespace
} // namespace rtexec::soundness

int main(int count, char** arguments) { return rtexec::soundness::check({arguments + 1, arguments + count}); }
