// The status page, by which other processes (`rtexec top`) see a running executive. The page is a file of shared
// memory, /dev/shm/rtexec.PID.NUMBER; NUMBER distinguishes executives of one process. The run removes its page when it
// ends. A killed run leaves its page behind; the next run, or a reader, removes this page.
//
// Real-time threads do not write the page. A thread without real-time priority copies the counters of real-time
// threads, and writes the whole page by one pwrite(). Neither the writer nor a reader maps the file. Therefore, a
// shortened file raises no SIGBUS, and a full file system is an ordinary error. A wrong digest means that the page was
// read during a write; the reader then reads again.
//
// Only the user of the run and root may read the page (mode 0600). Names, files and times of tasks are confidential: an
// attacker who knows a schedule can disturb it.
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

/// Copies `text` into `into`, and fills the rest with zeros. If `text` is too long, cuts it, and ends it in "...".
void put_text(std::span<char> into, std::string_view text);
/// Returns the text up to the first zero. Replaces terminal control characters, because the writer is not trusted.
/// Keeps line ends.
[[nodiscard]] std::string get_text(std::span<const char> from);

/// A text of fixed size in a page.
template <std::size_t Size> class Text {
 public:
  Text& operator=(std::string_view text) { return put_text(bytes_, text), *this; }
  [[nodiscard]] std::string text() const { return get_text(bytes_); }

 private:
  char bytes_[Size]{};
};

/// The state of a task's current job.
enum class TaskState : std::uint32_t { waiting_for_release, on_core, waiting_for_device, swapping, on_device };
[[nodiscard]] const char* describe(TaskState state);

/// Counters of a task, in total or over the recent past.
struct TaskActivity {
  std::uint64_t missed = 0;
  Duration on_core{0}, on_device{0}; // sums over the parts of jobs that have ended
};

struct TaskStatus {
  Text<64> name;
  Duration period{0}, deadline{0};
  Duration bound{0}; // bound on the response time; 0: no bound was proved
  std::uint32_t core = 0;
  TaskState state = TaskState::waiting_for_release;
  std::uint64_t released = 0, completed = 0, skipped = 0, aborted = 0, failed = 0;
  /// `may_pair`: 1 if the task's jobs may co-run, else 0. `paired`: the number of jobs that co-ran.
  std::uint64_t may_pair = 0, paired = 0;
  Duration last_response{0}, max_response{0}, p50_response{0}, p99_response{0}, max_release_latency{0};
  TaskActivity total, recent;
  PartCounts above_wcet;
  /// The number of jobs whose inputs were sampled before their release, and the number of jobs whose input delay
  /// exceeded the bound.
  std::uint64_t input_delays = 0, above_input_delay = 0;
  Duration max_input_delay{0};
};

/// The reaction times of a chain.
struct ChainStatus {
  Text<64> name;
  Duration longest{0};
  Duration bound{0}; // bound on the reaction time; 0: no bound was proved
  std::uint64_t reactions = 0, above = 0;
};

struct SwapActivity {
  Bytes in, out; // bytes copied in and out
};

struct RunStatus {
  Text<256> task_set;          // the set's file; empty: the set was built in code
  Text<32> order, swap_policy; // swap_policy is empty if nothing is swapped
  Text<64> device;
  Bytes used, context, demand, capacity, chunk; // sizes in the device's memory (DeviceReport, Plan)
  Duration elapsed{0};
  Duration planned{0}; // planned length of the run; 0: it runs until it is stopped
  std::uint32_t compute_core = 0, service_core = 0;
  std::uint32_t proved = 0;
  std::uint32_t ended = 0; // 1: the page will not change any more; 0: the run continues
  Text<128> stopped_by;    // set when the run has ended
  SwapActivity swapped, swapped_recently;
  Duration recently{0}; // length of the recent past that the members `recent` cover
  Instant written{};
  std::uint64_t writes = 0;
  Text<1024> degraded; // the refused requirements, one per line
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
  static constexpr std::size_t recent_writes = 10; // the number of writes that the recent past spans

  /// A function that updates the snapshot. The function must not change the figures of the recent past, nor the fields
  /// that describe the writing and the end of the run. Called by start(), the publisher's thread and end().
  using Fill = std::function<void(Snapshot&)>;
  /// Removes the pages of processes that have ended from the folder, and then publishes a page there. Returns refused
  /// if no page can be created or written.
  [[nodiscard]] static Result<std::unique_ptr<StatusPublisher>> start(const std::filesystem::path& folder,
                                                                      Snapshot first, Fill fill,
                                                                      Duration period = usual_period);
  ~StatusPublisher(); // calls end()

  /// Writes the page for the last time, and then removes it. Readers that have the page open can still read it. Further
  /// calls have no effect.
  void end(std::string_view stopped_by);
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// Returns the error of the last write, or an empty text if the last write succeeded.
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
  std::vector<Past> past_; // a ring buffer with the counters at the last writes
  std::vector<std::uint64_t> page_;
  std::filesystem::path file_;
  hal::FileDescriptor open_;
  std::atomic<int> error_{0};
  std::atomic<bool> ending_{false};
  hal::Signal wake_;
  hal::Thread thread_;
};

/// The process that writes a page. Every version of the page format begins with this struct.
struct PageOwner {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t process = 0;
  /// The start of the process, in clock ticks since the machine's start. The start distinguishes a process from an
  /// earlier process with the same number
  std::uint64_t process_start = 0;
  std::uint64_t process_namespace = 0; // the PID namespace of `process`; 0: unknown
  [[nodiscard]] config::Process identity() const;
};

/// Reads the status page of a run of this or another process.
class StatusPage {
 public:
  /// Opens a page. Returns refused if the file does not exist, belongs to another user, or was not written by the
  /// process that the page names. Returns unsupported if the page's version differs from the version that this program
  /// reads. Returns corrupted if the file is damaged, or is not a status page.
  [[nodiscard]] static Result<StatusPage> open(const std::filesystem::path& file);

  /// Returns the state that was written last. If the page is being written, retries for up to two seconds. Returns
  /// corrupted if the page stays damaged, or if its writer died during a write.
  [[nodiscard]] Result<Snapshot> read() const;
  [[nodiscard]] const PageOwner& owner() const { return owner_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// True if the page will not change any more, because its run or its process has ended.
  [[nodiscard]] bool is_last() const;

 private:
  StatusPage(std::filesystem::path file, hal::FileDescriptor open, const PageOwner& owner)
      : file_(std::move(file)), open_(std::move(open)), owner_(owner) {}
  std::filesystem::path file_;
  hal::FileDescriptor open_;
  PageOwner owner_;
};

/// Returns the files of all status pages in a folder, whatever their state, sorted by name. Symbolic links are ignored.
/// Empty if the folder does not exist.
[[nodiscard]] std::vector<std::filesystem::path> status_pages(const std::filesystem::path& folder);

/// Removes pages of any version whose process has ended. Returns the removed files.
std::vector<std::filesystem::path> remove_stale_pages(const std::filesystem::path& folder);

} // namespace rtexec::executive
