#include "traces/recording/lttng_session.hpp"

#include "config/base/descriptor.hpp"
#include "config/base/output_path.hpp"
#include "config/base/process.hpp"
#include "traces/emit.hpp"
#include "traces/recording/wait.hpp"

#include <lttng/lttng.h>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace rtexec::traces {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration timeout = 10s;
constexpr Duration most = 30s; // time limit of start() and of stop(), for all their commands to the daemon
constexpr std::uint64_t largest_event = 128; // bytes of an event in a buffer, except for set-up events
constexpr Duration written_every = 1s;       // maximum time until events in memory are written to files
constexpr std::uint64_t files_of_a_core = 8; // number of files of each core, in a recording with a size limit
constexpr const char* setup_channel = "setup";
constexpr const char* events_channel = "events";
constexpr const char* shared_memory = "/dev/shm";

/// Returns the names of the events that are emitted once before the first job. If `layers`, includes layer_info.
std::vector<std::string> setup_events(bool layers) {
  std::vector<std::string> all;
#define RTEXEC_SETUP_EVENT(event, ...) all.emplace_back("rtexec:" #event);
#define RTEXEC_EVENT(...)
#include "traces/events.inc"
  if (!layers) std::erase(all, "rtexec:layer_info");
  return all;
}

template <auto destroy> struct Destroy {
  template <class T> void operator()(T* object) const { destroy(object); }
};
using Handle = std::unique_ptr<lttng_handle, Destroy<lttng_destroy_handle>>;
using Channel = std::unique_ptr<lttng_channel, Destroy<lttng_channel_destroy>>;
using Event = std::unique_ptr<lttng_event, Destroy<lttng_event_destroy>>;
using Descriptor = std::unique_ptr<lttng_session_descriptor, Destroy<lttng_session_descriptor_destroy>>;
using Output = std::unique_ptr<lttng_snapshot_output, Destroy<lttng_snapshot_output_destroy>>;
using Destruction = std::unique_ptr<lttng_destruction_handle, Destroy<lttng_destruction_handle_destroy>>;

Unexpected<Error> refused(const std::string& what) { return fail(Errc::refused, "tracing: " + what); }

/// Returns an error for `code`, a result of liblttng-ctl: either negative or a positive lttng_error_code.
Unexpected<Error> refused_by_lttng(const std::string& doing, int code) {
  return refused(doing + ": LTTng says: " + lttng_strerror(-std::abs(code)));
}

lttng_domain user_space() {
  lttng_domain domain{};
  domain.type = LTTNG_DOMAIN_UST;
  domain.buf_type = LTTNG_BUFFER_PER_UID;
  return domain;
}

std::uint64_t cores() { return static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF))); }

/// The sizes of each core's ring buffers.
struct Buffers {
  std::uint64_t size;  // size of a sub-buffer in bytes, a power of two
  std::uint64_t count; // number of sub-buffers
  // Size in bytes and number of a core's output files. 0: one file without a limit. Otherwise a new file overwrites the
  // oldest file
  std::uint64_t file = 0, files = 0;
  [[nodiscard]] Bytes all() const { return Bytes{size * count * cores()}; }
};

/// Returns the buffers of channel `events`. A snapshot loses a part of one sub-buffer of each core, so it loses less if
/// there are more sub-buffers.
Buffers event_buffers(const LttngSession::Options& options) {
  const std::uint64_t count = options.keeps == LttngSession::Keeps::all ? 8 : 32;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  Buffers buffers{.size = std::bit_floor(std::max(page, options.buffer.count / (cores() * count))), .count = count};
  if (options.limit) {
    buffers.files = files_of_a_core;
    buffers.file = std::max(buffers.size, options.limit->count / (cores() * files_of_a_core));
  }
  return buffers;
}

/// Returns the buffers of channel `setup`. They are larger if layers are recorded, because layers have hundreds of
/// names.
Buffers setup_buffers(const LttngSession::Options& options) {
  return {.size = (options.layers ? std::uint64_t{128} : std::uint64_t{32}) << 10, .count = 8};
}

/// Returns the space that this user may still use in the file system of `folder`.
Result<Bytes> free_space(const fs::path& folder) {
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) return refused(folder.string() + ": " + std::strerror(errno));
  return Bytes{(::geteuid() == 0 ? space.f_bfree : space.f_bavail) * space.f_frsize};
}

