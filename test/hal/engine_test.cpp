#include "test/hal/failing_system.hpp"
#include "test/hal/hal_support.hpp"
#include "test/support/thread_counts.hpp"

#include "hal/engine_thread.hpp"
#include "hal/machine_files.hpp"

#include <sched.h>
#include <vector>

namespace rtexec::hal::test {
namespace {

std::unique_ptr<EngineThread> start_engine() {
  auto engine = EngineThread::start("engine");
  EXPECT_TRUE(engine) << problem(engine);
  return engine ? std::move(*engine) : nullptr;
}

/// Work that records what happens to it, and can be blocked.
struct Recorded {
  Signal* gate = nullptr; // run waits for it
  bool has_begin = false;
  int begins = 0;
  std::string* log = nullptr; // the log of all pieces; this one adds `letter`
  char letter = ' ';
  Status outcome_of_run;
  int runs = 0;
  int dones = 0;
  Status outcome;
  Instant begin, end;
  std::size_t position = 0; // in the order of completion
  std::atomic<std::size_t>* completed = nullptr;
  Signal started;

  Work work() {
    const auto begin_it = [](void* context) noexcept {
      auto& self = *static_cast<Recorded*>(context);
      ++self.begins;
      self.note("begin");
    };
    return {
        .begin = has_begin ? +begin_it : nullptr,
        .run = [](void* context) noexcept -> Status {
          auto& self = *static_cast<Recorded*>(context);
          ++self.runs;
          self.note("run");
          self.started.raise();
          while (self.gate != nullptr && self.gate->value() == 0) self.gate->wait(0);
          return self.outcome_of_run;
        },
        .done =
            [](void* context, Status result, Instant from, Instant until) noexcept {
              auto& self = *static_cast<Recorded*>(context);
              ++self.dones;
              self.note("done");
              self.outcome = result;
              self.begin = from;
              self.end = until;
              self.position = *self.completed;
              ++*self.completed; // the last access: the test may continue
            },
        .context = this,
    };
  }

  void note(const char* what) {
    if (log != nullptr) *log += std::string(log->empty() ? "" : ", ") + what + ' ' + letter;
  }
};

TEST(Engine, RunsEachPieceOnceInOrderOfSubmission) {
  constexpr std::size_t count = 3 * Engine::capacity;
  std::atomic<std::size_t> completed = 0;
  std::vector<Recorded> pieces(count);
  const auto engine = start_engine();
  for (auto& piece : pieces) {
    piece.completed = &completed;
    ASSERT_TRUE(eventually([&] { return engine->submit(piece.work()).has_value(); }));
  }
  ASSERT_TRUE(eventually([&] { return completed == count; }));
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(pieces[i].runs, 1);
    ASSERT_EQ(pieces[i].dones, 1);
    ASSERT_EQ(pieces[i].position, i);
    ASSERT_LE(pieces[i].begin, pieces[i].end);
    if (i > 0) { ASSERT_LE(pieces[i - 1].end, pieces[i].begin) << "one at a time"; }
  }
}

/// Pieces of which the first is blocked until all are submitted.
struct HeldUp {
  std::atomic<std::size_t> completed = 0;
  std::string log;
  Signal gate;
  std::vector<Recorded> pieces;

  /// Makes one piece for each letter. Capitals have a begin function.
  explicit HeldUp(const std::string& letters) : pieces(letters.size()) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      pieces[i].completed = &completed;
      pieces[i].log = &log;
      pieces[i].letter = letters[i];
      pieces[i].has_begin = letters[i] < 'a';
    }
    pieces[0].gate = &gate;
  }
  void submit_to(Engine& engine) {
    for (auto& piece : pieces) {
      ASSERT_TRUE(engine.submit(piece.work()));
      while (pieces[0].started.value() == 0) pieces[0].started.wait(0);
    }
  }
};

