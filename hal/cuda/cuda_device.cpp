#include "hal/cuda/cuda_device.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::hal {
namespace {

using cuda::Code;

constexpr int minimum_granularity = 0; // CU_MEM_ALLOC_GRANULARITY_MINIMUM
constexpr Bytes library_reserve{std::uint64_t{1} << 30};
constexpr Bytes largest_probe{std::uint64_t{64} << 20};

/// The engine that the calling thread belongs to.
struct Seat {
  const CudaDevice* device = nullptr;
  EngineKind kind = EngineKind::compute;
};
thread_local Seat seat;

cuda::DevicePointer pointer(const std::byte* address) { return reinterpret_cast<cuda::DevicePointer>(address); }
std::byte* address(cuda::DevicePointer pointer) {
  return reinterpret_cast<std::byte*>(pointer);
} // NOLINT: driver addresses are integers

Errc errc_of(Code code) {
  switch (code) {
  case Code::out_of_memory: return Errc::out_of_memory;
  case Code::stub_library:
  case Code::no_device:
  case Code::no_binary_for_gpu:
  case Code::unsupported_ptx:
  case Code::not_found:
  case Code::not_supported: return Errc::unsupported;
  case Code::not_permitted: return Errc::refused;
  default: return Errc::device_fault;
  }
}

const char* advice(Code code) {
  switch (code) {
  case Code::out_of_memory: return "\nAsk for less, or end other programs that use the GPU (nvidia-smi lists them).";
  case Code::no_device:
    return "\nThe machine has no NVIDIA GPU, or it is hidden from this process (CUDA_VISIBLE_DEVICES, a container).";
  case Code::stub_library:
    return "\nThe library is a stand-in of the CUDA toolkit: let the loader find the driver's own libcuda.so.1.";
  case Code::no_binary_for_gpu:
  case Code::unsupported_ptx:
    return "\nThe kernels were not built for this GPU or its driver: build them for its architecture, or update the "
           "driver.";
  default: return "";
  }
}

} // namespace

// ---- errors ----

Status CudaDevice::check(Code code) const noexcept {
  if (lost()) return Unexpected(Errc::device_lost);
  if (code == Code::success) return {};
  if (!cuda::is_sticky(code)) return Unexpected(errc_of(code));
  Code none = Code::success;
  return Unexpected(lost_.compare_exchange_strong(none, code) ? Errc::device_fault : Errc::device_lost);
}

Result<> CudaDevice::checked(Code code, const std::string& what) const {
  const Status outcome = check(code);
  if (outcome) return {};
  if (outcome.error() != Errc::device_lost)
    return fail(outcome.error(), what + " failed: " + describe(*driver_, code) + "." + advice(code));
  return fail(Errc::device_lost,
              what + " failed: " + name_ + " was lost by " + fault()->what + ".\nOnly a new process can use it again.");
}

std::optional<DeviceFault> CudaDevice::fault() const {
  if (!lost()) return std::nullopt;
  return DeviceFault{describe(*driver_, lost_.load())};
}

Status CudaDevice::ready() const noexcept {
  if (lost()) return Unexpected(Errc::device_lost);
  return seat.device == this ? Status() : check(driver_->context_set_current(context_));
}

Result<> CudaDevice::enter() const {
  if (lost()) return checked(Code::success, "entering the context");
  return checked(driver_->context_set_current(context_), "entering the context");
}

// ---- opening ----

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const CudaOptions& options) {
  const auto driver = cuda::open_driver();
  if (!driver) return Unexpected(driver.error());
  std::unique_ptr<CudaDevice> device(new CudaDevice(**driver, options));
  for (const auto step : {&CudaDevice::find_device, &CudaDevice::make_context, &CudaDevice::size_memory,
                          &CudaDevice::make_streams, &CudaDevice::start_engines, &CudaDevice::ready_digests}) {
    if (auto done = (*device.*step)(); !done) return Unexpected(done.error());
  }
  const Bytes piece = round_up(std::min(largest_probe, Bytes{device->memory_.count / 1024}), device->granularity_);
  auto capabilities = probe_cuda_memory(*device, device->chunk_properties(), piece);
  if (!capabilities) return Unexpected(capabilities.error());
  device->capabilities_ = std::move(*capabilities);
  device->managed_ = cuda::ManagedGpu::find(**driver, device->ordinal_);
  return device;
}

