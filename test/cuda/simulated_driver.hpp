// A CUDA driver in software, for tests: the functions of libcuda.so.1 on host memory. Device addresses are host
// pointers, chunks are memory files, and an access to reserved addresses without a chunk is a real fault.
//
// Two front ends use it: test/hal/fake_cuda_driver.hpp puts the functions into the table of hal/cuda/driver.hpp, inside
// the test program; test/preload/stand_in_driver.cpp exports them from a libcuda.so.1. A front end derives its state
// from SimulatedDriver and defines simulated_driver(). One mutex protects the whole state; no work runs under it.
#pragma once

#include <rtexec/units.hpp>
#include "test/cuda/driver_symbols.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

/// Declares a driver function that the shared object exports.
#define API extern "C" [[gnu::visibility("default")]] Code

namespace rtexec::hal::cuda {

// ---- objects behind the driver's handles ----

using Step = std::function<Code()>;
struct Work {
  Step run;
  std::vector<std::shared_ptr<Work>> after;
  bool done = false;
};
using WorkPointer = std::shared_ptr<Work>;

struct Range {
  DevicePointer begin = 0;
  std::size_t size = 0;
};

struct ModuleRecord {};
struct GraphRecord {
  std::vector<Step> steps;
  std::vector<Range> filled; // checked again at instantiation
};
struct GraphExecRecord {
  std::shared_ptr<const std::vector<Step>> steps;
};
/// The graph that all streams of one capture record.
struct Capture {
  GraphRecord graph;
  int mode = 0; // CU_STREAM_CAPTURE_MODE_...: global, of the thread, relaxed
  std::thread::id thread = std::this_thread::get_id();
  bool broken = false;
};

/// The device of the calling thread's current context, or -1. `context_number` identifies this context; 0 is the
/// primary context.
extern thread_local int current_device;
extern thread_local unsigned context_number;

struct StreamRecord {
  explicit StreamRecord(unsigned of = context_number, bool null = false);
  StreamRecord(const StreamRecord&) = delete;
  StreamRecord& operator=(const StreamRecord&) = delete;

  const unsigned context;
  const bool is_null;   // the null stream of its context
  bool blocking = true; // waits for the null stream
  bool ends = false;    // its handle is destroyed; its work continues
  int priority = 0;
  std::atomic<int> begun = 0, waited = 0; // counts of pieces of work: begun, and known to have ended
  std::deque<WorkPointer> work;
  WorkPointer last;
  std::shared_ptr<Capture> captured;
  std::thread thread;
};
struct EventRecord {
  unsigned flags = 0;
  const unsigned context = context_number;
  WorkPointer at;
  std::shared_ptr<Capture> captured;
  std::atomic<bool> under_way = false; // the next query answers "not ready"
  std::atomic<std::int64_t> recorded_ns = 0;
  // The stream of the last recording, and the number of pieces of work it had begun then.
  StreamRecord* stream = nullptr;
  int behind = 0;
};

struct Chunk {
  int file = -1;
  std::size_t size = 0;
  int device = 0;
  bool counted = true;   // counts as memory of this process
  bool released = false; // its handle is released
  int mappings = 0;
};
struct Mapping {
  std::size_t size = 0;
  AllocationHandle handle = 0;
  AccessFlags access = AccessFlags::none;
};
struct Buffer {
  std::size_t size = 0;
  int device = -1; // -1: host memory
  bool managed = false;
};
struct Dimensions {
  unsigned x = 1, y = 1, z = 1;
};

// ---- the driver's state ----

class SimulatedDriver {
 public:
  SimulatedDriver() = default;
  SimulatedDriver(const SimulatedDriver&) = delete;
  SimulatedDriver& operator=(const SimulatedDriver&) = delete;
  virtual ~SimulatedDriver(); // frees everything that remains

