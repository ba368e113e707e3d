// libcuda.so.1 in software, for tests: device memory is memory files of the host, so that device addresses are host
// pointers and a hole is a real fault; each stream has a thread, so that work is asynchronous; a kernel is a host
// function. Its types are those of hal/cuda/driver.hpp. One lock stands around everything but the work itself.
#include "hal/cuda/driver.hpp"
#include "test/preload/stand_in.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace rtexec::hal::cuda;

std::size_t setting(const char* name, std::size_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 0) : otherwise;
}

struct Work {
  std::function<void()> run;
  std::vector<std::shared_ptr<Work>> after;
  bool done = false;
};
using WorkPointer = std::shared_ptr<Work>;

/// One lock for all: never held while work runs. Not destroyed: the streams' threads outlive static objects.
std::mutex& mutex = *new std::mutex;
std::condition_variable& changed = *new std::condition_variable;

struct Range {
  DevicePointer begin;
  std::size_t size;
};
struct Graph {
  std::vector<std::function<void()>> steps;
  std::vector<Range> filled{}; // what is looked at once more when it is instantiated
};
/// One graph that is recorded, by all streams that take part.
struct Capture {
  Graph graph;
  int mode = 0; // CU_STREAM_CAPTURE_MODE_...: global, of the thread, relaxed
  std::thread::id thread = std::this_thread::get_id();
  bool broken = false;
};
/// Contexts are numbered: 0 is the primary one, of any device.
thread_local unsigned context_number = 0;

struct Queue {
  explicit Queue(unsigned of = context_number, bool null = false) : context(of), is_null(null) {}
  const unsigned context;
  const bool is_null;   // of its context
  bool blocking = true; // of streams that wait for the null stream
  bool ends = false;    // its handle: work goes on
  std::deque<WorkPointer> work;
  WorkPointer last;
  std::shared_ptr<Capture> captured;
  std::thread thread{[this] { serve(); }};

  void serve();
};
struct EventObject {
  WorkPointer at;
  std::shared_ptr<Capture> captured;
  const unsigned context = context_number;
};
struct Module {
  std::vector<const StandInKernel*> kernels;
};

/// What one process takes of a device, where other processes see it.
struct Shared {
  struct Taken {
    std::atomic<int> process;
    std::atomic<std::uint64_t> bytes;
  };
  std::array<Taken, 256> all;
};

struct Chunk {
  int file = -1;
  std::size_t size = 0;
  int device = 0;
  int users = 1; // its handle, and mappings
  bool counted = true;
};
struct Buffer {
  std::size_t size = 0;
  int device = -1; // of the host: -1
};
struct Mapping {
  std::size_t size = 0;
  Chunk* chunk = nullptr;
};

class Device {
 public:
  static Device& instance() {
    static Device* const device = new Device; // its threads may outlive static objects
    return *device;
  }

  const std::size_t memory = setting("STAND_IN_MEMORY", 256U << 20);
  const int devices = static_cast<int>(setting("STAND_IN_DEVICES", 1));
  const int version = static_cast<int>(setting("STAND_IN_VERSION", 13000));
  bool initialised = false;
  bool ended = false;
  std::map<DevicePointer, Buffer> buffers;
  std::map<DevicePointer, std::size_t> ranges;
  std::map<DevicePointer, Mapping> mappings;
  std::set<Chunk*> chunks;
  std::set<Queue*> queues;
  std::map<unsigned, std::unique_ptr<Queue>> null_queues;
  unsigned contexts = 1;
  std::set<unsigned> destroyed; // with their streams and events

  Queue& null_queue(unsigned context) {
    auto& queue = null_queues[context];
    if (!queue) queue = std::make_unique<Queue>(context, true);
    return *queue;
  }

  [[nodiscard]] std::size_t used(int device) const {
    if (device != 0 || shared_ == nullptr) return taken_[static_cast<std::size_t>(device)];
    std::size_t sum = 0;
    for (const auto& each : shared_->all) {
      const int process = each.process.load();
      if (process != 0 && (::kill(process, 0) == 0 || errno == EPERM)) sum += each.bytes.load();
    }
    return sum;
  }
  bool take(int device, std::size_t bytes) {
    if (used(device) + bytes > memory) return false;
    change(device, static_cast<std::ptrdiff_t>(bytes));
    return true;
  }
  void give(int device, std::size_t bytes) { change(device, -static_cast<std::ptrdiff_t>(bytes)); }

 private:
  Device() {
    ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
    const char* path = std::getenv("STAND_IN_SHARED");
    if (path == nullptr) return;
    const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(Shared)) != 0) std::abort();
    shared_ = static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    for (auto& each : shared_->all) {
      int process = each.process.load();
      if (process != 0 && (::kill(process, 0) == 0 || errno == EPERM)) continue;
      if (!each.process.compare_exchange_strong(process, ::getpid())) continue;
      each.bytes = 0;
      own_ = &each;
      return;
    }
    std::abort();
  }
  void change(int device, std::ptrdiff_t by) {
    auto& taken = taken_[static_cast<std::size_t>(device)];
    taken += static_cast<std::size_t>(by);
    if (device == 0 && own_ != nullptr) own_->bytes = taken;
  }

  std::array<std::size_t, 8> taken_{};
  Shared* shared_ = nullptr;
  Shared::Taken* own_ = nullptr;
};

