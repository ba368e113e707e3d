// The simulated CUDA driver of test/cuda as the whole table of functions that rtexec uses. Streams execute at once, on
// the calling thread; graphs record closures; a kernel is a C++ function under its name. Calls can be made to fail, the
// device to break, and what is not given back is counted. It takes the driver's place for the whole process while it
// lives; one at a time. It needs no test framework.
//
// It is stricter than a driver: a thread without the current context is refused everything that some driver refuses
// then.
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
  Bytes context{8 << 20};         // what a context takes
  Bytes others{0};                // what other programs take
  Bytes granularity{4096};        // of chunks; whole pages
  bool management = true;         // free memory is known without a context
  std::string bus = {};           // where it is; empty: the driver does not tell
  bool enforces_read_only = true; // of copies into read-only mappings
  bool old = false;               // without the functions that are marked "newer"
};

/// What was made and not given back.
struct FakeCudaObjects {
  std::size_t contexts = 0, chunks = 0, ranges = 0, mappings = 0, buffers = 0, registered = 0, streams = 0, events = 0,
              graphs = 0, executables = 0, modules = 0;
  friend bool operator==(const FakeCudaObjects&, const FakeCudaObjects&) = default;
  friend std::ostream& operator<<(std::ostream& out, const FakeCudaObjects& objects);
};

/// A piece of work, as it was executed.
struct FakeCudaWork {
  std::string what; // "copy", "to device 0", "to host" (a prefetch), "record", "wait" (of a stream), or a kernel's name
  cuda::Stream stream = nullptr;
  cuda::DevicePointer at = 0; // what is written, or moved
  std::size_t size = 0;
  cuda::Event event = nullptr;
  bool behind = false; // a prefetch that other work of its stream was before: drivers make a thread for it
};

class FakeCudaDriver {
 public:
  using Dimensions = cuda::Dimensions;
  /// As a driver is given them: `arguments` has the address of each.
  using Kernel = std::function<void(Dimensions grid, Dimensions block, void** arguments)>;

  explicit FakeCudaDriver(const FakeCudaProperties& properties = {});
  ~FakeCudaDriver(); // gives back what was left
  FakeCudaDriver(const FakeCudaDriver&) = delete;
  FakeCudaDriver& operator=(const FakeCudaDriver&) = delete;

  /// Every module has kernel `name`, which takes arguments of these sizes: a captured launch keeps its own copies.
  void add_kernel(const std::string& name, std::vector<std::size_t> argument_sizes, Kernel kernel);
  /// The same for a kernel that takes one struct by value; `function` is called with (grid, block, argument).
  template <class Argument, class Function> void add_kernel(const std::string& name, Function function) {
    add_kernel(name, {sizeof(Argument)}, [function](Dimensions grid, Dimensions block, void** arguments) {
      Argument argument;
      std::memcpy(&argument, arguments[0], sizeof argument);
      function(grid, block, argument);
    });
  }
  /// Kernels that were not added are not found; or, with true, they are there and do nothing.
  void accept_unknown_kernels(bool accept);

  /// The `nth` call of the function at `Member`, or of any function, from now on, is answered by `code` and does
  /// nothing.
  template <auto Member> void fail(cuda::Code code, int nth = 1) {
    fail_function(position_of(reinterpret_cast<const char*>(&(table().*Member))), code, nth);
  }
  void fail_any(cuda::Code code, int nth);
  /// What ended the last fail() or fail_any(): the function's name, or null where it has not come to it.
  [[nodiscard]] const char* failed() const;
  template <auto Member> [[nodiscard]] int calls() const {
    return calls_of(position_of(reinterpret_cast<const char*>(&(table().*Member))));
  }
  /// The next launch or synchronisation breaks the device: a launch is still answered with success, all that follows
  /// with `code`.
  void break_device(cuda::Code code);
  /// From now on who waits for an event learns so much later that it has passed.
  void delay_wake_ups(Duration delay);
  /// Memory that other programs take from now on.
  void set_others(Bytes size);

  /// Forgets what work there was, and keeps a record from now on.
  void watch_work();
  /// In order.
  [[nodiscard]] std::vector<FakeCudaWork> work() const;

  [[nodiscard]] FakeCudaObjects objects() const;
  [[nodiscard]] int priority_of(cuda::Stream stream) const;
  [[nodiscard]] std::vector<unsigned> event_flags() const;
  [[nodiscard]] std::size_t launches() const;          // of kernels, those in graphs too
  [[nodiscard]] cuda::Stream last_launched_in() const; // of kernels, not those in graphs
  [[nodiscard]] cuda::Stream last_graph_in() const;    // of graphs launched
  [[nodiscard]] cuda::Event last_recorded() const;     // those in graphs too
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
  State* previous_ = nullptr; // in force again after this
  std::unique_ptr<cuda::DriverOverride> override_;
};

} // namespace rtexec::hal::test
