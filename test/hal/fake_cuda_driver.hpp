// The simulated CUDA driver of test/cuda as the complete table of functions that rtexec uses. Streams execute at
// once, on the calling thread; graphs record closures; a kernel is a C++ function under its name. Calls can be made to
// fail, the device can be made to break, and objects that are not released are counted. While an instance lives, it
// replaces the driver for the whole process; one instance at a time. It needs no test framework.
//
// It is stricter than a real driver: without a current context, a thread's call fails if it would fail with any driver.
#pragma once

#include <rtexec/units.hpp>
#include "test/cuda/simulated_driver.hpp"

#include <cstddef>
#include <cstring>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::hal::test {

struct FakeCudaProperties {
  std::string name = "Fake GPU";
  int devices = 1;
  int architecture = 90;
  int multiprocessors = 4;
  bool integrated = false;
  bool concurrent_managed = true; // managed memory can be prefetched
  Bytes memory{256 << 20};
  Bytes context{8 << 20};         // memory that a context takes
  Bytes others{0};                // memory that other programs take
  Bytes granularity{4096};        // of chunks; whole pages
  bool management = true;         // free memory can be queried without a context
  std::string bus = {};           // its PCI bus address; empty: the driver does not report it
  bool enforces_read_only = true; // for copies into read-only mappings
  bool old = false;               // without the functions marked "newer"
};

/// The number of objects of each kind that were created and not released.
struct FakeCudaObjects {
  std::size_t contexts = 0, chunks = 0, ranges = 0, mappings = 0, buffers = 0, registered = 0, streams = 0, events = 0,
              graphs = 0, executables = 0, modules = 0;
  friend bool operator==(const FakeCudaObjects&, const FakeCudaObjects&) = default;
  friend std::ostream& operator<<(std::ostream& out, const FakeCudaObjects& objects);
};

/// An executed piece of work.
struct FakeCudaWork {
  // "copy", "to device 0", "to host" (a prefetch), "record", "wait" (of a stream), or a kernel's name.
  std::string what;
  cuda::Stream stream = nullptr;
  cuda::DevicePointer at = 0; // the address that is written, or moved
  std::size_t size = 0;
  cuda::Event event = nullptr;
  // A prefetch behind other work of its stream, for which real drivers create a thread.
  bool behind = false;
};

class FakeCudaDriver {
 public:
  using Dimensions = cuda::Dimensions;
  /// A kernel as a driver receives it: `arguments` holds the address of each argument.
  using Kernel = std::function<void(Dimensions grid, Dimensions block, void** arguments)>;

  explicit FakeCudaDriver(const FakeCudaProperties& properties = {});
  ~FakeCudaDriver(); // releases the remaining objects
  FakeCudaDriver(const FakeCudaDriver&) = delete;
  FakeCudaDriver& operator=(const FakeCudaDriver&) = delete;

  /// Adds kernel `name` to every module. It takes arguments of these sizes, so that a captured launch can copy them.
  void add_kernel(const std::string& name, std::vector<std::size_t> argument_sizes, Kernel kernel);
  /// Adds a kernel that takes one struct by value. `function` is called with (grid, block, argument).
  template <class Argument, class Function> void add_kernel(const std::string& name, Function function) {
    add_kernel(name, {sizeof(Argument)}, [function](Dimensions grid, Dimensions block, void** arguments) {
      Argument argument;
      std::memcpy(&argument, arguments[0], sizeof argument);
      function(grid, block, argument);
    });
  }
  /// If true, kernels that were not added exist and do nothing. If false, they are not found.
  void accept_unknown_kernels(bool accept);

  /// Makes the `nth` call from now on of the function at `Member`, or of any function, return `code` and do nothing.
  template <auto Member> void fail(cuda::Code code, int nth = 1) {
    fail_function(position_of(reinterpret_cast<const char*>(&(table().*Member))), code, nth);
  }
  void fail_any(cuda::Code code, int nth);
  /// Ends the last fail() or fail_any(). Returns the name of the function that failed, or null if none did.
  [[nodiscard]] const char* failed() const;
  template <auto Member> [[nodiscard]] int calls() const {
    return calls_of(position_of(reinterpret_cast<const char*>(&(table().*Member))));
  }
  /// Breaks the device with the next launch or synchronisation. A launch still returns success; all later calls return
  /// `code`.
  void break_device(cuda::Code code);
  /// Delays, from now on, the wake-up of a thread that waits for an event.
  void delay_wake_ups(Duration delay);
  /// Sets the memory that other programs take from now on.
  void set_others(Bytes size);

  /// Discards the record of work, and records from now on.
  void watch_work();
  /// Returns the recorded work in order.
  [[nodiscard]] std::vector<FakeCudaWork> work() const;

  [[nodiscard]] FakeCudaObjects objects() const;
  [[nodiscard]] int priority_of(cuda::Stream stream) const;
  [[nodiscard]] std::vector<unsigned> event_flags() const;
  [[nodiscard]] std::size_t launches() const;          // of kernels, including those in graphs
  [[nodiscard]] cuda::Stream last_launched_in() const; // of kernels, except those in graphs
  [[nodiscard]] cuda::Stream last_graph_in() const;    // of launched graphs
  [[nodiscard]] cuda::Event last_recorded() const;     // including events in graphs
  [[nodiscard]] cuda::Event last_waited_for() const;   // by event_synchronize
  [[nodiscard]] const cuda::Driver& table() const;

  class State;

 private:
  [[nodiscard]] std::size_t position_of(const char* member) const {
    return static_cast<std::size_t>(member - reinterpret_cast<const char*>(&table())) / sizeof(void*);
  }
  void fail_function(std::size_t position, cuda::Code code, int nth);
  [[nodiscard]] int calls_of(std::size_t position) const;

  std::unique_ptr<State> state_;
  State* previous_ = nullptr; // in force again when this one ends
  std::unique_ptr<cuda::DriverOverride> override_;
};

} // namespace rtexec::hal::test