Result<> CudaDevice::find_device() {
  if (auto begun = checked(driver_->init(0), "starting the NVIDIA driver"); !begun) return begun;
  int count = 0;
  if (auto counted = checked(driver_->device_count(&count), "counting the GPUs"); !counted) return counted;
  if (options_.ordinal < 0 || options_.ordinal >= count) {
    return fail(Errc::unsupported,
                "GPU " + std::to_string(options_.ordinal) + " was requested, but the NVIDIA driver shows " +
                    std::to_string(count) +
                    ", counted from 0.\nCorrect the board's ordinal, or see what CUDA_VISIBLE_DEVICES hides.");
  }
  if (auto found = checked(driver_->device_get(&ordinal_, options_.ordinal), "finding the GPU"); !found) return found;
  std::array<char, 128> text{};
  if (auto named = checked(driver_->device_name(text.data(), static_cast<int>(text.size() - 1), ordinal_),
                           "asking for the GPU's name");
      !named) {
    return named;
  }
  name_ = text.data();
  int major = 0, minor = 0, integrated = 0, concurrent = 0;
  for (const auto& [which, value] : {std::pair(cuda::Attribute::compute_capability_major, &major),
                                     std::pair(cuda::Attribute::compute_capability_minor, &minor),
                                     std::pair(cuda::Attribute::multiprocessors, &multiprocessors_),
                                     std::pair(cuda::Attribute::integrated, &integrated),
                                     std::pair(cuda::Attribute::concurrent_managed_access, &concurrent)})
    if (auto known =
            checked(driver_->device_attribute(value, which, ordinal_), "asking for an attribute of the device");
        !known)
      return known;
  architecture_ = 10 * major + minor;
  integrated_ = integrated != 0;
  can_prefetch_ = concurrent != 0;
  return {};
}

Result<> CudaDevice::make_context() {
  std::size_t total = 0;
  if (auto known = checked(driver_->device_memory(&total, ordinal_), "asking for the device's memory"); !known)
    return known;
  memory_ = Bytes{total};
  std::size_t before = 0;
  const bool measured =
      driver_->free_without_context != nullptr && driver_->free_without_context(&before, ordinal_) == Code::success;
  if (auto made = checked(driver_->context_retain(&context_, ordinal_), "making a context on " + name_); !made)
    return made;
  if (auto entered = enter(); !entered) return entered;
  const auto free = free_memory();
  if (!free) return Unexpected(free.error());
  // NVML reports the whole GPU, even if the driver shows only a part of it; then its figure cannot be used
  free_before_ =
      Bytes{measured && before <= total && before >= free->count ? before : std::max<std::size_t>(total, free->count)};
  context_use_ = free_before_ - *free;
  return {};
}

