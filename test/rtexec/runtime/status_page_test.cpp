// Tests the page that shows a running executive. A reader sees one consistent state of the run, whatever happens to the
// page, its writer or the machine.
#include "rtexec/runtime/executive/status_page.hpp"

#include "hal/system.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/test_files.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rtexec::executive {
namespace {

using namespace test;
using testing::AnyOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;

Snapshot snapshot_of(std::size_t tasks) {
  Snapshot snapshot;
  snapshot.run.task_set = "set.toml";
  snapshot.chains.resize(2);
  snapshot.chains[1].name = "chain-1";
  snapshot.tasks.resize(tasks);
  for (std::size_t i = 0; i < tasks; ++i) snapshot.tasks[i].name = "task-" + std::to_string(i);
  return snapshot;
}

/// Fills pages such that every figure of the n-th state is n.
StatusPublisher::Fill counting() {
  return [n = std::uint64_t{0}](Snapshot& snapshot) mutable {
    ++n;
    snapshot.run.swapped = {.in = {n}, .out = {n}};
    for (ChainStatus& chain : snapshot.chains) chain.reactions = n, chain.longest = Duration(n);
    for (TaskStatus& task : snapshot.tasks) {
      task.released = task.completed = task.total.missed = n;
      task.total.on_device = Duration(n);
    }
  };
}

std::unique_ptr<StatusPublisher> publishing(const std::filesystem::path& folder, std::size_t tasks = 2,
                                            StatusPublisher::Fill fill = counting(),
                                            Duration period = StatusPublisher::usual_period) {
  auto publisher = StatusPublisher::start(folder, snapshot_of(tasks), std::move(fill), period);
  if (!publisher) throw std::runtime_error(publisher.error().what);
  return std::move(*publisher);
}

StatusPage opened(const std::filesystem::path& file) {
  auto page = StatusPage::open(file);
  if (!page) throw std::runtime_error(page.error().what);
  return std::move(*page);
}

Snapshot read(const std::filesystem::path& file) {
  auto snapshot = opened(file).read();
  if (!snapshot) throw std::runtime_error(snapshot.error().what);
  return std::move(*snapshot);
}

/// Reads until the page shows `wanted`, for at most half a minute.
template <class Wanted> Snapshot read_until(const StatusPage& page, Wanted wanted) {
  const Instant end = hal::now() + 30s;
  for (;;) {
    auto snapshot = page.read();
    if (!snapshot) throw std::runtime_error(snapshot.error().what);
    if (wanted(*snapshot)) return std::move(*snapshot);
    if (hal::now() > end) throw std::runtime_error("it was never shown");
    hal::sleep_until(hal::now() + 2ms);
  }
}

struct StatusPageTest : testing::Test {
  ScratchFolder folder;