Device& device() { return Device::instance(); }

void Queue::serve() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return !work.empty() || ends; });
    if (work.empty()) break;
    const WorkPointer next = work.front();
    changed.wait(lock, [&] { return std::ranges::all_of(next->after, [](const auto& each) { return each->done; }); });
    lock.unlock();
    if (next->run) next->run();
    lock.lock();
    next->done = true;
    work.pop_front();
    changed.notify_all();
  }
  device().queues.erase(this);
  delete this;
}
thread_local int current = -1;
thread_local std::map<unsigned, Queue*> own_queues;
thread_local int capture_mode = 0;

constexpr Code deinitialised{4};
constexpr Code capture_invalidated{901}, capture_implicit{906};

/// Under the lock: what a call does that a capture does not allow, to all captures that mind it.
bool breaks_captures(bool whole_context) {
  bool broke = false;
  for (const Queue* queue : device().queues) {
    if (!queue->captured) continue;
    Capture& capture = *queue->captured;
    const bool own = capture.thread == std::this_thread::get_id();
    const bool minds =
        (own && capture.mode != 2 && capture_mode != 2) || (!own && capture.mode == 0 && capture_mode == 0);
    if (whole_context || minds) broke = capture.broken = true;
  }
  return broke;
}
/// Under the lock.
Code may_call(bool whole_context = false) {
  if (device().ended) return deinitialised;
  return breaks_captures(whole_context) ? Code::capture_unsupported : Code::success;
}
/// Under the lock: the null stream waits for others, and so breaks what they record.
Code may_use(const Queue* queue) {
  if (device().ended) return deinitialised;
  if (queue == nullptr) return Code::invalid_handle;
  if (!queue->is_null) return Code::success;
  Code code = Code::success;
  for (const Queue* other : device().queues) {
    if (!other->blocking || !other->captured) continue;
    other->captured->broken = true;
    code = capture_implicit;
  }
  return code;
}

Queue* queue_of(Stream stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  if (value == 0 || value == 1) return &device().null_queue(context_number);
  if (value == 2) {
    Queue*& own_queue = own_queues[context_number];
    if (own_queue == nullptr) {
      own_queue = new Queue;
      device().queues.insert(own_queue);
    }
    return own_queue;
  }
  auto* queue = reinterpret_cast<Queue*>(stream);
  return device().queues.contains(queue) && !queue->ends ? queue : nullptr;
}

/// Under the lock: no part of it is of addresses that are reserved and have no chunk. What a graph is to copy or fill
/// is looked at when it is recorded.
bool stands(Range range) {
  const auto& ranges = device().ranges;
  auto reserved = ranges.upper_bound(range.begin);
  if (reserved == ranges.begin() || range.begin - (--reserved)->first >= reserved->second) return true;
  for (DevicePointer at = range.begin; at < range.begin + range.size;) {
    auto mapping = device().mappings.upper_bound(at);
    if (mapping == device().mappings.begin() || at - (--mapping)->first >= mapping->second.size) return false;
    at = mapping->first + mapping->second.size;
  }
  return true;
}

/// Under the lock. Null: the stream is not known.
WorkPointer submit(Stream stream, std::function<void()> run, WorkPointer also_after = nullptr) {
  Queue* queue = queue_of(stream);
  if (queue == nullptr) return nullptr;
  auto work = std::make_shared<Work>(Work{std::move(run), {}, false});
  if (queue->captured) {
    queue->captured->graph.steps.push_back(std::move(work->run));
    return work;
  }
  if (also_after) work->after.push_back(std::move(also_after));
  if (queue->is_null) {
    for (const Queue* other : device().queues) {
      if (other->context == queue->context && other->blocking && other->last) work->after.push_back(other->last);
    }
  } else if (const auto& null = device().null_queue(queue->context); queue->blocking && null.last) {
    work->after.push_back(null.last);
  }
  queue->work.push_back(work);
  queue->last = work;
  changed.notify_all();
  return work;
}
Code enqueue(Stream stream, std::function<void()> run, std::initializer_list<Range> named = {}) {
  if (current < 0) return Code::invalid_context;
  const std::lock_guard lock(mutex);
  const Queue* queue = queue_of(stream);
  if (const Code code = may_use(queue); code != Code::success) return code;
  if (queue != nullptr && queue->captured && !std::ranges::all_of(named, stands)) return Code::invalid_value;
  submit(stream, std::move(run));
  return Code::success;
}
void wait_for(std::unique_lock<std::mutex>& lock, const WorkPointer work) {
  changed.wait(lock, [&] { return !work || work->done; });
}
Code enqueue_and_wait(Stream stream, std::function<void()> run) {
  if (current < 0) return Code::invalid_context;
  std::unique_lock lock(mutex);
  if (const Code code = may_call(); code != Code::success) return code;
  if (const Code code = may_use(queue_of(stream)); code != Code::success) return code;
  const auto work = submit(stream, std::move(run));
  wait_for(lock, work);
  return Code::success;
}
Code wait_for_all(std::unique_lock<std::mutex>& lock) {
  std::vector<WorkPointer> last{device().null_queue(context_number).last};
  for (const Queue* queue : device().queues)
    if (queue->context == context_number) last.push_back(queue->last);
  for (const auto& work : last) wait_for(lock, work);
  return Code::success;
}

