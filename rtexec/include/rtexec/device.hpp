// A workload's view of its device. A workload uses it to allocate buffers in addition to its task's memory, and to
// launch work on a GPU.
//
// Ownership: the library owns devices. A device outlives every workload, module and graph on it. A workload must free
// the buffers that it allocated. Threading: set-up functions are called by one thread at a time, in Workload::bind()
// and tune() and in a workload's destructor. Functions marked real-time may also be called in Workload::execute(), on
// the compute engine's thread. No function of this file may be called in before() and after(). During set-up, functions
// may throw std::bad_alloc; otherwise no function throws.
//
// Errors of all functions: device_fault if the device failed during this call, or if its driver reported another error;
// device_lost if the device failed before this call. The comment of each function lists further errors.
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

/// The kind of a buffer. The three kinds are the memory policies D, M and H of the literature, in this order.
enum class BufferKind {
  device,  // device memory, which the host cannot access
  managed, // one address for host and device; pages migrate to the processor that accesses them
  host,    // page-locked host memory that the device accesses without a copy
};

/// A buffer that is not part of the task's memory, initialised to zeros. `host` or `device` is null if that processor
/// cannot access the buffer.
struct Buffer {
  BufferKind kind = BufferKind::host;
  std::byte* host = nullptr;
  std::byte* device = nullptr;
  Bytes size;
};

/// A kernel of a module, valid while the module exists. `function` is a CUfunction.
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
  /// Set-up. Returns the kernel with this name. Returns unsupported if the module has no such kernel, bad_input if no
  /// module is loaded.
  [[nodiscard]] Result<GpuKernel> kernel(const char* name) const;

 private:
  friend class hal::CudaDevice;
  GpuModule(const hal::cuda::Driver& driver, void* handle, std::string name)
      : driver_(&driver), handle_(handle), name_(std::move(name)) {}
  const hal::cuda::Driver* driver_ = nullptr;
  void* handle_ = nullptr; // a CUmodule
  std::string name_;
};

/// A CUDA graph, captured once and run in every job. The destructor frees the graph.
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
  /// Returns the CUgraphExec, or null if nothing was captured.
  [[nodiscard]] void* handle() const noexcept { return handle_; }

 private:
  friend class hal::CudaDevice;
  explicit GpuGraph(const hal::cuda::Driver& driver) : driver_(&driver) {}
  const hal::cuda::Driver* driver_ = nullptr;
  void* handle_ = nullptr;
  // CUevents that the graph records at its beginning and at its end; null: the driver is too old
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

/// The number of blocks of a grid, or of threads of a block.
struct GpuExtent {
  unsigned x = 1, y = 1, z = 1;
};

/// Launches work on an NVIDIA GPU, through one stream: the stream of the compute engine on whose thread a job executes.
/// Work in the stream runs in the order of submission. Only one job at a time uses the stream, so a job waits only for
/// its own work. During set-up the stream is the stream of the first compute engine.
class Gpu {
 public:
  /// Returns the compute capability as 10 * major + minor: 62, 72, 86, 90.
  [[nodiscard]] virtual int architecture() const noexcept = 0;
  [[nodiscard]] virtual int multiprocessors() const noexcept = 0;
  /// Returns the compute engine's CUstream, for callers of CUDA libraries or of the driver. The stream belongs to the
  /// device's primary context, which CUDA's runtime library uses too. Other streams may be created during set-up, but
  /// work in them is not part of the job, and rtexec does not wait for it.
  [[nodiscard]] virtual void* stream() const noexcept = 0;

  /// Set-up. Makes the device's context current on the calling thread, for direct calls of the driver or a library. In
  /// execute(), execute_segment() and launch_segment() the context is already current.
  [[nodiscard]] virtual Result<> enter() const = 0;
  /// Set-up. Loads a module from `image`: a cubin, a fatbin, or PTX that ends with a zero byte. `name` is used in error
  /// messages. Returns unsupported if the image is for another GPU, or for a newer driver.
  [[nodiscard]] virtual Result<GpuModule> load(const void* image, const std::string& name) = 0;
  /// Set-up. Captures the work that `body` submits to stream(), and instantiates the graph on the device. Returns the
  /// first error of `body` or the driver. `body` must not wait for the device, or allocate on it.
  [[nodiscard]] virtual Result<GpuGraph> capture(const std::function<Result<>()>& body) = 0;

  /// Real-time. Submits `kernel` to the stream without waiting. `arguments` holds the address of each kernel parameter;
  /// the parameters are read before launch() returns. `shared` is the size of a block's dynamic shared memory, at most
  /// 48 KiB. Returns bad_input if `kernel` is empty.
  [[nodiscard]] virtual Status launch(GpuKernel kernel, GpuExtent blocks, GpuExtent threads, Bytes shared,
                                      void** arguments) noexcept = 0;
  /// Real-time. Launches `graph` and waits until it is done. A graph must not run concurrently with itself. Returns
  /// bad_input if nothing was captured.
  [[nodiscard]] virtual Status run(const GpuGraph& graph) noexcept = 0;
  /// Real-time. Waits until all work in the stream is done.
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

  /// Returns the driver's name of the device; "host" for the host device.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual DeviceKind kind() const noexcept = 0;
  /// Returns the GPU. Null on the host device: there execute() computes on its own thread, and device addresses are
  /// ordinary addresses.
  [[nodiscard]] virtual Gpu* gpu() noexcept { return nullptr; }

  /// Set-up. Allocates a buffer of `kind`, aligned to 256 bytes. The buffer is never swapped. A plan counts the buffer
  /// only if Workload::memory() declares it. Returns bad_input if `size` is 0, out_of_memory, or unsupported if the
  /// device has no buffers of this kind.
  [[nodiscard]] virtual Result<Buffer> allocate(BufferKind kind, Bytes size) = 0;
  /// Set-up. Frees a buffer that allocate() returned. Must not be called while work that uses the buffer runs. Returns
  /// bad_input if the buffer was not allocated, or was already freed.
  [[nodiscard]] virtual Result<> free(const Buffer& buffer) = 0;

 protected:
  Device() = default;
};

} // namespace rtexec