  /// Makes a page whose writer was killed.
  std::filesystem::path left_behind() const {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto publisher = publishing(folder.path());
      ::raise(SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    for (const auto& file : status_pages(folder.path()))
      if (file.filename().string().starts_with("rtexec." + std::to_string(child) + ".")) return file;
    throw std::runtime_error("it left no page behind");
  }
  /// Makes a damaged page of a running process.
  std::filesystem::path changed(std::size_t place, std::uint8_t by) const {
    const auto publisher = publishing(folder.path());
    return copy(publisher->file(), [&](std::string& page) {
      page[place] = static_cast<char>(static_cast<std::uint8_t>(page[place]) ^ by);
    });
  }
  template <class Change> std::filesystem::path copy(const std::filesystem::path& from, Change change) const {
    std::string page = read_text(from);
    change(page);
    const auto file = folder / "rtexec.copy";
    write_text(file, page);
    return file;
  }
};

// ---- contents ----

TEST_F(StatusPageTest, ReadsWhatWasWritten) {
  const auto publisher = publishing(folder.path(), 3);
  const Snapshot snapshot = read(publisher->file());
  EXPECT_EQ(snapshot.run.task_set.text(), "set.toml");
  EXPECT_GE(snapshot.run.writes, 1u);
  EXPECT_EQ(snapshot.run.ended, 0u);
  ASSERT_EQ(snapshot.tasks.size(), 3u);
  EXPECT_EQ(snapshot.tasks[2].name.text(), "task-2");
  EXPECT_EQ(snapshot.tasks[2].released, snapshot.run.writes);
  ASSERT_EQ(snapshot.chains.size(), 2u);
  EXPECT_EQ(snapshot.chains[1].name.text(), "chain-1");
  EXPECT_EQ(snapshot.chains[1].reactions, snapshot.run.writes);
}

TEST_F(StatusPageTest, ReadersSeeConsistentStatesInOrder) {
  hal::System slow = hal::linux_system();
  slow.pwrite = [](int file, const void* from, std::size_t size, off_t) -> ssize_t {
    const auto* bytes = static_cast<const char*>(from);
    const ssize_t half = ::pwrite(file, bytes, size / 2, 0);
    hal::sleep_until(hal::now() + 300us);
    return half + ::pwrite(file, bytes + half, size - size / 2, half);
  };
  const hal::SystemOverride override(slow);
  const auto publisher = publishing(folder.path(), 60, counting(), 700us);
  std::atomic<std::uint64_t> reads{0};
  const auto reader = [&] {
    const StatusPage page = opened(publisher->file());
    for (std::uint64_t last = 0; reads.fetch_add(1) < 500;) {
      const auto snapshot = page.read();
      ASSERT_TRUE(snapshot) << snapshot.error().what;
      const std::uint64_t now = snapshot->run.writes;
      EXPECT_GE(now, last) << "it went back";
      EXPECT_EQ(snapshot->run.swapped.in.count, now);
      for (const TaskStatus& task : snapshot->tasks) {
        ASSERT_EQ(task.released, now) << "half of another state";
        ASSERT_EQ(task.total.on_device, Duration(now));
      }
      last = now;
    }
  };
  std::jthread one(reader), other(reader);
}

TEST_F(StatusPageTest, RecentValuesCoverLastWrites) {
  const auto publisher = publishing(folder.path(), 1, counting(), 0ns);
  const StatusPage page = opened(publisher->file());
  const Snapshot snapshot =
      read_until(page, [](const Snapshot& now) { return now.run.writes > 3 * StatusPublisher::recent_writes; });
  EXPECT_EQ(snapshot.tasks[0].recent.missed, StatusPublisher::recent_writes);
  EXPECT_EQ(snapshot.run.swapped_recently.out.count, StatusPublisher::recent_writes);
  EXPECT_GT(snapshot.run.recently, 0ns);
}

TEST_F(StatusPageTest, RemovesPageAtEndWhileReadersSeeFinalState) {
  const auto publisher = publishing(folder.path());
  const StatusPage page = opened(publisher->file());
  EXPECT_FALSE(page.is_last());
  publisher->end("duration");
  EXPECT_TRUE(page.is_last());
  EXPECT_FALSE(std::filesystem::exists(publisher->file()));
  const auto last = page.read();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->run.ended, 1u);
  EXPECT_EQ(last->run.stopped_by.text(), "duration");
  publisher->end("again");
  EXPECT_EQ(page.read()->run.stopped_by.text(), "duration");
}

TEST_F(StatusPageTest, GivesEachRunOfOneProcessSeparatePage) {
  const auto one = publishing(folder.path(), 1), other = publishing(folder.path(), 2);
  EXPECT_NE(one->file(), other->file());
  EXPECT_EQ(status_pages(folder.path()).size(), 2u);
  EXPECT_EQ(read(one->file()).tasks.size(), 1u);
  EXPECT_EQ(read(other->file()).tasks.size(), 2u);
}

TEST_F(StatusPageTest, SkipsFileNameThatIsTaken) {
  const auto first = publishing(folder.path());
  const std::string name = first->file().filename().string();
  const std::size_t dot = name.rfind('.');
  const auto taken = folder / (name.substr(0, dot + 1) + std::to_string(std::stoi(name.substr(dot + 1)) + 1));
  write_text(taken, "mine");
  const auto second = publishing(folder.path());
  EXPECT_NE(second->file(), taken);
  EXPECT_EQ(read_text(taken), "mine");
}

TEST(StatusText, IsCutAtCharacterBoundaryAndFreeOfControlCharacters) {
  Text<16> text;
  text = "short";
  EXPECT_EQ(text.text(), "short");
  text = "0123456789012345";
  EXPECT_EQ(text.text(), "012345678901...");
  text = "01234567890\xc3\xa9 and more";
  EXPECT_EQ(text.text(), "01234567890...");
  text = "\033[2Jboo\x7f";
  EXPECT_EQ(text.text(), "?[2Jboo?");
}

// ---- permissions ----

TEST_F(StatusPageTest, IsReadableByItsUserOnly) {
  const auto publisher = publishing(folder.path());
  struct stat status {};
  ASSERT_EQ(::stat(publisher->file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);

  hal::System refusing = hal::linux_system();
  refusing.open = [](const char*, int) { return errno = EACCES, -1; };
  const hal::SystemOverride override(refusing);
  const auto page = StatusPage::open(publisher->file());
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, Errc::refused);
  EXPECT_THAT(page.error().what, HasSubstr("Permission denied"));
}

// ---- damaged pages ----

TEST_F(StatusPageTest, RefusesPageWhoseOwnerIsNotUserOfNamedProcess) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const auto publisher = publishing(folder.path());
  ASSERT_EQ(::chown(publisher->file().c_str(), 54321, 54321), 0);
  const auto page = StatusPage::open(publisher->file());
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, Errc::refused);
  EXPECT_THAT(page.error().what,
              HasSubstr("was written by user 54321, but process " + std::to_string(::getpid()) + " is user 0's"));
}

