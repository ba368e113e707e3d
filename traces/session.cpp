#include "traces/session.hpp"

#include "traces/emit.hpp"
#include "traces/wait.hpp"

#include <lttng/lttng.h>

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace rtexec::traces {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration patience = 10s;
constexpr Duration most = 30s; // of start() and of stop(), for all that they ask the daemon
constexpr std::uint64_t sub_buffers = 8; // per core
constexpr const char* shared_memory = "/dev/shm";

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const { destroy(object); }
};
using Handle = std::unique_ptr<lttng_handle, Destroy<lttng_destroy_handle>>;
using Channel = std::unique_ptr<lttng_channel, Destroy<lttng_channel_destroy>>;
using Event = std::unique_ptr<lttng_event, Destroy<lttng_event_destroy>>;
using Descriptor = std::unique_ptr<lttng_session_descriptor, Destroy<lttng_session_descriptor_destroy>>;
using Destruction = std::unique_ptr<lttng_destruction_handle, Destroy<lttng_destruction_handle_destroy>>;

std::unexpected<Error> refused(const std::string& what) { return fail(Errc::refused, "tracing: " + what); }

/// `code` as liblttng-ctl returns it: negative, or a positive lttng_error_code.
std::unexpected<Error> refused_by_lttng(const std::string& doing, int code) {
  return refused(doing + ": LTTng says: " + lttng_strerror(-std::abs(code)));
}

lttng_domain user_space() {
  lttng_domain domain{};
  domain.type = LTTNG_DOMAIN_UST;
  domain.buf_type = LTTNG_BUFFER_PER_UID;
  return domain;
}

std::uint64_t cores() { return static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF))); }

/// Bytes, a power of two.
std::uint64_t sub_buffer_size(Bytes buffer) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::bit_floor(std::max(page, buffer.count / (cores() * sub_buffers)));
}

/// What this user may still write there.
Result<Bytes> free_space(const fs::path& folder) {
  struct statvfs space{};
  if (::statvfs(folder.c_str(), &space) != 0) return refused(folder.string() + ": " + std::strerror(errno));
  return Bytes{(::geteuid() == 0 ? space.f_bfree : space.f_bavail) * space.f_frsize};
}

Result<> check_space(const fs::path& folder, Bytes needed) {
  const auto available = free_space(folder);
  if (!available) return std::unexpected(available.error());
  if (*available >= needed) return {};
  return refused(folder.string() + " has " + readable(*available) + " free, and recording needs at least " + readable(needed) + ": make room");
}

/// A folder that is there, empty and ours to write to; removed again, if it was new, unless kept.
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
  if (!error) fs::create_directories(path_.parent_path(), error);
  if (!error) new_ = fs::create_directory(path_, error);
  if (error) return refused("the folder " + path_.string() + " cannot be created: " + error.message());
  const bool empty = fs::is_empty(path_, error);
  if (error) return refused("the folder " + path_.string() + " cannot be read: " + error.message());
  if (!empty) return fail(Errc::bad_input, "tracing: the folder " + path_.string() + " is not empty: name a new one (nothing is overwritten)");
  if (::access(path_.c_str(), W_OK | X_OK) != 0)
    return refused("the folder " + path_.string() + " cannot be written to: " + std::strerror(errno));
  return {};
}

/// LTTng lists the tracepoints of registered processes.
bool registered(lttng_handle* handle) {
  lttng_event* list = nullptr;
  const int count = lttng_list_tracepoints(handle, &list);
  const std::unique_ptr<lttng_event, Destroy<std::free>> owner(list);
  return std::any_of(list, list + std::max(count, 0), [](const lttng_event& event) { return event.pid == ::getpid(); });
}

Result<> add_channel(lttng_handle* handle, lttng_domain domain, Bytes buffer) {
  const Channel channel(lttng_channel_create(&domain));
  if (!channel) return refused("out of memory");
  std::strcpy(channel->name, "events");
  channel->attr.overwrite = 0;
  channel->attr.subbuf_size = sub_buffer_size(buffer);
  channel->attr.num_subbuf = sub_buffers;
  channel->attr.switch_timer_interval = 0;
  channel->attr.read_timer_interval = 100'000; // microseconds; the reader polls, so that a writer never wakes it by a system call
  channel->attr.output = LTTNG_EVENT_MMAP;
  if (const int code = lttng_enable_channel(handle, channel.get()); code < 0) return refused_by_lttng("creating a channel", code);
  return {};
}

