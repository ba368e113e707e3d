#include "test/hal/fake_cuda_driver.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <ostream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace rtexec::hal::cuda {

struct ContextRecord {
  int retained = 0;
};
struct ModuleRecord {};
struct FunctionRecord {
  std::string name;
  std::vector<std::size_t> argument_sizes;
  test::FakeCudaDriver::Kernel kernel;
};
struct GraphRecord {
  std::vector<std::function<Code()>> nodes;
};
struct GraphExecRecord {
  std::vector<std::function<Code()>> nodes;
};
struct StreamRecord {
  int priority = 0;
  std::atomic<int> begun = 0, waited = 0; // pieces of work
  std::unique_ptr<GraphRecord> capture;
};
struct EventRecord {
  unsigned flags = 0;
  std::atomic<bool> under_way = false; // until it was asked once
  std::atomic<std::int64_t> recorded_ns = 0;
  std::atomic<StreamRecord*> stream = nullptr;
  std::atomic<int> behind = 0; // pieces of work of the stream
};

} // namespace rtexec::hal::cuda

namespace rtexec::hal::test {

using namespace cuda;

namespace {

constexpr std::size_t functions = sizeof(Driver) / sizeof(void*);
thread_local Context current_context = nullptr;

char* host(DevicePointer pointer) { return reinterpret_cast<char*>(pointer); }

std::int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <class Object> using Owned = std::vector<std::unique_ptr<Object>>;

template <class Object> Code remove(Owned<Object>& all, Object* which) {
  return std::erase_if(all, [&](const auto& each) { return each.get() == which; }) == 1 ? Code::success
                                                                                        : Code::invalid_handle;
}

template <class Object> bool has(const Owned<Object>& all, const Object* which) {
  return std::ranges::any_of(all, [&](const auto& each) { return each.get() == which; });
}

/// How a broken device, and a thread without context, answer.
enum class Manner {
  harmless,   // as always
  gives_back, // does its part, and reports the fault
  works,      // the fault, or that there is no context
};

} // namespace

class FakeCudaDriver::State {
 public:
  explicit State(const FakeCudaProperties& asked) : properties(asked) { mappings.reserve(4096); }
  ~State() {
    for (const auto& each : ranges) (void)::munmap(host(each.base), each.size);
    for (const auto& each : chunks) (void)::close(each.second.file);
    for (const auto& each : buffers) std::free(host(each.base)); // NOLINT
  }

  struct Span {
    DevicePointer base = 0;
    std::size_t size = 0;
  };
  struct MappedSpan : Span {
    AllocationHandle handle = 0;
    AccessFlags access = AccessFlags::none;
  };
  struct ChunkFile {
    int file = -1;
    std::size_t size = 0;
    bool released = false;
  };
  struct BufferSpan : Span {
    bool on_host = false;
    bool managed = false;
  };

  // ---- injection
  Code before_call(std::size_t position, Manner manner) {
    const std::scoped_lock lock(mutex);
    ++called[position];
    const bool due = (fail_position == functions || fail_position == position) && fail_in > 0 && --fail_in == 0;
    if (due) {
      failed_position = static_cast<int>(position);
      if (is_sticky(fail_code)) broken = fail_code;
      return fail_code;
    }
    if (manner != Manner::works) return Code::success;
    if (broken != Code::success) return broken;
    return current_context == nullptr || context.retained == 0 ? Code::invalid_context : Code::success;
  }
  Code after_call(Manner manner, Code code) {
    const std::scoped_lock lock(mutex);
    return manner == Manner::gives_back && broken != Code::success ? broken : code;
  }
  /// True when the device breaks here.
  bool breaks() {
    const std::scoped_lock lock(mutex);
    if (breaking == Code::success) return false;
    broken = std::exchange(breaking, Code::success);
    return true;
  }
  Code broken_code() {
    const std::scoped_lock lock(mutex);
    return broken;
  }