TEST(Engine, BeginsNextPieceBeforeRunningCurrentOne) {
  for (const auto& [letters, log] :
       {std::pair("ABCD",
                  "begin A, run A, done A, begin B, begin C, run B, done B, begin D, run C, done C, run D, done D"),
        {"aBcD", "run a, done a, begin B, run B, done B, begin D, run c, done c, run D, done D"},
        {"Abcd", "begin A, run A, done A, run b, done b, run c, done c, run d, done d"}}) {
    HeldUp work(letters);
    const auto engine = start_engine();
    work.submit_to(*engine);
    work.gate.raise();
    ASSERT_TRUE(eventually([&] { return work.completed == work.pieces.size(); }));
    EXPECT_EQ(work.log, log);
  }
}

TEST(Engine, RunsBegunWorkThoughEngineEnds) {
  HeldUp work("ABCdEFG");
  Signal gate;
  work.pieces[1].gate = &gate;
  auto engine = start_engine();
  work.submit_to(*engine);
  work.gate.raise();
  ASSERT_TRUE(eventually([&] { return work.pieces[1].started.value() == 1; })); // and C has begun
  auto release = Thread::start({}, [&] {
    sleep_until(now() + std::chrono::milliseconds(20)); // the destructor has probably begun
    gate.raise();
  });
  ASSERT_TRUE(release);
  engine.reset();
  EXPECT_EQ(work.completed, work.pieces.size());
  for (const auto& piece : work.pieces) {
    EXPECT_EQ(piece.begins, piece.has_begin ? piece.runs : 0) << piece.letter;
    EXPECT_EQ(piece.outcome.has_value(), piece.runs == 1) << piece.letter;
  }
  EXPECT_EQ(work.pieces[2].runs, 1) << work.log;
}

TEST(Engine, HandsTheOutcomeOfRunToDone) {
  std::atomic<std::size_t> completed = 0;
  Recorded piece;
  piece.completed = &completed;
  piece.outcome_of_run = Unexpected(Errc::device_fault);
  const auto engine = start_engine();
  ASSERT_TRUE(engine->submit(piece.work()));
  ASSERT_TRUE(eventually([&] { return completed == 1; }));
  EXPECT_TRUE(fails(piece.outcome, Errc::device_fault));
}

TEST(Engine, QueuesExactlyItsCapacityWhileOnePieceRuns) {
  std::atomic<std::size_t> completed = 0;
  Signal gate;
  std::vector<Recorded> pieces(Engine::capacity + 1);
  for (auto& piece : pieces) piece.completed = &completed;
  const auto engine = start_engine();
  pieces[0].gate = &gate;
  ASSERT_TRUE(engine->submit(pieces[0].work()));
  ASSERT_TRUE(eventually([&] { return pieces[0].started.value() == 1; }));
  for (std::size_t i = 1; i <= Engine::capacity; ++i) ASSERT_TRUE(engine->submit(pieces[i].work())) << i;
  Recorded refused;
  refused.completed = &completed;
  EXPECT_TRUE(fails(engine->submit(refused.work()), Errc::out_of_memory));
  gate.raise();
  ASSERT_TRUE(eventually([&] { return completed == pieces.size(); }));
  EXPECT_EQ(refused.runs + refused.dones, 0) << "work that was not accepted is not touched";
}

TEST(Engine, RejectsWorkWithoutFunctions) {
  const auto engine = start_engine();
  EXPECT_TRUE(fails(engine->submit({}), Errc::bad_input));
  std::atomic<std::size_t> completed = 0;
  Recorded piece;
  piece.completed = &completed;
  Work work = piece.work();
  work.done = nullptr;
  EXPECT_TRUE(fails(engine->submit(work), Errc::bad_input));
}

