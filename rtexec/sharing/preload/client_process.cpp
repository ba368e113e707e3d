#include "rtexec/sharing/preload/client_process.hpp"

#include "rtexec/sharing/preload/entered.hpp"
#include "rtexec/sharing/preload/preloaded_library.hpp"
#include "rtexec/sharing/preload/symbols.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <pthread.h>
#include <string>

namespace rtexec::preload {
namespace {

using hal::cuda::Code;
using hal::cuda::DevicePointer;
using hal::cuda::Stream;

constinit std::atomic<ClientProcess*> instance{nullptr};
constinit std::mutex making;
/// Intervals between checks if the work of a job has ended: normally, and while other clients wait.
constexpr Duration between_looks = std::chrono::milliseconds(10);
constexpr Duration between_hurried_looks = std::chrono::milliseconds(2);
/// After this number of checks without a job, the watch thread sleeps until a job begins.
constexpr int looks_without_job = 10;
/// Limits while other clients wait: the number of checks before new work is delayed, and the maximum delay of new work.
constexpr int looks_before_way = 10;
constexpr Duration longest_way = std::chrono::milliseconds(400);
constexpr Duration longest_restart = std::chrono::seconds(2);
constexpr Duration between_attempts = std::chrono::milliseconds(20); // between attempts to reach a daemon
constexpr const char* turned_away_advice =
    "\nrtexec: this process gets neither memory nor time of the device; without RTEXEC_CLIENT it runs independently of "
    "the daemon";
/// True while this thread creates the client. During this time, the thread's calls are passed on to the driver.
thread_local bool makes = false;

/// Returns the handle under which frees in `stream` are recorded. Returns nullopt for the per-thread stream, because
/// this stream has the same handle in all threads.
std::optional<Stream> told_apart(Stream stream) noexcept {
  if (stream == ClientProcess::own_stream()) return {};
  return reinterpret_cast<std::uintptr_t>(stream) == 1 ? nullptr : stream; // CU_STREAM_LEGACY
}

bool is_null(Stream stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream) <= 1; } // CU_STREAM_LEGACY

} // namespace

ClientProcess* ClientProcess::existing() noexcept { return instance.load(std::memory_order_acquire); }

ClientProcess* ClientProcess::enter() noexcept {
  ClientProcess* process = existing();
  return process != nullptr || makes || !takes_part() ? process : make();
}

ClientProcess* ClientProcess::make() noexcept {
  const std::scoped_lock lock(making);
  if (ClientProcess* made = existing(); made != nullptr || !takes_part() || turned_away()) return made;
  if (driver_library() == nullptr) return nullptr; // the program has not loaded the driver yet
  const RealDriver* driver = real_driver();
  if (driver == nullptr) {
    step_back("this CUDA driver has no virtual memory management: its functions are passed on unchanged");
    return nullptr;
  }
  hal::cuda::Context context = nullptr;
  hal::cuda::Ordinal device = 0;
  if (driver->context_current(&context) != Code::success || context == nullptr ||
      driver->context_device(&device) != Code::success)
    return nullptr;
  makes = true;
  try {
    std::unique_ptr<ClientProcess> process(new ClientProcess(*driver, context, device));
    if (const auto connected = process->connect(); connected) {
      // After fork(), the child process has no threads of the client and no device. Therefore the child's calls are
      // passed on to the driver.
      ::pthread_atfork(nullptr, nullptr, [] {
        instance.store(nullptr, std::memory_order_release);
        step_back({});
      });
      instance.store(process.release(), std::memory_order_release);
      std::atexit(ends); // runs after exit handlers of later driver users, before the driver's own
    } else if (connected.error().code == Errc::cancelled) { // no daemon listens at the socket
      step_back(connected.error().what + "\nrtexec: CUDA's functions are passed on unchanged");
    } else {
      turn_away(connected.error().what + turned_away_advice);
    }
  } catch (const std::exception& error) {
    turn_away(std::string("no memory for a client (") + error.what() + ")" + turned_away_advice);
  }
  makes = false;
  return existing();
}

