// Tests what the supervisor of an image decides, remembers and feeds: in virtual time, with calls that fail, and with a
// plain file as the hardware watchdog. For the whole program see test/system/supervisor.sh.
#include "rtexec/supervisor/counts.hpp"
#include "rtexec/supervisor/supervised_executive.hpp"
#include "rtexec/supervisor/recordings.hpp"
#include "rtexec/supervisor/supervision.hpp"
#include "rtexec/supervisor/watchdog.hpp"
#include "test/support/test_files.hpp"

#include <cerrno>
#include <cstddef>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <linux/watchdog.h>
#include <random>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::supervisor {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::HasSubstr;
using testing::IsEmpty;
using Action = Supervision::Action;
using Failure = Supervision::Failure;

// ---- decisions ----

constexpr End killed{.code = SIGKILL, .by_signal = true};

/// Supervises in virtual time.
struct SupervisionTest : testing::Test {
  Action at(Duration later) {
    now += later;
    return supervision->next(now);
  }
  void hear(const char* lines) { supervision->hear(lines, now); }
  Failure end(const End& how) { return supervision->ended(how, now); }
  /// Starts after the required pause.
  Action start() { return at(rules.pause); }
  void begin(unsigned failed_boots, bool safe = true) { supervision.emplace(rules, safe, failed_boots, now); }
  /// Sends heartbeats until the run counts as stable.
  void beat_for(Duration long_enough) {
    for (Duration passed{0}; passed <= long_enough; passed += rules.silence / 2) {
      EXPECT_EQ(at(rules.silence / 2), Action::nothing);
      hear("WATCHDOG=1");
    }
  }
  void SetUp() override { begin(0); }

  Rules rules;
  Instant now{1000s};
  std::optional<Supervision> supervision;
};

TEST_F(SupervisionTest, StartsAtOnceAndKillsRunWithoutTimelyFirstRelease) {
  EXPECT_EQ(at(0s), Action::start);
  EXPECT_EQ(at(rules.to_set_up - 1ns), Action::nothing);
  EXPECT_EQ(supervision->wakes(), now + 1ns);
  EXPECT_EQ(at(1ns), Action::kill);
  EXPECT_EQ(end(killed), Failure::refusal);
  EXPECT_EQ(at(rules.pause - 1ns), Action::nothing);
  EXPECT_EQ(at(1ns), Action::start);
}

TEST_F(SupervisionTest, KeepsRunWhileHeartbeatsArrive) {
  at(0s);
  hear("READY=1\nSTATUS=Runs");
  beat_for(rules.proof * 10);
  EXPECT_TRUE(supervision->feeds());
  EXPECT_EQ(at(rules.silence - 1ns), Action::nothing);
  hear("STATUS=task a is stuck"); // is not a heartbeat
  EXPECT_EQ(at(1ns), Action::kill);
  EXPECT_EQ(end(killed), Failure::silence);
  EXPECT_EQ(start(), Action::start);
}

TEST_F(SupervisionTest, HeartbeatBeforeFirstReleaseDoesNotCount) {
  at(0s);
  at(rules.to_set_up - 1ns);
  hear("WATCHDOG=1");
  EXPECT_EQ(at(1ns), Action::kill);
}

TEST_F(SupervisionTest, StartsSafeSetAfterThreeFailures) {
  for (int failure = 0; failure < 3; ++failure) {
    EXPECT_EQ(start(), Action::start) << failure;
    hear("READY=1");
    at(rules.silence / 2);
    EXPECT_EQ(end({.code = SIGSEGV, .by_signal = true}), Failure::death);
  }
  for (int failure = 0; failure < 3; ++failure) {
    EXPECT_TRUE(supervision->feeds());
    EXPECT_EQ(start(), Action::start_safe) << failure;
    EXPECT_EQ(end({.code = 5}), Failure::refusal);
  }
  EXPECT_FALSE(supervision->feeds());
  EXPECT_EQ(at(1h), Action::nothing);
}

TEST_F(SupervisionTest, CountsOnlyConsecutiveFailures) {
  for (int failure = 0; failure < 20; ++failure) {
    ASSERT_EQ(start(), Action::start);
    hear("READY=1");
    beat_for(rules.proof);
    EXPECT_TRUE(supervision->proved());
    EXPECT_EQ(end(killed), Failure::death);
  }
}

