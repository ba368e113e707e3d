// Options of an executive for calibration, profiling and tests, in addition to those of users.
#pragma once

#include <rtexec/board.hpp>
#include "hal/backing_store.hpp"
#include "hal/device_interface.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include <rtexec/executive.hpp>
#include "rtexec/runtime/channels/tap.hpp"
#include "rtexec/runtime/observation/layer_times.hpp"
#include "rtexec/runtime/watches/service_manager.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

/// Opens a device of at least `capacity` in chunks of `chunk`; a capacity of 0 is all memory of the device.
using OpenDevice = std::function<Result<std::unique_ptr<hal::Device>>(Bytes capacity, Bytes chunk)>;

/// Opens a backing store of at least `chunks` chunks.
using OpenStore = std::function<Result<std::unique_ptr<hal::BackingStore>>(hal::Device& device, std::size_t chunks)>;

/// Observes each chunk that was loaded or evicted, for measurements. A plain function, called on a copy engine's
/// thread: must not block or allocate.
struct TransferObserver {
  void (*ended)(void* self, const policies::Action& transfer, Instant begin, Instant end) noexcept = nullptr;
  void* self = nullptr;
};

struct Setup : ExecutiveSetup {
  /// Replaces the board that the task set names.
  std::optional<Board> board = {};
  /// Begins a recording. Called by start() once the machine has granted all that the run needs, before any event is
  /// emitted.
  std::function<Result<>()> record;
  /// Gets notified when the run is ready, makes progress, and stops.
  std::optional<ServiceManager> service_manager;
  /// Opens a device of the caller's own; if empty, the board's is opened.
  OpenDevice open_device;
  /// Opens a backing store of the caller's own; if empty, the one that the task set names is opened.
  OpenStore open_store;
  /// True to copy in both directions continuously while a job executes, if the plan swaps. Its execution is then
  /// measured with concurrent copies.
  bool copy_beside = false;
  /// True to run interference load on the cores of the set (neighbours.hpp) during measurements. It is not started if
  /// memory bandwidth budgets are in force, because it would use them up.
  bool neighbours = false;
  /// True to let jobs execute during measurements even if their inputs have no new values. No release is dropped for
  /// stale inputs.
  bool whatever_inputs = false;
  /// True if a core that another run holds is an error even if the set allows degraded runs. Set for measurements.
  bool exclusive = false;
  /// True for inquiries, which release everything at once: other runs wait for the cores meanwhile.
  bool inquires = false;
  TransferObserver observe_transfers;
  /// Present if a viewer shows the input of a task. create() connects it, and adds its cost to the WCET of the task's
  /// last part. The plan and the supervision of jobs use that WCET.
  std::shared_ptr<channels::Tap> tap;
  /// Present if layers are to be timed, by task, in all jobs but those of the warm-up; outlives the run. Timing has a
  /// cost: on a GPU some microseconds a layer.
  std::vector<LayerTimes>* layer_times = nullptr;
  /// The shortest time in which a device part had no core although nothing co-ran, so that it waited; by task. Null if
  /// waits are not measured. Updated with the minimum until the run is stopped; outlives the run.
  std::vector<Duration>* shortest_waits = nullptr;
  /// The results of Workload::tune(), by task name; they replace those of the profile file.
  std::optional<std::map<std::string, std::vector<std::string>>> tunings;
};

/// Creates an executive like Executive::create().
[[nodiscard]] Result<Executive> create(TaskSet tasks, Setup setup = {});

} // namespace rtexec::executive
