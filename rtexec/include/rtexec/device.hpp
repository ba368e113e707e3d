// What a workload sees of the device that it runs on: buffers of its own beside the memory that it is given, and, on a
// GPU, the means to launch work.
//
// Ownership: the library owns devices, and a device outlives every workload, module and graph on it. A workload gives
// back the buffers that it allocated. Threading: set-up functions are called by one thread at a time, in
// Workload::bind() and tune() and in a workload's destructor; those marked real-time also in Workload::execute(), on
// the compute engine's thread. Nothing of this is called in before() and after(). No function throws, but for
// std::bad_alloc during set-up.
//
// Errors of all functions: device_fault, when this call met what ended the device, or another error of its driver;
// device_lost, when an earlier one had ended it. Other errors stand at each function.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/export.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace rtexec {

namespace hal {
class CudaDevice;
namespace cuda {
struct Driver;
}
} // namespace hal

/// Where a buffer lives: the memory policies D, M and H of the literature.
enum class BufferKind {
  device,  // device memory, which the host does not see
  managed, // one address for both, pages move to who touches them
  host,    // page-locked host memory that the device reads and writes in place
};

/// Memory beside what a workload is given, zeroed. An address is null where that side does not see the buffer.
struct Buffer {
  BufferKind kind = BufferKind::host;
  std::byte* host = nullptr;
  std::byte* device = nullptr;
  Bytes size;
};

/// A kernel of a module, valid as long as the module. `function` is a CUfunction.
struct GpuKernel {
  void* function = nullptr;
};

/// Kernels loaded into a GPU; unloaded by the destructor.
class RTEXEC_API GpuModule {
 public:
  GpuModule() = default;
  GpuModule(GpuModule&& other) noexcept
      : driver_(other.driver_), handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}
  GpuModule& operator=(GpuModule&& other) noexcept;
  ~GpuModule();
  /// Set-up. unsupported: the module has no kernel of this name; bad_input: nothing was loaded.
  [[nodiscard]] Result<GpuKernel> kernel(const char* name) const;

 private:
  friend class hal::CudaDevice;
  GpuModule(const hal::cuda::Driver& driver, void* handle, std::string name)
      : driver_(&driver), handle_(handle), name_(std::move(name)) {}
  const hal::cuda::Driver* driver_ = nullptr;
  void* handle_ = nullptr; // a CUmodule
  std::string name_;
};

/// Work captured once and run in every job; given back by the destructor.
class RTEXEC_API GpuGraph {
 public:
  GpuGraph() = default;
  GpuGraph(GpuGraph&& other) noexcept
      : driver_(other.driver_),
        handle_(std::exchange(other.handle_, nullptr)),
        begin_(std::exchange(other.begin_, nullptr)),
        end_(std::exchange(other.end_, nullptr)) {}
  GpuGraph& operator=(GpuGraph&& other) noexcept;
  ~GpuGraph();
  /// The CUgraphExec; null where nothing was captured.
  [[nodiscard]] void* handle() const noexcept { return handle_; }

 private:
  friend class hal::CudaDevice;
  explicit GpuGraph(const hal::cuda::Driver& driver) : driver_(&driver) {}
  const hal::cuda::Driver* driver_ = nullptr;
  void* handle_ = nullptr;
  void* begin_ = nullptr; // CUevents that it records first and last; null: the driver is too old
  void* end_ = nullptr;
};

/// So many blocks of a grid, or threads of a block.
struct GpuExtent {
  unsigned x = 1, y = 1, z = 1;
};

/// Launches work on an NVIDIA GPU. All of it goes through one stream, that of the compute engine on whose thread a job
/// executes: what was put there first is done first. One job at a time has it, so a job waits for its own work alone.
/// During set-up it is that of the first compute engine.
class Gpu {
 public:
  /// Compute capability as 10 * major + minor: 62, 72, 86, 90.
  [[nodiscard]] virtual int architecture() const noexcept = 0;
  [[nodiscard]] virtual int multiprocessors() const noexcept = 0;
  /// That compute engine's CUstream, for who gives it to CUDA's libraries or calls the driver himself. It belongs to
  /// the device's primary context, which CUDA's runtime library uses too. Other streams may be made during set-up, but
  /// work in them is not the job's: nothing waits for it.
  [[nodiscard]] virtual void* stream() const noexcept = 0;

  /// Set-up: makes the device's context current on the calling thread, for who calls the driver or a library himself;
  /// execute() finds it current.
  [[nodiscard]] virtual Result<> enter() const = 0;
  /// Set-up. `image`: a cubin, a fatbin, or PTX that ends with a zero; `name` is for errors. unsupported: made for
  /// another GPU, or a newer driver.
  [[nodiscard]] virtual Result<GpuModule> load(const void* image, const std::string& name) = 0;
  /// Set-up: captures what `body` puts into stream(), and readies it on the device. The first error is returned,
  /// `body`'s or the driver's. Inside of `body` nothing may wait for the device, or allocate on it.
  [[nodiscard]] virtual Result<GpuGraph> capture(const std::function<Result<>()>& body) = 0;

  /// Real-time: puts `kernel` into the stream, and does not wait. `arguments`: the address of each of its parameters,
  /// read before launch() returns. `shared`: dynamic shared memory of a block, at most 48 KiB. bad_input: no kernel.
  [[nodiscard]] virtual Status launch(GpuKernel kernel, GpuExtent blocks, GpuExtent threads, Bytes shared,
                                      void** arguments) noexcept = 0;
  /// Real-time: launches `graph` and waits until it is done; one graph runs once at a time. bad_input: nothing was
  /// captured.
  [[nodiscard]] virtual Status run(const GpuGraph& graph) noexcept = 0;
  /// Real-time: waits until all work in the stream is done.
  [[nodiscard]] virtual Status wait() noexcept = 0;

 protected:
  Gpu() = default;
  ~Gpu() = default;
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// As the driver names it; "host" for the host device.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual DeviceKind kind() const noexcept = 0;
  /// Null on the host device: there execute() computes by itself, and device addresses are ordinary ones.
  [[nodiscard]] virtual Gpu* gpu() noexcept { return nullptr; }

  /// Set-up: a buffer of `kind`, aligned to 256 bytes. It is not swapped, and counts against the capacity of a
  /// plan only as Workload::memory() tells. bad_input: of no bytes; out_of_memory; unsupported.
  [[nodiscard]] virtual Result<Buffer> allocate(BufferKind kind, Bytes size) = 0;
  /// Set-up: gives back what allocate() returned, never while work that uses it runs. bad_input: it was not allocated,
  /// or was freed before.
  [[nodiscard]] virtual Result<> free(const Buffer& buffer) = 0;

 protected:
  Device() = default;
};

} // namespace rtexec