TEST_F(SupervisionTest, StartsSafeSetAtOnceWhenSetIsRefused) {
  for (const int code : {2, 3}) {
    begin(0);
    EXPECT_EQ(start(), Action::start);
    EXPECT_EQ(end({.code = code}), Failure::refusal);
    EXPECT_EQ(start(), Action::start_safe);
    EXPECT_EQ(end({.code = code}), Failure::refusal);
    EXPECT_FALSE(supervision->feeds()) << "the safe one is refused, too";
  }
}

TEST_F(SupervisionTest, StartsSafeSetAfterThreeFailedBoots) {
  for (const unsigned boots : {0U, 1U, 2U, 3U, 4U, 100U}) {
    begin(boots);
    EXPECT_EQ(start(), boots < 3 ? Action::start : Action::start_safe) << boots;
    hear("READY=1");
    beat_for(rules.proof);
    EXPECT_EQ(supervision->proved(), boots < 3) << "the safe set proves nothing of the other one";
    begin(boots, false);
    EXPECT_EQ(start(), Action::start) << "there is no other";
  }
}

TEST_F(SupervisionTest, StartsSafeSetWhenBootsCannotBeCounted) {
  begin(0);
  supervision->distrust();
  EXPECT_EQ(at(0s), Action::start_safe);
  hear("READY=1");
  beat_for(2 * rules.proof);
  EXPECT_FALSE(supervision->proved());
  begin(0, false);
  supervision->distrust();
  EXPECT_EQ(at(0s), Action::start) << "there is no other";
}

TEST_F(SupervisionTest, StopsFeedingWatchdogAfterThreeFailuresWithoutSafeSet) {
  begin(0, false);
  for (int failure = 0; failure < 3; ++failure) {
    EXPECT_TRUE(supervision->feeds());
    EXPECT_EQ(start(), Action::start);
    end(killed);
  }
  EXPECT_FALSE(supervision->feeds());
}

TEST_F(SupervisionTest, StopsFeedingWatchdogWhenRunCannotBeKilled) {
  start();
  EXPECT_EQ(at(rules.to_set_up), Action::kill);
  EXPECT_EQ(at(rules.to_die - 1ns), Action::nothing);
  EXPECT_TRUE(supervision->feeds());
  at(1ns);
  EXPECT_FALSE(supervision->feeds());
}

TEST_F(SupervisionTest, EndsWhenRunEndsRegularly) {
  for (const int code : {0, 4}) {
    begin(0);
    start();
    hear("READY=1");
    hear(code == 0 ? "STOPPING=1\nSTATUS=Stopped by duration" : "STOPPING=1\nSTATUS=Stopped by request");
    EXPECT_EQ(at(rules.silence * 2), Action::nothing) << "it beats no more";
    EXPECT_EQ(end({.code = code}), Failure::none);
    EXPECT_TRUE(supervision->over());
    EXPECT_EQ(at(1h), Action::nothing);
  }
}

TEST_F(SupervisionTest, RestartsRunEndedByTaskOrFault) {
  for (const char* told : {"STOPPING=1\nSTATUS=Stopped by overrun of task 'a'", "STOPPING=1", ""}) {
    begin(0);
    start();
    hear("READY=1");
    hear(told);
    EXPECT_EQ(end({.code = 4}), Failure::death) << told;
    EXPECT_EQ(start(), Action::start) << told;
  }
  begin(0);
  start();
  EXPECT_EQ(end({.code = 0}), Failure::refusal) << "nothing ran";
}

TEST_F(SupervisionTest, KillsRunThatDoesNotStopAndCountsFailure) {
  start();
  hear("READY=1");
  hear("STOPPING=1");
  EXPECT_EQ(at(rules.to_stop), Action::kill);
  EXPECT_EQ(end(killed), Failure::death);
  EXPECT_FALSE(supervision->over());
}

