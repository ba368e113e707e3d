// The functions of the simulated CUDA driver. Helpers that lock the mutex say so; all others need the caller to hold
// it.
#include "test/cuda/simulated_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace rtexec::hal::cuda {

thread_local int current_device = -1;
thread_local unsigned context_number = 0;

namespace {

constexpr Code deinitialised{4};
constexpr Code capture_invalidated{901}, capture_implicit{906};

thread_local std::map<unsigned, StreamRecord*> own_streams;
thread_local int capture_mode = 0;

SimulatedDriver& driver() { return simulated_driver(); }

void* bytes(DevicePointer pointer) { return reinterpret_cast<void*>(pointer); }
DevicePointer address(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

// ---- objects

template <class All, class Object> bool has(const All& all, const Object* which) {
  return std::ranges::any_of(all, [&](const auto& each) { return each.get() == which; });
}
/// Destroys an object. Locks the mutex.
template <class All, class Object> Code remove(All& all, Object* which) {
  const auto lock = locked();
  const auto count = std::erase_if(all, [&](const auto& each) { return each.get() == which; });
  return count == 1 ? Code::success : Code::invalid_handle;
}
/// Adds an object and returns its handle.
template <class Object> Object* add(std::vector<std::unique_ptr<Object>>& all, Object object = {}) {
  return all.emplace_back(std::make_unique<Object>(std::move(object))).get();
}

// ---- memory

constexpr std::size_t page = 4096;
std::size_t page_up(std::size_t size) { return (size + page - 1) / page * page; }

/// Allocates memory that ends, up to 256-byte alignment, at a page without access. Returns null if none is left.
void* make_memory(std::size_t size) {
  size = (size + 255) / 256 * 256;
  const std::size_t whole = page_up(size);
  void* const made = ::mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  (void)::mprotect(static_cast<char*>(made) + whole, page, PROT_NONE);
  return static_cast<char*>(made) + whole - size;
}
void free_memory(DevicePointer pointer, std::size_t size) {
  const DevicePointer begin = pointer / page * page;
  (void)::munmap(bytes(begin), page_up(pointer - begin + size) + page);
}

void drop_unused(AllocationHandle handle) {
  const auto found = driver().chunks.find(handle);
  const Chunk& chunk = found->second;
  if (!chunk.released || chunk.mappings > 0) return;
  if (chunk.counted) driver().give(chunk.device, chunk.size);
  (void)::close(chunk.file);
  driver().chunks.erase(found);
}
/// Returns the chunk, or null if there is none or its handle is released.
Chunk* chunk_of(AllocationHandle handle) {
  const auto found = driver().chunks.find(handle);
  return found == driver().chunks.end() || found->second.released ? nullptr : &found->second;
}

/// True if an entry of an ordered map overlaps the range.
template <class All> bool overlaps(All& all, Range range) {
  const auto next = all.lower_bound(range.begin);
  return holder(all, range.begin) != all.end() || (next != all.end() && next->first < range.begin + range.size);
}
/// True if the range consists of one or more whole mappings.
bool is_mapped(Range range) {
  DevicePointer at = range.begin;
  const DevicePointer end = range.begin + range.size;
  for (auto mapping = driver().mappings.find(at); at < end; ++mapping) {
    if (mapping == driver().mappings.end() || mapping->first != at) return false;
    at += mapping->second.size;
  }
  return at == end && range.size > 0;
}
bool is_whole(std::size_t size) { return size > 0 && size % driver().granularity == 0; }

/// True if every byte is mapped with at least this access, or the range overlaps no reserved addresses.
bool is_accessible(Range range, AccessFlags least = AccessFlags::none) {
  if (!overlaps(driver().ranges, range)) return true;
  for (DevicePointer at = range.begin; at < range.begin + range.size;) {
    const auto mapping = holder(driver().mappings, at);
    if (mapping == driver().mappings.end() || mapping->second.access < least) return false;
    at = mapping->first + mapping->second.size;
  }
  return true;
}

// ---- work

std::int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Returns an error if a capture forbids this call, and invalidates that capture. A synchronous driver checks no
/// captures.
Code may_call(bool whole_context = false) {
  if (driver().ended) return deinitialised;
  if (!driver().asynchronous) return Code::success;
  bool broke = false;
  for (const StreamRecord* stream : driver().streams) {
    if (!stream->captured) continue;
    Capture& capture = *stream->captured;
    const bool own = capture.thread == std::this_thread::get_id();
    const bool forbids =
        (own && capture.mode != 2 && capture_mode != 2) || (!own && capture.mode == 0 && capture_mode == 0);
    if (whole_context || forbids) broke = capture.broken = true;
  }
  return broke ? Code::capture_unsupported : Code::success;
}
/// Returns an error if the stream does not exist or a capture forbids work in it. Work in the null stream waits for
/// other streams.
Code may_use(const StreamRecord* stream) {
  if (driver().ended) return deinitialised;
  if (stream == nullptr) return Code::invalid_handle;
  if (!stream->is_null) return Code::success;
  Code code = Code::success;
  for (const StreamRecord* other : driver().streams) {
    if (!other->blocking || !other->captured) continue;
    other->captured->broken = true;
    code = capture_implicit;
  }
  return code;
}
/// Checks a call that waits for the stream or queries it. Such a call invalidates the stream's capture.
Code may_wait_for(StreamRecord* stream) {
  if (const Code code = may_call(); code != Code::success) return code;
  if (const Code code = may_use(stream); code != Code::success) return code;
  if (!stream->captured) return Code::success;
  stream->captured->broken = true;
  return Code::capture_unsupported;
}

/// Returns the stream, or null if there is none of this handle.
StreamRecord* stream_of(Stream handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value == 0 || value == 1) return &driver().null_stream(context_number);
  if (value == 2) {
    StreamRecord*& own = own_streams[context_number];
    if (own == nullptr) driver().streams.insert(own = new StreamRecord);
    return own;
  }
  return driver().streams.contains(handle) && !handle->ends ? handle : nullptr;
}
EventRecord& event_of(Event handle) {
  // How a real driver treats an event of a destroyed context is not known.
  if (driver().destroyed_contexts.contains(handle->context)) std::abort();
  return *handle;
}

/// Appends work to the stream, or to the graph if the stream is being captured.
WorkPointer submit(StreamRecord& stream, Step run, WorkPointer also_after = nullptr) {
  auto work = std::make_shared<Work>(Work{std::move(run), {}, stream.captured != nullptr});
  if (stream.captured) {
    stream.captured->graph.steps.push_back(std::move(work->run));
    return work;
  }
  if (also_after) work->after.push_back(std::move(also_after));
  if (stream.is_null) {
    for (const StreamRecord* other : driver().streams) {
      if (other->context == stream.context && other->blocking && other->last) work->after.push_back(other->last);
    }
  } else if (const auto& null = driver().null_stream(stream.context); stream.blocking && null.last) {
    work->after.push_back(null.last);
  }
  stream.work.push_back(work);
  stream.last = work;
  driver().changed.notify_all();
  return work;
}
void wait_for(Lock& lock, const WorkPointer work) {
  driver().changed.wait(lock, [&] { return !work || work->done; });
}
/// Waits for the streams of the current context, or only for the blocking ones, for which the null stream waits.
Code wait_for_all(Lock& lock, bool only_blocking = false) {
  std::vector<WorkPointer> last{driver().null_stream(context_number).last};
  for (const StreamRecord* stream : driver().streams) {
    if (stream->context == context_number && (stream->blocking || !only_blocking)) last.push_back(stream->last);
  }
  for (const auto& work : last) wait_for(lock, work);
  return Code::success;
}

/// Runs work in the stream, at once if the driver is synchronous. Unlocks the mutex.
template <class Run> Code execute(Lock& lock, StreamRecord& stream, Run run, WorkPointer also_after = nullptr) {
  if (!stream.captured && !driver().asynchronous) {
    ++stream.begun;
    lock.unlock();
    return run();
  }
  submit(stream, std::move(run), std::move(also_after));
  lock.unlock();
  return Code::success;
}
/// Like execute(), with its checks, for a thread that does not hold the mutex. Fails if a graph would record ranges
/// without memory.
template <class Run> Code enqueue(Stream handle, Run run, std::initializer_list<Range> named = {}) {
  if (current_device < 0) return Code::invalid_context;
  auto lock = locked();
  StreamRecord* const stream = stream_of(handle);
  if (const Code code = may_use(stream); code != Code::success) return code;
  if (stream->captured && !std::ranges::all_of(named, [](Range each) { return is_accessible(each); }))
    return Code::invalid_value;
  return execute(lock, *stream, std::move(run));
}
Code enqueue_and_wait(Stream handle, Step run) {
  if (current_device < 0) return Code::invalid_context;
  auto lock = locked();
  if (const Code code = may_call(); code != Code::success) return code;
  StreamRecord* const stream = stream_of(handle);
  if (const Code code = may_use(stream); code != Code::success) return code;
  const auto work = submit(*stream, std::move(run));
  wait_for(lock, work);
  return Code::success;
}
Step copying(void* to, const void* from, std::size_t size) {
  return [=] { return std::memcpy(to, from, size), Code::success; };
}

/// Returns a step that sets `count` values. The step locks the mutex when it runs.
template <class Value> Step setting(DevicePointer to, Value value, std::size_t count) {
  return [=]() -> Code {
    if (const auto lock = locked(); !is_accessible({to, sizeof value * count}, AccessFlags::read_write))
      return Code::invalid_value;
    return std::fill_n(static_cast<Value*>(bytes(to)), count, value), Code::success;
  };
}
/// Allocates device or host memory. Locks the mutex. If `checked`, a capture may forbid the call.
Code allocate(DevicePointer* pointer, Buffer buffer, bool checked = true) {
  if (pointer == nullptr || buffer.size == 0) return Code::invalid_value;
  const auto lock = locked();
  if (checked) {
    if (const Code code = may_call(); code != Code::success) return code;
  }
  if (buffer.device >= 0 && !driver().take(buffer.device, buffer.size)) return Code::out_of_memory;
  void* const memory = make_memory(buffer.size);
  if (memory == nullptr) return Code::out_of_memory;
  std::memset(memory, 0xcd, buffer.size);
  *pointer = address(memory);
  driver().buffers[*pointer] = buffer;
  return Code::success;
}
Code release(DevicePointer pointer, bool on_host = false) {
  const auto found = driver().buffers.find(pointer);
  if (found == driver().buffers.end() || (found->second.device < 0) != on_host) return Code::invalid_value;
  const Buffer buffer = found->second;
  if (buffer.device >= 0) driver().give(buffer.device, buffer.size);
  free_memory(pointer, buffer.size);
  driver().buffers.erase(found);
  return Code::success;
}

/// Copies of a kernel's arguments.
class Arguments {
 public:
  Arguments(const std::size_t* sizes, void** arguments) {
    for (std::size_t i = 0; sizes[i] != 0; ++i) {
      const auto* from = static_cast<const char*>(arguments[i]);
      copies_.emplace_back(from, from + sizes[i]);
    }
  }
  /// Returns the address of each argument.
  std::vector<void*> addresses() {
    std::vector<void*> all;
    for (auto& copy : copies_) all.push_back(copy.data());
    return all;
  }