Result<> check_space(const fs::path& folder, Bytes needed) {
  const auto available = free_space(folder);
  if (!available) return Unexpected(available.error());
  if (*available >= needed) return {};
  return refused(folder.string() + " has " + readable(*available) + " free, and recording needs at least " +
                 readable(needed) + ": free disk space");
}

/// An existing, empty and writable folder. A folder that was created here is removed again, unless it is kept.
class Folder {
 public:
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (new_) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] Result<> claim(const fs::path& folder);
  [[nodiscard]] const fs::path& path() const { return path_; }
  void keep() { new_ = false; }

 private:
  fs::path path_;
  bool new_ = false;
};

Result<> Folder::claim(const fs::path& folder) {
  std::error_code error;
  path_ = fs::absolute(folder, error).lexically_normal();
  if (!path_.has_filename()) path_ = path_.parent_path(); // "DIR/"
  const bool there = fs::exists(path_, error);
  auto made = config::make_output_folder(path_);
  if (!made) return refused(made.error().what);
  path_ = std::move(*made);
  new_ = !there;
  const bool empty = fs::is_empty(path_, error);
  if (error) return refused("the folder " + path_.string() + " cannot be read: " + error.message());
  if (!empty)
    return fail(Errc::bad_input, "tracing: the folder " + path_.string() +
                                     " is not empty: name a new one (existing traces are not overwritten)");
  if (::access(path_.c_str(), W_OK | X_OK) != 0)
    return refused("the folder " + path_.string() + " cannot be written to: " + std::strerror(errno));
  return {};
}

/// True if this process is registered with the daemon: LTTng lists the tracepoints of registered processes.
bool registered(lttng_handle* handle) {
  lttng_event* list = nullptr;
  const int count = lttng_list_tracepoints(handle, &list);
  const std::unique_ptr<lttng_event, Destroy<std::free>> owner(list);
  return std::any_of(list, list + std::max(count, 0), [](const lttng_event& event) { return event.pid == ::getpid(); });
}

/// Returns a unique session name that identifies its process.
std::string name_of(const config::Process& process) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return "rtexec-" + std::to_string(process.number) + "-" + std::to_string(process.start) + "-" +
         std::to_string(process.name_space) + "-" + std::to_string(now);
}

/// Returns the process whose session has the name `session`, made by name_of(). Returns nullopt if the name is not a
/// name of rtexec's sessions.
std::optional<config::Process> process_of(const std::string& session) {
  config::Process process;
  std::int64_t time = 0;
  char dash[3]{};
  constexpr std::string_view prefix = "rtexec-";
  if (!session.starts_with(prefix)) return std::nullopt;
  std::istringstream fields(session.substr(prefix.size()));
  fields >> process.number >> dash[0] >> process.start >> dash[1] >> process.name_space >> dash[2] >> time;
  const bool whole = fields && std::ranges::all_of(dash, [](char each) { return each == '-'; });
  return whole ? std::optional(process) : std::nullopt;
}

Result<> add_channel(lttng_handle* handle, lttng_domain domain, const char* name, const Buffers& buffers,
                     bool overwrite, LttngSession::Keeps keeps) {
  const Channel channel(lttng_channel_create(&domain));
  if (!channel) return refused("out of memory");
  std::strcpy(channel->name, name);
  channel->attr.overwrite = overwrite ? 1 : 0;
  channel->attr.subbuf_size = buffers.size;
  channel->attr.num_subbuf = buffers.count;
  channel->attr.tracefile_size = buffers.file;
  channel->attr.tracefile_count = buffers.files;
  // In microseconds. The consumer daemon switches the sub-buffers at this interval
  channel->attr.switch_timer_interval =
      keeps == LttngSession::Keeps::all ? static_cast<unsigned>(written_every / 1us) : 0;
  // The consumer daemon polls the buffers, so that a writing thread never makes a system call to wake the daemon
  channel->attr.read_timer_interval = 100'000;
  channel->attr.output = LTTNG_EVENT_MMAP;
  if (const int code = lttng_enable_channel(handle, channel.get()); code < 0)
    return refused_by_lttng("creating a channel", code);
  return {};
}

/// Adds the events that match `which` to `channel`, except the events in `without`. `which` may end in a star.
Result<> add_events(lttng_handle* handle, const char* channel, const char* which, std::vector<std::string> without) {
  const Event events(lttng_event_create());
  if (!events) return refused("out of memory");
  events->type = LTTNG_EVENT_TRACEPOINT;
  events->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
  std::strcpy(events->name, which);
  std::vector<char*> exclusions;
  for (std::string& each : without) exclusions.push_back(each.data());
  const int code =
      lttng_enable_event_with_exclusions(handle, events.get(), channel, nullptr, static_cast<int>(exclusions.size()),
                                         exclusions.empty() ? nullptr : exclusions.data());
  if (code < 0) return refused_by_lttng("enabling the events", code);
  return {};
}