ClientProcess::ClientProcess(const RealDriver& driver, hal::cuda::Context context, hal::cuda::Ordinal device)
    : driver_(driver), context_(context), device_(device), memory_(driver, context, device), gate_(*this) {}

Result<> ClientProcess::connect() {
  const auto granularity = memory_.granularity();
  if (!granularity) return Unexpected(granularity.error());
  // Keeps the primary context alive after the program releases it, because the arena's context may be the primary
  // context.
  hal::cuda::Context primary = nullptr;
  (void)driver_.context_retain(&primary, device_);
  const client::ClientOptions options{.directory = daemon_directory(),
                                      .name = client_name(),
                                      .granularity = *granularity,
                                      .takes_chunks = driver_.import_handle != nullptr,
                                      .hurry = [this](std::uint64_t) { hurry(); },
                                      .notice = [](const std::string& text) { say(text); }};
  auto client = client::Client::connect(options, memory_);
  // While a daemon restarts, no daemon listens at the socket for a short time.
  for (const Instant until = hal::now() + longest_restart;
       !client && client.error().code == Errc::cancelled && hal::now() < until;) {
    hal::sleep_until(hal::now() + between_attempts);
    client = client::Client::connect(options, memory_);
  }
  if (!client) return Unexpected(client.error());
  client_ = std::move(*client);
  const std::uint32_t slots = client_->limit_slots();
  if (auto reserved = memory_.reserve(slots, client_->chunk_size()); !reserved) return reserved;
  memory_size_ = slots * client_->chunk_size().count;
  arena_.emplace(slots, client_->chunk_size());
  segments_.emplace(client_->chunk_size());
  granularity_ = granularity->count;
  unused_slots_.reserve(slots);
  auto watch = hal::Thread::start({.name = "rtexec-watch", .core = {}, .reservation = {}}, [this] { this->watch(); });
  if (!watch) return Unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

bool ClientProcess::on_device() const noexcept {
  hal::cuda::Ordinal device = -1;
  if (driver_.context_device(&device) != Code::success || device == device_) return device == device_;
  say_once(Occasion::other_device, "memory of devices other than the first one is not managed");
  return false;
}

// ---- memory ----

std::optional<Code> ClientProcess::allocate(DevicePointer* pointer, std::size_t size,
                                            std::optional<Stream> stream) noexcept {
  if (pointer == nullptr || size == 0 || !on_device()) return {};
  const Uncaptured uncaptured(driver_);
  try {
    std::unique_lock lock(mutex_);
    auto block = standing_space({size}, stream ? told_apart(*stream) : stream, lock);
    if (!block) block = arena_->allocate({size});
    if (!block) return Code::out_of_memory;
    if (const auto stands = provide(addresses_of(*block)); !stands) {
      arena_->free(block->offset);
      say_once(Occasion::refused, stands.error().what);
      return Code::out_of_memory;
    }
    *pointer = memory_.base() + block->offset.count;
    return Code::success;
  } catch (const std::exception&) { return Code::out_of_memory; }
}

/// Returns space for an object in slots that the client already has. New slots can never be returned to the daemon.
/// Therefore the function waits for pending frees before it returns nullopt.
std::optional<client::Arena::Block> ClientProcess::standing_space(Bytes size, std::optional<Stream> stream,
                                                                  std::unique_lock<std::mutex>& lock) {
  do {
    reclaim();
    if (const auto block = arena_->allocate(size)) {
      if (const auto needed = lacking(addresses_of(*block)); needed == 0 || needed <= spare_slots()) return block;
      arena_->free(block->offset);
    }
    if (!stream) continue;
    if (const auto block = pending_.reuse(driver_, *arena_, size, *stream)) return block;
  } while (await_a_free(lock));
  return {};
}

/// Waits for the oldest pending free. Returns false if there is no pending free, or if waiting is forbidden because a
/// stream captures.
bool ClientProcess::await_a_free(std::unique_lock<std::mutex>& lock) noexcept {
  if (capturing.load(std::memory_order_relaxed) > 0) return false;
  const auto free = pending_.oldest();
  if (!free) return false;
  lock.unlock();
  (void)driver_.event_synchronize(free->when);
  (void)driver_.event_destroy(free->when);
  lock.lock();
  arena_->free(free->block.offset);
  return true;
}

// ---- slots ----

ClientProcess::Addresses ClientProcess::addresses_of(client::Arena::Block block) const {
  const auto [first, count] = arena_->slots_of(block);
  Addresses addresses(count);
  for (std::size_t i = 0; i < count; ++i) addresses[i] = memory_.base() + (first + i) * arena_->slot_size().count;
  return addresses;
}

std::size_t ClientProcess::lacking(const Addresses& addresses) const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(addresses, [&](DevicePointer address) { return !slot_at_.contains(address); }));
}