 private:
  std::vector<std::vector<char>> copies_;
};

/// Executes the stream's work until its handle is destroyed and no work remains. It is the main function of a stream's
/// thread.
void serve(StreamRecord* stream) {
  auto lock = locked();
  auto& changed = driver().changed;
  for (;;) {
    changed.wait(lock, [&] { return !stream->work.empty() || stream->ends; });
    if (stream->work.empty()) break;
    const WorkPointer next = stream->work.front();
    changed.wait(lock, [&] { return std::ranges::all_of(next->after, [](const auto& each) { return each->done; }); });
    lock.unlock();
    if (next->run() != Code::success) std::abort();
    lock.lock();
    next->done = true;
    stream->work.pop_front();
    changed.notify_all();
  }
  driver().streams.erase(stream);
  delete stream;
}

} // namespace

StreamRecord::StreamRecord(unsigned of, bool null) : context(of), is_null(null) {
  if (driver().asynchronous) thread = std::thread(serve, this);
}

SimulatedDriver::~SimulatedDriver() {
  for (const auto& [begin, range] : ranges) (void)::munmap(bytes(begin), range.size);
  for (const auto& each : chunks) (void)::close(each.second.file);
  for (const auto& [begin, buffer] : buffers) free_memory(begin, buffer.size);
  for (const StreamRecord* stream : streams) delete stream;
}

