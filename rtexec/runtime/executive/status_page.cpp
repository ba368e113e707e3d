#include "rtexec/runtime/executive/status_page.hpp"

#include "config/base/process.hpp"
#include "config/base/text.hpp"
#include "hal/digest.hpp"
#include "hal/machine_files.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <type_traits>
#include <unistd.h>

namespace rtexec::executive {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t magic = 0x7274657865637470; // "rtexectp"
constexpr std::uint32_t version = 5;                // must change whenever a struct of the page changes
constexpr const char* file_prefix = "rtexec.";
constexpr std::uint32_t max_tasks = 4096; // a page with more tasks, or more chains, counts as damaged
constexpr Duration retry_after = 5ms;
constexpr int max_tries = 400;

/// The header of a page. After the header follow RunStatus, a TaskStatus for each task and a ChainStatus for each
/// chain. The size of each of these structs is a multiple of a word.
struct PageHeader {
  PageOwner owner;
  std::uint64_t size = 0; // size of the whole page
  std::uint32_t run_size = sizeof(RunStatus);
  std::uint32_t task_size = sizeof(TaskStatus);
  std::uint32_t chain_size = sizeof(ChainStatus);
  std::uint32_t tasks = 0, chains = 0;
  std::uint32_t reserved = 0;
  std::uint64_t digest = 0; // digest of the whole page, computed with 0 in this field
};
static_assert(std::is_trivially_copyable_v<PageHeader> && sizeof(PageHeader) % sizeof(std::uint64_t) == 0);
static_assert(std::is_trivially_copyable_v<RunStatus> && sizeof(RunStatus) % sizeof(std::uint64_t) == 0);
static_assert(std::is_trivially_copyable_v<TaskStatus> && sizeof(TaskStatus) % sizeof(std::uint64_t) == 0);
static_assert(std::is_trivially_copyable_v<ChainStatus> && sizeof(ChainStatus) % sizeof(std::uint64_t) == 0);

constexpr std::size_t digest_word = offsetof(PageHeader, digest) / sizeof(std::uint64_t);

constexpr std::size_t size_of_page(std::size_t tasks, std::size_t chains) {
  return sizeof(PageHeader) + sizeof(RunStatus) + tasks * sizeof(TaskStatus) + chains * sizeof(ChainStatus);
}

template <class Item> std::span<std::byte> bytes_of(Item& item) { return std::as_writable_bytes(std::span(&item, 1)); }

/// Copies `bytes` to the beginning of `at`, and advances `at` by their size. take() copies in the other direction.
void put(std::span<std::byte>& at, std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, at.begin());
  at = at.subspan(bytes.size());
}
void take(std::span<const std::byte>& at, std::span<std::byte> bytes) {
  std::ranges::copy(at.first(bytes.size()), bytes.begin());
  at = at.subspan(bytes.size());
}

std::uint64_t digest_of(std::span<const std::uint64_t> words) {
  std::uint64_t digest = 0;
  for (std::size_t i = 0; i < words.size(); ++i) digest += hal::digest_low(words[i], i);
  return digest;
}

PageOwner this_process() {
  const auto self = config::Process::self();
  return {.magic = magic,
          .version = version,
          .process = self.number,
          .process_start = self.start,
          .process_namespace = self.name_space};
}

Unexpected<Error> damaged(const std::filesystem::path& file, const std::string& why) {
  return fail(Errc::corrupted, "the status page " + file.string() + " is damaged: " + why);
}