  // ---- devices and contexts
  Code init(unsigned) { return properties.devices > 0 ? Code::success : Code::no_device; }
  Code driver_version(int* version) { return *version = 13000, Code::success; }
  Code error_name(Code code, const char** name) {
    switch (code) {
    case Code::out_of_memory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case Code::illegal_address: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case Code::no_device: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case Code::invalid_value: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case Code::not_found: *name = "CUDA_ERROR_NOT_FOUND"; break;
    default: *name = "CUDA_ERROR_OF_THE_FAKE"; break;
    }
    return Code::success;
  }
  Code error_text(Code, const char** text) { return *text = "as the fake driver was told", Code::success; }
  Code device_count(int* count) { return *count = properties.devices, Code::success; }
  Code device_get(Ordinal* device, int number) {
    if (number < 0 || number >= properties.devices) return Code::invalid_value;
    return *device = number, Code::success;
  }
  Code device_name(char* name, int size, Ordinal) {
    const std::size_t length = properties.name.copy(name, static_cast<std::size_t>(size) - 1);
    name[length] = 0;
    return Code::success;
  }
  Code device_attribute(int* value, Attribute attribute, Ordinal) {
    switch (attribute) {
    case Attribute::multiprocessors: *value = properties.multiprocessors; break;
    case Attribute::integrated: *value = properties.integrated; break;
    case Attribute::copy_engines: *value = 2; break;
    case Attribute::compute_capability_major: *value = properties.architecture / 10; break;
    case Attribute::compute_capability_minor: *value = properties.architecture % 10; break;
    case Attribute::concurrent_managed_access: *value = properties.concurrent_managed; break;
    default: return Code::invalid_value;
    }
    return Code::success;
  }
  Code device_memory(std::size_t* bytes, Ordinal) { return *bytes = properties.memory.count, Code::success; }
  Code free_without_context(std::size_t* bytes, Ordinal) {
    const std::scoped_lock lock(mutex);
    return *bytes = free_bytes(), Code::success;
  }
  Code bus_id(char* text, int size, Ordinal) {
    return std::snprintf(text, static_cast<std::size_t>(size), "%s", properties.bus.c_str()), Code::success;
  }
  Code context_retain(Context* made, Ordinal) {
    const std::scoped_lock lock(mutex);
    if (broken != Code::success) return broken;
    ++context.retained;
    return *made = &context, Code::success;
  }
  Code context_release(Ordinal) {
    const std::scoped_lock lock(mutex);
    if (context.retained == 0) return Code::invalid_context;
    return --context.retained, Code::success;
  }
  Code context_set_current(Context which) {
    const std::scoped_lock lock(mutex);
    if (which != nullptr && (which != &context || context.retained == 0)) return Code::invalid_context;
    return current_context = which, Code::success;
  }
  Code stream_priorities(int* least, int* greatest) { return *least = 0, *greatest = -5, Code::success; }

  // ---- memory
  std::size_t free_bytes() const {
    std::size_t used = properties.others.count + (context.retained > 0 ? properties.context.count : 0);
    for (const auto& each : chunks) used += each.second.size;
    for (const auto& each : buffers) used += each.on_host ? 0 : each.size;
    return properties.memory.count - std::min<std::size_t>(used, properties.memory.count);
  }
  Code memory_info(std::size_t* free_now, std::size_t* total) {
    const std::scoped_lock lock(mutex);
    return *free_now = free_bytes(), *total = properties.memory.count, Code::success;
  }
  Code make_buffer(void** made, std::size_t size, bool on_host, bool managed = false) {
    const std::scoped_lock lock(mutex);
    if (size == 0) return Code::invalid_value;
    if (!on_host && size > free_bytes()) return Code::out_of_memory;
    *made = std::aligned_alloc(256, round_up(Bytes{size}, Bytes{256}).count);
    if (*made == nullptr) return Code::out_of_memory;
    std::memset(*made, 0xcd, size);
    buffers.push_back({{reinterpret_cast<DevicePointer>(*made), size}, on_host, managed});
    return Code::success;
  }
  Code remove_buffer(DevicePointer base, bool on_host) {
    const std::scoped_lock lock(mutex);
    const auto found = std::ranges::find_if(
        buffers, [&](const BufferSpan& each) { return each.base == base && each.on_host == on_host; });
    if (found == buffers.end()) return Code::invalid_value;
    std::free(host(base)); // NOLINT
    return buffers.erase(found), Code::success;
  }
  Code make_on_device(DevicePointer* made, std::size_t size, bool managed) {
    void* memory = nullptr;
    const Code code = make_buffer(&memory, size, false, managed);
    return *made = reinterpret_cast<DevicePointer>(memory), code;
  }
  Code allocate(DevicePointer* made, std::size_t size) { return make_on_device(made, size, false); }
  Code free(DevicePointer base) { return remove_buffer(base, false); }
  Code allocate_managed(DevicePointer* made, std::size_t size, unsigned flags) {
    return flags == managed_attach_global ? make_on_device(made, size, true) : Code::invalid_value;
  }
  Code allocate_host(void** made, std::size_t size, unsigned flags) {
    return flags == host_alloc_portable_and_mapped ? make_buffer(made, size, true) : Code::invalid_value;
  }
  Code free_host(void* base) { return remove_buffer(reinterpret_cast<DevicePointer>(base), true); }
  Code host_device_pointer(DevicePointer* device, void* base, unsigned) {
    const std::scoped_lock lock(mutex);
    const auto wanted = reinterpret_cast<DevicePointer>(base);
    if (std::ranges::none_of(buffers, [&](const BufferSpan& each) { return each.base == wanted && each.on_host; }))
      return Code::invalid_value;
    return *device = wanted, Code::success;
  }