// ---- devices and contexts
API cuInit(unsigned) {
  if (driver().devices == 0) return Code::no_device;
  if (std::exchange(driver().initialised, true) || !driver().asynchronous) return Code::success;
  // A real driver shuts down before its process ends, and that takes time.
  std::atexit([] {
    {
      const auto lock = locked();
      driver().ended = true;
    }
    std::this_thread::sleep_for(driver().end);
  });
  return Code::success;
}
API cuDriverGetVersion(int* version) { return *version = driver().version, Code::success; }
API cuDeviceGetCount(int* count) {
  *count = driver().devices;
  return driver().initialised ? Code::success : Code::not_initialized;
}
API cuDeviceGet(Ordinal* ordinal, int number) {
  if (number < 0 || number >= driver().devices) return Code::invalid_value;
  *ordinal = number;
  return Code::success;
}
API cuDeviceTotalMem_v2(std::size_t* size, Ordinal) { return *size = driver().memory, Code::success; }
API cuDevicePrimaryCtxRetain(Context* context, Ordinal ordinal) {
  const auto lock = locked();
  if (const Code code = driver().fault(); code != Code::success) return code;
  if (!driver().initialised) return Code::not_initialized;
  ++driver().retained;
  *context = reinterpret_cast<Context>(static_cast<std::uintptr_t>(ordinal + 1));
  return Code::success;
}
API cuDevicePrimaryCtxRelease_v2(Ordinal) {
  const auto lock = locked();
  if (driver().retained == 0) return Code::invalid_context;
  --driver().retained;
  return Code::success;
}
API cuCtxSetCurrent(Context context) {
  const auto value = reinterpret_cast<std::uintptr_t>(context);
  const auto number = static_cast<unsigned>(value / 16);
  const auto lock = locked();
  if (context != nullptr && number == 0 && driver().retained == 0) return Code::invalid_context;
  current_device = static_cast<int>(value % 16) - 1;
  context_number = number;
  return Code::success;
}
/// Ends all work. Mapped memory remains, as with a real driver.
API cuDevicePrimaryCtxReset_v2(Ordinal) {
  auto lock = locked();
  wait_for_all(lock);
  while (!driver().buffers.empty()) {
    const auto& [pointer, buffer] = *driver().buffers.begin();
    release(pointer, buffer.device < 0);
  }
  return Code::success;
}
API cuCtxDestroy_v2(Context context) {
  const auto number = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(context) / 16);
  if (number == 0) return cuDevicePrimaryCtxReset_v2(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1);
  auto lock = locked();
  const auto last = driver().null_stream(number).last;
  wait_for(lock, last);
  std::vector<StreamRecord*> gone;
  std::ranges::copy_if(driver().streams, std::back_inserter(gone),
                       [=](const StreamRecord* each) { return each->context == number; });
  for (StreamRecord* stream : gone) {
    wait_for(lock, stream->last);
    stream->ends = true;
    stream->thread.detach();
  }
  driver().destroyed_contexts.insert(number);
  driver().changed.notify_all();
  return Code::success;
}
API cuCtxCreate_v2(Context* context, unsigned, Ordinal ordinal) {
  {
    const auto lock = locked();
    *context = reinterpret_cast<Context>(static_cast<std::uintptr_t>(ordinal + 1) + 16 * driver().contexts++);
  }
  return cuCtxSetCurrent(*context);
}
API cuCtxGetCurrent(Context* context) {
  *context =
      reinterpret_cast<Context>(static_cast<std::uintptr_t>(current_device + 1) + std::uintptr_t{16} * context_number);
  return Code::success;
}
API cuCtxGetDevice(Ordinal* ordinal) {
  *ordinal = current_device;
  return current_device < 0 ? Code::invalid_context : Code::success;
}
API cuCtxSynchronize_v2(Context) {
  auto lock = locked();
  if (const Code code = may_call(true); code != Code::success) return code;
  return wait_for_all(lock);
}
API cuCtxSynchronize() { return current_device < 0 ? Code::invalid_context : cuCtxSynchronize_v2(nullptr); }