TEST_F(StatusPageTest, AcceptsPageOfAnotherContainerOnlyFromRootOrSameUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const auto file = changed(offsetof(PageOwner, process_namespace), 1);
  EXPECT_TRUE(StatusPage::open(file));
  ASSERT_EQ(::chown(file.c_str(), 54321, 54321), 0);
  const auto page = StatusPage::open(file);
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().what, HasSubstr("is rejected"));
}

TEST_F(StatusPageTest, IgnoresLinksAndFoldersNamedLikePages) {
  const auto publisher = publishing(folder.path());
  std::filesystem::create_symlink("/etc/passwd", folder / "rtexec.1.0");
  std::filesystem::create_directory(folder / "rtexec.2.0");
  EXPECT_THAT(status_pages(folder.path()), ElementsAre(publisher->file()));
}

TEST_F(StatusPageTest, RejectsInvalidTaskStateWithoutRetry) {
  static std::atomic<int> sleeps;
  const auto publisher = publishing(
      folder.path(), 2, [](Snapshot& snapshot) { snapshot.tasks[1].state = static_cast<TaskState>(77); }, 1h);
  const StatusPage page = opened(publisher->file());
  hal::System counting = hal::sys();
  counting.clock_nanosleep = [](clockid_t, int, const timespec*, timespec*) { return ++sleeps, 0; };
  const hal::SystemOverride override(counting);
  const auto snapshot = page.read();
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().what, HasSubstr("an unknown state"));
  EXPECT_EQ(sleeps, 0);
}

TEST_F(StatusPageTest, PageOfKilledProcessShowsLastStateUntilRemoved) {
  const auto file = left_behind();
  const StatusPage page = opened(file);
  EXPECT_TRUE(page.is_last());
  EXPECT_EQ(read(file).run.ended, 0u);
  EXPECT_THAT(remove_stale_pages(folder.path()), ElementsAre(file));
  EXPECT_TRUE(status_pages(folder.path()).empty());
}

TEST_F(StatusPageTest, NextRunRemovesStalePage) {
  const auto file = left_behind();
  const auto publisher = publishing(folder.path());
  EXPECT_THAT(status_pages(folder.path()), ElementsAre(publisher->file()));
}

TEST_F(StatusPageTest, KeepsFilesNotKnownToBeStale) {
  const auto running = publishing(folder.path());
  write_text(folder / "rtexec.1.0",
             "somebody's file, which begins with something else than a page does, and is long enough to hold a header");
  write_text(folder / "rtexec.1.1", "");
  const auto other = copy(left_behind(), [](std::string& page) { page[offsetof(PageOwner, process_namespace)] ^= 1; });
  EXPECT_EQ(remove_stale_pages(folder.path()).size(), 1u) << "the one that was copied";
  EXPECT_TRUE(std::filesystem::exists(other)) << "its process has its number somewhere else";
  EXPECT_EQ(status_pages(folder.path()).size(), 4u);
}