/// Under the lock. What a driver does with an event of a context that is no more, nobody knows.
EventObject& event_of(Event event) {
  auto* object = reinterpret_cast<EventObject*>(event);
  if (device().destroyed.contains(object->context)) std::abort();
  return *object;
}

void* bytes(DevicePointer pointer) { return reinterpret_cast<void*>(pointer); }

std::size_t page_up(std::size_t size) { return (size + 4095) / 4096 * 4096; }
Code allocate(DevicePointer* pointer, std::size_t size, bool checked = true) {
  if (current < 0) return Code::invalid_context;
  if (pointer == nullptr || size == 0) return Code::invalid_value;
  const std::lock_guard lock(mutex);
  if (checked)
    if (const Code code = may_call(); code != Code::success) return code;
  if (!device().take(current, page_up(size))) return Code::out_of_memory;
  void* memory = ::mmap(nullptr, page_up(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *pointer = reinterpret_cast<DevicePointer>(memory);
  device().buffers[*pointer] = {size, current};
  return Code::success;
}
Code release(DevicePointer pointer) {
  const auto found = device().buffers.find(pointer);
  if (found == device().buffers.end()) return Code::invalid_value;
  if (found->second.device >= 0) device().give(found->second.device, page_up(found->second.size));
  ::munmap(bytes(pointer), page_up(found->second.size));
  device().buffers.erase(found);
  return Code::success;
}
const std::pair<const DevicePointer, Buffer>* buffer_of(DevicePointer pointer) {
  auto after = device().buffers.upper_bound(pointer);
  if (after == device().buffers.begin()) return nullptr;
  --after;
  return pointer < after->first + after->second.size ? &*after : nullptr;
}
void drop(Chunk* chunk) {
  if (--chunk->users > 0) return;
  if (chunk->counted) device().give(chunk->device, chunk->size);
  ::close(chunk->file);
  device().chunks.erase(chunk);
  delete chunk;
}

void reached(const char* point) {
  if (stand_in_reached != nullptr) stand_in_reached(point);
}

/// `arguments` as they are now.
std::function<void()> bound(Function function, void** arguments) {
  const auto* kernel = reinterpret_cast<const StandInKernel*>(function);
  std::vector<std::vector<char>> copies;
  for (std::size_t i = 0; i < std::size(kernel->sizes) && kernel->sizes[i] != 0; ++i) {
    const auto* from = static_cast<const char*>(arguments[i]);
    copies.emplace_back(from, from + kernel->sizes[i]);
  }
  return [kernel, copies = std::move(copies)]() mutable {
    std::vector<void*> pointers;
    for (auto& copy : copies) pointers.push_back(copy.data());
    reached("kernel");
    kernel->run(pointers.data());
  };
}

} // namespace

#define API extern "C" [[gnu::visibility("default")]] Code

// ---- devices and contexts
API cuInit(unsigned) {
  if (device().initialised) return Code::success;
  device().initialised = true;
  // As a driver does: it goes before the process does, and takes its time
  std::atexit([] {
    {
      const std::lock_guard lock(mutex);
      device().ended = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(setting("STAND_IN_END_MS", 0)));
  });
  return Code::success;
}
API cuDriverGetVersion(int* version) {
  *version = device().version;
  return Code::success;
}
API cuDeviceGetCount(int* count) {
  *count = device().devices;
  return device().initialised ? Code::success : Code::not_initialized;
}
API cuDeviceGet(Ordinal* ordinal, int number) {
  if (number < 0 || number >= device().devices) return Code::invalid_value;
  *ordinal = number;
  return Code::success;
}
API cuDeviceTotalMem_v2(std::size_t* size, Ordinal) {
  *size = device().memory;
  return Code::success;
}
API cuDevicePrimaryCtxRetain(Context* context, Ordinal ordinal) {
  if (!device().initialised) return Code::not_initialized;
  *context = reinterpret_cast<Context>(static_cast<std::uintptr_t>(ordinal + 1));
  return Code::success;
}
/// All work ends; memory that was mapped stays, as a driver's does.
API cuDevicePrimaryCtxReset_v2(Ordinal) {
  std::unique_lock lock(mutex);
  wait_for_all(lock);
  while (!device().buffers.empty()) release(device().buffers.begin()->first);
  return Code::success;
}
API cuCtxDestroy_v2(Context context) {
  const auto number = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(context) / 16);
  if (number != 0) {
    std::unique_lock lock(mutex);
    const auto last = device().null_queue(number).last;
    wait_for(lock, last);
    std::vector<Queue*> gone;
    std::ranges::copy_if(device().queues, std::back_inserter(gone),
                         [=](const Queue* each) { return each->context == number; });
    for (Queue* queue : gone) {
      wait_for(lock, queue->last);
      queue->ends = true;
      queue->thread.detach();
    }
    device().destroyed.insert(number);
    changed.notify_all();
    return Code::success;
  }
  return cuDevicePrimaryCtxReset_v2(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1);
}
API cuDevicePrimaryCtxRelease_v2(Ordinal) { return Code::success; }
API cuCtxSetCurrent(Context context);
API cuCtxCreate_v2(Context* context, unsigned, Ordinal ordinal) {
  const std::lock_guard lock(mutex);
  *context = reinterpret_cast<Context>(static_cast<std::uintptr_t>(ordinal + 1) + 16 * device().contexts++);
  return cuCtxSetCurrent(*context);
}
API cuCtxSetCurrent(Context context) {
  const auto value = reinterpret_cast<std::uintptr_t>(context);
  current = static_cast<int>(value % 16) - 1;
  context_number = static_cast<unsigned>(value / 16);
  return Code::success;
}
API cuCtxGetCurrent(Context* context) {
  *context = reinterpret_cast<Context>(static_cast<std::uintptr_t>(current + 1) + std::uintptr_t{16} * context_number);
  return Code::success;
}
API cuCtxGetDevice(Ordinal* ordinal) {
  *ordinal = current;
  return current < 0 ? Code::invalid_context : Code::success;
}
API cuCtxSynchronize() {
  if (current < 0) return Code::invalid_context;
  std::unique_lock lock(mutex);
  if (const Code code = may_call(true); code != Code::success) return code;
  return wait_for_all(lock);
}
API cuCtxSynchronize_v2(Context) {
  std::unique_lock lock(mutex);
  if (const Code code = may_call(true); code != Code::success) return code;
  return wait_for_all(lock);
}