/// Reads from the beginning of the file into `into`. Returns the number of bytes read.
std::size_t read_from_begin(const hal::FileDescriptor& file, std::span<std::byte> into) {
  const ssize_t got = hal::sys().pread(file.number(), into.data(), into.size(), 0);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

std::optional<PageHeader> read_header(const hal::FileDescriptor& file) {
  PageHeader header;
  if (read_from_begin(file, bytes_of(header)) != sizeof(header)) return std::nullopt;
  return header;
}

/// Returns the defect of the header, or an empty text if the header is valid.
std::string problem_of(const PageHeader& header) {
  if (header.run_size != sizeof(RunStatus) || header.task_size != sizeof(TaskStatus) ||
      header.chain_size != sizeof(ChainStatus))
    return "its structures have other sizes than in this version";
  if (header.tasks > max_tasks) return "it has the impossible number of " + std::to_string(header.tasks) + " tasks";
  if (header.chains > max_tasks) return "it has the impossible number of " + std::to_string(header.chains) + " chains";
  if (header.size != size_of_page(header.tasks, header.chains))
    return "its size does not match its number of tasks and chains";
  return {};
}

/// Returns the contents of the page if it is complete and consistent, otherwise its defect.
Expected<Snapshot, std::string> decode(const hal::FileDescriptor& file) {
  const auto expected = read_header(file);
  if (!expected) return Unexpected("it is truncated");
  if (std::string problem = problem_of(*expected); !problem.empty()) return Unexpected(std::move(problem));
  std::vector<std::uint64_t> words(expected->size / sizeof(std::uint64_t));
  if (read_from_begin(file, std::as_writable_bytes(std::span(words))) != expected->size)
    return Unexpected("it is truncated");
  const std::uint64_t digest = std::exchange(words[digest_word], 0);
  if (digest != digest_of(words)) return Unexpected("its digest does not match its contents");

  Snapshot snapshot{.run = {},
                    .tasks = std::vector<TaskStatus>(expected->tasks),
                    .chains = std::vector<ChainStatus>(expected->chains)};
  std::span<const std::byte> from = std::as_bytes(std::span(words)).subspan(sizeof(PageHeader));
  take(from, bytes_of(snapshot.run));
  take(from, std::as_writable_bytes(std::span(snapshot.tasks)));
  take(from, std::as_writable_bytes(std::span(snapshot.chains)));
  return snapshot;
}

bool possible(const Snapshot& snapshot) {
  return std::ranges::all_of(snapshot.tasks, [](const TaskStatus& task) { return task.state <= TaskState::on_device; });
}

/// Returns the user to whom files of a process belong, or nullopt if the process has ended.
std::optional<uid_t> user_of(std::uint32_t process) {
  const auto status = hal::Machine().read("/proc/" + std::to_string(process) + "/status");
  const auto users = hal::field(status.value_or(""), "Uid:");
  std::istringstream words(users.value_or(""));
  uid_t real = 0, effective = 0, saved = 0, of_files = 0;
  return words >> real >> effective >> saved >> of_files ? std::optional(of_files) : std::nullopt;
}

/// Returns the reason why a page written by `user` cannot come from the process named in `owner`. Returns an empty text
/// if the page can come from that process, or if that process has ended. The user of a process in another PID namespace
/// is unknown. Pages of such processes are accepted only from root and the calling user.
std::string foreign(const PageOwner& owner, uid_t user) {
  const std::string named =
      "it was written by user " + std::to_string(user) + ", but process " + std::to_string(owner.process);
  if (!owner.identity().of_this_namespace())
    return user == 0 || user == ::geteuid() ? std::string() : named + " belongs to another container";
  const auto of_process = user_of(owner.process);
  if (!of_process || *of_process == user) return {};
  return named + " is user " + std::to_string(*of_process) + "'s";
}

} // namespace

// ---- contents ----

void put_text(std::span<char> into, std::string_view text) {
  constexpr std::string_view ellipsis = "...";
  const bool whole = text.size() < into.size();
  const auto kept = whole ? text : config::beginning(text, into.size() - 1 - ellipsis.size());
  std::ranges::fill(into, '\0');
  const auto end = std::ranges::copy(kept, into.begin()).out;
  if (!whole) std::ranges::copy(ellipsis, end);
}

std::string get_text(std::span<const char> from) {
  std::string text(from.begin(), std::ranges::find(from, '\0'));
  const auto controls = [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f); };
  std::ranges::replace_if(text, controls, '?');
  return text;
}

const char* describe(TaskState state) {
  switch (state) {
  case TaskState::waiting_for_release: return "waiting for release";
  case TaskState::on_core: return "on core";
  case TaskState::waiting_for_device: return "waiting for device";
  case TaskState::swapping: return "swapping";
  case TaskState::on_device: return "on device";
  }
  std::unreachable();
}

// ---- writing ----