TEST_F(SupervisionTest, StopsRunOnRequest) {
  for (const bool ready : {false, true}) {
    begin(0);
    start();
    if (ready) hear("READY=1");
    supervision->ask_to_stop();
    EXPECT_EQ(at(0s), Action::stop);
    EXPECT_EQ(at(1s), Action::nothing) << "once";
    EXPECT_EQ(end({.code = 5}), Failure::none);
    EXPECT_TRUE(supervision->over());
  }
  begin(0);
  start();
  supervision->ask_to_stop();
  EXPECT_EQ(at(0s), Action::stop);
  EXPECT_EQ(at(rules.to_stop), Action::kill);
  EXPECT_EQ(end(killed), Failure::none);
  EXPECT_TRUE(supervision->over());
  begin(0);
  supervision->ask_to_stop();
  EXPECT_EQ(at(0s), Action::nothing) << "before anything runs";
  EXPECT_TRUE(supervision->over());
}

/// In any history, never two runs exist at once, the watchdog is fed unless it was given up, and a next action is
/// always due.
TEST_F(SupervisionTest, KeepsInvariantsInRandomHistories) {
  std::mt19937 random(11);
  const char* lines[] = {"READY=1", "WATCHDOG=1", "STOPPING=1", "STATUS=x", "READY=1\nWATCHDOG=1", ""};
  for (int round = 0; round < 2000; ++round) {
    begin(static_cast<unsigned>(random() % 5), random() % 2 == 0);
    bool runs = false, asked = false;
    for (int step = 0; step < 60 && !supervision->over() && supervision->feeds(); ++step) {
      const Action action = at(1ms * (random() % 40'000));
      if (action == Action::start || action == Action::start_safe) {
        ASSERT_FALSE(runs);
        ASSERT_FALSE(asked);
        runs = true;
      } else if (action != Action::nothing) {
        ASSERT_TRUE(runs);
      }
      if (!supervision->over() && supervision->feeds()) { ASSERT_GT(supervision->wakes(), now); }
      if (runs) hear(lines[random() % std::size(lines)]);
      if (random() % 50 == 0) supervision->ask_to_stop(), asked = true;
      if (runs && random() % 5 == 0) {
        const int codes[] = {0, 1, 2, 3, 4, 5};
        end(random() % 2 ? killed : End{.code = codes[random() % 6]});
        runs = false;
      }
    }
    ASSERT_FALSE(supervision->over() && !supervision->feeds());
  }
}

// ---- counts ----

Kernel failing;
int calls, fails_at;
bool for_good;
/// Makes call number `fails_at` of all fail, or all calls from it on, as when the power is cut.
template <auto Member, class Return, class... Arguments> void make_fail(Return (*Kernel::*)(Arguments...)) {
  failing.*Member = [](Arguments... arguments) -> Return {
    if (++calls < fails_at || (calls > fails_at && !for_good)) return (linux_kernel().*Member)(arguments...);
    errno = EIO;
    return Return(-1);
  };
}
const Kernel& failing_at(int nth, bool after_that_too = false) {
  failing = linux_kernel();
  make_fail<&Kernel::open>(&Kernel::open);
  make_fail<&Kernel::write>(&Kernel::write);
  make_fail<&Kernel::sync>(&Kernel::sync);
  make_fail<&Kernel::close>(&Kernel::close);
  make_fail<&Kernel::rename>(&Kernel::rename);
  make_fail<&Kernel::control>(&Kernel::control);
  calls = 0;
  fails_at = nth;
  for_good = after_that_too;
  return failing;
}

constexpr Counts some{
    .boots = 7, .failed_boots = 2, .starts = 12, .safe_starts = 1, .refusals = 3, .deaths = 4, .silences = 5};

TEST(Counts, AreReadBackAsWritten) {
  const ScratchFolder folder;
  const std::string file = folder / "counts";
  EXPECT_EQ(read_counts(file), Counts{});
  EXPECT_THAT(write_counts(file, some), IsEmpty());
  EXPECT_EQ(read_counts(file), some);
  EXPECT_THAT(read_text(file), HasSubstr("failed_boots = 2\n"));
}

TEST(Counts, DamagedFileYieldsOnlyIntactEntries) {
  const ScratchFolder folder;
  const std::string file = folder / "counts";
  for (const std::string text : {"", "\n\n", "boots", "boots = ", "boots = x", "boo = 3", "= 3", "boots=3"}) {
    write_text(file, text);
    EXPECT_EQ(read_counts(file), Counts{}) << text;
  }
  write_text(file, "boots = 3\nnoise\nstarts = 4");
  EXPECT_EQ(read_counts(file).boots, 3U);
  EXPECT_EQ(read_counts(file).starts, 4U);
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 2000, '\0');
    for (char& each : text) each = "\0\nbots=19 aliend_fr"[random() % 19];
    write_text(file, text);
    static_cast<void>(read_counts(file));
  }
}