// ---- memory
API cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current < 0) return Code::invalid_context;
  const std::lock_guard lock(mutex);
  if (free != nullptr) *free = device().memory - std::min(device().memory, device().used(current));
  if (total != nullptr) *total = device().memory;
  return Code::success;
}
API cuMemAlloc_v2(DevicePointer* pointer, std::size_t size) { return allocate(pointer, size); }
API cuMemFree_v2(DevicePointer pointer) {
  if (pointer == 0) return Code::success;
  std::unique_lock lock(mutex);
  if (const Code code = may_call(); code != Code::success) return code;
  wait_for_all(lock);
  return release(pointer);
}
API cuMemAllocPitch_v2(DevicePointer* pointer, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  if (height > SIZE_MAX / *pitch) return Code::out_of_memory;
  return allocate(pointer, *pitch * height);
}
API cuMemAllocManaged(DevicePointer* pointer, std::size_t size, unsigned) { return allocate(pointer, size); }
API cuMemHostAlloc(void** pointer, std::size_t size, unsigned) {
  const std::lock_guard lock(mutex);
  *pointer = ::mmap(nullptr, page_up(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  device().buffers[reinterpret_cast<DevicePointer>(*pointer)] = {size, -1};
  return Code::success;
}
API cuMemFreeHost(void* pointer) {
  const std::lock_guard lock(mutex);
  return release(reinterpret_cast<DevicePointer>(pointer));
}
API cuMemHostRegister_v2(void*, std::size_t, unsigned) { return Code::success; }
API cuMemHostUnregister(void*) { return Code::success; }
API cuMemAllocAsync(DevicePointer* pointer, std::size_t size, Stream) { return allocate(pointer, size, false); }
API cuMemAllocFromPoolAsync(DevicePointer* pointer, std::size_t size, void*, Stream) { return allocate(pointer, size); }
API cuMemFreeAsync(DevicePointer pointer, Stream stream) {
  {
    const std::lock_guard lock(mutex);
    if (!device().buffers.contains(pointer)) return Code::invalid_value;
    const Queue* queue = queue_of(stream);
    if (queue != nullptr && queue->captured) return Code::success; // the graph's own memory
  }
  return enqueue(stream, [pointer] {
    const std::lock_guard lock(mutex);
    release(pointer);
  });
}
API cuMemPoolCreate(void** pool, const void*) {
  *pool = new char;
  return Code::success;
}
API cuMemPoolDestroy(void* pool) {
  delete static_cast<char*>(pool);
  return Code::success;
}
API cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* size, DevicePointer pointer) {
  const std::lock_guard lock(mutex);
  const auto* found = buffer_of(pointer);
  if (found == nullptr) return Code::not_found;
  if (base != nullptr) *base = found->first;
  if (size != nullptr) *size = found->second.size;
  return Code::success;
}
API cuPointerGetAttribute(void* data, int attribute, DevicePointer pointer) {
  const std::lock_guard lock(mutex);
  const auto* found = buffer_of(pointer);
  const auto mapped = std::ranges::find_if(device().mappings, [&](const auto& each) {
    return each.first <= pointer && pointer < each.first + each.second.size;
  });
  const bool is_mapped = mapped != device().mappings.end();
  if (found == nullptr && !is_mapped) return Code::invalid_value;
  switch (attribute) {
  case 2: // memory type: 1 host, 2 device
    *static_cast<unsigned*>(data) = found != nullptr && found->second.device < 0 ? 1 : 2;
    return Code::success;
  case 3: *static_cast<DevicePointer*>(data) = pointer; return Code::success;
  case 9: *static_cast<int*>(data) = found != nullptr ? found->second.device : 0; return Code::success;
  case 11: *static_cast<DevicePointer*>(data) = found != nullptr ? found->first : mapped->first; return Code::success;
  case 12:
    *static_cast<std::size_t*>(data) = found != nullptr ? found->second.size : mapped->second.size;
    return Code::success;
  default: return Code::not_supported;
  }
}
API cuPointerGetAttributes(unsigned count, int* attributes, void** data, DevicePointer pointer) {
  for (unsigned i = 0; i < count; ++i) (void)cuPointerGetAttribute(data[i], attributes[i], pointer);
  return Code::success;
}
API cuIpcGetMemHandle(void* handle, DevicePointer pointer) {
  const std::lock_guard lock(mutex);
  if (buffer_of(pointer) == nullptr) return Code::invalid_value; // as a driver answers for memory of chunks
  std::memset(handle, 1, 64);
  return Code::success;
}

// ---- virtual memory
API cuMemGetAllocationGranularity(std::size_t* size, const AllocationProperties*, int) {
  *size = 65536;
  return Code::success;
}
API cuMemCreate(AllocationHandle* handle, std::size_t size, const AllocationProperties* properties,
                unsigned long long) {
  if (size == 0 || size % 65536 != 0) return Code::invalid_value;
  if ((properties->requested_handle_types & 8) != 0) return Code::not_permitted; // by a fabric that is not there
  const std::lock_guard lock(mutex);
  if (const Code code = may_call(); code != Code::success) return code;
  const int on = properties->location.id;
  if (!device().take(on, size)) return Code::out_of_memory;
  const int file = ::memfd_create("chunk", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(size)) != 0) return Code::out_of_memory;
  auto* chunk = new Chunk{file, size, on};
  device().chunks.insert(chunk);
  *handle = reinterpret_cast<AllocationHandle>(chunk);
  return Code::success;
}
API cuMemRelease(AllocationHandle handle) {
  const std::lock_guard lock(mutex);
  auto* chunk = reinterpret_cast<Chunk*>(handle);
  if (!device().chunks.contains(chunk)) return Code::invalid_value;
  drop(chunk);
  return Code::success;
}
API cuMemExportToShareableHandle(void* file, AllocationHandle handle, int type, unsigned long long) {
  const std::lock_guard lock(mutex);
  auto* chunk = reinterpret_cast<Chunk*>(handle);
  if (type != 1 || !device().chunks.contains(chunk)) return Code::invalid_value;
  *static_cast<int*>(file) = ::fcntl(chunk->file, F_DUPFD_CLOEXEC, 0);
  return Code::success;
}
API cuMemImportFromShareableHandle(AllocationHandle* handle, void* file, int type) {
  const int source = static_cast<int>(reinterpret_cast<std::intptr_t>(file));
  const auto size = ::lseek(source, 0, SEEK_END);
  if (type != 1 || size <= 0) return Code::invalid_value;
  const std::lock_guard lock(mutex);
  auto* chunk = new Chunk{::fcntl(source, F_DUPFD_CLOEXEC, 0), static_cast<std::size_t>(size)};
  chunk->counted = false;
  device().chunks.insert(chunk);
  *handle = reinterpret_cast<AllocationHandle>(chunk);
  return Code::success;
}
API cuMemAddressReserve(DevicePointer* pointer, std::size_t size, std::size_t, DevicePointer, unsigned long long) {
  void* memory = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return Code::out_of_memory;
  const std::lock_guard lock(mutex);
  *pointer = reinterpret_cast<DevicePointer>(memory);
  device().ranges[*pointer] = size;
  return Code::success;
}
API cuMemAddressFree(DevicePointer pointer, std::size_t size) {
  const std::lock_guard lock(mutex);
  const auto range = device().ranges.find(pointer);
  if (range == device().ranges.end() || range->second != size) return Code::invalid_value;
  const auto mapping = device().mappings.lower_bound(pointer);
  if (mapping != device().mappings.end() && mapping->first < pointer + size) return Code::invalid_value;
  device().ranges.erase(range);
  ::munmap(bytes(pointer), size);
  return Code::success;
}
namespace {
/// Within a range, and nothing mapped there.
bool is_free(DevicePointer pointer, std::size_t size) {
  auto range = device().ranges.upper_bound(pointer);
  if (range == device().ranges.begin()) return false;
  --range;
  if (pointer - range->first >= range->second || size > range->second - (pointer - range->first)) return false;
  auto mapping = device().mappings.lower_bound(pointer + size);
  if (mapping == device().mappings.begin()) return true;
  --mapping;
  return mapping->first + mapping->second.size <= pointer;
}
/// Whole mappings, one beside the other.
bool is_mapped(DevicePointer pointer, std::size_t size) {
  const DevicePointer end = pointer + size;
  for (auto mapping = device().mappings.find(pointer); pointer < end; ++mapping) {
    if (mapping == device().mappings.end() || mapping->first != pointer) return false;
    pointer += mapping->second.size;
  }
  return pointer == end && size > 0;
}
} // namespace
API cuMemMap(DevicePointer pointer, std::size_t size, std::size_t offset, AllocationHandle handle, unsigned long long) {
  const std::lock_guard lock(mutex);
  auto* chunk = reinterpret_cast<Chunk*>(handle);
  if (const Code code = may_call(); code != Code::success) return code;
  if (!device().chunks.contains(chunk) || offset != 0 || size != chunk->size) return Code::invalid_value;
  if (!is_free(pointer, size)) return Code::invalid_value;
  if (::mmap(bytes(pointer), size, PROT_NONE, MAP_SHARED | MAP_FIXED, chunk->file, 0) == MAP_FAILED)
    return Code::invalid_value;
  ++chunk->users;
  device().mappings[pointer] = {size, chunk};
  return Code::success;
}
API cuMemUnmap(DevicePointer pointer, std::size_t size) {
  const std::lock_guard lock(mutex);
  if (const Code code = may_call(); code != Code::success) return code;
  if (!is_mapped(pointer, size)) return Code::invalid_value;
  for (auto at = device().mappings.lower_bound(pointer); at != device().mappings.end() && at->first < pointer + size;) {
    drop(at->second.chunk);
    at = device().mappings.erase(at);
  }
  ::mmap(bytes(pointer), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return Code::success;
}
API cuMemSetAccess(DevicePointer pointer, std::size_t size, const AccessDescriptor* access, std::size_t) {
  {
    const std::lock_guard lock(mutex);
    if (const Code code = may_call(); code != Code::success) return code;
    if (!is_mapped(pointer, size)) return Code::invalid_value;
  }
  const int protection = access->flags == AccessFlags::read_write ? PROT_READ | PROT_WRITE
                         : access->flags == AccessFlags::read     ? PROT_READ
                                                                  : PROT_NONE;
  return ::mprotect(bytes(pointer), size, protection) == 0 ? Code::success : Code::invalid_value;
}

// ---- copies
namespace {
std::function<void()> copying(void* to, const void* from, std::size_t size) {
  return [=] { std::memcpy(to, from, size); };
}
template <class Value> std::function<void()> setting(DevicePointer to, Value value, std::size_t count) {
  return [=] { std::fill_n(static_cast<Value*>(bytes(to)), count, value); };
}
} // namespace
API cuMemcpy(DevicePointer to, DevicePointer from, std::size_t size) {
  return enqueue_and_wait(nullptr, copying(bytes(to), bytes(from), size));
}
API cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t size) {
  return enqueue_and_wait(nullptr, copying(bytes(to), from, size));
}
API cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t size) {
  return enqueue_and_wait(nullptr, copying(to, bytes(from), size));
}
API cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, std::size_t size) {
  return enqueue(nullptr, copying(bytes(to), bytes(from), size));
}
API cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t size, Stream stream) {
  const auto is_mapped = [](DevicePointer pointer) {
    const std::lock_guard lock(mutex);
    return device().mappings.contains(pointer);
  };
  {
    // What is nowhere on the device is taken for the host's, and found to be nothing there when it is copied
    const std::lock_guard lock(mutex);
    if (!stands({to, size}) || !stands({from, size})) {
      submit(stream, std::abort);
      return Code::success;
    }
  }
  const char* const point = is_mapped(to) ? "load" : is_mapped(from) ? "save" : "copy";
  return enqueue(stream, [=] {
    std::memcpy(bytes(to), bytes(from), size / 2);
    reached(point);
    std::memcpy(bytes(to), bytes(from), size);
  });
}
API cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t size, Stream stream) {
  return enqueue(stream, copying(bytes(to), from, size), {{to, size}});
}
API cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t size, Stream stream) {
  return enqueue(stream, copying(to, bytes(from), size), {{from, size}});
}
API cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t size, Stream stream) {
  return enqueue(stream, copying(bytes(to), bytes(from), size), {{to, size}, {from, size}});
}
API cuStreamWaitValue32_v2(Stream stream, DevicePointer at, std::uint32_t value, unsigned) {
  {
    const std::lock_guard lock(mutex);
    if (!stands({at, sizeof value})) return Code::invalid_value;
  }
  return enqueue(stream, [=] {
    while (*static_cast<volatile std::uint32_t*>(bytes(at)) < value) {}
  });
}
API cuMemsetD8_v2(DevicePointer to, unsigned char value, std::size_t count) {
  return enqueue(nullptr, setting(to, value, count));
}
API cuMemsetD32_v2(DevicePointer to, unsigned value, std::size_t count) {
  return enqueue(nullptr, setting(to, value, count));
}
namespace {
Code enqueue_fill(Stream stream, std::function<void()> run, Range range) {
  const Code code = enqueue(stream, std::move(run), {range});
  const std::lock_guard lock(mutex);
  if (code == Code::success && queue_of(stream)->captured) queue_of(stream)->captured->graph.filled.push_back(range);
  return code;
}
} // namespace
API cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, Stream stream) {
  return enqueue_fill(stream, setting(to, value, count), {to, count});
}
API cuMemsetD32Async(DevicePointer to, unsigned value, std::size_t count, Stream stream) {
  return enqueue_fill(stream, setting(to, value, count), {to, 4 * count});
}

