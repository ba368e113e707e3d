#include "test/hal/fake_cuda_driver.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <ostream>
#include <utility>

namespace rtexec::hal::cuda {

struct FunctionRecord {
  std::string name;
  std::vector<std::size_t> argument_sizes;
  test::FakeCudaDriver::Kernel kernel;
};

} // namespace rtexec::hal::cuda

namespace rtexec::hal::test {

using namespace cuda;

namespace {

constexpr std::size_t functions = sizeof(Driver) / sizeof(void*);

/// How a function answers on a broken device, or without a context.
enum class Manner {
  harmless,   // as usual
  gives_back, // releases the object, and reports the fault
  works,      // reports the fault, or the missing context
};

} // namespace

class FakeCudaDriver::State final : public SimulatedDriver {
 public:
  explicit State(const FakeCudaProperties& asked) : properties(asked) {
    strict = true;
    initialised = true;
    devices = asked.devices;
    memory = asked.memory.count;
    granularity = asked.granularity.count;
    enforces_read_only = asked.enforces_read_only;
  }

  // ---- injection
  Code before_call(std::size_t position, Manner manner) {
    const std::scoped_lock lock(injection);
    ++called[position];
    const bool due = (fail_position == functions || fail_position == position) && fail_in > 0 && --fail_in == 0;
    if (due) {
      failed_position = static_cast<int>(position);
      if (is_sticky(fail_code)) broken = fail_code;
      return fail_code;
    }
    if (manner != Manner::works) return Code::success;
    if (broken != Code::success) return broken;
    return current_device < 0 || retained == 0 ? Code::invalid_context : Code::success;
  }
  Code after_call(Manner manner, Code code) {
    return manner == Manner::gives_back && fault() != Code::success ? fault() : code;
  }
  bool breaks() override {
    const Code code = breaking.exchange(Code::success);
    if (code != Code::success) broken = code;
    return code != Code::success;
  }
  Code fault() override { return broken; }

  [[nodiscard]] std::size_t used(int device) const override {
    return SimulatedDriver::used(device) + properties.others.count + (retained > 0 ? properties.context.count : 0);
  }

  // ---- work
  void record(FakeCudaWork done) {
    const std::scoped_lock lock(injection);
    if (watched) work.push_back(std::move(done));
  }
  void note(const char* what, Stream stream, Range range, Event event) override {
    record({.what = what, .stream = stream, .at = range.begin, .size = range.size, .event = event});
  }
  Function find_kernel(const char* name) override {
    const auto found = kernels.find(name);
    if (found == kernels.end() && !any_kernel) return nullptr;
    if (found == kernels.end()) kernels[name] = {name, {0}, [](Dimensions, Dimensions, void**) {}};
    return &kernels[name];
  }
  const std::size_t* sizes_of(Function function) override { return function->argument_sizes.data(); }
  void run(Function function, Dimensions grid, Dimensions block, void** arguments, Stream stream) override {
    ++launched;
    record({.what = function->name, .stream = stream});
    function->kernel(grid, block, arguments);
  }

  FakeCudaProperties properties;
  std::mutex injection; // protects the members up to `work`
  std::array<int, functions> called{};
  std::size_t fail_position = functions; // `functions`: any function
  int fail_in = 0;
  Code fail_code = Code::success;
  int failed_position = -1;
  bool watched = false;
  std::vector<FakeCudaWork> work;

  std::atomic<Code> breaking = Code::success, broken = Code::success;
  std::map<std::string, FunctionRecord> kernels;
  std::atomic<bool> any_kernel = false;
  std::atomic<std::size_t> launched = 0;
  Driver driver{};
  std::array<const char*, functions> names{};
};

namespace {

FakeCudaDriver::State* in_force = nullptr;

/// Answers as NVML does.
Code free_without_context(std::size_t* bytes, Ordinal device) {
  const auto lock = locked();
  return *bytes = in_force->available(device), Code::success;
}

} // namespace
} // namespace rtexec::hal::test

// ---- functions of the driver that depend on the properties

