// Tests sessions: all emitted events are recorded, losses are counted, other sessions are not affected, and no daemon
// stays behind.
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"
#include "test/traces/programs.hpp"
#include "traces/reading/reader.hpp"
#include "traces/recording/session.hpp"
#include "traces/recording/wait.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lttng/lttng.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rtexec::traces::test {
namespace {

namespace fs = std::filesystem;
using namespace rtexec::test;
using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string name_of(pid_t process) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
  return name;
}

/// Returns the files of a recorded trace that match `name`.
std::vector<fs::path> files_of(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename().string().starts_with(name)) found.push_back(entry.path());
  return found;
}

bool eventually_no_daemon_of(pid_t owner) {
  return wait_for([=] { return daemons_of(owner).empty(); }, 1min, 20ms);
}

void write_script(const fs::path& file, const std::string& text) {
  write_text(file, "#!/bin/sh\n" + text + "\n");
  fs::permissions(file, fs::perms::owner_all);
}

/// Sets PATH within a scope.
class Path {
 public:
  explicit Path(const fs::path& path) : before_(std::getenv("PATH")) { ::setenv("PATH", path.c_str(), 1); }
  ~Path() { ::setenv("PATH", before_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::string before_;
};

/// Tests that need a private daemon, or no daemon.
class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!wait_for([] { return lttng_session_daemon_alive() == 0; }, 30s, 50ms))
      GTEST_SKIP() << "a session daemon of this user runs, so that none will be started";
  }
  const ScratchFolder folder_;
};

/// Tests that need rights which a normal user may lack.
class SessionWithRights : public SessionTest {};