  Code register_host(void* base, std::size_t size, unsigned flags) {
    const std::scoped_lock lock(mutex);
    const Span wanted{reinterpret_cast<DevicePointer>(base), size};
    if (base == nullptr || size == 0 || flags != host_register_portable) return Code::invalid_value;
    if (std::ranges::any_of(registered, [&](const Span& each) { return overlap(each, wanted); }))
      return Code::invalid_value;
    return registered.push_back(wanted), Code::success;
  }
  Code unregister_host(void* base) {
    const std::scoped_lock lock(mutex);
    const auto removed =
        std::erase_if(registered, [&](const Span& each) { return each.base == reinterpret_cast<DevicePointer>(base); });
    return removed == 1 ? Code::success : Code::invalid_value;
  }

  // ---- virtual memory management
  bool is_whole(std::size_t size) const { return size > 0 && size % properties.granularity.count == 0; }
  Code granularity(std::size_t* bytes, const AllocationProperties*, int) {
    return *bytes = properties.granularity.count, Code::success;
  }
  Code create(AllocationHandle* handle, std::size_t size, const AllocationProperties* wanted, unsigned long long) {
    const std::scoped_lock lock(mutex);
    if (!is_whole(size) || wanted->type != 1 || wanted->location.type != 1) return Code::invalid_value;
    if (size > free_bytes()) return Code::out_of_memory;
    const int file = ::memfd_create("fake-chunk", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(size)) != 0) return Code::out_of_memory;
    (void)!::pwrite(file, "\xcd", 1, 0); // physical memory comes with what it held
    chunks[*handle = ++last_handle] = {file, size, false};
    return Code::success;
  }
  void drop_chunk_if_unused(AllocationHandle handle) {
    const auto found = chunks.find(handle);
    const bool used = std::ranges::any_of(mappings, [&](const MappedSpan& each) { return each.handle == handle; });
    if (used || !found->second.released) return;
    (void)::close(found->second.file);
    chunks.erase(found);
  }
  Code release(AllocationHandle handle) {
    const std::scoped_lock lock(mutex);
    const auto found = chunks.find(handle);
    if (found == chunks.end() || found->second.released) return Code::invalid_value;
    found->second.released = true;
    return drop_chunk_if_unused(handle), Code::success;
  }
  Code export_handle(void* out, AllocationHandle handle, int type, unsigned long long) {
    const std::scoped_lock lock(mutex);
    const auto found = chunks.find(handle);
    if (found == chunks.end() || found->second.released || type != cuda::file_descriptor_handle)
      return Code::invalid_value;
    const int file = ::fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
    if (file < 0) return Code::out_of_memory;
    return std::memcpy(out, &file, sizeof file), Code::success;
  }
  Code address_reserve(DevicePointer* made, std::size_t size, std::size_t, DevicePointer, unsigned long long) {
    const std::scoped_lock lock(mutex);
    if (!is_whole(size)) return Code::invalid_value;
    void* const base = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return Code::out_of_memory;
    *made = reinterpret_cast<DevicePointer>(base);
    return ranges.push_back({*made, size}), Code::success;
  }
  static bool overlap(const Span& a, const Span& b) { return a.base < b.base + b.size && b.base < a.base + a.size; }
  Code address_free(DevicePointer base, std::size_t size) {
    const std::scoped_lock lock(mutex);
    const auto found =
        std::ranges::find_if(ranges, [&](const Span& each) { return each.base == base && each.size == size; });
    const Span freed{base, size};
    if (found == ranges.end() ||
        std::ranges::any_of(mappings, [&](const MappedSpan& each) { return overlap(each, freed); }))
      return Code::invalid_value;
    (void)::munmap(host(base), size);
    return ranges.erase(found), Code::success;
  }
  Code map(DevicePointer base, std::size_t size, std::size_t offset, AllocationHandle handle, unsigned long long) {
    const std::scoped_lock lock(mutex);
    const auto found = chunks.find(handle);
    if (found == chunks.end() || found->second.released) return Code::invalid_value;
    if (offset != 0 || size != found->second.size) return Code::not_supported;
    const Span wanted{base, size};
    const bool reserved = std::ranges::any_of(
        ranges, [&](const Span& each) { return base >= each.base && base + size <= each.base + each.size; });
    if (!reserved || std::ranges::any_of(mappings, [&](const MappedSpan& each) { return overlap(each, wanted); }))
      return Code::invalid_value;
    if (::mmap(host(base), size, PROT_NONE, MAP_SHARED | MAP_FIXED, found->second.file, 0) == MAP_FAILED)
      return Code::out_of_memory;
    return mappings.push_back({wanted, handle, AccessFlags::none}), Code::success;
  }
  Code unmap(DevicePointer base, std::size_t size) {
    const std::scoped_lock lock(mutex);
    const auto found =
        std::ranges::find_if(mappings, [&](const MappedSpan& each) { return each.base == base && each.size == size; });
    if (found == mappings.end()) return Code::invalid_value;
    (void)::mmap(host(base), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    const AllocationHandle handle = found->handle;
    mappings.erase(found);
    return drop_chunk_if_unused(handle), Code::success;
  }
  Code set_access(DevicePointer base, std::size_t size, const AccessDescriptor* descriptors, std::size_t count) {
    const std::scoped_lock lock(mutex);
    if (count != 1 || !is_mapped({base, size}, AccessFlags::none)) return Code::invalid_value;
    const AccessFlags flags = descriptors[0].flags;
    const int protection = flags == AccessFlags::read_write ? PROT_READ | PROT_WRITE
                           : flags == AccessFlags::read     ? PROT_READ
                                                            : PROT_NONE;
    for (MappedSpan& each : mappings) {
      if (!overlap(each, {base, size})) continue;
      if (each.base < base || each.base + each.size > base + size) return Code::invalid_value;
      if (::mprotect(host(each.base), each.size, protection) != 0) return Code::out_of_memory;
      each.access = flags;
    }
    return Code::success;
  }
  /// Every byte of `span` is mapped, with at least this access.
  bool is_mapped(const Span& span, AccessFlags least) const {
    std::size_t covered = 0;
    for (const MappedSpan& each : mappings) {
      if (!overlap(each, span)) continue;
      if (static_cast<int>(each.access) < static_cast<int>(least)) return false;
      covered += std::min(each.base + each.size, span.base + span.size) - std::max(each.base, span.base);
    }
    return covered == span.size;
  }
  /// True for what is no device address.
  bool is_accessible(const Span& span, AccessFlags least) {
    const std::scoped_lock lock(mutex);
    if (!properties.enforces_read_only) least = AccessFlags::read;
    return std::ranges::none_of(ranges, [&](const Span& each) { return overlap(each, span); }) ||
           is_mapped(span, least);
  }

  // ---- work
  void note(FakeCudaWork done) {
    const std::scoped_lock lock(mutex);
    if (watched) work.push_back(std::move(done));
  }
  template <class Body> Code enqueue(Stream stream, Body body) {
    if (stream != nullptr && stream->capture == nullptr) ++stream->begun;
    if (stream == nullptr || stream->capture == nullptr) return body();
    stream->capture->nodes.push_back(body);
    return Code::success;
  }
  Code copy_async(DevicePointer to, DevicePointer from, std::size_t size, Stream stream) {
    return enqueue(stream, [this, to, from, size, stream]() -> Code {
      note({"copy", stream, to, size});
      if (!is_accessible({to, size}, AccessFlags::read_write) || !is_accessible({from, size}, AccessFlags::read))
        return Code::invalid_value;
      if (properties.enforces_read_only) return std::memcpy(host(to), host(from), size), Code::success;
      return write_anyway({to, size}, host(from)), Code::success;
    });
  }
  Code set_bytes_async(DevicePointer to, unsigned char value, std::size_t count, Stream stream) {
    return enqueue(stream, [this, to, value, count]() -> Code {
      if (!is_accessible({to, count}, AccessFlags::read_write)) return Code::invalid_value;
      return std::memset(host(to), value, count), Code::success;
    });
  }
  Code prefetch_async(DevicePointer at, std::size_t size, Ordinal to, Stream stream) {
    if (stream != nullptr && stream->capture != nullptr) return Code::capture_unsupported;
    {
      const std::scoped_lock lock(mutex);
      const bool there = std::ranges::any_of(buffers, [&](const BufferSpan& each) {
        return each.managed && size > 0 && at >= each.base && at + size <= each.base + each.size;
      });
      if (!there || !properties.concurrent_managed || to < cpu || to >= properties.devices) return Code::invalid_value;
    }
    const bool behind = stream != nullptr && stream->begun++ > stream->waited;
    note({.what = to == cpu ? "to host" : "to device " + std::to_string(to),
          .stream = stream,
          .at = at,
          .size = size,
          .behind = behind});
    return Code::success;
  }
  /// A device that does not protect read-only mappings: through the chunk's file.
  void write_anyway(const Span& to, const char* from) {
    const std::scoped_lock lock(mutex);
    const auto found = std::ranges::find_if(mappings, [&](const MappedSpan& each) { return overlap(each, to); });
    if (found == mappings.end()) std::memcpy(host(to.base), from, to.size);
    else (void)!::pwrite(chunks[found->handle].file, from, to.size, static_cast<off_t>(to.base - found->base));
  }
  Code stream_create(Stream* stream, unsigned flags, int priority) {
    const std::scoped_lock lock(mutex);
    if (flags != stream_non_blocking) return Code::invalid_value;
    streams.push_back(std::make_unique<StreamRecord>());
    streams.back()->priority = priority;
    return *stream = streams.back().get(), Code::success;
  }
  Code stream_destroy(Stream stream) {
    const std::scoped_lock lock(mutex);
    return remove(streams, stream);
  }
  Code stream_synchronize(Stream stream) {
    if (stream != nullptr && stream->capture != nullptr) return Code::capture_unsupported;
    if (stream != nullptr) stream->waited = stream->begun.load();
    return breaks() ? broken_code() : Code::success;
  }
  Code stream_wait_event(Stream stream, Event event, unsigned flags) {
    if (flags != 0 || !has(events, event)) return Code::invalid_value;
    return enqueue(stream, [this, stream, event]() -> Code {
      return note({.what = "wait", .stream = stream, .event = event}), Code::success;
    });
  }
  Code begin_capture(Stream stream, int mode) {
    if (stream == nullptr || stream->capture != nullptr || mode != capture_thread_local) return Code::invalid_value;
    return stream->capture = std::make_unique<GraphRecord>(), Code::success;
  }
  Code end_capture(Stream stream, GraphHandle* graph) {
    const std::scoped_lock lock(mutex);
    if (stream == nullptr || stream->capture == nullptr) return Code::invalid_value;
    graphs.push_back(std::move(stream->capture));
    return *graph = graphs.back().get(), Code::success;
  }
  Code event_create(Event* event, unsigned flags) {
    const std::scoped_lock lock(mutex);
    events.push_back(std::make_unique<EventRecord>());
    events.back()->flags = flags;
    return *event = events.back().get(), Code::success;
  }
  Code event_destroy(Event event) {
    const std::scoped_lock lock(mutex);
    return remove(events, event);
  }
  Code event_record(Event event, Stream stream) {
    recorded = event;
    return enqueue(stream, [this, event, stream]() -> Code {
      note({.what = "record", .stream = stream, .event = event});
      event->under_way = true;
      event->recorded_ns = clock_ns();
      event->stream = stream;
      event->behind = stream == nullptr ? 0 : stream->begun.load();
      return Code::success;
    });
  }
  Code event_record_with_flags(Event event, Stream stream, unsigned) { return event_record(event, stream); }
  static void has_come(const EventRecord& event) {
    if (StreamRecord* const stream = event.stream)
      stream->waited = std::max(stream->waited.load(), event.behind.load());
  }
  Code event_query(Event event) {
    if (event->under_way.exchange(false)) return std::this_thread::sleep_for(wake_up_delay.load()), Code::not_ready;
    has_come(*event);
    return breaks() ? broken_code() : Code::success;
  }
  Code event_synchronize(Event event) {
    waited_for = event;
    event->under_way = false;
    has_come(*event);
    std::this_thread::sleep_for(wake_up_delay.load());
    return breaks() ? broken_code() : Code::success;
  }
  Code event_elapsed(float* milliseconds, Event begin, Event end) {
    if (((begin->flags | end->flags) & event_disable_timing) != 0) return Code::invalid_handle;
    *milliseconds = static_cast<float>(end->recorded_ns - begin->recorded_ns) / 1e6f;
    return Code::success;
  }
  Code graph_instantiate(GraphExec* executable, GraphHandle graph, unsigned long long) {
    const std::scoped_lock lock(mutex);
    if (!has(graphs, graph)) return Code::invalid_value;
    executables.push_back(std::make_unique<GraphExecRecord>(graph->nodes));
    return *executable = executables.back().get(), Code::success;
  }
  Code graph_upload(GraphExec executable, Stream) {
    const std::scoped_lock lock(mutex);
    return has(executables, executable) ? Code::success : Code::invalid_value;
  }
  Code graph_launch(GraphExec executable, Stream stream) {
    graph_in = stream;
    if (breaks()) return Code::success;
    return enqueue(stream, [executable]() -> Code {
      for (const auto& node : executable->nodes) {
        if (const Code code = node(); code != Code::success) return code;
      }
      return Code::success;
    });
  }
  Code graph_exec_destroy(GraphExec executable) {
    const std::scoped_lock lock(mutex);
    return remove(executables, executable);
  }
  Code graph_destroy(GraphHandle graph) {
    const std::scoped_lock lock(mutex);
    return remove(graphs, graph);
  }

  // ---- kernels
  Code module_load(ModuleHandle* module, const void* image) {
    const std::scoped_lock lock(mutex);
    if (image == nullptr) return Code::invalid_value;
    modules.push_back(std::make_unique<ModuleRecord>());
    return *module = modules.back().get(), Code::success;
  }
  Code module_unload(ModuleHandle module) {
    const std::scoped_lock lock(mutex);
    return remove(modules, module);
  }
  Code module_function(Function* function, ModuleHandle module, const char* name) {
    const std::scoped_lock lock(mutex);
    if (!has(modules, module)) return Code::invalid_handle;
    const auto found = kernels.find(name);
    if (found == kernels.end() && !any_kernel) return Code::not_found;
    if (found == kernels.end()) kernels[name] = {name, {}, [](Dimensions, Dimensions, void**) {}};
    return *function = &kernels[name], Code::success;
  }
  Code function_set_attribute(Function, int, int) { return Code::success; }
  Code launch(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
              unsigned block_z, unsigned, Stream stream, void** arguments, void**) {
    if (function == nullptr || grid_x * grid_y * grid_z == 0 || block_x * block_y * block_z == 0 ||
        block_x * block_y * block_z > 1024) {
      return Code::invalid_value;
    }
    launched_in = stream;
    if (breaks()) return Code::success;
    const Dimensions grid{grid_x, grid_y, grid_z};
    const Dimensions block{block_x, block_y, block_z};
    if (stream == nullptr || stream->capture == nullptr) return run_kernel(*function, grid, block, arguments, stream);
    std::vector<std::vector<char>> kept;
    for (std::size_t i = 0; i < function->argument_sizes.size(); ++i) {
      const auto* argument = static_cast<const char*>(arguments[i]);
      kept.emplace_back(argument, argument + function->argument_sizes[i]);
    }
    stream->capture->nodes.push_back([this, function, grid, block, stream, kept = std::move(kept)]() mutable -> Code {
      std::vector<void*> addresses;
      for (auto& each : kept) addresses.push_back(each.data());
      return run_kernel(*function, grid, block, addresses.data(), stream);
    });
    return Code::success;
  }
  Code launch_with(const LaunchConfig* config, Function function, void** arguments, void** extra) {
    return launch(function, config->grid_x, config->grid_y, config->grid_z, config->block_x, config->block_y,
                  config->block_z, config->shared_bytes, config->stream, arguments, extra);
  }
  Code run_kernel(const FunctionRecord& function, Dimensions grid, Dimensions block, void** arguments, Stream stream) {
    ++launched;
    note({.what = function.name, .stream = stream});
    return function.kernel(grid, block, arguments), Code::success;
  }

  FakeCudaProperties properties;
  std::atomic<Duration> wake_up_delay = Duration(0);
  mutable std::mutex mutex;
  std::array<int, functions> called{};
  std::size_t fail_position = functions; // any
  int fail_in = 0;
  Code fail_code = Code::success;
  int failed_position = -1;
  Code breaking = Code::success;
  Code broken = Code::success;

  ContextRecord context;
  AllocationHandle last_handle = 0;
  std::map<AllocationHandle, ChunkFile> chunks;
  std::vector<Span> ranges;
  std::vector<MappedSpan> mappings;
  std::vector<BufferSpan> buffers;
  std::vector<Span> registered;
  Owned<StreamRecord> streams;
  Owned<EventRecord> events;
  Owned<GraphRecord> graphs;
  Owned<GraphExecRecord> executables;
  Owned<ModuleRecord> modules;
  std::map<std::string, FunctionRecord> kernels;
  bool any_kernel = false;
  std::atomic<std::size_t> launched = 0;
  std::atomic<Stream> launched_in = nullptr;
  std::atomic<Stream> graph_in = nullptr;
  std::atomic<Event> recorded = nullptr, waited_for = nullptr;
  bool watched = false;
  std::vector<FakeCudaWork> work;
  Driver driver{};
  std::array<const char*, functions> names{};
};

namespace {

FakeCudaDriver::State* in_force = nullptr;

template <auto Implementation, std::size_t position, Manner manner> struct Entry;

template <class... Arguments, Code (FakeCudaDriver::State::*Implementation)(Arguments...), std::size_t position,
          Manner manner>
struct Entry<Implementation, position, manner> {
  static Code call(Arguments... arguments) {
    auto& fake = *in_force;
    if (const Code code = fake.before_call(position, manner); code != Code::success) return code;
    return fake.after_call(manner, (fake.*Implementation)(arguments...));
  }
};

template <auto Implementation, std::size_t position, Manner manner, class Function>
void enter(FakeCudaDriver::State& state, Function*& member, const char* name) {
  member = Entry<Implementation, position, manner>::call;
  state.names[position] = name;
}

void fill(FakeCudaDriver::State& state) {
  using State = FakeCudaDriver::State;
  Driver& driver = state.driver;
#define ENTER(manner, member) \
  enter<&State::member, offsetof(Driver, member) / sizeof(void*), Manner::manner>(state, driver.member, #member)
  ENTER(harmless, init);
  ENTER(harmless, driver_version);
  ENTER(harmless, error_name);
  ENTER(harmless, error_text);
  ENTER(harmless, device_count);
  ENTER(harmless, device_get);
  ENTER(harmless, device_name);
  ENTER(harmless, device_attribute);
  ENTER(harmless, device_memory);
  ENTER(harmless, context_retain);
  ENTER(harmless, context_release);
  ENTER(harmless, context_set_current);
  ENTER(works, stream_priorities);
  ENTER(works, memory_info);
  ENTER(works, allocate);
  ENTER(gives_back, free);
  ENTER(works, allocate_managed);
  ENTER(works, allocate_host);
  ENTER(gives_back, free_host);
  ENTER(works, host_device_pointer);
  ENTER(works, register_host);
  ENTER(gives_back, unregister_host);
  ENTER(works, copy_async);
  ENTER(works, set_bytes_async);
  ENTER(works, prefetch_async);
  ENTER(harmless, granularity);
  ENTER(works, create);
  ENTER(gives_back, release);
  ENTER(works, address_reserve);
  ENTER(gives_back, address_free);
  ENTER(works, map);
  ENTER(gives_back, unmap);
  ENTER(works, set_access);
  ENTER(works, stream_create);
  ENTER(gives_back, stream_destroy);
  ENTER(works, stream_synchronize);
  ENTER(works, stream_wait_event);
  ENTER(works, begin_capture);
  ENTER(gives_back, end_capture);
  ENTER(works, event_create);
  ENTER(gives_back, event_destroy);
  ENTER(works, event_record);
  ENTER(works, event_query);
  ENTER(works, event_synchronize);
  ENTER(works, event_elapsed);
  ENTER(works, graph_instantiate);
  ENTER(works, graph_launch);
  ENTER(gives_back, graph_exec_destroy);
  ENTER(gives_back, graph_destroy);
  ENTER(works, module_load);
  ENTER(gives_back, module_unload);
  ENTER(works, module_function);
  ENTER(works, function_set_attribute);
  ENTER(works, launch);
  if (state.properties.management) ENTER(harmless, free_without_context);
  if (!state.properties.bus.empty()) ENTER(harmless, bus_id);
  if (state.properties.old) return;
  ENTER(works, export_handle);
  ENTER(works, event_record_with_flags);
  ENTER(works, graph_upload);
  ENTER(works, launch_with);
#undef ENTER
}

} // namespace

FakeCudaDriver::FakeCudaDriver(const FakeCudaProperties& properties) : state_(std::make_unique<State>(properties)) {
  fill(*state_);
  previous_ = std::exchange(in_force, state_.get());
  override_ = std::make_unique<DriverOverride>(state_->driver);
}

FakeCudaDriver::~FakeCudaDriver() {
  override_.reset();
  in_force = previous_;
  current_context = nullptr;
}

void FakeCudaDriver::add_kernel(const std::string& name, std::vector<std::size_t> argument_sizes, Kernel kernel) {
  const std::scoped_lock lock(state_->mutex);
  state_->kernels[name] = {name, std::move(argument_sizes), std::move(kernel)};
}

void FakeCudaDriver::accept_unknown_kernels(bool accept) {
  const std::scoped_lock lock(state_->mutex);
  state_->any_kernel = accept;
}

void FakeCudaDriver::fail_function(std::size_t position, Code code, int nth) {
  const std::scoped_lock lock(state_->mutex);
  state_->fail_position = position;
  state_->fail_code = code;
  state_->fail_in = nth;
  state_->failed_position = -1;
}

void FakeCudaDriver::fail_any(Code code, int nth) { fail_function(functions, code, nth); }

const char* FakeCudaDriver::failed() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->failed_position < 0 ? nullptr : state_->names[static_cast<std::size_t>(state_->failed_position)];
}

int FakeCudaDriver::calls_of(std::size_t position) const {
  const std::scoped_lock lock(state_->mutex);
  return state_->called[position];
}

void FakeCudaDriver::break_device(Code code) {
  const std::scoped_lock lock(state_->mutex);
  state_->breaking = code;
}

void FakeCudaDriver::delay_wake_ups(Duration delay) { state_->wake_up_delay = delay; }

void FakeCudaDriver::watch_work() {
  const std::scoped_lock lock(state_->mutex);
  state_->watched = true;
  state_->work.clear();
}

std::vector<FakeCudaWork> FakeCudaDriver::work() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->work;
}