namespace rtexec::hal::cuda {

SimulatedDriver& simulated_driver() { return *test::in_force; }

API cuGetErrorName(Code code, const char** name) {
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
API cuGetErrorString(Code, const char** text) { return *text = "as the fake driver was told", Code::success; }
API cuDeviceGetName(char* name, int size, Ordinal) {
  const std::size_t length = test::in_force->properties.name.copy(name, static_cast<std::size_t>(size) - 1);
  name[length] = 0;
  return Code::success;
}
API cuDeviceGetAttribute(int* value, Attribute attribute, Ordinal) {
  const test::FakeCudaProperties& properties = test::in_force->properties;
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
API cuDeviceGetPCIBusId(char* text, int size, Ordinal) {
  std::snprintf(text, static_cast<std::size_t>(size), "%s", test::in_force->properties.bus.c_str());
  return Code::success;
}
API cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, Code::success; }
API cuFuncSetAttribute(Function, int, int) { return Code::success; }
API cuMemPrefetchAsync(DevicePointer at, std::size_t size, Ordinal to, Stream stream) {
  auto& fake = *test::in_force;
  {
    const auto lock = locked();
    if (stream != nullptr && stream->captured) return Code::capture_unsupported;
    const auto buffer = holder(fake.buffers, at);
    if (buffer == fake.buffers.end() || !buffer->second.managed || size == 0 ||
        at + size > buffer->first + buffer->second.size || !fake.properties.concurrent_managed || to < cpu ||
        to >= fake.devices)
      return Code::invalid_value;
  }
  const bool behind = stream != nullptr && stream->begun++ > stream->waited;
  fake.record({.what = to == cpu ? "to host" : "to device " + std::to_string(to),
               .stream = stream,
               .at = at,
               .size = size,
               .behind = behind});
  return Code::success;
}

} // namespace rtexec::hal::cuda

// ---- the table

namespace rtexec::hal::test {
namespace {

template <auto function, std::size_t position, Manner manner> struct Entry;

template <class... Arguments, Code (*function)(Arguments...), std::size_t position, Manner manner>
struct Entry<function, position, manner> {
  static Code call(Arguments... arguments) {
    auto& fake = *in_force;
    if (const Code code = fake.before_call(position, manner); code != Code::success) return code;
    return fake.after_call(manner, function(arguments...));
  }
};

void fill(FakeCudaDriver::State& state) {
  Driver& driver = state.driver;
#define ENTER(manner, member, function)                                                             \
  driver.member = Entry<&function, offsetof(Driver, member) / sizeof(void*), Manner::manner>::call; \
  state.names[offsetof(Driver, member) / sizeof(void*)] = #member;
  RTEXEC_TABLE_FUNCTIONS(ENTER)
  if (state.properties.management) { ENTER(harmless, free_without_context, free_without_context) }
#undef ENTER
  if (state.properties.bus.empty()) driver.bus_id = nullptr;
  if (!state.properties.old) return;
  driver.export_handle = nullptr;
  driver.event_record_with_flags = nullptr;
  driver.graph_upload = nullptr;
  driver.launch_with = nullptr;
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
  current_device = -1;
}

void FakeCudaDriver::add_kernel(const std::string& name, std::vector<std::size_t> argument_sizes, Kernel kernel) {
  argument_sizes.push_back(0);
  const std::scoped_lock lock(state_->mutex);
  state_->kernels[name] = {name, std::move(argument_sizes), std::move(kernel)};
}

void FakeCudaDriver::accept_unknown_kernels(bool accept) { state_->any_kernel = accept; }

void FakeCudaDriver::fail_function(std::size_t position, Code code, int nth) {
  const std::scoped_lock lock(state_->injection);
  state_->fail_position = position;
  state_->fail_code = code;
  state_->fail_in = nth;
  state_->failed_position = -1;
}

void FakeCudaDriver::fail_any(Code code, int nth) { fail_function(functions, code, nth); }

const char* FakeCudaDriver::failed() const {
  const std::scoped_lock lock(state_->injection);
  return state_->failed_position < 0 ? nullptr : state_->names[static_cast<std::size_t>(state_->failed_position)];
}

int FakeCudaDriver::calls_of(std::size_t position) const {
  const std::scoped_lock lock(state_->injection);
  return state_->called[position];
}

void FakeCudaDriver::break_device(Code code) { state_->breaking = code; }
void FakeCudaDriver::delay_wake_ups(Duration delay) { state_->wake_up_delay = delay; }

void FakeCudaDriver::watch_work() {
  const std::scoped_lock lock(state_->injection);
  state_->watched = true;
  state_->work.clear();
}

std::vector<FakeCudaWork> FakeCudaDriver::work() const {
  const std::scoped_lock lock(state_->injection);
  return state_->work;
}

void FakeCudaDriver::set_others(Bytes size) {
  const std::scoped_lock lock(state_->mutex);
  state_->properties.others = size;
}

FakeCudaObjects FakeCudaDriver::objects() const {
  const std::scoped_lock lock(state_->mutex);
  return {static_cast<std::size_t>(state_->retained),
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