TEST_F(StatusPageTest, PageIsStaleWhenProcessIdWasReused) {
  const auto file = changed(offsetof(PageOwner, process_start), 1);
  EXPECT_TRUE(opened(file).is_last());
  EXPECT_THAT(remove_stale_pages(folder.path()), ElementsAre(file));
}

TEST_F(StatusPageTest, ReportsUnsupportedVersion) {
  const auto page = StatusPage::open(changed(offsetof(PageOwner, version), 1));
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, Errc::unsupported);
  EXPECT_THAT(page.error().what, HasSubstr("version 4"));
}

TEST_F(StatusPageTest, RejectsTruncatedPage) {
  const auto file = left_behind();
  for (std::size_t size = std::filesystem::file_size(file); size-- > 0; size -= std::min<std::size_t>(size, 13)) {
    const auto cut = copy(file, [&](std::string& page) { page.resize(size); });
    const auto page = StatusPage::open(cut);
    const auto snapshot = page ? page->read() : Result<Snapshot>(Unexpected(page.error()));
    ASSERT_FALSE(snapshot) << size;
    EXPECT_EQ(snapshot.error().code, Errc::corrupted) << size;
    EXPECT_THAT(snapshot.error().what, HasSubstr("damaged")) << size;
    if (size < 100) break;
  }
  EXPECT_THAT(StatusPage::open(copy(file, [](std::string& page) { page.clear(); })).error().what,
              HasSubstr("truncated"));
}

TEST_F(StatusPageTest, RejectsPageThatShrinksWhileOpen) {
  const auto file = left_behind();
  const StatusPage page = opened(file);
  std::filesystem::resize_file(file, 100);
  EXPECT_EQ(page.read().error().code, Errc::corrupted);
}

TEST_F(StatusPageTest, RejectsPageWithAnyByteChanged) {
  const auto file = left_behind();
  const std::size_t size = std::filesystem::file_size(file);
  for (std::size_t place = 0; place < size; place += place < 120 ? 1 : 7) {
    const auto wrong = copy(file, [&](std::string& page) { page[place] = static_cast<char>(page[place] ^ 0x41); });
    const auto page = StatusPage::open(wrong);
    if (!page) {
      // It was refused because it seems to belong to another process, whose owner differs.
      EXPECT_THAT(page.error().code, AnyOf(Errc::corrupted, Errc::unsupported, Errc::refused)) << place;
      continue;
    }
    if (!page->is_last()) continue; // it seems to belong to another process, which may repair it
    const auto snapshot = page->read();
    ASSERT_FALSE(snapshot) << place;
    EXPECT_EQ(snapshot.error().code, Errc::corrupted) << place;
  }
}

TEST_F(StatusPageTest, RejectsDamagedPageOfRunningProcess) {
  const auto publisher = publishing(folder.path());
  const auto wrong = copy(publisher->file(), [](std::string& page) { page.back() = 'x'; });
  const auto snapshot = opened(wrong).read();
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().what, HasSubstr("does not match its contents"));
}

// ---- machines without status pages ----

TEST_F(StatusPageTest, PublishesNothingWhenFolderIsMissing) {
  const auto publisher = StatusPublisher::start(folder / "none", snapshot_of(1), counting());
  ASSERT_FALSE(publisher);
  EXPECT_EQ(publisher.error().code, Errc::refused);
  EXPECT_THAT(publisher.error().what, HasSubstr("none"));
  EXPECT_TRUE(status_pages(folder / "none").empty());
  EXPECT_TRUE(remove_stale_pages(folder / "none").empty());
}

TEST_F(StatusPageTest, ReportsFullFolderAndLeavesNoFile) {
  hal::System full = hal::linux_system();
  full.pwrite = [](int, const void*, std::size_t, off_t) -> ssize_t { return errno = ENOSPC, -1; };
  {
    const hal::SystemOverride override(full);
    const auto publisher = StatusPublisher::start(folder.path(), snapshot_of(1), counting());
    ASSERT_FALSE(publisher);
    EXPECT_THAT(publisher.error().what, HasSubstr("No space left"));
    EXPECT_TRUE(status_pages(folder.path()).empty());
  }
  const auto publisher = publishing(folder.path());
  const hal::SystemOverride override(full);
  publisher->end("request");
  EXPECT_THAT(publisher->failure(), HasSubstr("No space left"));
  EXPECT_TRUE(status_pages(folder.path()).empty());
}