Result<> add_events(lttng_handle* handle, bool layers) {
  const Event events(lttng_event_create());
  if (!events) return refused("out of memory");
  events->type = LTTNG_EVENT_TRACEPOINT;
  events->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
  std::strcpy(events->name, "rtexec:*");
  std::string layer_events = "rtexec:layer_*";
  std::array<char*, 1> exclusions{layer_events.data()};
  const int count = layers ? 0 : 1;
  const int code =
      lttng_enable_event_with_exclusions(handle, events.get(), "events", nullptr, count, layers ? nullptr : exclusions.data());
  if (code < 0) return refused_by_lttng("enabling the events", code);
  return {};
}

/// Everything recorded is in files afterwards.
Result<> end_recording(const std::string& name, const fs::path& folder) {
  if (const int code = lttng_stop_tracing_no_wait(name.c_str()); code < 0 && code != -LTTNG_ERR_TRACE_ALREADY_STOPPED)
    return refused_by_lttng("ending the recording into " + folder.string(), code);
  const bool written = wait_for([&] { return lttng_data_pending(name.c_str()) <= 0; }, patience);
  lttng_destruction_handle* raw = nullptr;
  const auto code = lttng_destroy_session_ext(name.c_str(), &raw);
  const Destruction destruction(raw);
  if (code != LTTNG_OK) return refused_by_lttng("closing the recording in " + folder.string(), code);
  const auto waited = lttng_destruction_handle_wait_for_completion(destruction.get(), static_cast<int>(patience / 1ms));
  if (!written || waited != LTTNG_DESTRUCTION_HANDLE_STATUS_COMPLETED)
    return refused("the recording was not all in " + folder.string() + " after 10 s: the disk may be full or too slow, and the trace is not whole");
  return {};
}

} // namespace

Result<Session> Session::start(const fs::path& folder, const SessionOptions& options) {
  Folder claimed;
  if (auto ok = claimed.claim(folder); !ok) return std::unexpected(ok.error());
  const Bytes buffers{sub_buffer_size(options.buffer) * sub_buffers * cores()};
  for (const fs::path& place : {claimed.path(), fs::path(shared_memory)})
    if (auto ok = check_space(place, buffers); !ok) return std::unexpected(ok.error());

  auto daemon = Daemon::acquire();
  if (!daemon) return std::unexpected(daemon.error());
  Session session(std::move(*daemon), claimed.path());
  if (auto ok = session.daemon_->within(most, [&] { return session.create(options); }); !ok) return std::unexpected(ok.error());
  claimed.keep();
  return session;
}

Result<> Session::create(const SessionOptions& options) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string name = "rtexec-" + std::to_string(::getpid()) + "-" + std::to_string(now);
  const Descriptor descriptor(lttng_session_descriptor_local_create(name.c_str(), folder_.c_str()));
  if (!descriptor) return refused("out of memory");
  if (const auto code = lttng_create_session_ext(descriptor.get()); code != LTTNG_OK)
    return refused_by_lttng("creating a session that writes to " + folder_.string(), code);
  name_ = name;

  lttng_domain domain = user_space();
  const Handle handle(lttng_create_handle(name_.c_str(), &domain));
  if (!handle) return refused("out of memory");
  if (auto ok = add_channel(handle.get(), domain, options.buffer); !ok) return ok;
  if (auto ok = add_events(handle.get(), options.layers); !ok) return ok;
  if (const int code = lttng_track_pid(handle.get(), ::getpid()); code < 0) return refused_by_lttng("selecting this process", code);

  // Only for a process that is registered does lttng_start_tracing return after its events are on.
  if (!wait_for([&] { return registered(handle.get()); }, patience))
    return refused("this process did not register with the session daemon within 10 s: liblttng-ust needs a writable " +
                   std::string(shared_memory) + " and the same HOME or LTTNG_HOME as when the program started");
  if (const int code = lttng_start_tracing(name_.c_str()); code < 0) return refused_by_lttng("starting to record", code);
  if (!wait_for(recording, patience))
    return refused("the events of this process are not on 10 s after the session was started: the locked-memory limit (ulimit -l) or " +
                   std::string(shared_memory) + " may be too small for the ring buffers");
  return {};
}

Result<Summary> Session::stop() {
  auto ended = end();
  daemon_.reset();
  if (!ended) return std::unexpected(ended.error());
  const auto left = free_space(folder_);
  if (left && *left < Bytes{static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))})
    return refused("the disk of " + folder_.string() + " is full: the trace is not whole, make room and record again");
  return summarize(folder_);
}

Result<> Session::end() {
  const std::string name = std::exchange(name_, {});
  if (name.empty()) return refused("the session is not recording");
  return daemon_->within(most, [&] { return end_recording(name, folder_); });
}

Session::Session(Session&& other) noexcept
    : daemon_(std::move(other.daemon_)), folder_(std::move(other.folder_)), name_(std::exchange(other.name_, {})) {}

Session::~Session() {
  if (!name_.empty()) static_cast<void>(end());
}

} // namespace rtexec::traces