TEST(Engine, DestructionFinishesRunningAndCancelsQueuedWork) {
  std::atomic<std::size_t> completed = 0;
  Signal gate;
  std::vector<Recorded> pieces(100);
  for (auto& piece : pieces) piece.completed = &completed;
  pieces[0].gate = &gate;
  auto engine = start_engine();
  for (auto& piece : pieces) ASSERT_TRUE(engine->submit(piece.work()));
  ASSERT_TRUE(eventually([&] { return pieces[0].started.value() == 1; }));
  auto release = Thread::start({}, [&] {
    sleep_until(now() + std::chrono::milliseconds(20)); // the destructor has probably begun
    gate.raise();
  });
  ASSERT_TRUE(release);
  engine.reset();
  EXPECT_EQ(completed, pieces.size()) << "no piece is lost";
  std::size_t ran = 0;
  for (const auto& piece : pieces) {
    EXPECT_EQ(piece.dones, 1);
    EXPECT_EQ(piece.outcome.has_value(), piece.runs == 1);
    if (!piece.outcome) { EXPECT_EQ(piece.outcome.error(), Errc::cancelled); }
    ran += piece.outcome.has_value();
  }
  EXPECT_TRUE(pieces[0].outcome) << "what ran was finished";
  EXPECT_GE(ran, 1u);
}

TEST(Engine, EndsAndStartsAtAnyMomentWithoutLosingWork) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<std::size_t> completed = 0;
    std::vector<Recorded> pieces(20);
    auto engine = start_engine();
    for (auto& piece : pieces) {
      piece.completed = &completed;
      ASSERT_TRUE(engine->submit(piece.work()));
    }
    engine.reset();
    ASSERT_EQ(completed, pieces.size());
  }
}

TEST(Engine, ConfigureAppliesNameAndCoreToEngineThread) {
  const auto engine = start_engine();
  ThreadSettings settings;
  settings.name = "configured";
  settings.core = Machine().online_cores().back();
  const auto configured = engine->configure(settings);
  ASSERT_TRUE(configured) << problem(configured);
  const std::string folder = "/proc/self/task/" + std::to_string(engine->kernel_id());
  EXPECT_EQ(Machine().read(folder + "/comm").value_or(""), "configured");
  EXPECT_EQ(field(Machine().read(folder + "/status").value_or(""), "Cpus_allowed_list:"),
            std::to_string(*settings.core));
}

TEST(Engine, ConfigureAppliesFifoPriority) {
  if (const auto why = why_no_fifo(); !why.empty()) GTEST_SKIP() << why;
  const auto engine = start_engine();
  ThreadSettings settings;
  settings.name = "urgent";
  settings.fifo_priority = 42;
  ASSERT_TRUE(engine->configure(settings));
  EXPECT_EQ(::sched_getscheduler(engine->kernel_id()), SCHED_FIFO);
}

TEST(Engine, KeepsWorkingAfterRefusedSettings) {
  const auto engine = start_engine();
  ThreadSettings settings;
  settings.name = "refused";
  settings.fifo_priority = 42;
  {
    const Failing<&System::sched_setattr> failing(EPERM);
    EXPECT_TRUE(fails(engine->configure(settings), Errc::refused, "As root, one of:"));
  }
  std::atomic<std::size_t> completed = 0;
  Recorded piece;
  piece.completed = &completed;
  ASSERT_TRUE(engine->submit(piece.work()));
  EXPECT_TRUE(eventually([&] { return completed == 1; }));
}

TEST(Engine, StartReportsThreadCreationFailure) {
  const Held before = held();
  const Failing<&System::thread_create> failing(EAGAIN);
  EXPECT_TRUE(fails(EngineThread::start("engine"), Errc::refused, "starting thread \"engine\""));
  EXPECT_EQ(held(), before);
}

TEST(Engine, SubmissionAndCompletionAllocateNothing) {
  std::atomic<std::size_t> completed = 0;
  std::vector<Recorded> pieces(100);
  for (auto& piece : pieces) piece.completed = &completed;
  const auto engine = start_engine();
  const auto counted = [&] { return allocations() + counts_of(engine->kernel_id()).allocations; };
  const auto before = counted();
  for (auto& piece : pieces) (void)engine->submit(piece.work());
  while (completed < pieces.size()) sleep_until(now() + std::chrono::milliseconds(1));
  EXPECT_EQ(counted(), before);
}

} // namespace
} // namespace rtexec::hal::test