// ---- executives ----

struct ExecutiveStatusPage : StatusPageTest {
  TaskSet set = set_of({synthetic("fast", 20ms, {.before = 200us, .device = 1ms, .after = 200us}),
                        synthetic("slow", 80ms, {.before = 1ms, .device = 4ms, .after = 1ms})},
                       endless);
  Executive executive(executive::Setup setup = {}) const {
    setup.status_folder = folder.path();
    return made(set, std::move(setup));
  }
};

TEST_F(ExecutiveStatusPage, HasCountersOfReport) {
  Executive executive = this->executive();
  begun(executive);
  const std::string file = executive.progress().status_page->file;
  const StatusPage page = opened(file);
  std::vector<TaskStatus> before(2);
  while (before[1].completed < 15) {
    executive.wait(20ms);
    const Snapshot now = page.read().value();
    for (std::size_t i = 0; i < 2; ++i) {
      const TaskStatus &task = now.tasks[i], &last = before[i];
      EXPECT_LE(task.completed + task.aborted + task.failed, task.released);
      EXPECT_LE(task.released - task.completed - task.aborted - task.failed, 1u) << "one job at a time";
      EXPECT_GE(task.released, last.released);
      EXPECT_GE(task.completed, last.completed);
      EXPECT_GE(task.total.on_device, last.total.on_device);
      EXPECT_LE(task.recent.missed, task.total.missed);
      EXPECT_LE(task.p50_response, task.p99_response);
      EXPECT_LE(task.p99_response, task.max_response);
    }
    before = now.tasks;
  }
  const Report report = executive.stop();
  const Snapshot last = page.read().value();
  EXPECT_EQ(last.run.ended, 1u);
  EXPECT_EQ(last.run.stopped_by.text(), "request");
  EXPECT_EQ(last.run.device.text(), report.device->name);
  EXPECT_EQ(last.run.proved, 1u);
  EXPECT_EQ(last.run.order.text(), "edf");
  EXPECT_GT(last.run.elapsed, 1s);
  for (std::size_t i = 0; i < 2; ++i) {
    const TaskStatus& shown = last.tasks[i];
    const TaskReport& reported = report.tasks[i];
    EXPECT_EQ(shown.name.text(), reported.name);
    EXPECT_EQ(shown.period, set.tasks[i].period);
    EXPECT_EQ(shown.bound, *reported.bound);
    EXPECT_EQ(shown.released, reported.released);
    EXPECT_EQ(shown.completed, reported.completed);
    EXPECT_EQ(shown.total.missed, reported.missed);
    EXPECT_EQ(shown.skipped, reported.skipped);
    EXPECT_EQ(shown.above_wcet.all(), reported.above_wcet.all());
    EXPECT_EQ(shown.input_delays, reported.input_delay.count);
    EXPECT_EQ(shown.above_input_delay, reported.input_delay.violations);
    EXPECT_EQ(shown.max_input_delay, reported.input_delay.times.max);
    EXPECT_EQ(shown.max_response, reported.response.max);
    EXPECT_EQ(shown.p50_response, reported.response.p50);
    EXPECT_EQ(shown.max_release_latency, reported.release_latency.max);
    EXPECT_GE(shown.total.on_device, reported.observed.device);
    EXPECT_LE(shown.total.on_device, reported.observed.device * shown.completed);
    EXPECT_GT(shown.total.on_core, 0ns);
    EXPECT_EQ(shown.state, TaskState::waiting_for_release);
  }
  EXPECT_EQ(report.status_page->file, file);
  EXPECT_EQ(report.status_page->failure, "");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(ExecutiveStatusPage, ReaderMakesNoThreadAllocateLockOrFault) {
  set.executive.duration = 1s;
  Executive executive = this->executive();
  begun(executive);
  std::atomic<bool> over{false};
  std::jthread reader([&, page = opened(executive.progress().status_page->file)] {
    while (!over.load()) {
      EXPECT_TRUE(page.read());
      hal::sleep_until(hal::now() + 1ms);
    }
  });
  expect_real_time(executive, [&] { executive.wait(); });
  over.store(true);
}

TEST_F(ExecutiveStatusPage, RunContinuesWhenPageCannotBePublished) {
  executive::Setup setup;
  setup.status_folder = folder / "none";
  Executive executive = made(set, std::move(setup));
  begun(executive);
  run_until(executive, [&] { return executive.progress().tasks[0].completed > 0; });
  const Report report = executive.stop();
  EXPECT_GT(report.tasks[0].completed, 0u);
  EXPECT_EQ(report.status_page->file, "");
  EXPECT_THAT(report.status_page->failure, HasSubstr("none"));
  for (const std::string& line : report.degraded)
    EXPECT_EQ(line.find("none"), std::string::npos) << "nothing of the promise is lost";
}

TEST_F(ExecutiveStatusPage, ExistsOnlyWhileExecutiveRuns) {
  {
    Executive executive = this->executive();
    EXPECT_TRUE(status_pages(folder.path()).empty()) << "it does not run yet";
    begun(executive);
    EXPECT_EQ(status_pages(folder.path()).size(), 1u);
  }
  EXPECT_TRUE(status_pages(folder.path()).empty());
}

TEST_F(ExecutiveStatusPage, ShowsSwappedBytes) {
  const Hashing::Shape shape{.constant = Bytes{0}, .scratch = Bytes{0}, .state = small_chunk * 4};
  const HashingTasks hashing({shape, shape});
  executive::Setup setup = hashing.setup();
  setup.status_folder = folder.path();
  Executive executive =
      made(swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 6), std::move(setup));
  begun(executive);
  const StatusPage page = opened(executive.progress().status_page->file);
  run_until(executive, [&] { return page.read()->run.swapped_recently.in > Bytes{0}; });
  const SwapReport swap = *executive.stop().swap;
  const Snapshot last = page.read().value();
  EXPECT_EQ(last.run.swap_policy.text(), "pipelined");
  EXPECT_EQ(last.run.swapped.in, swap.in);
  EXPECT_EQ(last.run.swapped.out, swap.out);
  EXPECT_GT(swap.in, Bytes{0});
}

