// An NVIDIA GPU behind the driver API: chunks by cuMemCreate, ranges by cuMemAddressReserve, one stream for each
// engine.
//
// The primary context is used, which cuDNN and cuBLAS share. Each engine's thread has the context current and a stream
// of its own; whoever gives work to an engine finds the stream by stream(kind), launches into it, and waits by
// wait(kind). Set-up has a stream of its own, so that it never meets the engines' work or a capture. After a sticky
// error the device is lost for every task: the call that met it gets device_fault, later ones device_lost; fault() says
// what it was. Ending a lost device is safe.
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
  /// 0: what the device has free when it is opened, less a reserve for the libraries' kernels
  Bytes capacity = {};
  Bytes most = {};  // of what a capacity of 0 takes; 0: no bound
  Bytes chunk = {}; // 0: the driver's granularity; otherwise a multiple of it
  Completion completion = Completion::block;
  std::span<const cuda::KernelImage> kernels = cuda::kernel_images(); // of this room
};

enum class Side { host, device };

/// Threading: as Device. copies and digest() use the stream of the engine on whose thread they are called, and the
/// set-up stream elsewhere.
class CudaDevice final : public Device, public Gpu {
 public:
  /// Makes the context, the pool window and the engines, and probes what the device can do. unsupported: no driver, no
  /// device, no virtual memory management. refused: a driver that is too old, capacity or chunk that the device cannot
  /// give.
  [[nodiscard]] static Result<std::unique_ptr<CudaDevice>> open(const CudaOptions& options);
  /// The one behind what a workload was given; null: `device` is none.
  [[nodiscard]] static CudaDevice* find(rtexec::Device& device);
  /// The same. unsupported: `device` is none, and `what` ("this network") was made for
  /// one.
  [[nodiscard]] static Result<CudaDevice*> of(rtexec::Device& device, const char* what);
  /// Waits for what runs, then gives everything back; of a lost device, what the driver still takes.
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
  /// After an error the range stands, less what could be unmapped, and release() may be tried again.
  [[nodiscard]] Result<> release(AddressRange range) override;
  [[nodiscard]] Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept override;
  [[nodiscard]] Status unmap(AddressRange range, std::size_t slot) noexcept override;
  using Device::copy;
  [[nodiscard]] Status copy(std::byte* to, const std::byte* from, Bytes size, Beside beside) noexcept override;
  [[nodiscard]] Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept override;
  [[nodiscard]] Status end_copy() noexcept override;
  /// By a kernel in the stream that copy() uses. unsupported: capabilities() says why.
  [[nodiscard]] Status digest(const std::byte* at, Bytes size, Digest& result) noexcept override;
  /// By cuMemHostRegister. unsupported: boards whose caches do not see the device's accesses.
  [[nodiscard]] Result<> pin(std::byte* begin, Bytes size) override;
  [[nodiscard]] Result<> unpin(std::byte* begin) override;
  [[nodiscard]] Engine& engine(EngineKind kind) override { return *engines_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] Result<> start_beside() override;
  void begin_execution(Company) noexcept override { compute_stream().on_the_way = Duration(0); }
  /// Less what run() takes longer than its graph takes on the GPU. What else a job does counts whole.
  [[nodiscard]] Duration executed(Duration passed) noexcept override {
    return passed - std::min(passed, compute_stream().on_the_way);
  }
  /// Managed memory: at most what the device has free, because more can hang a GPU for all its users.
  [[nodiscard]] Result<Buffer> allocate(BufferKind kind, Bytes size) override;
  /// Managed memory of which nobody has touched a page, for who measures what that costs: it is not zeroed.
  [[nodiscard]] Result<Buffer> allocate_untouched(Bytes size);
  [[nodiscard]] Result<> free(const Buffer& buffer) override;
  /// By the free memory before the context was made (NVML). Where that is not known, from all the memory of the device:
  /// then what other programs and the driver had taken by then counts in `context`, and in `own`.
  [[nodiscard]] Result<MemoryUse> memory_use() const override;
  /// By NVML.
  [[nodiscard]] std::optional<DeviceClocks> clocks() const noexcept override {
    return managed_ ? managed_->clocks() : std::nullopt;
  }
  [[nodiscard]] std::optional<DeviceFault> fault() const override;

  [[nodiscard]] const cuda::Driver& driver() const { return *driver_; }
  /// Of each engine. Work in the streams of compute engines has the greatest priority.
  [[nodiscard]] cuda::Stream stream(EngineKind kind) const noexcept { return engine_stream(kind).stream; }
  /// The one on whose thread this is called; `compute` on any other thread.
  [[nodiscard]] EngineKind compute_engine() const noexcept;
  [[nodiscard]] int architecture() const noexcept override { return architecture_; }
  [[nodiscard]] int multiprocessors() const noexcept override { return multiprocessors_; }
  [[nodiscard]] void* stream() const noexcept override { return stream(compute_engine()); }