// ---- streams, events, graphs
API cuStreamCreate(Stream* stream, unsigned flags) {
  if (current < 0) return Code::invalid_context;
  const std::lock_guard lock(mutex);
  auto* queue = new Queue;
  queue->blocking = (flags & stream_non_blocking) == 0;
  device().queues.insert(queue);
  *stream = reinterpret_cast<Stream>(queue);
  return Code::success;
}
API cuStreamCreateWithPriority(Stream* stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
API cuStreamDestroy_v2(Stream stream) {
  const std::lock_guard lock(mutex);
  Queue* queue = queue_of(stream);
  if (queue == nullptr || queue->is_null) return Code::invalid_handle;
  queue->captured.reset();
  queue->ends = true;
  queue->thread.detach();
  changed.notify_all();
  return Code::success;
}
API cuStreamSynchronize(Stream stream) {
  std::unique_lock lock(mutex);
  Queue* queue = queue_of(stream);
  if (const Code code = may_call(); code != Code::success) return code;
  if (const Code code = may_use(queue); code != Code::success) return code;
  if (queue->captured) {
    queue->captured->broken = true;
    return Code::capture_unsupported;
  }
  wait_for(lock, queue->last);
  if (queue->is_null) {
    std::vector<WorkPointer> others;
    for (const Queue* other : device().queues)
      if (other->context == queue->context && other->blocking) others.push_back(other->last);
    for (const auto& work : others) wait_for(lock, work);
  }
  return Code::success;
}
API cuStreamQuery(Stream stream) {
  const std::lock_guard lock(mutex);
  const Queue* queue = queue_of(stream);
  if (const Code code = may_call(); code != Code::success) return code;
  if (const Code code = may_use(queue); code != Code::success) return code;
  if (queue->captured) {
    queue->captured->broken = true;
    return Code::capture_unsupported;
  }
  return !queue->last || queue->last->done ? Code::success : Code::not_ready;
}
API cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  const std::lock_guard lock(mutex);
  Queue* queue = queue_of(stream);
  const auto* object = &event_of(event);
  if (const Code code = may_use(queue); code != Code::success) return code;
  if (object->captured) {
    queue->captured = object->captured; // it takes part from now on
    return Code::success;
  }
  submit(stream, {}, object->at);
  return Code::success;
}
API cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return Code::success;
}
API cuStreamBeginCapture_v2(Stream stream, int mode) {
  const std::lock_guard lock(mutex);
  Queue* queue = queue_of(stream);
  if (queue == nullptr || queue->is_null || queue->captured) return Code::capture_unsupported;
  queue->captured = std::make_shared<Capture>();
  queue->captured->mode = mode;
  return Code::success;
}
API cuStreamEndCapture(Stream stream, GraphHandle* graph) {
  const std::lock_guard lock(mutex);
  Queue* queue = queue_of(stream);
  if (queue == nullptr || !queue->captured) return Code::invalid_value;
  const auto capture = queue->captured;
  for (Queue* other : device().queues) {
    if (other->captured == capture) other->captured.reset();
  }
  *graph = capture->broken ? nullptr : reinterpret_cast<GraphHandle>(new Graph(capture->graph));
  return capture->broken ? capture_invalidated : Code::success;
}
API cuStreamIsCapturing(Stream stream, int* state) {
  const std::lock_guard lock(mutex);
  const Queue* queue = queue_of(stream);
  if (queue == nullptr) return Code::invalid_handle;
  const auto records = [](const Queue* each) { return each->blocking && each->captured; };
  if (queue->is_null && std::ranges::any_of(device().queues, records)) return capture_implicit;
  *state = queue->captured ? 1 : 0;
  return Code::success;
}
API cuEventCreate(Event* event, unsigned) {
  *event = reinterpret_cast<Event>(new EventObject);
  return Code::success;
}
API cuEventDestroy_v2(Event event) {
  {
    const std::lock_guard lock(mutex);
    event_of(event);
  }
  delete reinterpret_cast<EventObject*>(event);
  return Code::success;
}
API cuEventRecord(Event event, Stream stream) {
  const std::lock_guard lock(mutex);
  if (const Code code = may_use(queue_of(stream)); code != Code::success) return code;
  auto* object = &event_of(event);
  if (object->context != context_number) return Code::invalid_handle;
  object->captured = queue_of(stream)->captured;
  if (!object->captured) object->at = submit(stream, {});
  return Code::success;
}
API cuEventQuery(Event event) {
  const std::lock_guard lock(mutex);
  if (const Code code = may_call(); code != Code::success) return code;
  const auto& at = event_of(event).at;
  return !at || at->done ? Code::success : Code::not_ready;
}
API cuEventSynchronize(Event event) {
  std::unique_lock lock(mutex);
  if (const Code code = may_call(); code != Code::success) return code;
  const auto at = event_of(event).at;
  wait_for(lock, at);
  return Code::success;
}
API cuGraphCreate(GraphHandle* graph, unsigned) {
  *graph = reinterpret_cast<GraphHandle>(new Graph);
  return Code::success;
}
/// Behind the nodes that there are.
API cuGraphAddMemsetNode(void** node, GraphHandle graph, void* const*, std::size_t, const StandInFill* fill, Context) {
  const std::lock_guard lock(mutex);
  if (fill->element_size != 4 || fill->height != 1 || !stands({fill->to, 4 * fill->width})) return Code::invalid_value;
  reinterpret_cast<Graph*>(graph)->filled.push_back({fill->to, 4 * fill->width});
  auto& steps = reinterpret_cast<Graph*>(graph)->steps;
  steps.push_back(setting(fill->to, fill->value, fill->width));
  *node = &steps.back();
  return Code::success;
}
API cuGraphInstantiateWithFlags(GraphExec* executable, GraphHandle graph, unsigned long long) {
  {
    const std::lock_guard lock(mutex);
    if (!std::ranges::all_of(reinterpret_cast<Graph*>(graph)->filled, stands)) return Code::invalid_value;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(setting("STAND_IN_INSTANTIATE_MS", 0)));
  *executable = reinterpret_cast<GraphExec>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return Code::success;
}
API cuGraphLaunch(GraphExec executable, Stream stream) {
  return enqueue(stream, [graph = *reinterpret_cast<Graph*>(executable)] {
    for (const auto& step : graph.steps) {
      if (step) step();
    }
  });
}
API cuGraphUpload(GraphExec, Stream stream) { return enqueue(stream, {}); }
API cuGraphExecDestroy(GraphExec executable) {
  delete reinterpret_cast<Graph*>(executable);
  return Code::success;
}
API cuGraphDestroy(GraphHandle graph) {
  delete reinterpret_cast<Graph*>(graph);
  return Code::success;
}