// ---- memory
API cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current_device < 0) return Code::invalid_context;
  const auto lock = locked();
  if (free != nullptr) *free = driver().available(current_device);
  if (total != nullptr) *total = driver().memory;
  return Code::success;
}
API cuMemAlloc_v2(DevicePointer* pointer, std::size_t size) {
  return current_device < 0 ? Code::invalid_context : allocate(pointer, {size, current_device});
}
API cuMemAllocManaged(DevicePointer* pointer, std::size_t size, unsigned flags) {
  if (current_device < 0) return Code::invalid_context;
  if (driver().strict && flags != managed_attach_global) return Code::invalid_value;
  return allocate(pointer, {size, current_device, true});
}
API cuMemFree_v2(DevicePointer pointer) {
  if (pointer == 0 && !driver().strict) return Code::success;
  auto lock = locked();
  if (const Code code = may_call(); code != Code::success) return code;
  wait_for_all(lock);
  return release(pointer);
}
API cuMemHostAlloc(void** pointer, std::size_t size, unsigned flags) {
  if (driver().strict && flags != host_alloc_portable_and_mapped) return Code::invalid_value;
  DevicePointer made = 0;
  const Code code = allocate(&made, {.size = size}, false);
  *pointer = bytes(made);
  return code;
}
API cuMemFreeHost(void* pointer) {
  const auto lock = locked();
  return release(address(pointer), true);
}
API cuMemHostGetDevicePointer_v2(DevicePointer* device, void* pointer, unsigned) {
  const auto lock = locked();
  const auto found = driver().buffers.find(address(pointer));
  if (found == driver().buffers.end() || found->second.device >= 0) return Code::invalid_value;
  *device = found->first;
  return Code::success;
}
API cuMemHostRegister_v2(void* pointer, std::size_t size, unsigned flags) {
  if (pointer == nullptr || size == 0 || (driver().strict && flags != host_register_portable))
    return Code::invalid_value;
  const auto lock = locked();
  if (overlaps(driver().registered, {address(pointer), size})) return Code::invalid_value;
  driver().registered[address(pointer)] = {address(pointer), size};
  return Code::success;
}
API cuMemHostUnregister(void* pointer) {
  const auto lock = locked();
  return driver().registered.erase(address(pointer)) == 1 ? Code::success : Code::invalid_value;
}
API cuMemAllocPitch_v2(DevicePointer* pointer, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  if (height > SIZE_MAX / *pitch) return Code::out_of_memory;
  return cuMemAlloc_v2(pointer, *pitch * height);
}
API cuMemAllocAsync(DevicePointer* pointer, std::size_t size, Stream) {
  return current_device < 0 ? Code::invalid_context : allocate(pointer, {size, current_device}, false);
}
API cuMemFreeAsync(DevicePointer pointer, Stream handle) {
  {
    const auto lock = locked();
    if (!driver().buffers.contains(pointer)) return Code::invalid_value;
    const StreamRecord* const stream = stream_of(handle);
    if (stream != nullptr && stream->captured) return Code::success; // the memory belongs to the graph
  }
  return enqueue(handle, [pointer] {
    const auto lock = locked();
    return release(pointer);
  });
}
API cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* size, DevicePointer pointer) {
  const auto lock = locked();
  const auto found = holder(driver().buffers, pointer);
  if (found == driver().buffers.end()) return Code::not_found;
  if (base != nullptr) *base = found->first;
  if (size != nullptr) *size = found->second.size;
  return Code::success;
}
API cuPointerGetAttribute(void* data, int attribute, DevicePointer pointer) {
  const auto lock = locked();
  const auto buffer = holder(driver().buffers, pointer);
  const auto mapping = holder(driver().mappings, pointer);
  const bool in_buffer = buffer != driver().buffers.end();
  if (!in_buffer && mapping == driver().mappings.end()) return Code::invalid_value;
  switch (attribute) {
  case 2: // memory type: 1 host, 2 device
    *static_cast<unsigned*>(data) = in_buffer && buffer->second.device < 0 ? 1 : 2;
    return Code::success;
  case 3: *static_cast<DevicePointer*>(data) = pointer; return Code::success;
  case 9: *static_cast<int*>(data) = in_buffer ? buffer->second.device : 0; return Code::success;
  case 11: *static_cast<DevicePointer*>(data) = in_buffer ? buffer->first : mapping->first; return Code::success;
  case 12:
    *static_cast<std::size_t*>(data) = in_buffer ? buffer->second.size : mapping->second.size;
    return Code::success;
  default: return Code::not_supported;
  }
}
API cuPointerGetAttributes(unsigned count, int* attributes, void** data, DevicePointer pointer) {
  for (unsigned i = 0; i < count; ++i) (void)cuPointerGetAttribute(data[i], attributes[i], pointer);
  return Code::success;
}
API cuIpcGetMemHandle(void* handle, DevicePointer pointer) {
  const auto lock = locked();
  if (holder(driver().buffers, pointer) == driver().buffers.end())
    return Code::invalid_value; // a real driver answers this for chunk memory
  std::memset(handle, 1, 64);
  return Code::success;
}