  [[nodiscard]] Result<> enter() const override;
  [[nodiscard]] Result<GpuModule> load(const void* image, const std::string& name) override;
  [[nodiscard]] Result<GpuGraph> capture(const std::function<Result<>()>& body) override;
  [[nodiscard]] Status launch(GpuKernel kernel, GpuExtent blocks, GpuExtent threads, Bytes shared,
                              void** arguments) noexcept override;
  /// Waits as CudaOptions::completion says.
  [[nodiscard]] Status run(const GpuGraph& graph) noexcept override;
  /// The halves of run(), so that graphs follow each other without a gap: the first launches `graph` and returns. After
  /// an error there is nothing to end; out_of_memory: `copies_at_once` are begun and not ended.
  [[nodiscard]] Status begin_run(const GpuGraph& graph) noexcept;
  /// Waits for `graph`, the oldest that this thread has begun and not ended. Whatever it answers, that one is ended.
  [[nodiscard]] Status end_run(const GpuGraph& graph) noexcept;
  [[nodiscard]] Status wait() noexcept override { return wait(compute_engine()); }
  /// Pages of managed memory can be moved ahead of who touches them. Elsewhere all that is managed moves as the driver
  /// likes, when a kernel is launched, and the host may not touch it meanwhile.
  [[nodiscard]] bool can_prefetch() const noexcept { return can_prefetch_; }
  /// Set-up: moves part of a managed buffer to `to` behind what is in the stream of `kind`, and does not wait. Where
  /// something is in it, the driver does it from a thread that it makes then. It cannot be captured. unsupported:
  /// can_prefetch() is false.
  [[nodiscard]] Status prefetch(const std::byte* at, Bytes size, Side to, EngineKind kind) noexcept;
  /// Real-time, on a compute engine's thread that has waited for its work: the same, by this thread, and waits.
  [[nodiscard]] Status move(const std::byte* at, Bytes size, Side to) noexcept;
  /// Waits until the work in `kind`'s stream so far is done; on that engine's thread, or on any thread during set-up.
  [[nodiscard]] Status wait(EngineKind kind) noexcept { return finish(engine_stream(kind)); }
  /// A Status of a driver's answer: sticky ones end the device. Any thread.
  [[nodiscard]] Status check(cuda::Code code) const noexcept;
  /// The same for set-up code, with `what` was tried, the driver's name of the error, and what to do where something
  /// can be done.
  [[nodiscard]] Result<> checked(cuda::Code code, const std::string& what) const;

 private:
  struct EngineStream {
    cuda::Stream stream = nullptr;
    cuda::Event done = nullptr;
    std::array<cuda::Event, copies_at_once> copied{}; // of copies or graphs begun and not ended, used in turn
    std::size_t begun = 0, ended = 0;
    Duration on_the_way{0};                         // of the job that executes; a compute engine's thread
    cuda::DigestSums* sums = nullptr;               // in device memory; null where there is no kernel
    cuda::DigestResult* result_on_device = nullptr; // the same as `result`
    const cuda::DigestResult* result = nullptr;     // page-locked
  };

  CudaDevice(const cuda::Driver& driver, const CudaOptions& options) : driver_(&driver), options_(options) {}
  // The steps of open(), in order.
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
  [[nodiscard]] Status ready() const noexcept; // not lost, and the context is current
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
  std::unique_ptr<cuda::ManagedGpu> managed_; // null: its clocks are not known
  int architecture_ = 0;
  int multiprocessors_ = 0;
  bool integrated_ = false;
  bool can_prefetch_ = false;
  cuda::Context context_ = nullptr;
  Bytes memory_;      // all of the device's
  Bytes free_before_; // the context was made
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
  int greatest_priority_ = 0;                          // of a stream
  std::array<EngineStream, engine_kinds + 1> streams_; // by EngineKind; the last one is of set-up
  DeviceCapabilities capabilities_;
  mutable std::atomic<cuda::Code> lost_{cuda::Code::success};       // by which sticky error
  std::array<std::unique_ptr<EngineThread>, engine_kinds> engines_; // by EngineKind
};

/// Tries what the memory of `device` can do, on two pieces of its own. An error only where the attempt ended the
/// device, or nothing could be tried; a capability that could not be shown is missing.
[[nodiscard]] Result<DeviceCapabilities> probe_cuda_memory(CudaDevice& device,
                                                           const cuda::AllocationProperties& properties, Bytes piece);

} // namespace rtexec::hal