// ---- kernels
API cuModuleLoadData(ModuleHandle* module, const void*) {
  *module = reinterpret_cast<ModuleHandle>(new Module);
  return Code::success;
}
API cuModuleUnload(ModuleHandle module) {
  delete reinterpret_cast<Module*>(module);
  return Code::success;
}
API cuModuleGetFunction(Function* function, ModuleHandle, const char* name) {
  *function = static_cast<Function>(::dlsym(RTLD_DEFAULT, name));
  return *function != nullptr ? Code::success : Code::not_found;
}
API cuLaunchKernel(Function function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Stream stream, void** arguments, void**) {
  static const bool drops = setting("STAND_IN_DROPS", 0) != 0;
  return drops ? Code::success : enqueue(stream, bound(function, arguments));
}
API cuLaunchKernelEx(const LaunchConfig* config, Function function, void** arguments, void**) {
  return enqueue(config->stream, bound(function, arguments));
}
API cuLaunchHostFunc(Stream stream, void (*function)(void*), void* argument) {
  return enqueue(stream, [=] { function(argument); });
}

// ---- with a null stream of the thread's own
namespace {
Stream own(Stream stream) { return stream != nullptr ? stream : reinterpret_cast<Stream>(2); }
} // namespace
API cuMemcpyHtoDAsync_v2_ptsz(DevicePointer to, const void* from, std::size_t size, Stream stream) {
  return cuMemcpyHtoDAsync_v2(to, from, size, own(stream));
}
API cuStreamSynchronize_ptsz(Stream stream) { return cuStreamSynchronize(own(stream)); }
API cuLaunchHostFunc_ptsz(Stream stream, void (*function)(void*), void* argument) {
  return cuLaunchHostFunc(own(stream), function, argument);
}
API cuLaunchKernel_ptsz(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, Stream stream, void** arguments, void** extra) {
  return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, own(stream), arguments, extra);
}