TEST_F(SessionTest, EveryEventOfEveryThreadIsRecorded) {
  Program program({"threads", folder_.path(), "5000"}); // an existing, empty folder
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_EQ(program.read_line(), "20000 0");
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(SessionTest, LostEventsAreCounted) {
  Program program({"overflow", folder_ / "trace", "200000"});
  EXPECT_EQ(program.wait(), 0);
  const auto summary = summarize(folder_ / "trace");
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_GT(summary->lost.events, 0U);
  EXPECT_EQ(summary->events + summary->lost.events, 200'000U);
  EXPECT_EQ(summary->by_name, (decltype(summary->by_name){{"rtexec:job_start", summary->events}}));
}

TEST_F(SessionTest, DrainingWriterLosesNoEvents) {
  Program program({"drain", folder_ / "trace", "50000"});
  EXPECT_EQ(program.read_line(), "50000 0");
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(SessionTest, ProcessRecordsSeveralSessionsInSequence) {
  for (const std::uint64_t events : {0U, 20U}) {
    auto session = Session::start(folder_ / std::to_string(events), {});
    ASSERT_TRUE(session) << session.error().what;
    emit(events);
    const auto summary = session->stop();
    ASSERT_TRUE(summary) << summary.error().what;
    EXPECT_EQ(summary->events, events);
    EXPECT_EQ(summary->lost.events, 0U);
    EXPECT_EQ(summary->lost.packets, 0U);
    EXPECT_THAT(daemons_of(::getpid()), IsEmpty());
  }
}

TEST_F(SessionTest, NonEmptyFolderIsRefusedAndLeftUnchanged) {
  write_text(folder_ / "results.txt", "precious");
  EXPECT_TRUE(fails(Session::start(folder_.path(), {}), Errc::bad_input, folder_.path().string() + " is not empty"));
  EXPECT_EQ(read_text(folder_ / "results.txt"), "precious");
}

TEST_F(SessionTest, FolderThatCannotBeCreatedIsRefused) {
  write_text(folder_ / "file", "x");
  EXPECT_TRUE(fails(Session::start(folder_ / "file" / "trace", {}), Errc::refused, "cannot make this folder"));
}

TEST_F(SessionTest, MissingLttngToolsAreReported) {
  const Path path(folder_.path());
  EXPECT_TRUE(fails(Session::start(folder_ / "trace", {}), Errc::refused, "install the Debian package lttng-tools"));
  EXPECT_FALSE(fs::exists(folder_ / "trace"));
}

TEST_F(SessionTest, ErrorQuotesMessageOfFailingDaemon) {
  write_script(folder_ / "lttng-sessiond", "echo 'no sockets today' >&2; exit 3");
  const Path path(folder_.path());
  EXPECT_TRUE(fails(Session::start(folder_ / "trace", {}), Errc::refused, "no sockets today"));
  EXPECT_FALSE(fs::exists(folder_ / "trace"));
}

TEST_F(SessionTest, StartFailsAfterTimeoutWhenDaemonNeverAnswers) {
  write_script(folder_ / "lttng-sessiond", "exec /bin/sleep 1000");
  Program other({"record", folder_ / "other", "1", "0"}); // its daemon answers meanwhile
  const Path path(folder_.path());
  const auto session = Session::start(folder_ / "trace", {});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().what, HasSubstr("did not answer within 10 s"));
  EXPECT_THAT(daemons_of(::getpid()), IsEmpty());
  EXPECT_EQ(other.wait(), 0);
}

TEST_F(SessionTest, HangingDaemonIsEndedAfterTimeout) {
  const auto daemon = Daemon::acquire();
  ASSERT_TRUE(daemon) << daemon.error().what;
  EXPECT_TRUE(daemon->within(20s, [] { return Result<>(); }));
  for (const pid_t process : daemons_of(::getpid())) {
    ::kill(process, SIGSTOP);
    ::waitpid(process, nullptr, WUNTRACED); // until all threads of the child are stopped
  }
  const auto ask = [] {
    lttng_session* sessions = nullptr;
    EXPECT_LT(lttng_list_sessions(&sessions), 0);
    return Result<>();
  };
  EXPECT_TRUE(fails(daemon->within(300ms, ask), Errc::refused, "did not answer within 300 ms"));
}

TEST_F(SessionTest, SecondConcurrentSessionInAProcessIsRefused) {
  Program program({"second", folder_ / "trace"});
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_THAT(program.read_line(), HasSubstr("process " + std::to_string(program.pid()) + " is recording"));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_FALSE(fs::exists(folder_ / "trace-second"));
}

TEST_F(SessionTest, AbandonedSessionLeavesNoDaemon) {
  Program program({"abandon", folder_ / "trace"});
  EXPECT_NE(program.read_line(), "0");
  EXPECT_EQ(program.read_line(), "0");
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(SessionTest, KilledProcessLeavesNoDaemon) {
  Program program({"record", folder_ / "trace", "10", "600000"});
  ASSERT_EQ(program.read_line(), "recording");
  const pid_t owner = program.pid();
  EXPECT_FALSE(daemons_of(owner).empty());
  ::kill(owner, SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually_no_daemon_of(owner));
}

TEST_F(SessionTest, NextSessionEndsHangingDaemonOfKilledProcess) {
  Program killed({"record", folder_ / "killed", "10", "600000"});
  ASSERT_EQ(killed.read_line(), "recording");
  const pid_t owner = killed.pid();
  for (const pid_t daemon : daemons_of(owner)) ::kill(daemon, SIGSTOP);
  ::kill(owner, SIGKILL);
  EXPECT_EQ(killed.wait(), 128 + SIGKILL);
  EXPECT_FALSE(daemons_of(owner).empty());
  Program next({"record", folder_ / "next", "7", "0"});
  EXPECT_EQ(next.read_line(), "recording");
  EXPECT_EQ(next.read_line(), "7 0");
  EXPECT_THAT(daemons_of(owner), IsEmpty());
}

TEST_F(SessionWithRights, DaemonOfContainerWithSharedFolderIsLeftRunning) {
  const auto be_contained = [] {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      ::_exit(77);
    if (const pid_t first = ::fork(); first != 0) {
      int status = 0;
      ::waitpid(first, &status, 0);
      ::_exit(WEXITSTATUS(status));
    }
    if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) ::_exit(77);
  };
  Program contained({"record", folder_ / "contained", "7", "600000"}, be_contained);
  if (contained.read_line() != "recording") {
    ASSERT_EQ(contained.wait(), 77);
    GTEST_SKIP() << "namespaces are refused here";
  }
  Program other({"record", folder_ / "other", "3", "0"});
  const auto parent = std::to_string(contained.pid()); // the parent of process 1 in there
  std::string child;
  std::ifstream("/proc/" + parent + "/task/" + parent + "/children") >> child;
  EXPECT_THAT(other.read_line(), HasSubstr("process " + child + " is recording with a session daemon of its own"));
  write_text(folder_ / "contained-ends", "");
  EXPECT_EQ(contained.read_line(), "7 0");
  EXPECT_EQ(contained.wait(), 0);
}

TEST_F(SessionTest, DaemonThatDiesIsReported) {
  Program program({"record", folder_ / "trace", "10", "600000"});
  ASSERT_EQ(program.read_line(), "recording");
  for (const pid_t daemon : daemons_of(program.pid())) ::kill(daemon, SIGKILL);
  write_text(folder_ / "trace-ends", "");
  EXPECT_THAT(program.read_line(), HasSubstr("ending the recording into " + (folder_ / "trace").string()));
  EXPECT_EQ(program.wait(), 1);
}

/// Checks that the jobs 0, 1, 2 ... of all rounds were read without a gap.
void expect_rounds_of(std::uint64_t jobs, const fs::path& trace) {
  std::uint64_t next = 0;
  const auto read = read_trace(trace, [&](const RecordedEvent& event) {
    EXPECT_EQ(event.integer("job"), static_cast<std::int64_t>(next));
    next = (next + 1) % jobs;
  });
  ASSERT_TRUE(read) << read.error().what;
}

TEST_F(SessionTest, TraceIsReadableWhileRecordingContinues) {
  Program program({"until-killed", folder_ / "trace", "50"});
  ASSERT_EQ(program.read_line(), "recording");
  std::uint64_t before = 0;
  for (int time = 0; time < 2; ++time) { // more of it follows later
    Result<Summary> summary;
    EXPECT_TRUE(
        wait_for([&] { return (summary = summarize(folder_ / "trace")) && summary->events > before; }, 1min, 50ms))
        << (summary ? "no events" : summary.error().what);
    ASSERT_TRUE(summary);
    EXPECT_THAT(summary->notes, ElementsAre(StartsWith("the recording goes on: read until ")));
    EXPECT_EQ(summary->lost.events + summary->lost.packets, 0U);
    expect_rounds_of(50, folder_ / "trace");
    before = summary->events;
  }
}

TEST_F(SessionTest, TraceIsReadableAfterProgramOrDaemonsAreKilled) {
  for (const char* victim : {"consumer", "daemons", "program"}) {
    const fs::path trace = folder_ / victim;
    Program program({"until-killed", trace, "50"});
    ASSERT_EQ(program.read_line(), "recording");
    ASSERT_TRUE(wait_for(
        [&] {
          const auto summary = summarize(trace);
          return summary && summary->events > 0;
        },
        1min, 50ms));
    const pid_t owner = program.pid();
    const std::vector<pid_t> daemons = daemons_of(owner);
    if (victim == std::string_view("program")) ::kill(owner, SIGKILL);
    else
      for (const pid_t daemon : daemons)
        if (victim == std::string_view("daemons") || name_of(daemon) == "lttng-consumerd") ::kill(daemon, SIGKILL);
    if (victim != std::string_view("program")) ::kill(owner, SIGKILL);
    EXPECT_EQ(program.wait(), 128 + SIGKILL);
    // A session daemon may hang after its consumer was killed. The next session then ends it.
    if (!wait_for([=] { return daemons_of(owner).empty(); }, 10s, 20ms)) {
      Program next({"record", folder_ / "next", "1", "0"});
      ASSERT_EQ(next.read_line(), "recording");
    }
    EXPECT_TRUE(eventually_no_daemon_of(owner));
    const auto summary = summarize(trace);
    ASSERT_TRUE(summary) << victim << ": " << summary.error().what;
    EXPECT_GT(summary->events, 0U) << victim;
    EXPECT_THAT(summary->notes, Contains(StartsWith("the recording broke off: read until "))) << victim;
    expect_rounds_of(50, trace);
  }
}

TEST_F(SessionTest, LimitedTraceKeepsTheLatestEvents) {
  Program program({"limited", folder_ / "trace", "50", "1000"});
  EXPECT_EQ(program.read_line(), "recording");
  program.read_line();
  EXPECT_EQ(program.wait(), 0);
  std::uint64_t bytes = 0, events = 0;
  for (const fs::path& file : files_of(folder_ / "trace", "events_"))
    if (file.extension() != ".idx") bytes += fs::file_size(file);
  EXPECT_LE(bytes, 1U << 20);
  std::int64_t last = -1;
  const auto read = read_trace(folder_ / "trace", [&](const RecordedEvent& event) {
    const auto job = event.integer("job");
    EXPECT_TRUE(events == 0 || job == (last + 1) % 50) << last;
    last = job.value_or(-1);
    ++events;
  });
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_GT(events, 1000U);
  EXPECT_LT(events, 50'000U);
  EXPECT_EQ(last, 49);
  EXPECT_THAT(read->notes, ElementsAre(StartsWith("older events were overwritten")));
}

TEST_F(SessionTest, TraceBelowTheLimitReportsNoOverwrittenEvents) {
  Program program({"limited", folder_ / "trace", "20", "10"});
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_EQ(program.read_line(), "200 0");
  EXPECT_EQ(program.wait(), 0);
  const auto summary = summarize(folder_ / "trace");
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_THAT(summary->notes, IsEmpty());
}

TEST_F(SessionTest, ErrorSuggestsHigherLimitWhenEventsAreOverwrittenTooSoon) {
  Program program({"limited", folder_ / "trace", "1000", "2000"});
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_TRUE(
      wait_for([&] { return fails(summarize(folder_ / "trace"), Errc::bad_input, "or record with a higher limit"); },
               20s, 50ms));
}

TEST_F(SessionTest, TraceIsReadableWhileFilesAreOverwritten) {
  Program program({"limited", folder_ / "trace", "40", "2000"});
  EXPECT_EQ(program.read_line(), "recording");
  const auto older_are_gone = [&] {
    const auto summary = summarize(folder_ / "trace");
    return summary && std::ranges::any_of(summary->notes, [](const std::string& note) {
             return note.starts_with("older events were overwritten");
           });
  };
  ASSERT_TRUE(wait_for(older_are_gone, 1min, 50ms));
  for (int time = 0; time < 50; ++time) {
    const auto summary = summarize(folder_ / "trace");
    ASSERT_TRUE(summary) << summary.error().what;
    EXPECT_EQ(summary->lost.events, 0U);
  }
}

TEST_F(SessionTest, LimitBelowBufferSizeIsRefused) {
  EXPECT_TRUE(fails(Session::start(folder_ / "trace", {.limit = Bytes{1U << 20}}), Errc::bad_input, "raise the limit"));
  EXPECT_FALSE(fs::exists(folder_ / "trace"));
}

TEST_F(SessionWithRights, RecordingNeitherFaultsNorAllocates) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's own memory faults";
  Program program({"locked", folder_ / "trace", "50000"});
  ASSERT_EQ(program.read_line(), "recording");
  const std::string measured = program.read_line();
  if (measured == "not locked") GTEST_SKIP() << "locking memory is refused here";
  EXPECT_EQ(measured, "0 faults, 0 allocations");
  EXPECT_EQ(program.read_line(), "50000 0");
}

TEST_F(SessionTest, InterruptFromTheTerminalDoesNotReachTheDaemon) {
  Program program({"record", folder_ / "trace", "1000", "500"}, [] { ::signal(SIGINT, SIG_IGN); });
  ASSERT_EQ(program.read_line(), "recording");
  ::kill(-program.pid(), SIGINT); // as the terminal does: to the whole process group
  EXPECT_EQ(program.read_line(), "1000 0");
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(SessionTest, WaitsForRecordingOfAnotherProcessToEnd) {
  Program first({"record", folder_ / "first", "7", "1000"});
  ASSERT_EQ(first.read_line(), "recording");
  Program second({"record", folder_ / "second", "3", "0"});
  EXPECT_EQ(second.read_line(), "recording");
  EXPECT_EQ(second.read_line(), "3 0");
  EXPECT_EQ(first.read_line(), "7 0");
}

TEST_F(SessionTest, TwoConcurrentProcessesRecordInTurn) {
  Program first({"record", folder_ / "first", "1", "0"}), second({"record", folder_ / "second", "2", "0"});
  EXPECT_EQ(first.read_line(), "recording");
  EXPECT_EQ(first.read_line(), "1 0");
  EXPECT_EQ(second.read_line(), "recording");
  EXPECT_EQ(second.read_line(), "2 0");
}

/// A daemon that the user started for all programs. It ends once no program uses it.
class SharedDaemon {
 public:
  /// Starts the daemon. Retries while a private daemon still runs.
  SharedDaemon()
      : started_(wait_for([] { return std::system("lttng-sessiond --no-kernel --daemonize 2>/dev/null") == 0; }, 30s,
                          100ms)) {}
  ~SharedDaemon() {
    if (!started_) return;
    static_cast<void>(wait_for(unused, 20s, 50ms));
    const fs::path folder = ::geteuid() == 0 ? fs::path("/var/run/lttng") : fs::path(std::getenv("HOME")) / ".lttng";
    pid_t daemon = 0;
    if (std::ifstream(folder / "lttng-sessiond.pid") >> daemon) ::kill(daemon, SIGTERM);
    static_cast<void>(wait_for([] { return lttng_session_daemon_alive() == 0; }, 20s, 50ms));
  }
  SharedDaemon(const SharedDaemon&) = delete;
  SharedDaemon& operator=(const SharedDaemon&) = delete;
  [[nodiscard]] bool started() const { return started_; }

 private:
  static bool unused() {
    lttng_session* sessions = nullptr;
    const int count = lttng_list_sessions(&sessions);
    std::free(sessions);
    return count <= 0;
  }

  bool started_;
};

TEST_F(SessionTest, UserDaemonIsSharedAndLeftRunning) {
  const SharedDaemon daemon;
  ASSERT_TRUE(daemon.started());
  Program first({"record", folder_ / "first", "7", "500"}), second({"record", folder_ / "second", "3", "500"});
  EXPECT_EQ(first.read_line(), "recording");
  EXPECT_EQ(second.read_line(), "recording"); // while the first one still records
  EXPECT_THAT(daemons_of(first.pid()), IsEmpty());
  EXPECT_EQ(first.read_line(), "7 0"); // and no event of the other
  EXPECT_EQ(second.read_line(), "3 0");
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(lttng_session_daemon_alive(), 1);
}

TEST_F(SessionTest, WaitsForUserDaemonThatIsEnding) {
  ASSERT_TRUE(SharedDaemon().started());
  Program program({"record", folder_ / "trace", "7", "0"});
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_EQ(program.read_line(), "7 0");
}

TEST_F(SessionTest, StaleDaemonLockFileDoesNotBlockRecording) {
  const fs::path home = folder_ / "home";
  fs::create_directories(home / ".lttng");
  write_text(home / ".lttng" / "lttng-sessiond.lck", "");
  Program program({"record", folder_ / "trace", "7", "0"}, [&] { ::setenv("LTTNG_HOME", home.c_str(), 1); });
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_EQ(program.read_line(), "7 0");
}

TEST_F(SessionTest, NextSessionDestroysSessionOfKilledProcess) {
  const SharedDaemon daemon;
  ASSERT_TRUE(daemon.started());
  Program killed({"record", folder_ / "killed", "7", "600000"}), other({"record", folder_ / "other", "3", "600000"});
  EXPECT_EQ(killed.read_line(), "recording");
  EXPECT_EQ(other.read_line(), "recording");
  EXPECT_THAT(left_over_sessions(), IsEmpty());
  const std::string its_sessions = "rtexec-" + std::to_string(killed.pid()) + "-";
  ::kill(killed.pid(), SIGKILL);
  EXPECT_EQ(killed.wait(), 128 + SIGKILL);
  EXPECT_THAT(left_over_sessions(), ElementsAre(StartsWith(its_sessions)));
  Program next({"record", folder_ / "next", "5", "0"});
  EXPECT_EQ(next.read_line(), "recording");
  EXPECT_THAT(left_over_sessions(), IsEmpty());
  EXPECT_EQ(next.read_line(), "5 0");
  lttng_session* sessions = nullptr;
  EXPECT_EQ(lttng_list_sessions(&sessions), 1); // the other session continues
  std::free(sessions);
  ::kill(other.pid(), SIGKILL);
  EXPECT_EQ(other.wait(), 128 + SIGKILL);
  for (const std::string& left : left_over_sessions()) lttng_destroy_session(left.c_str());
}

TEST_F(SessionTest, NextSessionWritesSnapshotOfKilledFlightRecorder) {
  const SharedDaemon daemon;
  ASSERT_TRUE(daemon.started());
  Program killed({"fly-signal", folder_ / "killed"});
  EXPECT_EQ(killed.read_line(), "flying");
  ::kill(killed.pid(), SIGKILL);
  EXPECT_EQ(killed.wait(), 128 + SIGKILL);
  EXPECT_TRUE(fs::is_empty(folder_ / "killed"));
  Program next({"record", folder_ / "next", "5", "0"});
  EXPECT_EQ(next.read_line(), "recording");
  ASSERT_FALSE(fs::is_empty(folder_ / "killed"));
  std::uint64_t jobs = 0;
  EXPECT_TRUE(read_trace(fs::directory_iterator(folder_ / "killed")->path(),
                         [&](const RecordedEvent& event) { jobs += event.name() == "rtexec:job_start"; }));
  EXPECT_EQ(jobs, 50U);
  EXPECT_EQ(next.read_line(), "5 0");
}

TEST_F(SessionWithRights, DaemonsInheritNeitherFifoNorPinningNorLimits) {
  const auto become_real_time = [] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    const rlimit many{.rlim_cur = 1'000'000, .rlim_max = 1'000'000};
    ::setrlimit(RLIMIT_NOFILE, &many); // if it is refused, fewer suffice
    const sched_param priority{.sched_priority = 10};
    if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) ::_exit(77);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
  };
  Program program({"record", folder_ / "trace", "10", "600000"}, become_real_time);
  if (program.read_line() != "recording") GTEST_SKIP() << "SCHED_FIFO is refused here";
  const std::vector<pid_t> daemons = daemons_of(program.pid());
  EXPECT_GE(daemons.size(), 2U); // session daemon and consumer daemon
  cpu_set_t wanted;
  ASSERT_EQ(::sched_getaffinity(1, sizeof wanted, &wanted), 0);
  for (const pid_t daemon : daemons) {
    EXPECT_EQ(::sched_getscheduler(daemon), SCHED_OTHER);
    cpu_set_t cores;
    ASSERT_EQ(::sched_getaffinity(daemon, sizeof cores, &cores), 0);
    EXPECT_TRUE(CPU_EQUAL(&cores, &wanted));
    rlimit files{};
    ASSERT_EQ(::prlimit(daemon, RLIMIT_NOFILE, nullptr, &files), 0);
    EXPECT_LE(files.rlim_cur, 65535U);
  }
  write_text(folder_ / "trace-ends", "");
  EXPECT_EQ(program.read_line(), "10 0");
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(SessionWithRights, RecordsAsUnprivilegedUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root to become another user (as a normal user, every other test shows the same)";
  constexpr uid_t somebody = 54321;
  fs::copy_file("/proc/self/exe", folder_ / "program");
  ASSERT_EQ(::chown(folder_.path().c_str(), somebody, somebody), 0);
  const auto become_somebody = [&] {
    ::setenv("HOME", folder_.path().c_str(), 1);
    if (::setresgid(somebody, somebody, somebody) != 0 || ::setresuid(somebody, somebody, somebody) != 0) ::_exit(77);
  };
  fs::permissions(folder_ / "program", fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
  Program program({"record", folder_ / "trace", "10", "0"}, become_somebody, folder_ / "program");
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_EQ(program.read_line(), "10 0");
  EXPECT_EQ(program.wait(), 0);
}

/// A small file system. Skips the test if mounting is refused.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& folder, const char* size) : folder_(folder) {
    mounted_ = ::mount("none", folder.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  fs::path folder_;
  bool mounted_;
};

TEST_F(SessionWithRights, StartIsRefusedWhenDiskSpaceIsTooSmall) {
  const SmallDisk disk(folder_.path(), "size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a file system is refused here";
  EXPECT_TRUE(fails(Session::start(folder_ / "trace", {}), Errc::refused, "free disk space"));
}

TEST_F(SessionWithRights, FullDiskDuringRecordingIsReported) {
  const SmallDisk disk(folder_.path(), "size=2m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a file system is refused here";
  Program program({"slowly", folder_ / "trace", "1000"});
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_THAT(program.read_line(), HasSubstr("is full"));
  EXPECT_EQ(program.wait(), 1);
}

TEST(Reader, FolderWithoutTraceIsRefused) {
  const ScratchFolder folder;
  for (const fs::path& path : {folder.path(), folder / "missing"}) {
    EXPECT_TRUE(fails(summarize(path), Errc::bad_input, path.string()));
  }
}

TEST(Reader, RefusesDamagedTraceWithAnError) {
  const ScratchFolder folder;
  Program program({"record", folder / "whole", "1000", "0"});
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_EQ(program.read_line(), "1000 0");
  ASSERT_EQ(program.wait(), 0);
  for (const char* part : {"metadata", "events_"}) {
    const fs::path damaged = folder / part;
    fs::copy(folder / "whole", damaged, fs::copy_options::recursive);
    for (const fs::path& file : files_of(damaged, part)) {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream << "this is not what belongs here, by far";
    }
    EXPECT_TRUE(fails(summarize(damaged), Errc::bad_input, damaged.string()));
  }
}

TEST(CheckWhole, RefusesUnknownLossesOrMissingEndOfRun) {
  Summary summary;
  summary.events = 7;
  summary.by_name["rtexec:run_end"] = 1;
  summary.lost.events = 3;
  EXPECT_TRUE(check_whole(summary, "trace")) << "what is counted is known";
  summary.lost_unknown = true;
  summary.notes = {"stream events_0 is damaged"};
  EXPECT_TRUE(fails(check_whole(summary, "trace"), Errc::refused, "unknown\n  stream events_0 is damaged"));
  summary.lost_unknown = false;
  summary.by_name.clear();
  EXPECT_TRUE(fails(check_whole(summary, "trace"), Errc::refused, "the end of the run is missing"));
}

} // namespace
} // namespace rtexec::traces::test