/// Returns the number of granted slots that no object uses: slots without an address, and unused slots in the arena.
std::size_t ClientProcess::spare_slots() const noexcept {
  const auto is_spare = [&](const auto& each) {
    return in_arena(each.first) && !arena_->uses((each.first - memory_.base()) / arena_->slot_size().count);
  };
  return unused_slots_.size() + static_cast<std::size_t>(std::ranges::count_if(slot_at_, is_spare));
}

/// Assigns a slot to each of `addresses` that has no slot. Requests more slots from the daemon if needed.
Result<> ClientProcess::provide(const Addresses& addresses) {
  const std::size_t needed = lacking(addresses);
  if (needed == 0) return {};
  if (needed > unused_slots_.size()) take_back_unused();
  const auto more = static_cast<std::uint32_t>(needed - std::min(needed, unused_slots_.size()));
  std::map<DevicePointer, std::uint32_t> provided;
  std::uint32_t next = granted_;
  auto unused = unused_slots_.end();
  for (const DevicePointer address : addresses) {
    if (!slot_at_.contains(address)) provided.emplace(address, unused != unused_slots_.begin() ? *--unused : next++);
  }
  // Assigns the addresses before the slots are granted, so that the first load maps the slots at these addresses.
  for (const auto& [address, slot] : provided) memory_.place(slot, address);
  if (more > 0) {
    if (auto grown = grow(granted_ + more); !grown) {
      for (const auto& [address, slot] : provided) memory_.place(slot, 0);
      return grown;
    }
  }
  unused_slots_.erase(unused, unused_slots_.end());
  slot_at_.merge(provided);
  return {};
}

void ClientProcess::take_back_unused() {
  const std::size_t size = arena_->slot_size().count;
  for (auto each = slot_at_.lower_bound(memory_.base()); each != slot_at_.end() && in_arena(each->first);) {
    const DevicePointer address = (each++)->first;
    if (!arena_->uses((address - memory_.base()) / size)) give_back(address);
  }
}

void ClientProcess::give_back(DevicePointer address) noexcept {
  const auto found = slot_at_.find(address);
  if (found == slot_at_.end()) return;
  memory_.place(found->second, 0);
  unused_slots_.push_back(found->second); // never allocates, because its capacity is reserved for all slots
  slot_at_.erase(found);
}

Result<> ClientProcess::grow(std::uint32_t slots) {
  if (slots * arena_->slot_size().count > memory_size_) // a later daemon may allow more slots
    return fail(Errc::out_of_memory,
                "The process keeps the limit of " + readable(Bytes{memory_size_}) + " that it began with.");
  const Entered entered(driver_, context_);
  if (auto prepared = memory_.prepare(slots); !prepared) return prepared;
  return gate_.apart([&]() -> Result<> {
    const bool held = client_->holds();
    Result<> grown = client_->grow(slots);
    // If the daemon has ended, ends the job so that all memory can be saved, and retries with the next daemon.
    while (!grown && grown.error().code == Errc::cancelled && !leaving_.load()) {
      client_->end();
      hal::sleep_until(hal::now() + between_attempts);
      grown = client_->grow(slots);
    }
    if (!grown) return grown;
    granted_ = slots;
    if (held && !client_->holds() && !client_->begin())
      return fail(Errc::out_of_memory, "The client's memory could not be brought back to the device.");
    return {};
  });
}

