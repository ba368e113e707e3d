// An NVIDIA GPU behind the driver API: chunks by cuMemCreate, ranges by cuMemAddressReserve, one stream for each
// engine.
//
// The device uses the primary context, which cuDNN and cuBLAS share. Each engine's thread has the context current and a
// stream of its own. Code that executes on an engine gets the stream by stream(kind), launches work into it, and waits
// by wait(kind). Set-up uses a separate stream. Neither the engines' work nor a graph capture uses this stream.
// After a sticky error the device is lost for every task. The call in which the error occurred returns device_fault;
// later calls return device_lost. fault() names the error. Destroying a lost device is safe.
#pragma once

#include <rtexec/choices.hpp>
#include "hal/cuda/driver.hpp"
#include "hal/cuda/kernel_images.hpp"
#include "hal/cuda/kernels/digest_arguments.hpp"
#include "hal/cuda/management.hpp"
#include "hal/device_interface.hpp"
#include "hal/engine_thread.hpp"
#include "hal/pinned_memory.hpp"
#include "hal/reserved_range.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::hal {

struct CudaOptions {
  int ordinal = 0;
  /// 0: the free memory of the device when it is opened, less a reserve for the kernels of cuDNN and cuBLAS
  Bytes capacity = {};
  Bytes most = {};  // maximum capacity if `capacity` is 0; 0: no maximum
  Bytes chunk = {}; // 0: the driver's granularity; otherwise a multiple of the driver's granularity
  Completion completion = Completion::block;
  std::span<const cuda::KernelImage> kernels = cuda::kernel_images(); // the kernels of hal/cuda
};

enum class Side { host, device };