Result<> CudaDevice::size_memory() {
  const auto properties = chunk_properties();
  std::size_t unit = 0;
  auto known = checked(driver_->granularity(&unit, &properties, minimum_granularity), "asking for the size of a chunk");
  if (!known || unit == 0) {
    const std::string why = known ? "" : "\n" + known.error().what;
    return fail(known ? Errc::unsupported : known.error().code,
                name_ + " has no virtual memory management, which chunks need." + why);
  }
  granularity_ = Bytes{unit};
  chunk_ = options_.chunk.count == 0 ? Bytes{unit} : options_.chunk;
  if (chunk_.count % unit != 0) {
    return fail(Errc::refused, "device.chunk: " + to_string(chunk_) + " was requested; " + name_ +
                                   " has chunks in multiples of " + to_string(Bytes{unit}) + ".");
  }
  const auto free = free_memory();
  if (!free) return Unexpected(free.error());
  Bytes asked = options_.capacity;
  if (asked.count == 0) {
    asked = *free - std::min(library_reserve, Bytes{free->count / 8});
    if (options_.most.count > 0) asked = std::min(asked, options_.most);
  }
  // On an integrated GPU the driver's free memory excludes the page cache, although the kernel would reclaim the page
  // cache
  if (asked > *free && !integrated_) {
    return fail(Errc::refused, "device.capacity: " + readable(asked) + " was requested, " + readable(*free) +
                                   " are free on " + name_ +
                                   ".\nAsk for less, or end other programs that use the GPU (nvidia-smi lists them).");
  }
  capacity_ = Bytes{asked.count / chunk_.count * chunk_.count};
  if (capacity_.count == 0) {
    return fail(Errc::refused,
                "device.capacity: " + to_string(asked) + " holds no chunk of " + to_string(chunk_) + ".");
  }
  cuda::DevicePointer base = 0;
  auto reserved = checked(driver_->address_reserve(&base, capacity_.count, 0, 0, 0),
                          "reserving addresses for " + readable(capacity_) + " of chunks");
  if (!reserved) return reserved;
  window_ = {address(base), capacity_};
  chunks_.reserve(capacity_.count / chunk_.count);
  return {};
}

Result<> CudaDevice::make_streams() {
  int least = 0;
  if (auto known = checked(driver_->stream_priorities(&least, &greatest_priority_), "asking for priorities of streams");
      !known)
    return known;
  for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out}) {
    EngineStream& each = streams_[static_cast<std::size_t>(kind)];
    if (auto made = make_stream(each, kind == EngineKind::compute ? greatest_priority_ : least); !made) return made;
  }
  return make_stream(streams_.back(), least);
}

Result<> CudaDevice::make_stream(EngineStream& made, int priority) const {
  if (auto there =
          checked(driver_->stream_create(&made.stream, cuda::stream_non_blocking, priority), "making a stream");
      !there)
    return there;
  if (auto there = make_event(made, made.done); !there) return there;
  for (cuda::Event& event : made.copied)
    if (auto there = make_event(made, event); !there) return there;
  return {};
}

Result<> CudaDevice::make_event(const EngineStream& on, cuda::Event& event) const {
  return checked(
      driver_->event_create(&event, cuda::event_disable_timing | (spins(on) ? 0u : cuda::event_blocking_sync)),
      "making an event");
}

Result<> CudaDevice::start_engines() {
  for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out})
    if (auto started = start_engine(kind); !started) return started;
  return {};
}

Result<> CudaDevice::start_engine(EngineKind kind) {
  constexpr std::array<const char*, engine_kinds> names{"compute", "copy-in", "copy-out", "beside"};
  const auto number = static_cast<std::size_t>(kind);
  auto engine = copies(kind) ? EngineThread::start(names[number])
                             : EngineThread::start(names[number], EngineThread::compute_stack);
  if (!engine) return Unexpected(engine.error());
  engines_[number] = std::move(*engine);
  return seat_engine(kind);
}

Result<> CudaDevice::start_secondary_compute() {
  const auto number = static_cast<std::size_t>(EngineKind::secondary_compute);
  if (streams_[number].stream != nullptr) return fail(Errc::bad_input, "The second compute engine is already running.");
  if (options_.completion == Completion::spin)
    return fail(Errc::refused,
                "device.completion: two concurrent jobs need \"block\": with \"spin\" one job's thread would occupy "
                "the core of the other.");
  if (auto entered = enter(); !entered) return entered;
  if (auto made = make_stream(streams_[number], greatest_priority_); !made) return made;
  return start_engine(EngineKind::secondary_compute);
}

Result<> CudaDevice::seat_engine(EngineKind kind) {
  Result<> outcome;
  const auto take_seat = [&]() noexcept {
    outcome = enter();
    seat = {this, kind};
    return Status();
  };
  if (!engine(kind).call(take_seat).outcome)
    return fail(Errc::out_of_memory, "A newly started engine accepts no work.");
  return outcome;
}