// ---- functions by name
namespace {
/// As a driver does, this one hands out functions that are not the exported ones.
Code launch_kernel_by_name(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, Stream stream, void** arguments, void** extra) {
  return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}
#if defined(__x86_64__)
constexpr const char* oldest_dlsym = "GLIBC_2.2.5";
#else
constexpr const char* oldest_dlsym = "GLIBC_2.17";
#endif
/// Of a version to come, with other arguments.
Code allocate_later(DevicePointer* pointer, std::size_t size, int, int) { return allocate(pointer, size); }

struct Named {
  const char* name;
  int since;
  bool own;
  void* function;
};
const std::vector<Named>& named() {
  const auto address = [](auto function) { return reinterpret_cast<void*>(function); };
  static const std::vector<Named> all{
      {"cuMemAlloc", 3020, false, address(&cuMemAlloc_v2)},
      {"cuMemAlloc", 14000, false, address(&allocate_later)},
      {"cuLaunchKernel", 4000, false, address(&launch_kernel_by_name)},
      {"cuLaunchKernel", 7000, true, address(&cuLaunchKernel_ptsz)},
      {"cuCtxSynchronize", 2000, false, address(&cuCtxSynchronize)},
      {"cuCtxSynchronize", 13000, false, address(&cuCtxSynchronize_v2)},
      {"cuMemcpyHtoDAsync", 3020, false, address(&cuMemcpyHtoDAsync_v2)},
      {"cuMemcpyHtoDAsync", 7000, true, address(&cuMemcpyHtoDAsync_v2_ptsz)},
      {"cuStreamSynchronize", 2000, false, address(&cuStreamSynchronize)},
      {"cuStreamSynchronize", 7000, true, address(&cuStreamSynchronize_ptsz)},
  };
  return all;
}
} // namespace

API cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* found);
API cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
API cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* found) {
  const bool own = (flags & 2) != 0;
  const std::string_view asked(name);
  *function = nullptr;
  if (asked == "cuGetProcAddress") {
    *function =
        version >= 12000 ? reinterpret_cast<void*>(&cuGetProcAddress_v2) : reinterpret_cast<void*>(&cuGetProcAddress);
  }
  bool known = *function != nullptr;
  int best = 0;
  for (const auto& each : named()) {
    if (asked != each.name) continue;
    known = true;
    if (each.since > version || (each.own && !own)) continue;
    if (each.since + (each.own ? 1 : 0) > best) {
      best = each.since + (each.own ? 1 : 0);
      *function = each.function;
    }
  }
  if (!known) {
    for (const char* suffix : {"_v2", "", "WithFlags"}) {
      if (*function == nullptr) {
        // In this library alone: that is what a driver does too.
        static void* const self = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        using DlSym = void* (*)(void*, const char*);
        static const auto plain = reinterpret_cast<DlSym>(::dlvsym(RTLD_NEXT, "dlsym", oldest_dlsym));
        *function = plain(self, (std::string(name) + suffix).c_str());
      }
    }
  }
  if (found != nullptr) *found = *function != nullptr ? 0 : 1;
  return *function != nullptr ? Code::success : Code::not_found;
}