/// Threading: as Device. copy() and digest() use the stream of the engine on whose thread they are called, and the
/// set-up stream on any other thread.
class CudaDevice final : public Device, public Gpu {
 public:
  /// Creates the context, the pool window and the engines, and probes the device's capabilities. Returns unsupported if
  /// there is no driver, no device, or no virtual memory management. Returns refused if the driver is too old, or if
  /// the device cannot provide the capacity or the chunk size.
  [[nodiscard]] static Result<std::unique_ptr<CudaDevice>> open(const CudaOptions& options);
  /// Returns the CudaDevice behind the device that a workload sees; null if `device` is no CUDA device.
  [[nodiscard]] static CudaDevice* find(rtexec::Device& device);
  /// Returns the same CudaDevice as find(). Returns unsupported if `device` is no CUDA device; the error says that
  /// `what` ("this network") needs a CUDA device.
  [[nodiscard]] static Result<CudaDevice*> of(rtexec::Device& device, const char* what);
  /// Waits for running work, then releases everything. If the device is lost, ignores the errors of the driver.
  ~CudaDevice() override;

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  [[nodiscard]] Gpu* gpu() noexcept override { return this; }
  [[nodiscard]] Bytes capacity() const override { return capacity_; }
  [[nodiscard]] Bytes chunk_size() const override { return chunk_; }
  [[nodiscard]] const DeviceCapabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] Result<std::vector<Chunk>> create_chunks(std::size_t count) override;
  [[nodiscard]] std::byte* window(Chunk chunk) const override { return window_.base + index(chunk) * chunk_.count; }
  [[nodiscard]] std::size_t chunks_created() const override { return chunks_.size(); }
  [[nodiscard]] Result<AddressRange> reserve(Bytes size) override;
  /// After an error the range still exists, and some of its slots may be unmapped. release() may be called again.
  [[nodiscard]] Result<> release(AddressRange range) override;
  [[nodiscard]] Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept override;
  [[nodiscard]] Status unmap(AddressRange range, std::size_t slot) noexcept override;
  using Device::copy;
  [[nodiscard]] Status copy(std::byte* to, const std::byte* from, Bytes size, DuringCopy during) noexcept override;
  [[nodiscard]] Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept override;
  [[nodiscard]] Status end_copy() noexcept override;
  /// Computes the digest by a kernel in the stream that copy() uses. Returns unsupported if `capabilities().digest` is
  /// false; `capabilities().findings` then gives the reason.
  [[nodiscard]] Status digest(const std::byte* at, Bytes size, Digest& result) noexcept override;
  /// Uses cuMemHostRegister. Returns unsupported on boards whose caches are not coherent with the device's accesses.
  [[nodiscard]] Result<> pin(std::byte* begin, Bytes size) override;
  [[nodiscard]] Result<> unpin(std::byte* begin) override;
  [[nodiscard]] Engine& engine(EngineKind kind) override { return *engines_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] Result<> start_secondary_compute() override;
  void begin_execution(Concurrency) noexcept override { compute_stream().on_the_way = Duration(0); }
  /// Returns `passed` less the overhead of run(): the time that run() took minus the execution time of its graph on the
  /// GPU. Other work of a job counts in full.
  [[nodiscard]] Duration executed(Duration passed) noexcept override {
    return passed - std::min(passed, compute_stream().on_the_way);
  }
  /// Limits managed memory to the device's free memory, because allocating more can hang a GPU for all its users.
  [[nodiscard]] Result<Buffer> allocate(BufferKind kind, Bytes size) override;
  /// Allocates managed memory without zeroing it, so that no page is touched; for measuring the cost of first touches.
  [[nodiscard]] Result<Buffer> allocate_untouched(Bytes size);
  [[nodiscard]] Result<> free(const Buffer& buffer) override;
  /// Computes MemoryUse::own from the free memory before the context was made (NVML). If the free memory at that time
  /// is unknown, computes `own` from the whole memory of the device. MemoryUse::context and `own` then include the
  /// memory that other programs and the driver used at that time.
  [[nodiscard]] Result<MemoryUse> memory_use() const override;
  /// Reads the clocks from NVML.
  [[nodiscard]] std::optional<DeviceClocks> clocks() const noexcept override {
    return managed_ ? managed_->clocks() : std::nullopt;
  }
  [[nodiscard]] std::optional<DeviceFault> fault() const override;

  [[nodiscard]] const cuda::Driver& driver() const { return *driver_; }
  /// Returns the stream of an engine. Work in the streams of compute engines has the greatest priority.
  [[nodiscard]] cuda::Stream stream(EngineKind kind) const noexcept { return engine_stream(kind).stream; }
  /// Returns the compute engine to which the calling thread belongs, or `compute` on any other thread.
  [[nodiscard]] EngineKind compute_engine() const noexcept;
  [[nodiscard]] int architecture() const noexcept override { return architecture_; }
  [[nodiscard]] int multiprocessors() const noexcept override { return multiprocessors_; }
  [[nodiscard]] void* stream() const noexcept override { return stream(compute_engine()); }

  [[nodiscard]] Result<> enter() const override;
  [[nodiscard]] Result<GpuModule> load(const void* image, const std::string& name) override;
  [[nodiscard]] Result<GpuGraph> capture(const std::function<Result<>()>& body) override;
  [[nodiscard]] Status launch(GpuKernel kernel, GpuExtent blocks, GpuExtent threads, Bytes shared,
                              void** arguments) noexcept override;
  /// Waits by blocking or by spinning, as CudaOptions::completion says.
  [[nodiscard]] Status run(const GpuGraph& graph) noexcept override;
  /// The first half of run(): launches `graph` and returns, so that graphs follow each other without a gap. After an
  /// error end_run() must not be called. Returns out_of_memory if `copies_at_once` graphs or copies are pending: begun
  /// by this thread and not ended.
  [[nodiscard]] Status begin_run(const GpuGraph& graph) noexcept;
  /// Waits for `graph`, which must be the oldest pending graph of this thread. Ends the graph even if an error is
  /// returned.
  [[nodiscard]] Status end_run(const GpuGraph& graph) noexcept;
  [[nodiscard]] Status wait() noexcept override { return wait(compute_engine()); }
  /// True if pages of managed memory can be prefetched. If false, the driver may move all managed memory at each kernel
  /// launch, and the host must not access managed memory while a kernel runs.
  [[nodiscard]] bool can_prefetch() const noexcept { return can_prefetch_; }
  /// Set-up: queues a prefetch of a part of a managed buffer to `to`, behind the work in the stream of `kind`, and does
  /// not wait. If that stream has work, the driver creates a thread to make the prefetch. A prefetch cannot be
  /// captured. Returns unsupported if can_prefetch() is false.
  [[nodiscard]] Status prefetch(const std::byte* at, Bytes size, Side to, EngineKind kind) noexcept;
  /// Real-time: prefetches on the calling thread and waits for the end. Called on a compute engine's thread, after it
  /// has waited for its work. Returns the errors of prefetch().
  [[nodiscard]] Status move(const std::byte* at, Bytes size, Side to) noexcept;
  /// Waits until the work that is now in the stream of `kind` is done. Called on that engine's thread, or on any thread
  /// during set-up.
  [[nodiscard]] Status wait(EngineKind kind) noexcept { return finish(engine_stream(kind)); }
  /// Converts a driver's result to a Status. A sticky error ends the device. Any thread.
  [[nodiscard]] Status check(cuda::Code code) const noexcept;
  /// Converts a driver's result to a Result, for set-up code. The error names the attempted action (`what`), the
  /// driver's name of the error, and a remedy if there is one.
  [[nodiscard]] Result<> checked(cuda::Code code, const std::string& what) const;

 private:
  struct EngineStream {
    cuda::Stream stream = nullptr;
    cuda::Event done = nullptr;
    /// Events recorded behind the pending copies or graphs. Copy or graph number n uses entry n % copies_at_once
    std::array<cuda::Event, copies_at_once> copied{};
    std::size_t begun = 0, ended = 0;
    /// The overhead so far of the executing job: its time on the engine less the GPU's execution time. Accessed only by
    /// the compute engine's thread
    Duration on_the_way{0};
    cuda::DigestSums* sums = nullptr;               // in device memory; null without a digest kernel
    cuda::DigestResult* result_on_device = nullptr; // device address of `result`
    const cuda::DigestResult* result = nullptr;     // page-locked
  };

  CudaDevice(const cuda::Driver& driver, const CudaOptions& options) : driver_(&driver), options_(options) {}
  // Called by open(), in this order
  [[nodiscard]] Result<> find_device();
  [[nodiscard]] Result<> make_context();
  [[nodiscard]] Result<> size_memory();
  [[nodiscard]] Result<> make_streams();
  [[nodiscard]] Result<> make_stream(EngineStream& made, int priority) const;
  [[nodiscard]] Result<> make_event(const EngineStream& on, cuda::Event& event) const;
  [[nodiscard]] Result<> start_engines();
  [[nodiscard]] Result<> start_engine(EngineKind kind);
  [[nodiscard]] Result<> ready_digests();
  [[nodiscard]] Result<> seat_engine(EngineKind kind);
  [[nodiscard]] Result<> find_digest_kernel();
  [[nodiscard]] Result<Bytes> free_memory() const;

  [[nodiscard]] Result<> create_chunk();
  void destroy_last_chunk() noexcept;
  [[nodiscard]] Result<> zero(std::byte* begin, Bytes size);
  [[nodiscard]] Result<Buffer> allocate_on_device(BufferKind kind, Bytes size);
  [[nodiscard]] Result<> clear(const Buffer& buffer);
  [[nodiscard]] Result<Buffer> allocate_on_host(Bytes size);
  [[nodiscard]] cuda::Code give_back(const Buffer& buffer) const noexcept;
  [[nodiscard]] cuda::AllocationProperties chunk_properties() const;
  [[nodiscard]] cuda::AccessDescriptor access_of(Access access) const;
  [[nodiscard]] Status unmap_slot(ReservedRange& range, std::size_t slot) noexcept;

  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != cuda::Code::success; }
  [[nodiscard]] Status ready() const noexcept; // success if the device is not lost and the context is current
  [[nodiscard]] const EngineStream& engine_stream(EngineKind kind) const noexcept {
    return streams_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] EngineStream& own_stream() noexcept;
  [[nodiscard]] EngineStream& compute_stream() noexcept { return streams_[static_cast<std::size_t>(compute_engine())]; }
  [[nodiscard]] Status begun(EngineStream& on) noexcept;
  [[nodiscard]] Status end_oldest(EngineStream& on) noexcept;
  [[nodiscard]] Status finish(const EngineStream& on) noexcept;
  [[nodiscard]] Status wait_for(const EngineStream& on, cuda::Event event) noexcept;
  [[nodiscard]] bool spins(const EngineStream& on) const noexcept;
  [[nodiscard]] cuda::Code spin(cuda::Event event) const noexcept;
  [[nodiscard]] Result<> make_events(GpuGraph& graph) const;
  [[nodiscard]] Result<> record_in_graph(void* event) const;
  [[nodiscard]] Result<> instantiate(GpuGraph& graph, cuda::GraphHandle captured);
  [[nodiscard]] Duration graph_took(const GpuGraph& graph, Duration passed) const noexcept;

  const cuda::Driver* driver_;
  CudaOptions options_;
  cuda::Ordinal ordinal_ = 0;
  std::string name_;
  std::unique_ptr<cuda::ManagedGpu> managed_; // null: the clocks are unknown
  int architecture_ = 0;
  int multiprocessors_ = 0;
  bool integrated_ = false;
  bool can_prefetch_ = false;
  cuda::Context context_ = nullptr;
  Bytes memory_;      // the device's whole memory
  Bytes free_before_; // free memory before the context was made
  Bytes context_use_;
  Bytes granularity_;
  Bytes chunk_;
  Bytes capacity_;
  AddressRange window_;
  std::vector<cuda::AllocationHandle> chunks_;
  std::vector<ReservedRange> ranges_;
  std::vector<Buffer> buffers_;
  PinnedMemory pinned_;
  GpuModule digest_module_;
  cuda::Function digest_kernel_ = nullptr;
  int greatest_priority_ = 0;                          // greatest priority of a stream
  std::array<EngineStream, engine_kinds + 1> streams_; // by EngineKind; the last stream is for set-up
  DeviceCapabilities capabilities_;
  mutable std::atomic<cuda::Code> lost_{cuda::Code::success}; // the sticky error that ended the device; success: none
  std::array<std::unique_ptr<EngineThread>, engine_kinds> engines_; // by EngineKind
};

/// Tries the memory capabilities of `device` on two allocations of `piece` bytes, which it creates and frees. A
/// capability stays false unless its trial succeeds. Returns an error only if a trial made the device unusable (device
/// lost), or if no capability could be tried.
[[nodiscard]] Result<DeviceCapabilities> probe_cuda_memory(CudaDevice& device,
                                                           const cuda::AllocationProperties& properties, Bytes piece);

} // namespace rtexec::hal