// ---- virtual memory
API cuMemGetAllocationGranularity(std::size_t* size, const AllocationProperties*, int) {
  *size = driver().granularity;
  return Code::success;
}
API cuMemCreate(AllocationHandle* handle, std::size_t size, const AllocationProperties* properties,
                unsigned long long) {
  if (!is_whole(size) || properties->type != 1 || properties->location.type != 1) return Code::invalid_value;
  if ((properties->requested_handle_types & 8) != 0) return Code::not_permitted; // fabric handles: there is no fabric
  const auto lock = locked();
  if (const Code code = may_call(); code != Code::success) return code;
  const int on = properties->location.id;
  if (!driver().take(on, size)) return Code::out_of_memory;
  const int file = ::memfd_create("chunk", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(size)) != 0) return Code::out_of_memory;
  (void)!::pwrite(file, "\xcd", 1, 0); // new physical memory contains old data
  driver().chunks[*handle = ++driver().last_handle] = {.file = file, .size = size, .device = on};
  return Code::success;
}
API cuMemRelease(AllocationHandle handle) {
  const auto lock = locked();
  Chunk* const chunk = chunk_of(handle);
  if (chunk == nullptr) return Code::invalid_value;
  chunk->released = true;
  drop_unused(handle);
  return Code::success;
}
API cuMemExportToShareableHandle(void* out, AllocationHandle handle, int type, unsigned long long) {
  const auto lock = locked();
  const Chunk* const chunk = chunk_of(handle);
  if (type != file_descriptor_handle || chunk == nullptr) return Code::invalid_value;
  const int file = ::fcntl(chunk->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return Code::out_of_memory;
  std::memcpy(out, &file, sizeof file);
  return Code::success;
}
API cuMemImportFromShareableHandle(AllocationHandle* handle, void* file, int type) {
  const int source = static_cast<int>(reinterpret_cast<std::intptr_t>(file));
  const auto size = ::lseek(source, 0, SEEK_END);
  if (type != file_descriptor_handle || size <= 0) return Code::invalid_value;
  const auto lock = locked();
  driver().chunks[*handle = ++driver().last_handle] = {
      .file = ::fcntl(source, F_DUPFD_CLOEXEC, 0), .size = static_cast<std::size_t>(size), .counted = false};
  return Code::success;
}
API cuMemAddressReserve(DevicePointer* pointer, std::size_t size, std::size_t, DevicePointer, unsigned long long) {
  if (!is_whole(size)) return Code::invalid_value;
  void* const memory = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return Code::out_of_memory;
  const auto lock = locked();
  *pointer = address(memory);
  driver().ranges[*pointer] = {*pointer, size};
  return Code::success;
}
API cuMemAddressFree(DevicePointer pointer, std::size_t size) {
  const auto lock = locked();
  const auto range = driver().ranges.find(pointer);
  if (range == driver().ranges.end() || range->second.size != size) return Code::invalid_value;
  if (overlaps(driver().mappings, {pointer, size})) return Code::invalid_value;
  driver().ranges.erase(range);
  (void)::munmap(bytes(pointer), size);
  return Code::success;
}
API cuMemMap(DevicePointer pointer, std::size_t size, std::size_t offset, AllocationHandle handle, unsigned long long) {
  const auto lock = locked();
  Chunk* const chunk = chunk_of(handle);
  if (const Code code = may_call(); code != Code::success) return code;
  if (chunk == nullptr) return Code::invalid_value;
  if (offset != 0 || size != chunk->size) return Code::not_supported;
  const auto range = holder(driver().ranges, pointer);
  if (range == driver().ranges.end() || size > range->second.size - (pointer - range->first))
    return Code::invalid_value;
  if (overlaps(driver().mappings, {pointer, size})) return Code::invalid_value;
  if (::mmap(bytes(pointer), size, PROT_NONE, MAP_SHARED | MAP_FIXED, chunk->file, 0) == MAP_FAILED)
    return Code::out_of_memory;
  ++chunk->mappings;
  driver().mappings[pointer] = {.size = size, .handle = handle};
  return Code::success;
}
API cuMemUnmap(DevicePointer pointer, std::size_t size) {
  const auto lock = locked();
  if (const Code code = may_call(); code != Code::success) return code;
  if (!is_mapped({pointer, size})) return Code::invalid_value;
  auto& mappings = driver().mappings;
  for (auto at = mappings.find(pointer); at != mappings.end() && at->first < pointer + size; at = mappings.erase(at)) {
    --driver().chunks[at->second.handle].mappings;
    drop_unused(at->second.handle);
  }
  (void)::mmap(bytes(pointer), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return Code::success;
}
API cuMemSetAccess(DevicePointer pointer, std::size_t size, const AccessDescriptor* access, std::size_t count) {
  const auto lock = locked();
  if (const Code code = may_call(); code != Code::success) return code;
  if (count != 1 || !is_mapped({pointer, size})) return Code::invalid_value;
  const int protection = access->flags == AccessFlags::read_write ? PROT_READ | PROT_WRITE
                         : access->flags == AccessFlags::read     ? PROT_READ
                                                                  : PROT_NONE;
  if (::mprotect(bytes(pointer), size, protection) != 0) return Code::out_of_memory;
  auto& mappings = driver().mappings;
  for (auto at = mappings.find(pointer); at != mappings.end() && at->first < pointer + size; ++at)
    at->second.access = access->flags;
  return Code::success;
}

// ---- copies
namespace {
/// Writes through the chunk's file: a device that does not protect read-only mappings allows the write.
void write_anyway(DevicePointer to, const void* from, std::size_t size) {
  const auto lock = locked();
  const auto mapping = holder(driver().mappings, to);
  if (mapping == driver().mappings.end()) std::memcpy(bytes(to), from, size);
  else
    (void)!::pwrite(driver().chunks[mapping->second.handle].file, from, size, static_cast<off_t>(to - mapping->first));
}
Code copy(DevicePointer to, DevicePointer from, std::size_t size, const char* point) {
  const bool protects = driver().enforces_read_only;
  {
    const auto lock = locked();
    if (!is_accessible({to, size}, protects ? AccessFlags::read_write : AccessFlags::read) ||
        !is_accessible({from, size}, AccessFlags::read))
      return Code::invalid_value;
  }
  if (!protects) return write_anyway(to, bytes(from), size), Code::success;
  std::memcpy(bytes(to), bytes(from), size / 2);
  driver().reached(point);
  std::memcpy(bytes(to), bytes(from), size);
  return Code::success;
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
API cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t size, Stream stream) {
  const char* point = "copy";
  bool there;
  {
    // The driver takes an address without device memory for a host address, and the copy fails there.
    const auto lock = locked();
    there = is_accessible({to, size}) && is_accessible({from, size});
    if (driver().mappings.contains(to)) point = "load";
    else if (driver().mappings.contains(from)) point = "save";
  }
  return enqueue(stream, [=] {
    driver().note("copy", stream, {to, size}, nullptr);
    return there ? copy(to, from, size, point) : Code::invalid_value;
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
    const auto lock = locked();
    if (!is_accessible({at, sizeof value})) return Code::invalid_value;
  }
  return enqueue(stream, [=] {
    while (*static_cast<volatile std::uint32_t*>(bytes(at)) < value) {}
    return Code::success;
  });
}
API cuMemsetD8_v2(DevicePointer to, unsigned char value, std::size_t count) {
  return enqueue(nullptr, setting(to, value, count));
}
/// Enqueues a fill. If a graph records it, instantiation checks the range again.
API cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, Stream handle) {
  const Code code = enqueue(handle, setting(to, value, count), {{to, count}});
  const auto lock = locked();
  if (code == Code::success && stream_of(handle)->captured)
    stream_of(handle)->captured->graph.filled.push_back({to, count});
  return code;
}

// ---- streams
API cuStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
  if (current_device < 0) return Code::invalid_context;
  if (driver().strict && flags != stream_non_blocking) return Code::invalid_value;
  const auto lock = locked();
  *stream = *driver().streams.insert(new StreamRecord).first;
  (*stream)->blocking = (flags & stream_non_blocking) == 0;
  (*stream)->priority = priority;
  return Code::success;
}
API cuStreamDestroy_v2(Stream handle) {
  const auto lock = locked();
  StreamRecord* const stream = stream_of(handle);
  if (stream == nullptr || stream->is_null) return Code::invalid_handle;
  stream->captured.reset();
  stream->ends = true;
  if (stream->thread.joinable()) {
    stream->thread.detach();
    driver().changed.notify_all();
  } else {
    driver().streams.erase(stream);
    delete stream;
  }
  return Code::success;
}
API cuStreamSynchronize(Stream handle) {
  auto lock = locked();
  StreamRecord* const stream = stream_of(handle);
  if (const Code code = may_wait_for(stream); code != Code::success) return code;
  wait_for(lock, stream->last);
  if (stream->is_null) wait_for_all(lock, true);
  if (!driver().asynchronous) stream->waited = stream->begun.load();
  lock.unlock();
  return driver().breaks() ? driver().fault() : Code::success;
}
API cuStreamQuery(Stream handle) {
  const auto lock = locked();
  StreamRecord* const stream = stream_of(handle);
  if (const Code code = may_wait_for(stream); code != Code::success) return code;
  return !stream->last || stream->last->done ? Code::success : Code::not_ready;
}
API cuStreamWaitEvent(Stream handle, Event event, unsigned flags) {
  auto lock = locked();
  StreamRecord* const stream = stream_of(handle);
  if (!has(driver().events, event) || (driver().strict && flags != 0)) return Code::invalid_value;
  const EventRecord& object = event_of(event);
  if (const Code code = may_use(stream); code != Code::success) return code;
  if (object.captured) {
    stream->captured = object.captured; // the stream joins the capture
    return Code::success;
  }
  return execute(
      lock, *stream, [=] { return driver().note("wait", handle, {}, event), Code::success; }, object.at);
}
API cuStreamBeginCapture_v2(Stream handle, int mode) {
  const auto lock = locked();
  StreamRecord* const stream = stream_of(handle);
  if (driver().strict && mode != capture_thread_local) return Code::invalid_value;
  if (stream == nullptr || stream->is_null || stream->captured) return Code::capture_unsupported;
  stream->captured = std::make_shared<Capture>();
  stream->captured->mode = mode;
  return Code::success;
}
API cuStreamEndCapture(Stream handle, GraphHandle* graph) {
  const auto lock = locked();
  const StreamRecord* const stream = stream_of(handle);
  if (stream == nullptr || !stream->captured) return Code::invalid_value;
  const auto capture = stream->captured;
  for (StreamRecord* other : driver().streams) {
    if (other->captured == capture) other->captured.reset();
  }
  *graph = capture->broken ? nullptr : add(driver().graphs, capture->graph);
  return capture->broken ? capture_invalidated : Code::success;
}
API cuThreadExchangeStreamCaptureMode(int* mode) { return std::swap(*mode, capture_mode), Code::success; }
API cuStreamCreate(Stream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
API cuStreamIsCapturing(Stream handle, int* state) {
  const auto lock = locked();
  const StreamRecord* const stream = stream_of(handle);
  if (stream == nullptr) return Code::invalid_handle;
  const auto records = [](const StreamRecord* each) { return each->blocking && each->captured; };
  if (stream->is_null && std::ranges::any_of(driver().streams, records)) return capture_implicit;
  *state = stream->captured ? 1 : 0;
  return Code::success;
}

// ---- events
API cuEventCreate(Event* event, unsigned flags) {
  const auto lock = locked();
  *event = driver().events.emplace_back(std::make_unique<EventRecord>()).get();
  (*event)->flags = flags;
  return Code::success;
}
API cuEventDestroy_v2(Event event) {
  {
    const auto lock = locked();
    if (has(driver().events, event)) event_of(event);
  }
  return remove(driver().events, event);
}
API cuEventRecordWithFlags(Event event, Stream handle, unsigned flags) {
  auto lock = locked();
  StreamRecord* const stream = stream_of(handle);
  if (const Code code = may_use(stream); code != Code::success) return code;
  EventRecord& object = event_of(event);
  if (object.context != context_number) return Code::invalid_handle;
  driver().recorded = event;
  object.captured = (flags & event_record_external) != 0 ? nullptr : stream->captured;
  if (object.captured) return Code::success;
  if (driver().asynchronous) {
    object.at = submit(*stream, [] { return Code::success; });
    return Code::success;
  }
  return execute(lock, *stream, [=] {
    driver().note("record", handle, {}, event);
    event->recorded_ns = clock_ns();
    event->stream = stream;
    event->behind = stream->begun;
    event->under_way = true;
    return Code::success;
  });
}
API cuEventRecord(Event event, Stream stream) { return cuEventRecordWithFlags(event, stream, 0); }
namespace {
/// Notes, after waiting for an event or querying it, that all earlier work in its stream has ended.
Code has_come(EventRecord& event, Lock& lock) {
  if (event.stream != nullptr) event.stream->waited = std::max(event.stream->waited.load(), event.behind);
  lock.unlock();
  return driver().breaks() ? driver().fault() : Code::success;
}
} // namespace
API cuEventQuery(Event event) {
  auto lock = locked();
  if (const Code code = may_call(); code != Code::success) return code;
  EventRecord& object = event_of(event);
  if (object.under_way.exchange(false)) {
    lock.unlock();
    std::this_thread::sleep_for(driver().wake_up_delay.load());
    return Code::not_ready;
  }
  return !object.at || object.at->done ? has_come(object, lock) : Code::not_ready;
}
API cuEventSynchronize(Event event) {
  auto lock = locked();
  if (const Code code = may_call(); code != Code::success) return code;
  EventRecord& object = event_of(event);
  driver().waited_for = event;
  object.under_way = false;
  wait_for(lock, object.at);
  const Code code = has_come(object, lock);
  std::this_thread::sleep_for(driver().wake_up_delay.load());
  return code;
}
API cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  if (((begin->flags | end->flags) & event_disable_timing) != 0) return Code::invalid_handle;
  *milliseconds = static_cast<float>(end->recorded_ns - begin->recorded_ns) / 1e6f;
  return Code::success;
}

// ---- graphs
API cuGraphCreate(GraphHandle* graph, unsigned) {
  const auto lock = locked();
  *graph = add(driver().graphs);
  return Code::success;
}
/// Adds a memset node that depends on all other nodes.
API cuGraphAddMemsetNode(void** node, GraphHandle graph, void* const*, std::size_t, const FillParameters* fill,
                         Context) {
  const auto lock = locked();
  const Range range{fill->to, 4 * fill->width};
  if (fill->element_size != 4 || fill->height != 1 || !is_accessible(range)) return Code::invalid_value;
  graph->filled.push_back(range);
  graph->steps.push_back(setting(fill->to, fill->value, fill->width));
  *node = &graph->steps.back();
  return Code::success;
}
API cuGraphInstantiateWithFlags(GraphExec* executable, GraphHandle graph, unsigned long long) {
  {
    const auto lock = locked();
    if (!has(driver().graphs, graph) ||
        !std::ranges::all_of(graph->filled, [](Range each) { return is_accessible(each); }))
      return Code::invalid_value;
    *executable = add(driver().executables, {std::make_shared<std::vector<Step>>(graph->steps)});
  }
  std::this_thread::sleep_for(driver().instantiation);
  return Code::success;
}
API cuGraphLaunch(GraphExec executable, Stream stream) {
  driver().graph_in = stream;
  if (driver().breaks()) return Code::success;
  return enqueue(stream, [steps = executable->steps]() -> Code {
    for (const auto& step : *steps) {
      if (const Code code = step(); code != Code::success) return code;
    }
    return Code::success;
  });
}
API cuGraphUpload(GraphExec executable, Stream stream) {
  {
    const auto lock = locked();
    if (!has(driver().executables, executable)) return Code::invalid_value;
  }
  return enqueue(stream, [] { return Code::success; });
}
API cuGraphExecDestroy(GraphExec executable) { return remove(driver().executables, executable); }
API cuGraphDestroy(GraphHandle graph) { return remove(driver().graphs, graph); }

// ---- kernels
API cuModuleLoadData(ModuleHandle* module, const void* image) {
  const auto lock = locked();
  if (image == nullptr) return Code::invalid_value;
  *module = add(driver().modules);
  return Code::success;
}
API cuModuleUnload(ModuleHandle module) { return remove(driver().modules, module); }
API cuModuleGetFunction(Function* function, ModuleHandle module, const char* name) {
  const auto lock = locked();
  if (!has(driver().modules, module)) return Code::invalid_handle;
  *function = driver().find_kernel(name);
  return *function != nullptr ? Code::success : Code::not_found;
}
API cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned, Stream stream, void** arguments, void**) {
  if (driver().drops_launches) return Code::success;
  if (function == nullptr || grid_x * grid_y * grid_z == 0 || block_x * block_y * block_z == 0 ||
      block_x * block_y * block_z > 1024)
    return Code::invalid_value;
  driver().launched_in = stream;
  if (driver().breaks()) return Code::success;
  const Dimensions grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
  const auto run = [=](void** given) { return driver().run(function, grid, block, given, stream), Code::success; };
  if (!driver().asynchronous && (stream == nullptr || !stream->captured))
    return enqueue(stream, [&] { return run(arguments); });
  return enqueue(stream, [run, copies = Arguments(driver().sizes_of(function), arguments)]() mutable {
    return run(copies.addresses().data());
  });
}
API cuLaunchKernelEx(const LaunchConfig* config, Function function, void** arguments, void** extra) {
  return cuLaunchKernel(function, config->grid_x, config->grid_y, config->grid_z, config->block_x, config->block_y,
                        config->block_z, config->shared_bytes, config->stream, arguments, extra);
}
API cuLaunchHostFunc(Stream stream, void (*function)(void*), void* argument) {
  return enqueue(stream, [=] { return function(argument), Code::success; });
}

} // namespace rtexec::hal::cuda