Result<> add_channels(lttng_handle* handle, lttng_domain domain, const LttngSession::Options& options) {
  const bool overwrite = options.keeps == LttngSession::Keeps::latest;
  if (auto ok = add_channel(handle, domain, setup_channel, setup_buffers(options), false, options.keeps); !ok)
    return ok;
  if (auto ok = add_channel(handle, domain, events_channel, event_buffers(options), overwrite, options.keeps); !ok)
    return ok;
  std::vector<std::string> others = setup_events(options.layers);
  for (const std::string& event : others)
    if (auto ok = add_events(handle, setup_channel, event.c_str(), {}); !ok) return ok;
  if (!options.layers) others.emplace_back("rtexec:layer_*");
  return add_events(handle, events_channel, "rtexec:*", std::move(others));
}

Unexpected<Error> not_whole(const fs::path& folder) {
  return refused("the recording was not completely in " + folder.string() +
                 " after 10 s: the disk may be full or too slow, and the trace is incomplete");
}

/// Stops the recording and waits until all events are written. Returns false after a timeout.
Result<bool> stop_recording(const std::string& name, const fs::path& folder) {
  if (const int code = lttng_stop_tracing_no_wait(name.c_str()); code < 0 && code != -LTTNG_ERR_TRACE_ALREADY_STOPPED)
    return refused_by_lttng("ending the recording into " + folder.string(), code);
  return wait_for([&] { return lttng_data_pending(name.c_str()) <= 0; }, timeout);
}

Result<> start_recording(const std::string& name) {
  if (const int code = lttng_start_tracing(name.c_str()); code < 0) return refused_by_lttng("starting to record", code);
  if (wait_for(recording, timeout)) return {};
  return refused(
      "the events of this process are not on 10 s after the session was started: the locked-memory limit (ulimit -l) "
      "or " +
      std::string(shared_memory) + " may be too small for the ring buffers");
}

/// Ends the recording. Afterwards all recorded events are in files.
Result<> end_recording(const std::string& name, const fs::path& folder) {
  const auto written = stop_recording(name, folder);
  if (!written) return Unexpected(written.error());
  lttng_destruction_handle* raw = nullptr;
  const auto code = lttng_destroy_session_ext(name.c_str(), &raw);
  const Destruction destruction(raw);
  if (code != LTTNG_OK) return refused_by_lttng("closing the recording in " + folder.string(), code);
  const auto waited = lttng_destruction_handle_wait_for_completion(destruction.get(), static_cast<int>(timeout / 1ms));
  if (!*written || waited != LTTNG_DESTRUCTION_HANDLE_STATUS_COMPLETED) return not_whole(folder);
  return {};
}

/// Flushes a snapshot to the disk, because the snapshot's cause may soon reset the machine.
void sync_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
    ::fsync(config::Descriptor(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC)).get());
}

/// Ends a session that a killed process left. First writes a snapshot of the session: a flight recorder's events go
/// into its folder. Other sessions write continuously and refuse the snapshot.
void end_left_over(const std::string& session) {
  static_cast<void>(lttng_snapshot_record(session.c_str(), nullptr, 0));
  static_cast<void>(lttng_destroy_session_no_wait(session.c_str()));
}

} // namespace

std::vector<std::string> left_over_sessions() {
  std::vector<std::string> found;
  if (lttng_session_daemon_alive() != 1) return found;
  lttng_session* list = nullptr;
  const int count = lttng_list_sessions(&list);
  const std::unique_ptr<lttng_session, Destroy<std::free>> owner(list);
  for (const lttng_session& session : std::span(list, static_cast<std::size_t>(std::max(count, 0))))
    if (const auto process = process_of(session.name); process && !process->alive()) found.emplace_back(session.name);
  return found;
}

Result<LttngSession> LttngSession::start(const fs::path& folder, const Options& options) {
  Folder claimed;
  if (auto ok = claimed.claim(folder); !ok) return Unexpected(ok.error());
  const Bytes buffers = event_buffers(options).all() + setup_buffers(options).all();
  for (const fs::path& place : {claimed.path(), fs::path(shared_memory)})
    if (auto ok = check_space(place, buffers); !ok) return Unexpected(ok.error());

  auto daemon = Daemon::acquire();
  if (!daemon) return Unexpected(daemon.error());
  for (const std::string& left : left_over_sessions()) end_left_over(left);
  LttngSession session(std::move(*daemon), claimed.path());
  if (auto ok = session.daemon_->within(most, [&] { return session.create(options); }); !ok)
    return Unexpected(ok.error());
  claimed.keep();
  return session;
}