// ---- ending ----

CudaDevice::~CudaDevice() {
  for (auto& each : engines_) each.reset();
  if (context_ == nullptr) return;
  (void)driver_->context_set_current(context_);
  for (const EngineStream& each : streams_) {
    if (each.stream != nullptr && !lost()) (void)check(driver_->stream_synchronize(each.stream));
  }
  for (ReservedRange& each : ranges_) {
    for (std::size_t slot = 0; slot < each.slots(); ++slot) {
      if (each.is_mapped(slot)) (void)driver_->unmap(pointer(each.address(slot)), chunk_.count);
    }
    (void)driver_->address_free(pointer(each.addresses().base), each.addresses().size.count);
  }
  for (const auto each : pinned_.pieces()) (void)driver_->unregister_host(each.data());
  for (const Buffer& each : buffers_) (void)give_back(each);
  digest_module_ = GpuModule();
  while (!chunks_.empty()) destroy_last_chunk();
  if (window_.base != nullptr) (void)driver_->address_free(pointer(window_.base), window_.size.count);
  for (const EngineStream& each : streams_) {
    if (each.done != nullptr) (void)driver_->event_destroy(each.done);
    for (const cuda::Event event : each.copied)
      if (event != nullptr) (void)driver_->event_destroy(event);
    if (each.stream != nullptr) (void)driver_->stream_destroy(each.stream);
  }
  (void)driver_->context_set_current(nullptr);
  (void)driver_->context_release(ordinal_);
}

// ---- chunks ----

cuda::AllocationProperties CudaDevice::chunk_properties() const {
  cuda::AllocationProperties properties;
  properties.location.id = ordinal_;
  return properties;
}

cuda::AccessDescriptor CudaDevice::access_of(Access access) const {
  cuda::AccessDescriptor descriptor;
  descriptor.location.id = ordinal_;
  descriptor.flags = access == Access::read ? cuda::AccessFlags::read : cuda::AccessFlags::read_write;
  return descriptor;
}

Result<std::vector<Chunk>> CudaDevice::create_chunks(std::size_t count) {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  const std::size_t before = chunks_.size();
  const std::size_t left = capacity_.count / chunk_.count - before;
  if (count > left) {
    return fail(Errc::out_of_memory, std::to_string(count) + " chunks of " + readable(chunk_) + " were requested, " +
                                         std::to_string(left) + " are left of a capacity of " + readable(capacity_) +
                                         ".");
  }
  if (count == 0) return std::vector<Chunk>{};
  Result<> outcome;
  for (std::size_t i = 0; i < count && outcome; ++i) outcome = create_chunk();
  if (outcome) outcome = zero(window(Chunk(before)), chunk_ * count);
  if (!outcome) {
    while (chunks_.size() > before) destroy_last_chunk();
    return Unexpected(outcome.error());
  }
  std::vector<Chunk> chunks(count);
  for (std::size_t i = 0; i < count; ++i) chunks[i] = Chunk(before + i);
  return chunks;
}

Result<> CudaDevice::create_chunk() {
  const auto properties = chunk_properties();
  cuda::AllocationHandle handle = 0;
  if (auto created =
          checked(driver_->create(&handle, chunk_.count, &properties, 0), "creating a chunk of " + readable(chunk_));
      !created)
    return created;
  std::byte* const place = window(Chunk(chunks_.size()));
  if (auto mapped = checked(driver_->map(pointer(place), chunk_.count, 0, handle, 0), "mapping a chunk"); !mapped) {
    (void)driver_->release(handle);
    return mapped;
  }
  chunks_.push_back(handle);
  const auto access = access_of(Access::read_write);
  auto opened = checked(driver_->set_access(pointer(place), chunk_.count, &access, 1), "giving access to a chunk");
  if (!opened) destroy_last_chunk();
  return opened;
}

void CudaDevice::destroy_last_chunk() noexcept {
  (void)driver_->unmap(pointer(window(Chunk(chunks_.size() - 1))), chunk_.count);
  (void)driver_->release(chunks_.back());
  chunks_.pop_back();
}