StatusPublisher::StatusPublisher(Snapshot first, Fill fill, Duration period)
    : fill_(std::move(fill)),
      period_(period),
      snapshot_(std::move(first)),
      past_(recent_writes, {.at = {}, .swapped = {}, .tasks = std::vector<TaskActivity>(snapshot_.tasks.size())}),
      page_(size_of_page(snapshot_.tasks.size(), snapshot_.chains.size()) / sizeof(std::uint64_t)) {
  const std::size_t tasks = snapshot_.tasks.size(), chains = snapshot_.chains.size();
  PageHeader header{.owner = this_process(),
                    .size = size_of_page(tasks, chains),
                    .tasks = static_cast<std::uint32_t>(tasks),
                    .chains = static_cast<std::uint32_t>(chains)};
  std::span<std::byte> begin = std::as_writable_bytes(std::span(page_));
  put(begin, bytes_of(header));
}

Result<std::unique_ptr<StatusPublisher>> StatusPublisher::start(const std::filesystem::path& folder, Snapshot first,
                                                                Fill fill, Duration period) {
  remove_stale_pages(folder);
  std::unique_ptr<StatusPublisher> publisher(new StatusPublisher(std::move(first), std::move(fill), period));
  if (const auto created = publisher->create(folder); !created) return Unexpected(created.error());
  publisher->publish();
  if (publisher->error_.load() != 0) {
    hal::sys().unlink(publisher->file_.c_str());
    return fail(Errc::refused, publisher->failure());
  }
  auto thread =
      hal::Thread::start({.name = "status", .core = {}, .reservation = {}}, [self = publisher.get()] { self->run(); });
  if (!thread) {
    hal::sys().unlink(publisher->file_.c_str());
    return Unexpected(thread.error());
  }
  publisher->thread_ = std::move(*thread);
  return publisher;
}

/// Creates the page under the first free number. A number is not free if another user has created a file with its name.
Result<> StatusPublisher::create(const std::filesystem::path& folder) {
  static std::atomic<unsigned> numbers{0};
  int error = EEXIST;
  for (int tries = 0; tries < 16 && error == EEXIST; ++tries) {
    file_ = folder / (file_prefix + std::to_string(::getpid()) + "." + std::to_string(numbers.fetch_add(1)));
    const int opened = hal::sys().create(file_.c_str(), O_WRONLY | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    error = opened < 0 ? errno : 0;
    if (opened >= 0) open_ = hal::FileDescriptor(opened);
  }
  return error == 0 ? Result<>() : hal::call_failed("creating " + file_.string(), error);
}

StatusPublisher::~StatusPublisher() { end("request"); }

void StatusPublisher::end(std::string_view stopped_by) {
  if (ending_.exchange(true)) return;
  wake_.raise();
  if (thread_.kernel_id() == 0) return; // nothing to end: the thread was not started
  thread_.join();
  snapshot_.run.ended = 1;
  snapshot_.run.stopped_by = stopped_by;
  publish();
  hal::sys().unlink(file_.c_str());
}

std::string StatusPublisher::failure() const {
  const int error = error_.load();
  return error == 0 ? "" : "writing " + file_.string() + " failed: " + hal::errno_text(error);
}

void StatusPublisher::run() {
  for (;;) {
    const std::uint32_t seen = wake_.value();
    if (ending_.load()) return;
    publish();
    wake_.wait_until(seen, hal::now() + period_);
  }
}

void StatusPublisher::publish() {
  fill_(snapshot_);
  snapshot_.run.written = hal::now();
  note_recent();
  ++snapshot_.run.writes;
  write();
}

/// Computes the figures of the recent past: the growth of the counters since the oldest entry of `past_`. Then replaces
/// this entry by the present counters.
void StatusPublisher::note_recent() {
  RunStatus& run = snapshot_.run;
  const std::size_t place = run.writes % past_.size();
  if (run.writes == 0) past_[0].at = run.written;
  const Past& oldest = past_[run.writes < past_.size() ? 0 : place];
  run.recently = run.written - oldest.at;
  run.swapped_recently = {.in = run.swapped.in - oldest.swapped.in, .out = run.swapped.out - oldest.swapped.out};
  for (std::size_t i = 0; i < snapshot_.tasks.size(); ++i) {
    TaskStatus& task = snapshot_.tasks[i];
    const TaskActivity& before = oldest.tasks[i];
    task.recent = {.missed = task.total.missed - before.missed,
                   .on_core = task.total.on_core - before.on_core,
                   .on_device = task.total.on_device - before.on_device};
  }
  past_[place].at = run.written;
  past_[place].swapped = run.swapped;
  for (std::size_t i = 0; i < snapshot_.tasks.size(); ++i) past_[place].tasks[i] = snapshot_.tasks[i].total;
}

void StatusPublisher::write() noexcept {
  std::span<std::byte> to = std::as_writable_bytes(std::span(page_)).subspan(sizeof(PageHeader));
  put(to, bytes_of(snapshot_.run));
  put(to, std::as_bytes(std::span(snapshot_.tasks)));
  put(to, std::as_bytes(std::span(snapshot_.chains)));
  page_[digest_word] = 0;
  page_[digest_word] = digest_of(page_);
  const std::size_t size = page_.size() * sizeof(std::uint64_t);
  const ssize_t written = hal::sys().pwrite(open_.number(), page_.data(), size, 0);
  error_.store(written < 0 ? errno : static_cast<std::size_t>(written) != size ? ENOSPC : 0);
}

// ---- reading ----

config::Process PageOwner::identity() const {
  return {.number = process, .start = process_start, .name_space = process_namespace};
}

Result<StatusPage> StatusPage::open(const std::filesystem::path& file) {
  const int opened = hal::sys().open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0)
    return hal::call_failed("opening " + file.string(), errno,
                            errno == EACCES ? "Only the user of a run and root may read it." : "");
  hal::FileDescriptor descriptor(opened);
  struct stat status {};
  if (::fstat(opened, &status) != 0 || !S_ISREG(status.st_mode)) return damaged(file, "it is not a regular file");
  auto header = read_header(descriptor);
  for (int tries = 0; !header && tries < 10; ++tries) { // a page may exist before its header is written
    hal::sleep_until(hal::now() + retry_after);
    header = read_header(descriptor);
  }
  if (!header) return damaged(file, "it is truncated");
  if (header->owner.magic != magic) return damaged(file, "it does not begin like a status page of rtexec");
  if (header->owner.version != version)
    return fail(Errc::unsupported, "the status page " + file.string() + " is of version " +
                                       std::to_string(header->owner.version) + ", but this program reads version " +
                                       std::to_string(version) + "\n  use the rtexec of process " +
                                       std::to_string(header->owner.process) + " runs");
  if (const std::string why = foreign(header->owner, status.st_uid); !why.empty())
    return fail(Errc::refused, "the status page " + file.string() + " is rejected: " + why);
  return StatusPage(file, std::move(descriptor), header->owner);
}