TEST(Counts, AreOldOrNewAfterAnyFailedCall) {
  const ScratchFolder folder;
  const std::string file = folder / "counts";
  Counts newer = some;
  newer.boots = 8;
  int nth = 1;
  for (const bool after_that_too : {false, true})
    for (nth = 1;; ++nth) {
      ASSERT_THAT(write_counts(file, some), IsEmpty());
      const std::string problem = write_counts(file, newer, failing_at(nth, after_that_too));
      const Counts left = read_counts(file);
      EXPECT_TRUE(left == some || left == newer) << nth;
      if (calls < nth) {
        EXPECT_THAT(problem, IsEmpty());
        break;
      }
      // If a single call fails, the counts are written in place. A failure to close the folder has no effect.
      if (!after_that_too) {
        EXPECT_THAT(problem, IsEmpty()) << nth;
        EXPECT_EQ(left, newer) << nth;
      } else if (nth < calls) {
        EXPECT_THAT(problem, HasSubstr(file)) << nth;
      }
    }
  EXPECT_GE(nth, 8) << "open, write, sync, close, rename, and the folder's open and sync";
}

TEST(Counts, DoNotBlockOnPipe) {
  const ScratchFolder folder;
  const std::string file = folder / "counts";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(read_counts(file), Counts{});
  EXPECT_THAT(write_counts(file, some), IsEmpty());
  EXPECT_EQ(read_counts(file), some) << "the pipe was replaced";
}

TEST(Counts, FollowNoSymbolicLink) {
  const ScratchFolder folder;
  const std::string file = folder / "counts";
  write_text(folder / "other", "boots = 3\n");
  std::filesystem::create_symlink(folder / "other", file);
  std::filesystem::create_symlink(folder / "other", file + ".new");
  EXPECT_EQ(read_counts(file), Counts{});
  EXPECT_THAT(write_counts(file, some), HasSubstr(file));
  EXPECT_EQ(read_text(folder / "other"), "boots = 3\n");
}

/// A partition on which no file can be created or grow.
const Kernel& full() {
  static Kernel kernel = linux_kernel();
  kernel.open = [](const char* path, int flags, mode_t mode) {
    if ((flags & O_CREAT) != 0) return errno = ENOSPC, -1;
    return linux_kernel().open(path, flags, mode);
  };
  kernel.write = [](int file, const void* from, std::size_t size) -> ssize_t {
    struct stat status {};
    if (::fstat(file, &status) != 0 || ::lseek(file, 0, SEEK_CUR) + static_cast<off_t>(size) > status.st_size)
      return errno = ENOSPC, -1;
    return linux_kernel().write(file, from, size);
  };
  return kernel;
}

TEST(Counts, AreUpdatedOnFullPartitionOnceFileExists) {
  const ScratchFolder folder;
  const std::string file = folder / "counts";
  EXPECT_THAT(write_counts(file, some, full()), HasSubstr("No space left"));
  EXPECT_EQ(read_counts(file), Counts{});
  ASSERT_THAT(write_counts(file, Counts{}), IsEmpty());
  constexpr unsigned most = std::numeric_limits<unsigned>::max();
  constexpr Counts full_of_digits{.boots = most,
                                  .failed_boots = most,
                                  .starts = most,
                                  .safe_starts = most,
                                  .refusals = most,
                                  .deaths = most,
                                  .silences = most};
  for (const Counts& counts : {some, full_of_digits, Counts{}, some}) {
    EXPECT_THAT(write_counts(file, counts, full()), IsEmpty());
    EXPECT_EQ(read_counts(file), counts);
  }
}

// ---- watchdog ----