std::optional<client::Arena::Block> ClientProcess::block_of(DevicePointer pointer) const noexcept {
  return in_arena(pointer) ? arena_->find({pointer - memory_.base()}) : std::nullopt;
}

bool ClientProcess::owns(DevicePointer pointer) const noexcept {
  if (in_arena(pointer)) return true;
  if (!maps_itself_.load(std::memory_order_acquire)) return false;
  const std::scoped_lock lock(mutex_);
  const auto piece = segments_->piece_of(pointer);
  return piece && piece->handle != 0;
}

std::optional<Segments::Range> ClientProcess::object_of(DevicePointer pointer) const noexcept {
  if (const auto block = block_of(pointer))
    return Segments::Range{memory_.base() + block->offset.count, static_cast<std::size_t>(block->size.count)};
  if (const auto piece = segments_->piece_of(pointer)) return Segments::Range{piece->begin, piece->size};
  return {};
}

std::optional<Code> ClientProcess::free(DevicePointer pointer) noexcept {
  if (!in_arena(pointer)) return {};
  // Waits as the driver's own function does, because work in progress may use the memory.
  if (client_->holds()) {
    const Entered entered(driver_, context_);
    const std::scoped_lock lock(recording);
    if (capturing.load(std::memory_order_relaxed) != 0) busy_.await(driver_);
    else if (const Code code = synchronize(); code != Code::success) return code;
  }
  const std::scoped_lock lock(mutex_);
  const Bytes offset{pointer - memory_.base()};
  if (pending_.has(offset) || !arena_->free(offset)) return Code::invalid_value;
  reclaim();
  return Code::success;
}

std::optional<Code> ClientProcess::free_behind(DevicePointer pointer, Stream stream) noexcept {
  if (!in_arena(pointer)) return {};
  if (captures(stream)) {
    say_once(Occasion::captured, "memory that a graph frees without having allocated it stays allocated");
    return Code::success;
  }
  const Uncaptured uncaptured(driver_);
  hal::cuda::Event when = nullptr;
  if (driver_.event_create(&when, hal::cuda::event_disable_timing) != Code::success) return free(pointer);
  if (const Code code = driver_.event_record(when, stream); code != Code::success) {
    (void)driver_.event_destroy(when);
    return code;
  }
  const std::scoped_lock lock(mutex_);
  const auto block = block_of(pointer);
  const bool begins = block && memory_.base() + block->offset.count == pointer && !pending_.has(block->offset);
  try {
    if (begins) pending_.add({*block, told_apart(stream), when});
  } catch (const std::bad_alloc&) {
    (void)driver_.event_synchronize(when);
    (void)driver_.event_destroy(when);
    arena_->free(block->offset);
    return Code::success;
  }
  if (!begins) (void)driver_.event_destroy(when);
  return begins ? Code::success : Code::invalid_value;
}

std::optional<Code> ClientProcess::memory_info(std::size_t* free, std::size_t* total) noexcept {
  if (!on_device()) return {};
  const std::scoped_lock lock(mutex_);
  reclaim();
  const std::size_t used = std::min(memory_size_, arena_->used().count + segments_->bytes());
  if (free != nullptr) *free = memory_size_ - used;
  if (total != nullptr) *total = memory_size_;
  return Code::success;
}