Result<Snapshot> StatusPage::read() const {
  std::string problem;
  for (int tries = 0; tries < max_tries; ++tries) {
    const bool last = is_last();
    auto snapshot = decode(open_);
    if (snapshot && possible(*snapshot)) return std::move(*snapshot);
    if (snapshot) return damaged(file_, "a task has an unknown state");
    problem = std::move(snapshot.error());
    if (last) break; // the writer has ended and will not complete the page
    hal::sleep_until(hal::now() + retry_after);
  }
  return damaged(file_, problem);
}

bool StatusPage::is_last() const {
  struct stat status {};
  const bool removed = ::fstat(open_.number(), &status) == 0 && status.st_nlink == 0;
  return removed || !owner_.identity().alive();
}

std::vector<std::filesystem::path> status_pages(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> pages;
  std::error_code error;
  const std::filesystem::directory_iterator end;
  for (auto entry = std::filesystem::directory_iterator(folder, error); !error && entry != end; entry.increment(error))
    if (std::error_code gone; entry->path().filename().string().starts_with(file_prefix) &&
                              std::filesystem::is_regular_file(entry->symlink_status(gone)))
      pages.push_back(entry->path());
  std::ranges::sort(pages);
  return pages;
}

std::vector<std::filesystem::path> remove_stale_pages(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> removed;
  for (const std::filesystem::path& file : status_pages(folder)) {
    const hal::FileDescriptor descriptor(hal::sys().open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (descriptor.number() < 0) continue;
    const auto header = read_header(descriptor);
    if (!header || header->owner.magic != magic || header->owner.identity().alive()) continue;
    if (hal::sys().unlink(file.c_str()) == 0) removed.push_back(file);
  }
  return removed;
}

} // namespace rtexec::executive