void FakeCudaDriver::set_others(Bytes size) {
  const std::scoped_lock lock(state_->mutex);
  state_->properties.others = size;
}

FakeCudaObjects FakeCudaDriver::objects() const {
  const std::scoped_lock lock(state_->mutex);
  return {static_cast<std::size_t>(state_->context.retained),
          state_->chunks.size(),
          state_->ranges.size(),
          state_->mappings.size(),
          state_->buffers.size(),
          state_->registered.size(),
          state_->streams.size(),
          state_->events.size(),
          state_->graphs.size(),
          state_->executables.size(),
          state_->modules.size()};
}

int FakeCudaDriver::priority_of(Stream stream) const { return stream->priority; }

std::vector<unsigned> FakeCudaDriver::event_flags() const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<unsigned> flags;
  for (const auto& each : state_->events) flags.push_back(each->flags);
  return flags;
}

std::size_t FakeCudaDriver::launches() const { return state_->launched; }
Stream FakeCudaDriver::last_launched_in() const { return state_->launched_in; }
Stream FakeCudaDriver::last_graph_in() const { return state_->graph_in; }
Event FakeCudaDriver::last_recorded() const { return state_->recorded; }
Event FakeCudaDriver::last_waited_for() const { return state_->waited_for; }
const Driver& FakeCudaDriver::table() const { return state_->driver; }

std::ostream& operator<<(std::ostream& out, const FakeCudaObjects& objects) {
  return out << objects.contexts << " contexts, " << objects.chunks << " chunks, " << objects.ranges << " ranges, "
             << objects.mappings << " mappings, " << objects.buffers << " buffers, " << objects.registered
             << " registered pieces, " << objects.streams << " streams, " << objects.events << " events, "
             << objects.graphs << " graphs, " << objects.executables << " executables, " << objects.modules
             << " modules";
}

} // namespace rtexec::hal::test