Result<> CudaDevice::zero(std::byte* begin, Bytes size) {
  const EngineStream& own = streams_.back();
  if (auto set = checked(driver_->set_bytes_async(pointer(begin), 0, size.count, own.stream), "clearing device memory");
      !set)
    return set;
  return checked(driver_->stream_synchronize(own.stream), "clearing device memory");
}

// ---- ranges ----

Result<AddressRange> CudaDevice::reserve(Bytes size) {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  if (size.count == 0) return fail(Errc::bad_input, "A range of 0 bytes cannot be reserved.");
  const Bytes whole = round_up(size, chunk_);
  cuda::DevicePointer base = 0;
  if (auto reserved =
          checked(driver_->address_reserve(&base, whole.count, 0, 0, 0), "reserving addresses for " + readable(whole));
      !reserved) {
    return Unexpected(reserved.error());
  }
  const AddressRange range{address(base), whole};
  ranges_.emplace_back(range, chunk_);
  return range;
}

Result<> CudaDevice::release(AddressRange range) {
  if (auto entered = enter(); !entered) return entered;
  ReservedRange* found = find_range(ranges_, range);
  if (found == nullptr) return fail(Errc::bad_input, "The released range was not reserved, or was already released.");
  for (std::size_t slot = 0; slot < found->slots(); ++slot) {
    if (!found->is_mapped(slot)) continue;
    if (auto unmapped = checked(driver_->unmap(pointer(found->address(slot)), chunk_.count), "unmapping a chunk");
        !unmapped)
      return unmapped;
    found->set_mapped(slot, false);
  }
  if (auto freed = checked(driver_->address_free(pointer(range.base), range.size.count), "giving addresses back");
      !freed)
    return freed;
  ranges_.erase(ranges_.begin() + (found - ranges_.data()));
  return {};
}

Status CudaDevice::map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept {
  if (auto possible = ready(); !possible) return possible;
  ReservedRange* found = find_range(ranges_, range);
  if (found == nullptr || !found->is_vacant(slot) || index(chunk) >= chunks_.size() || access == Access::none)
    return Unexpected(Errc::bad_input);
  if (auto mapped = check(driver_->map(pointer(found->address(slot)), chunk_.count, 0, chunks_[index(chunk)], 0));
      !mapped)
    return mapped;
  found->set_mapped(slot, true);
  const auto descriptor = access_of(access);
  const Status opened = check(driver_->set_access(pointer(found->address(slot)), chunk_.count, &descriptor, 1));
  if (!opened) (void)unmap_slot(*found, slot);
  return opened;
}

Status CudaDevice::unmap(AddressRange range, std::size_t slot) noexcept {
  if (auto possible = ready(); !possible) return possible;
  ReservedRange* found = find_range(ranges_, range);
  if (found == nullptr || !found->is_mapped(slot)) return Unexpected(Errc::bad_input);
  return unmap_slot(*found, slot);
}

Status CudaDevice::unmap_slot(ReservedRange& range, std::size_t slot) noexcept {
  const Status unmapped = check(driver_->unmap(pointer(range.address(slot)), chunk_.count));
  if (unmapped) range.set_mapped(slot, false);
  return unmapped;
}

// ---- copies and waiting ----

EngineKind CudaDevice::compute_engine() const noexcept {
  return seat.device == this && seat.kind == EngineKind::secondary_compute ? EngineKind::secondary_compute
                                                                           : EngineKind::compute;
}

CudaDevice::EngineStream& CudaDevice::own_stream() noexcept {
  return seat.device == this ? streams_[static_cast<std::size_t>(seat.kind)] : streams_.back();
}

Status CudaDevice::copy(std::byte* to, const std::byte* from, Bytes size, DuringCopy during) noexcept {
  if (to == nullptr || from == nullptr) return Unexpected(lost() ? Errc::device_lost : Errc::bad_input);
  if (auto possible = ready(); !possible) return possible;
  const EngineStream& own = own_stream();
  if (auto begun = check(driver_->copy_async(pointer(to), pointer(from), size.count, own.stream)); !begun) return begun;
  const Status meanwhile = during();
  const Status done = finish(own);
  return meanwhile ? done : meanwhile;
}