std::optional<Code> ClientProcess::address_range(DevicePointer* base, std::size_t* size,
                                                 DevicePointer pointer) noexcept {
  if (!owns(pointer)) return {};
  const std::scoped_lock lock(mutex_);
  const auto object = object_of(pointer);
  if (!object) return Code::not_found;
  if (base != nullptr) *base = object->begin;
  if (size != nullptr) *size = object->size;
  return Code::success;
}

/// Answers a query of a pointer's attribute for arena memory without the driver. The driver does not know slots that
/// are swapped out, and reports resident slots as chunks.
std::optional<Code> ClientProcess::attribute(void* data, int attribute, DevicePointer pointer) noexcept {
  if (!owns(pointer)) return {};
  const std::scoped_lock lock(mutex_);
  const auto object = object_of(pointer);
  if (!object || data == nullptr) return Code::invalid_value;
  const auto [begin, size] = *object;
  const auto answer = [data](auto value) {
    std::memcpy(data, &value, sizeof value); // NOLINT(bugprone-sizeof-expression): stores a pointer itself
    return Code::success;
  };
  switch (attribute) { // CUpointer_attribute
  case 1: return answer(context_);
  case 2: return answer(2U); // type: CU_MEMORYTYPE_DEVICE
  case 3: return answer(pointer);
  case 6: return answer(0U);                                     // synchronous copies: no
  case 7: return answer(static_cast<unsigned long long>(begin)); // identifier of the allocation
  case 8: return answer(0U);                                     // managed memory: no
  case 9: return answer(device_);
  case 10: return answer(0U); // legacy handles for other processes: no
  case 11: return answer(begin);
  case 12: return answer(size);
  case 13: return answer(1U);                                 // mapped: yes
  case 14: return answer(static_cast<unsigned long long>(0)); // types of handles: none
  case 15: return answer(0U);                                 // access by other devices: none
  case 16: return answer(hal::cuda::AccessFlags::read_write);
  case 17: return answer(static_cast<void*>(nullptr)); // memory pool: none
  case 18: return answer(size);
  case 19: return answer(begin);
  case 20: return answer(static_cast<unsigned long long>(begin));
  default: return Code::invalid_value; // the attribute belongs to host memory or to a later CUDA version
  }
}

// ---- jobs ----

void ClientProcess::leave(std::string_view reason) noexcept {
  gate_.apart([&] {
    instance.store(nullptr, std::memory_order_release);
    step_back(reason);
    client_->end();
  });
  if (!stop()) return;
  const Entered entered(driver_, context_);
  memory_.end(true);
}

void ClientProcess::ends() noexcept {
  ClientProcess* process = existing();
  if (process == nullptr) return;
  process->gate_.synchronised();
  if (!process->stop()) return;
  const Entered entered(process->driver_, process->context_);
  // If a job is still open, its memory stays mapped until the process has ended.
  process->memory_.end(!process->gate_.is_open());
}

/// Ends the watch thread. Returns false if stop() was called before.
bool ClientProcess::stop() noexcept {
  if (leaving_.exchange(true)) return false;
  opened_.raise();
  watch_.join();
  return true;
}

void ClientProcess::capture_ends() noexcept {
  int now = capturing.load(std::memory_order_relaxed);
  while (now > 0 && !capturing.compare_exchange_weak(now, now - 1, std::memory_order_relaxed)) {}
}
bool ClientProcess::captures(Stream stream) noexcept {
  if (capturing.load(std::memory_order_relaxed) == 0) return false;
  int state = 0;
  const RealDriver* driver = real_driver();
  return driver != nullptr && driver->stream_is_capturing(stream, &state) == Code::success && state != 0;
}

bool ClientProcess::stand() noexcept {
  if (!gate_.enter()) return false;
  if (!memory_.unsettled() || settle()) return true;
  gate_.leave();
  return false;
}

ClientProcess::Pass ClientProcess::submit(Stream stream, bool own) noexcept {
  if (captures(stream == nullptr && own ? own_stream() : stream)) return Pass::recorded;
  if (!stand()) return Pass::refused;
  const bool has_name = !is_null(stream) || own || in_context();
  return has_name && busy_.mark(stream, own) ? Pass::entered : Pass::entered_unnamed;
}

