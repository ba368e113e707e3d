// What calibration, profiling and tests ask of an executive beside what users may.
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

/// Opens a device of at least `capacity` in chunks of `chunk`; a capacity of 0 is all that the device has.
using OpenDevice = std::function<Result<std::unique_ptr<hal::Device>>(Bytes capacity, Bytes chunk)>;

/// Opens a backing store of at least `chunks` chunks.
using OpenStore = std::function<Result<std::unique_ptr<hal::BackingStore>>(hal::Device& device, std::size_t chunks)>;

/// Told about each chunk that came or went, for whoever measures; a plain function, called on a copy engine's thread:
/// must not block or allocate.
struct TransferObserver {
  void (*ended)(void* self, const policies::Action& transfer, Instant begin, Instant end) noexcept = nullptr;
  void* self = nullptr;
};

struct Setup : ExecutiveSetup {
  /// Instead of the board that the task set names.
  std::optional<Board> board = {};
  /// Begins a recording: called by start() once the machine has given all that is needed, before anything is emitted.
  std::function<Result<>()> record;
  /// Who is told that the run is ready, that it goes on, and that it stops.
  std::optional<ServiceManager> service_manager;
  /// A device of one's own; where empty, the board's is opened.
  OpenDevice open_device;
  /// A backing store of one's own; where empty, the one that the task set names.
  OpenStore open_store;
  /// Where the plan swaps: while a job executes, copy both ways without a pause, so that its execution is measured
  /// beside copies.
  bool copy_beside = false;
  /// For who measures: others use the cores of the set, too (neighbours.hpp); not where budgets of memory bandwidth
  /// hold, which they would use up.
  bool neighbours = false;
  /// For who measures: jobs execute whether their inputs have anything new or not, and nothing of it is counted.
  bool whatever_inputs = false;
  /// For who measures: a core that another run holds is an error, also where the set allows degraded runs.
  bool exclusive = false;
  /// For who only asks, and gives everything back at once: a run waits for its cores.
  bool inquires = false;
  TransferObserver observe_transfers;
  /// Where somebody looks on: what its task sees, connected by create(), which adds its cost to the WCET of the task's
  /// last part. A plan is made, and jobs are held to it, with that.
  std::shared_ptr<channels::Tap> tap;
  /// Where layers are to be timed, by task, in all jobs but those of the warm-up; outlives the run. Timing takes time
  /// itself: on a GPU some microseconds a layer.
  std::vector<LayerTimes>* layer_times = nullptr;
  /// Where it is of interest, by task: the shortest time in which a device part had no core, though nothing executed
  /// beside it: it waited. Written until the run is stopped, and only made less; outlives the run.
  std::vector<Duration>* shortest_waits = nullptr;
  /// What Workload::tune() told, by task name, instead of what the profile file stores.
  std::optional<std::map<std::string, std::vector<std::string>>> tunings;
};

/// As Executive::create().
[[nodiscard]] Result<Executive> create(TaskSet tasks, Setup setup = {});

} // namespace rtexec::executive