std::vector<std::string> device_calls;
int device_options, device_seconds;
/// Uses /dev/null as a watchdog that reports the requests to it.
const Kernel& device() {
  static Kernel kernel = linux_kernel();
  kernel.is_plain = [](int) { return false; };
  kernel.write = [](int, const void* from, std::size_t size) {
    device_calls.emplace_back(*static_cast<const char*>(from) == 'V' ? "end" : "feed");
    return static_cast<ssize_t>(size);
  };
  kernel.control = [](int, unsigned long request, void* argument) {
    if (request == WDIOC_GETSUPPORT)
      static_cast<watchdog_info*>(argument)->options = static_cast<unsigned>(device_options);
    if (request == WDIOC_SETTIMEOUT) device_calls.push_back("timeout " + std::to_string(*static_cast<int*>(argument)));
    if (request == WDIOC_GETTIMEOUT) *static_cast<int*>(argument) = device_seconds;
    return 0;
  };
  kernel.close = [](int file) {
    device_calls.emplace_back("close");
    return linux_kernel().close(file);
  };
  device_calls.clear();
  device_options = WDIOF_SETTIMEOUT | WDIOF_MAGICCLOSE;
  device_seconds = 30;
  return kernel;
}

TEST(Watchdog, IsArmedFedAndDisarmed) {
  {
    Watchdog watchdog(device());
    EXPECT_THAT(watchdog.arm("/dev/null", 30), IsEmpty());
    EXPECT_THAT(watchdog.feed(), IsEmpty());
    EXPECT_THAT(watchdog.disarm(), IsEmpty());
    EXPECT_FALSE(watchdog.armed());
  }
  EXPECT_THAT(device_calls, testing::ElementsAre("timeout 30", "feed", "feed", "end", "close"));
}

TEST(Watchdog, DoesNotBlockOnPipe) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  Watchdog watchdog;
  EXPECT_THAT(watchdog.arm(folder / "pipe", 30), HasSubstr("pipe: "));
  EXPECT_FALSE(watchdog.armed());
}

TEST(Watchdog, StaysArmedWhenDestroyed) {
  {
    Watchdog watchdog(device());
    EXPECT_THAT(watchdog.arm("/dev/null", 30), IsEmpty());
  }
  EXPECT_THAT(device_calls, testing::ElementsAre("timeout 30", "feed", "close"));
}

TEST(Watchdog, UsesTimeoutReportedByDevice) {
  Watchdog watchdog(device());
  device_seconds = 16;
  EXPECT_THAT(watchdog.arm("/dev/null", 30), IsEmpty());
  EXPECT_EQ(watchdog.seconds(), 16);
}

TEST(Watchdog, KeepsTimeoutOfDeviceThatCannotChangeIt) {
  Watchdog watchdog(device());
  device_options = WDIOF_MAGICCLOSE;
  device_seconds = 60;
  EXPECT_THAT(watchdog.arm("/dev/null", 30), IsEmpty());
  EXPECT_EQ(watchdog.seconds(), 60);
  EXPECT_THAT(device_calls, testing::ElementsAre("feed"));
}

TEST(Watchdog, ReportsDeviceThatCannotBeDisarmed) {
  Watchdog watchdog(device());
  device_options = 0;
  EXPECT_THAT(watchdog.arm("/dev/null", 30), IsEmpty());
  EXPECT_THAT(watchdog.disarm(), HasSubstr("will reset the machine"));
}

TEST(Watchdog, IsNotArmedWithoutKnownTimeout) {
  Watchdog watchdog(device());
  device_seconds = 0;
  EXPECT_THAT(watchdog.arm("/dev/null", 30), HasSubstr("does not report"));
  EXPECT_FALSE(watchdog.armed());
  EXPECT_THAT(device_calls.back(), "close");
}

TEST(Watchdog, RefusesOtherDevices) {
  Watchdog watchdog;
  EXPECT_THAT(watchdog.arm("/dev/null", 30), HasSubstr("is not a watchdog"));
  EXPECT_FALSE(watchdog.armed());
  EXPECT_THAT(watchdog.arm("/no/such/device", 30), HasSubstr("No such file"));
  EXPECT_THAT(watchdog.feed(), IsEmpty()) << "nothing is there to be fed";
}