  // ---- set by the front end
  bool asynchronous = false; // each stream has a thread; otherwise work runs at once, on the calling thread
  bool strict = false;       // refuses the flags that rtexec does not use
  int devices = 1;
  int version = 13000;
  std::size_t memory = 256U << 20; // of each device
  std::size_t granularity = 4096;  // of chunks
  bool enforces_read_only = true;  // for copies into read-only mappings
  bool drops_launches = false;
  std::chrono::milliseconds instantiation{0}, end{0}; // the durations of an instantiation and of the driver's end
  std::atomic<Duration> wake_up_delay = Duration(0);  // of a thread that waits for an event to wake up

  /// Returns the memory of the device that is in use, in bytes.
  [[nodiscard]] virtual std::size_t used(int device) const { return taken[static_cast<std::size_t>(device)]; }
  /// Called after `taken` has changed.
  virtual void has_changed() {}
  virtual Function find_kernel(const char* name) = 0;
  /// Returns the sizes of a kernel's arguments, terminated by 0.
  virtual const std::size_t* sizes_of(Function function) = 0;
  virtual void run(Function function, Dimensions grid, Dimensions block, void** arguments, Stream stream) = 0;
  /// Called on the stream's thread: with "kernel" when a kernel begins; with "load" or "save" when half of a copy to or
  /// from mapped chunks is done; and with "copy" for other copies.
  virtual void reached(const char*) {}
  /// Called without a lock when work executes. The name is "copy", "record" or "wait".
  virtual void note(const char*, Stream, Range, Event) {}
  /// True if this call breaks the device.
  virtual bool breaks() { return false; }
  /// Returns the error code of a broken device.
  virtual Code fault() { return Code::success; }

  // ---- state
  std::mutex mutex;
  std::condition_variable changed;
  bool initialised = false;
  bool ended = false;
  int retained = 0;
  unsigned contexts = 1;
  std::set<unsigned> destroyed_contexts; // their streams and events are destroyed too
  std::array<std::size_t, 8> taken{};    // bytes in use on each device
  AllocationHandle last_handle = 0;
  std::map<DevicePointer, Buffer> buffers;
  std::map<DevicePointer, Range> ranges, registered;
  /// Pools for the nodes of the maps, so that mapping and unmapping do not allocate from the heap.
  std::pmr::monotonic_buffer_resource storage{1 << 20};
  std::pmr::unsynchronized_pool_resource nodes{&storage};
  std::pmr::map<DevicePointer, Mapping> mappings{&nodes};
  std::map<AllocationHandle, Chunk> chunks;
  std::set<StreamRecord*> streams;
  std::map<unsigned, std::unique_ptr<StreamRecord>> null_streams;
  std::vector<std::unique_ptr<EventRecord>> events;
  std::vector<std::unique_ptr<GraphRecord>> graphs;
  std::vector<std::unique_ptr<GraphExecRecord>> executables;
  std::vector<std::unique_ptr<ModuleRecord>> modules;
  std::atomic<Stream> launched_in = nullptr, graph_in = nullptr; // by the last launch
  std::atomic<Event> recorded = nullptr, waited_for = nullptr;   // the last events

  [[nodiscard]] std::size_t available(int device) const { return memory - std::min(memory, used(device)); }
  bool take(int device, std::size_t bytes) {
    if (bytes > available(device)) return false;
    taken[static_cast<std::size_t>(device)] += bytes;
    return has_changed(), true;
  }
  void give(int device, std::size_t bytes) {
    taken[static_cast<std::size_t>(device)] -= bytes;
    has_changed();
  }
  StreamRecord& null_stream(unsigned context) {
    auto& stream = null_streams[context];
    if (!stream) stream = std::make_unique<StreamRecord>(context, true);
    return *stream;
  }
};

SimulatedDriver& simulated_driver();

using Lock = std::unique_lock<std::mutex>;
inline Lock locked() { return Lock(simulated_driver().mutex); }

/// Returns the entry of an ordered map whose range contains `pointer`, or the map's end.
template <class All> auto holder(All& all, DevicePointer pointer) {
  const auto after = all.upper_bound(pointer);
  if (after == all.begin()) return all.end();
  const auto found = std::prev(after);
  return pointer - found->first < found->second.size ? found : all.end();
}

} // namespace rtexec::hal::cuda