Result<> LttngSession::create(const Options& options) {
  const std::string name = name_of(config::Process::self());
  const auto describe = options.keeps == Keeps::all ? lttng_session_descriptor_local_create
                                                    : lttng_session_descriptor_snapshot_local_create;
  const Descriptor descriptor(describe(name.c_str(), folder_.c_str()));
  if (!descriptor) return refused("out of memory");
  if (const auto code = lttng_create_session_ext(descriptor.get()); code != LTTNG_OK)
    return refused_by_lttng("creating a session that writes to " + folder_.string(), code);
  name_ = name;

  lttng_domain domain = user_space();
  const Handle handle(lttng_create_handle(name_.c_str(), &domain));
  if (!handle) return refused("out of memory");
  if (auto ok = add_channels(handle.get(), domain, options); !ok) return ok;
  if (const int code = lttng_track_pid(handle.get(), ::getpid()); code < 0)
    return refused_by_lttng("selecting this process", code);

  // lttng_start_tracing waits until a process's events are enabled, but only if that process is registered.
  if (!wait_for([&] { return registered(handle.get()); }, timeout))
    return refused("this process did not register with the session daemon within 10 s: liblttng-ust needs a writable " +
                   std::string(shared_memory) +
                   ", the same HOME or LTTNG_HOME as when the program started, and a session daemon in the same PID "
                   "namespace (container)");
  const Buffers buffers = event_buffers(options);
  // 2: space for a packet's header, and the rest of the buffer that is too small for an event
  events_at_once_ = (buffers.size / largest_event - 2) * (buffers.count - 1);
  if (auto ok = start_recording(name_); !ok || options.keeps == Keeps::latest) return ok;
  // Without metadata no event can be read, but metadata are written only when the recording stops.
  if (auto ok = write_out(); !ok) return ok;
  auto mark = RecordingMark::set(folder_);
  if (!mark) return Unexpected(mark.error());
  mark_ = std::move(*mark);
  return {};
}

Result<> LttngSession::drain() {
  return daemon_->within(most, [this] { return write_out(); });
}

Result<> LttngSession::write_out() {
  const auto written = stop_recording(name_, folder_);
  if (!written) return Unexpected(written.error());
  if (!*written) return not_whole(folder_);
  return start_recording(name_);
}

Result<fs::path> LttngSession::snapshot(const std::string& name) {
  const Output output(lttng_snapshot_output_create());
  if (!output || lttng_snapshot_output_set_name(name.c_str(), output.get()) < 0 ||
      lttng_snapshot_output_set_local_path(folder_.c_str(), output.get()) < 0)
    return refused("out of memory");
  const auto recorded = daemon_->within(most, [&]() -> Result<> {
    if (const int code = lttng_snapshot_record(name_.c_str(), output.get(), 1); code < 0)
      return refused_by_lttng("writing a snapshot into " + folder_.string(), code);
    return {};
  });
  if (!recorded) return Unexpected(recorded.error());
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) // LTTng appends the time to the name
    if (entry.path().filename().string().starts_with(name + "-")) return sync_files(entry.path()), entry.path();
  return refused("LTTng has written no snapshot " + name + " into " + folder_.string());
}

Result<> LttngSession::end() {
  const std::string name = std::exchange(name_, {});
  if (name.empty()) return refused("the session is not recording");
  auto ended = daemon_->within(most, [&] { return end_recording(name, folder_); });
  daemon_.reset();
  if (!ended) return ended;
  mark_.remove();
  const auto left = free_space(folder_);
  if (left && *left < Bytes{static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))})
    return refused("the disk of " + folder_.string() +
                   " is full: the trace is incomplete; free disk space and record again");
  return {};
}

LttngSession::LttngSession(LttngSession&& other) noexcept
    : daemon_(std::move(other.daemon_)),
      mark_(std::move(other.mark_)),
      folder_(std::move(other.folder_)),
      name_(std::exchange(other.name_, {})),
      events_at_once_(other.events_at_once_) {}

LttngSession::~LttngSession() {
  if (!name_.empty()) static_cast<void>(end());
}

} // namespace rtexec::traces