TEST(Watchdog, AcceptsPlainFile) {
  const ScratchFolder folder;
  write_text(folder / "watchdog", "");
  Watchdog watchdog;
  EXPECT_THAT(watchdog.arm(folder / "watchdog", 5), IsEmpty());
  EXPECT_EQ(watchdog.seconds(), 5);
  EXPECT_THAT(watchdog.feed(), IsEmpty());
  EXPECT_EQ(read_text(folder / "watchdog"), std::string("\0\0", 2));
  EXPECT_THAT(watchdog.disarm(), IsEmpty());
  EXPECT_EQ(read_text(folder / "watchdog"), std::string("\0\0V", 3));
}

TEST(Watchdog, ReportsEachFailedCall) {
  const ScratchFolder folder;
  write_text(folder / "watchdog", "");
  for (int nth = 1;; ++nth) {
    Watchdog watchdog(failing_at(nth));
    std::string problem = watchdog.arm(folder / "watchdog", 5);
    EXPECT_EQ(watchdog.armed(), problem.empty()) << nth;
    if (problem.empty()) problem = watchdog.feed();
    if (problem.empty()) problem = watchdog.disarm();
    if (calls < nth) break;
    if (nth < 5) { EXPECT_THAT(problem, HasSubstr("watchdog")) << nth; } // open, two feedings, end; then close
  }
}

// ---- the executive ----

std::string shell(Ear& ear, const std::string& script) {
  const pid_t child = launch({.command = {"sh", "-c", script}, .ear = ear.name(), .microseconds = 2'000'000});
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return std::to_string(WEXITSTATUS(status));
}

TEST(LaunchedExecutive, ReceivesNotifySocketAndWatchdogVariables) {
  Ear ear;
  ASSERT_THAT(ear.open(), IsEmpty());
  EXPECT_EQ(shell(ear, "[ \"$NOTIFY_SOCKET\" = " + ear.name() +
                           " ] && [ $WATCHDOG_USEC = 2000000 ] && [ $WATCHDOG_PID = $$ ]"),
            "0");
  EXPECT_EQ(shell(ear, "exit 5"), "5");
  const pid_t child = launch({.command = {"/no/such/program"}, .ear = {}});
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 127);
}

TEST(LaunchedExecutive, MessagesOfOtherProcessesAreIgnored) {
  Ear ear;
  ASSERT_THAT(ear.open(), IsEmpty());
  const auto speaker = [&](const std::string& what) {
    return launch({.command = {"python3", "-c",
                               "import os, socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); "
                               "s.sendto(b'" +
                                   what + "', os.environ['NOTIFY_SOCKET'])"},
                   .ear = ear.name()});
  };
  const pid_t wanted = speaker("READY=1"), other = speaker("STOPPING=1");
  for (const pid_t child : {wanted, other}) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(ear.hear(wanted), "READY=1");
  EXPECT_EQ(ear.hear(wanted), std::nullopt);
}

// Another user could take every name that can be guessed, and fill the queue of a socket within reach.
TEST(LaunchedExecutive, NotifySocketOpensInPrivateFolderWhenNameIsTaken) {
  const std::string taken = "@rtexec-supervisor-" + std::to_string(::getpid());
  const int squatter = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  taken.copy(address.sun_path + 1, taken.size() - 1, 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + taken.size());
  ASSERT_EQ(::bind(squatter, reinterpret_cast<const sockaddr*>(&address), size), 0);
  std::string name;
  {
    Ear ear;
    ASSERT_THAT(ear.open(), IsEmpty());
    name = ear.name();
    const std::filesystem::path folder = std::filesystem::path(name).parent_path();
    EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(name).parent_path())) << "nothing is left";
  ::close(squatter);
}

TEST(Recordings, KeepOnlyTheNewest) {
  const ScratchFolder data;
  for (unsigned start = 1; start <= 30; ++start)
    write_text(std::filesystem::path(recording(data.path(), start)) / "snapshot-1/ust/uid/channel", "events");
  unsigned kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data / "recordings")) {
    EXPECT_GT(std::stoul(entry.path().filename()), 30 - kept_recordings);
    ++kept;
  }
  EXPECT_EQ(kept, kept_recordings);
  EXPECT_FALSE(std::filesystem::exists(recording(data.path(), 30))) << "it is to be new";
}

} // namespace
} // namespace rtexec::supervisor