Status CudaDevice::begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept {
  if (to == nullptr || from == nullptr) return Unexpected(lost() ? Errc::device_lost : Errc::bad_input);
  if (auto possible = ready(); !possible) return possible;
  EngineStream& own = own_stream();
  if (own.begun - own.ended == copies_at_once) return Unexpected(Errc::out_of_memory);
  if (auto begun = check(driver_->copy_async(pointer(to), pointer(from), size.count, own.stream)); !begun) return begun;
  return begun(own);
}

Status CudaDevice::end_copy() noexcept { return end_oldest(own_stream()); }

Status CudaDevice::begun(EngineStream& on) noexcept {
  if (auto recorded = check(driver_->event_record(on.copied[on.begun % copies_at_once], on.stream)); !recorded)
    return recorded;
  ++on.begun;
  return {};
}

Status CudaDevice::end_oldest(EngineStream& on) noexcept {
  if (on.begun == on.ended) return Unexpected(lost() ? Errc::device_lost : Errc::bad_input);
  const cuda::Event done = on.copied[on.ended++ % copies_at_once];
  if (auto possible = ready(); !possible) return possible;
  return wait_for(on, done);
}

Status CudaDevice::finish(const EngineStream& on) noexcept {
  if (auto possible = ready(); !possible) return possible;
  if (auto recorded = check(driver_->event_record(on.done, on.stream)); !recorded) return recorded;
  return wait_for(on, on.done);
}

Status CudaDevice::wait_for(const EngineStream& on, cuda::Event event) noexcept {
  return check(spins(on) ? spin(event) : driver_->event_synchronize(event));
}

/// True if the thread of this stream may spin while it waits. The threads of copy engines share a core, so none of them
/// may keep the core busy.
bool CudaDevice::spins(const EngineStream& on) const noexcept {
  return options_.completion == Completion::spin && &on == &this->engine_stream(EngineKind::compute);
}

Code CudaDevice::spin(cuda::Event event) const noexcept {
  Code code = driver_->event_query(event);
  while (code == Code::not_ready) code = driver_->event_query(event);
  return code;
}

// ---- buffers ----

Result<Bytes> CudaDevice::free_memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (auto known = checked(driver_->memory_info(&free, &total), "asking for free memory"); !known)
    return Unexpected(known.error());
  return Bytes{free};
}

Result<MemoryUse> CudaDevice::memory_use() const {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  const auto free = free_memory();
  if (!free) return Unexpected(free.error());
  return MemoryUse{free_before_ - std::min(free_before_, *free), context_use_};
}

Result<Buffer> CudaDevice::allocate(BufferKind kind, Bytes size) {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  if (size.count == 0) return fail(Errc::bad_input, "A buffer of 0 bytes was requested.");
  auto buffer = kind == BufferKind::host ? allocate_on_host(size) : allocate_on_device(kind, size);
  if (!buffer) return buffer;
  if (kind != BufferKind::host) {
    if (auto cleared = clear(*buffer); !cleared) {
      (void)give_back(*buffer);
      return Unexpected(cleared.error());
    }
  }
  buffers_.push_back(*buffer);
  return buffer;
}

Result<Buffer> CudaDevice::allocate_untouched(Bytes size) {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  auto buffer = allocate_on_device(BufferKind::managed, size);
  if (buffer) buffers_.push_back(*buffer);
  return buffer;
}

/// Zeroes a buffer. Managed memory is prefetched to the device first, which avoids a page fault for each page.
Result<> CudaDevice::clear(const Buffer& buffer) {
  if (buffer.kind == BufferKind::managed && can_prefetch_) {
    const Code code =
        driver_->prefetch_async(pointer(buffer.device), buffer.size.count, ordinal_, streams_.back().stream);
    if (auto begun = checked(code, "prefetching managed memory"); !begun) return begun;
  }
  return zero(buffer.device, buffer.size);
}