/// A workload that stays in one of its parts for as long as the test demands.
class Held final : public Workload {
 public:
  enum class Part { none, before, execute };
  explicit Held(std::shared_ptr<std::atomic<Part>> where) : where_(std::move(where)) {}
  MemoryDemand memory() const override { return {.constant = {}, .scratch = {}, .state = Bytes{8}}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "held"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t) noexcept override { return stay(Part::before); }
  Status execute() noexcept override { return stay(Part::execute); }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  Status stay(Part part) const noexcept {
    while (where_->load() == part) hal::sleep_until(hal::now() + 1ms);
    return {};
  }
  std::shared_ptr<std::atomic<Part>> where_;
};

TEST_F(ExecutiveStatusPage, ShowsStateOfEachTask) {
  const auto slow = std::make_shared<std::atomic<Held::Part>>(Held::Part::none);
  const auto fast = std::make_shared<std::atomic<Held::Part>>(Held::Part::none);
  executive::Setup setup;
  setup.workloads["fast"] = std::make_unique<Held>(fast);
  setup.workloads["slow"] = std::make_unique<Held>(slow);
  Executive executive = this->executive(std::move(setup));
  begun(executive);
  const StatusPage page = opened(executive.progress().status_page->file);
  const auto shows = [&](TaskState of_fast, TaskState of_slow) {
    read_until(page,
               [&](const Snapshot& now) { return now.tasks[0].state == of_fast && now.tasks[1].state == of_slow; });
  };
  slow->store(Held::Part::execute);
  shows(TaskState::waiting_for_device, TaskState::on_device);
  fast->store(Held::Part::before);
  slow->store(Held::Part::before);
  shows(TaskState::on_core, TaskState::on_core);
  fast->store(Held::Part::none);
  slow->store(Held::Part::none);
  shows(TaskState::waiting_for_release, TaskState::waiting_for_release);
  executive.stop();
}

} // namespace
} // namespace rtexec::executive
