// The options of an executive for calibration, profiling and tests. These options extend the options that users have.
#pragma once

#include <rtexec/board.hpp>
#include "hal/backing_store.hpp"
#include "hal/device_interface.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include <rtexec/executive.hpp>
#include "rtexec/runtime/channels/picture_observer.hpp"
#include "rtexec/runtime/observation/layer_times.hpp"
#include "rtexec/runtime/watches/service_manager.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

/// Opens a device with at least `capacity` bytes of memory, in chunks of `chunk` bytes. A capacity of 0 means all
/// memory of the device.
using OpenDevice = std::function<Result<std::unique_ptr<hal::Device>>(Bytes capacity, Bytes chunk)>;

/// Opens a backing store with room for at least `chunks` chunks. Chunks of `device` are swapped to this store.
using OpenStore = std::function<Result<std::unique_ptr<hal::BackingStore>>(hal::Device& device, std::size_t chunks)>;

/// Observes transfers, for measurements. `ended` is called once for each chunk that was loaded or evicted, on a copy
/// engine's thread. `ended` must not block or allocate.
struct TransferObserver {
  void (*ended)(void* self, const policies::Action& transfer, Instant begin, Instant end) noexcept = nullptr;
  void* self = nullptr;
};

struct Setup : ExecutiveSetup {
  /// The board to use instead of the board that the task set names.
  std::optional<Board> board = {};
  /// Begins the recording of a trace. start() calls this function after the machine has fulfilled all requirements of
  /// the run, and before any trace event is emitted.
  std::function<Result<>()> record;
  /// The service manager (such as systemd) that the run notifies when it is ready, makes progress, and stops.
  std::optional<ServiceManager> service_manager;
  /// A function that opens the caller's own device. If the function is empty, the board's device is opened.
  OpenDevice open_device;
  /// A function that opens the caller's own backing store. If the function is empty, the store that the task set names
  /// is opened.
  OpenStore open_store;
  /// True to copy continuously in both directions while a job executes, if the plan swaps. Executions are then measured
  /// with concurrent copies.
  bool background_copies = false;
  /// True to run interference load on the cores of the set (interference_load.hpp) during measurements. The
  /// interference load is not started if memory bandwidth budgets are in force, because it would use up the budgets.
  bool interference = false;
  /// True to let jobs execute during measurements even if their inputs have no new values. In that case no release is
  /// dropped because of stale inputs.
  bool whatever_inputs = false;
  /// True to report an error if another run holds a core of this run, even if the set allows degraded runs. Set for
  /// measurements.
  bool exclusive = false;
  /// True for an inquiry (inquire()), which claims the cores only for a moment. Another run that needs these cores
  /// waits, and is not refused.
  bool inquires = false;
  TransferObserver observe_transfers;
  /// The picture observer by which a viewer shows the input of a task; null: no viewer. create() connects it, and adds
  /// its cost to the WCET of the task's last part. The plan and the supervision of jobs use this larger WCET.
  std::shared_ptr<channels::PictureObserver> observer;
  /// The destination of the execution times of layers, by task. The run records the layers of all jobs except the
  /// warm-up jobs. Null: layers are not timed. The destination must outlive the run. Timing adds time to executions: on
  /// a GPU, some microseconds a layer.
  std::vector<LayerTimes>* layer_times = nullptr;
  /// The shortest wait of a device part, by task: the time in which its thread had no core although no other job
  /// co-ran. The run lowers an element when it observes a shorter wait. Null: waits are not measured. The vector must
  /// outlive the run.
  std::vector<Duration>* shortest_waits = nullptr;
  /// The results of Workload::tune(), by task name, which replace the tunings in the profile file.
  std::optional<std::map<std::string, std::vector<std::string>>> tunings;
};

/// Creates an executive like Executive::create(), with these further options.
[[nodiscard]] Result<Executive> create(TaskSet tasks, Setup setup = {});

} // namespace rtexec::executive