Result<Buffer> CudaDevice::allocate_on_device(BufferKind kind, Bytes size) {
  const bool managed = kind == BufferKind::managed;
  if (managed) {
    const auto free = free_memory();
    if (!free) return Unexpected(free.error());
    if (size > *free)
      return fail(Errc::out_of_memory, readable(size) + " of managed memory were requested, " + readable(*free) +
                                           " are free on " + name_ + ".");
  }
  cuda::DevicePointer device = 0;
  const Code code = managed ? driver_->allocate_managed(&device, size.count, cuda::managed_attach_global)
                            : driver_->allocate(&device, size.count);
  if (auto done =
          checked(code, "allocating " + readable(size) + (managed ? " of managed memory" : " of device memory"));
      !done) {
    return Unexpected(done.error());
  }
  return Buffer{kind, managed ? address(device) : nullptr, address(device), size};
}

Result<Buffer> CudaDevice::allocate_on_host(Bytes size) {
  void* host = nullptr;
  if (auto done = checked(driver_->allocate_host(&host, size.count, cuda::host_alloc_portable_and_mapped),
                          "page-locking " + readable(size));
      !done) {
    return Unexpected(done.error());
  }
  std::memset(host, 0, size.count);
  Buffer buffer{BufferKind::host, static_cast<std::byte*>(host), nullptr, size};
  cuda::DevicePointer device = 0;
  if (auto seen = checked(driver_->host_device_pointer(&device, host, 0), "mapping page-locked memory to the device");
      !seen) {
    (void)give_back(buffer);
    return Unexpected(seen.error());
  }
  buffer.device = address(device);
  return buffer;
}

Result<> CudaDevice::free(const Buffer& buffer) {
  if (auto entered = enter(); !entered) return entered;
  const auto found = std::ranges::find_if(
      buffers_, [&](const Buffer& each) { return each.kind == buffer.kind && each.device == buffer.device; });
  if (found == buffers_.end())
    return fail(Errc::bad_input, "The freed buffer was not allocated, or was already freed.");
  if (auto freed = checked(give_back(*found), "freeing a buffer"); !freed) return freed;
  buffers_.erase(found);
  return {};
}

Code CudaDevice::give_back(const Buffer& buffer) const noexcept {
  return buffer.kind == BufferKind::host ? driver_->free_host(buffer.host) : driver_->free(pointer(buffer.device));
}

Status CudaDevice::prefetch(const std::byte* at, Bytes size, Side to, EngineKind kind) noexcept {
  if (auto possible = ready(); !possible) return possible;
  if (!can_prefetch_) return Unexpected(Errc::unsupported);
  return check(
      driver_->prefetch_async(pointer(at), size.count, to == Side::device ? ordinal_ : cuda::cpu, stream(kind)));
}

Status CudaDevice::move(const std::byte* at, Bytes size, Side to) noexcept {
  if (auto begun = prefetch(at, size, to, compute_engine()); !begun) return begun;
  return wait();
}

// ---- the caller's memory ----

Result<> CudaDevice::pin(std::byte* begin, Bytes size) {
  if (auto entered = enter(); !entered) return entered;
  if (auto possible = pinned_.check({begin, size.count}); !possible) return possible;
  const Code code = driver_->register_host(begin, size.count, cuda::host_register_portable);
  if (auto done = checked(code, "page-locking " + readable(size) + " of host memory"); !done) return done;
  pinned_.add({begin, size.count});
  return {};
}

Result<> CudaDevice::unpin(std::byte* begin) {
  if (auto entered = enter(); !entered) return entered;
  const auto piece = pinned_.find(begin);
  if (!piece) return Unexpected(piece.error());
  const std::string what = "unlocking " + readable(Bytes{piece->size()}) + " of host memory";
  if (auto done = checked(driver_->unregister_host(begin), what); !done) return done;
  pinned_.remove(begin);
  return {};
}

} // namespace rtexec::hal