/// True if the arena's context is current. The null handle means the null stream of the current context, so each
/// context has a null stream of its own.
bool ClientProcess::in_context() const noexcept {
  if (!several_contexts.load(std::memory_order_relaxed)) return true;
  hal::cuda::Context current = nullptr;
  return driver_.context_current(&current) == Code::success && current == context_;
}

void ClientProcess::follow(Stream stream, bool own) noexcept {
  const Uncaptured uncaptured(driver_);
  busy_.follow(driver_, stream, own);
}

void ClientProcess::watch() noexcept {
  int hurried = 0, without_job = 0;
  while (!leaving_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = opened_.value();
    const bool holds = client_->holds(); // not the gate's state, because the gate may be closed briefly during a job
    without_job = holds ? 0 : without_job + 1;
    if (without_job > looks_without_job) {
      await_job();
      continue;
    }
    const std::uint64_t before = gate_.submissions();
    const bool others_wait = hurried_.load();
    const bool woken = opened_.wait_until(seen, hal::now() + (others_wait ? between_hurried_looks : between_looks));
    if (woken || !holds) continue;
    hurried = others_wait ? hurried + 1 : 0;
    if (gate_.submissions() == before) gate_.synchronised();
    if (hurried < looks_before_way) continue;
    gate_.give_way(longest_way);
    hurried = 0;
  }
}

void ClientProcess::await_job() noexcept {
  const std::uint32_t seen = opened_.value();
  watch_sleeps_.store(true, std::memory_order_relaxed);
  // This fence ensures that either this thread sees the job, or begin() sees `watch_sleeps_` and raises `opened_`.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!client_->holds() && !leaving_.load(std::memory_order_acquire)) opened_.wait(seen);
  watch_sleeps_.store(false, std::memory_order_relaxed);
}

/// Handles the destruction of a stream. The stream's work continues, but can no longer be queried by the stream's
/// handle.
void ClientProcess::stream_ends(Stream stream) noexcept {
  if (captures(stream)) return capture_ends();
  {
    const Entered entered(driver_, context_);
    busy_.forget(driver_, stream);
  }
  const std::scoped_lock lock(mutex_);
  pending_.forget(stream);
}

void ClientProcess::other_context_ends() noexcept {
  const std::scoped_lock lock(mutex_);
  gate_.apart([this] { reclaim(); });
}

bool ClientProcess::begin() noexcept {
  hurried_.store(false);
  if (leaving_.load() || !client_->begin()) return false;
  if (leaving_.load()) {
    client_->end();
    return false;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (watch_sleeps_.load(std::memory_order_relaxed)) opened_.raise();
  return true;
}
void ClientProcess::end() noexcept { client_->end(); }
bool ClientProcess::holds() noexcept { return client_->holds(); }
bool ClientProcess::idle() noexcept {
  if (leaving_.load()) return false; // the driver has shut down and cannot be queried
  const std::unique_lock lock(recording, std::try_to_lock);
  if (!lock) return false; // another thread waits for the device; this function must not wait
  const Entered entered(driver_, context_);
  return busy_.idle(driver_, capturing.load(std::memory_order_relaxed) != 0);
}
void ClientProcess::wait_until_idle() noexcept {
  const Entered entered(driver_, context_);
  const std::scoped_lock lock(recording);
  if (capturing.load(std::memory_order_relaxed) != 0) busy_.await(driver_);
  else if (synchronize() == Code::success) busy_.all_ended(driver_);
}

/// Waits for the work of the current context, and then for busy streams of other contexts.
Code ClientProcess::synchronize() noexcept {
  const Code code = driver_.context_synchronize();
  if (code == Code::success) busy_.await(driver_);
  return code;
}

} // namespace rtexec::preload
