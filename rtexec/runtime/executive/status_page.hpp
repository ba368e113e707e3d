// The page by which other processes see a running executive (`rtexec top`): a file of shared memory,
// /dev/shm/rtexec.PID.NUMBER, with one number for each executive of the process. It belongs to the run, which removes
// it at its end; a run that was killed leaves it behind, and the next one, or a reader, removes it.
//
// Real-time threads take no part: a thread without real-time priority copies the counters that they keep anyway, and
// writes the whole page by one pwrite(). Neither side maps it, so nobody who cuts it short makes anybody fault, and a
// full file system is an error and no signal. Who reads while it is written gets contents that their digest does not
// fit, and reads again.
//
// Only the user who runs may read it (0600), and root: names, files and times of tasks are nobody else's business, and
// a schedule that is known is one that can be disturbed.
#pragma once

#include <rtexec/report.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/process.hpp"
#include "hal/resources.hpp"
#include "hal/thread.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::executive {

/// Fills the rest with zeros; what is too long ends in "...".
void put_text(std::span<char> into, std::string_view text);
/// Up to the first zero, without what would control a terminal, whoever wrote it. Lines are left.
[[nodiscard]] std::string get_text(std::span<const char> from);

/// Text in a page.
template <std::size_t Size> class Text {
 public:
  Text& operator=(std::string_view text) { return put_text(bytes_, text), *this; }
  [[nodiscard]] std::string text() const { return get_text(bytes_); }

 private:
  char bytes_[Size]{};
};

/// Where a task's job in progress is.
enum class TaskState : std::uint32_t { waiting_for_release, on_core, waiting_for_device, swapping, on_device };
[[nodiscard]] const char* describe(TaskState state);

/// What is counted up, by task: so far, or recently.
struct TaskActivity {
  std::uint64_t missed = 0;
  Duration on_core{0}, on_device{0}; // of jobs' parts that have ended
};

struct TaskStatus {
  Text<64> name;
  Duration period{0}, deadline{0};
  Duration bound{0}; // 0: none was promised
  std::uint32_t core = 0;
  TaskState state = TaskState::waiting_for_release;
  std::uint64_t released = 0, completed = 0, skipped = 0, aborted = 0, failed = 0;
  std::uint64_t may_pair = 0, paired = 0; // with jobs of others on the device: whether, and how many did
  Duration last_response{0}, max_response{0}, p50_response{0}, p99_response{0}, max_release_latency{0};
  TaskActivity total, recent;
  PartCounts above_wcet;
  std::uint64_t input_delays = 0, above_input_delay = 0; // jobs whose inputs were sampled before their release
  Duration max_input_delay{0};
};

/// The reactions of a chain.
struct ChainStatus {
  Text<64> name;
  Duration longest{0};
  Duration bound{0}; // 0: none was promised
  std::uint64_t reactions = 0, above = 0;
};

struct SwapActivity {
  Bytes in, out; // copied
};

struct RunStatus {
  Text<256> task_set;          // its file; empty: made in code
  Text<32> order, swap_policy; // the latter empty: nothing is swapped
  Text<64> device;
  Bytes used, context, demand, capacity, chunk; // of the device's memory
  Duration elapsed{0};
  Duration planned{0}; // 0: until it is stopped
  std::uint32_t compute_core = 0, service_core = 0;
  std::uint32_t proved = 0;
  std::uint32_t ended = 0; // it will not change any more
  Text<128> stopped_by;    // then
  SwapActivity swapped, swapped_recently;
  Duration recently{0}; // how long ago it was that the recent figures begin
  Instant written{};
  std::uint64_t writes = 0;
  Text<1024> degraded; // in lines
};

struct Snapshot {
  RunStatus run;
  std::vector<TaskStatus> tasks;
  std::vector<ChainStatus> chains;
};

inline constexpr const char* shared_memory_folder = "/dev/shm";

/// Writes the page of one run.
class StatusPublisher {
 public:
  static constexpr Duration usual_period = std::chrono::milliseconds(500);
  static constexpr std::size_t recent_writes = 10; // after which figures are not recent any more

  /// Brings figures up to date, all but those that are recent, of writing and of the end. Called by start(), the
  /// publisher's thread and end().
  using Fill = std::function<void(Snapshot&)>;
  /// Removes what others left behind in the folder, then publishes there. refused: no page can be made or written.
  [[nodiscard]] static Result<std::unique_ptr<StatusPublisher>> start(const std::filesystem::path& folder,
                                                                      Snapshot first, Fill fill,
                                                                      Duration period = usual_period);
  ~StatusPublisher(); // ends

  /// Writes a last time, and removes the page: who has it open still reads it. Once is enough.
  void end(std::string_view stopped_by);
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// Why the last write failed; empty: it did not.
  [[nodiscard]] std::string failure() const;

 private:
  struct Past {
    Instant at{};
    SwapActivity swapped;
    std::vector<TaskActivity> tasks;
  };

  StatusPublisher(Snapshot first, Fill fill, Duration period);
  [[nodiscard]] Result<> create(const std::filesystem::path& folder);
  void run();
  void publish();
  void note_recent();
  void write() noexcept;

  Fill fill_;
  Duration period_;
  Snapshot snapshot_;
  std::vector<Past> past_; // of the last writes, in turn
  std::vector<std::uint64_t> page_;
  std::filesystem::path file_;
  hal::FileDescriptor open_;
  std::atomic<int> error_{0};
  std::atomic<bool> ending_{false};
  hal::Signal wake_;
  hal::Thread thread_;
};

/// What every version of a page begins with: who wrote it.
struct PageOwner {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t process = 0;
  /// In clock ticks since the machine's start: tells apart processes that had the same number
  std::uint64_t process_start = 0;
  std::uint64_t process_namespace = 0; // in which `process` is its number; 0: unknown
  [[nodiscard]] config::Process identity() const;
};

/// Reads the page of one run, which may be another process's.
class StatusPage {
 public:
  /// refused: it is not there, somebody else's, or not its process's; unsupported: of another version; corrupted:
  /// damaged, or no page at all.
  [[nodiscard]] static Result<StatusPage> open(const std::filesystem::path& file);

  /// As it was last written. Tries again for two seconds while it is written. corrupted: it stays damaged, or its
  /// writer died while it wrote.
  [[nodiscard]] Result<Snapshot> read() const;
  [[nodiscard]] const PageOwner& owner() const { return owner_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// It is the last one: its run has ended, or its process has.
  [[nodiscard]] bool is_last() const;

 private:
  StatusPage(std::filesystem::path file, hal::FileDescriptor open, const PageOwner& owner)
      : file_(std::move(file)), open_(std::move(open)), owner_(owner) {}
  std::filesystem::path file_;
  hal::FileDescriptor open_;
  PageOwner owner_;
};

/// The pages in a folder, whatever their state, in the order of their names; links are none. Empty where there is no
/// such folder.
[[nodiscard]] std::vector<std::filesystem::path> status_pages(const std::filesystem::path& folder);

/// Removes pages whose process has ended, of any version; returns those that it could remove.
std::vector<std::filesystem::path> remove_stale_pages(const std::filesystem::path& folder);

} // namespace rtexec::executive
