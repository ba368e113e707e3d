#include "rtexec/studies/experiments/isolation_setup.hpp"

#include <rtexec/board.hpp>
#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "hal/core_claim.hpp"
#include "hal/machine_files.hpp"
#include "rtexec/studies/experiments/isolation_machine.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace rtexec::study {

namespace {

// Numbers of runs: the number in section 7.3 of Nigam's thesis, and a smaller number on a software device, where each
// run takes about 50 ms
constexpr std::size_t runs_of_thesis = 100'000, runs_on_cores = 1000;

/// The objects that the platforms of this machine use. The objects are in one struct because they must live equally
/// long.
struct Machine {
  IsolationMachine machine;
  BandwidthLocks locks;
  hal::CoreClaim claim;
};

/// Claims the core that feeds the device and the cores of the co-runners, so that no other run uses them.
hal::CoreClaim claim_of(const IsolationMachine& machine) {
  std::vector<unsigned> cores = machine.corunners;
  cores.push_back(machine.feeder);
  return must(hal::CoreClaim::take(cores));
}

Bandwidth limit_of(const std::string& option, const std::string& text) {
  const Bandwidth limit = value_of(option, text, parse_bandwidth);
  if (limit < Bandwidth{1'000'000}) give_up(Errc::bad_input, option + " " + text + ": at least 1MB/s");
  return limit;
}

/// Returns the study that the options describe. `runs`: the number of runs if the options do not specify it.
IsolationStudy study_of(const IsolationOptions& options, const IsolationPlatform& platform, std::size_t runs) {
  IsolationStudy study{.workloads = options.workloads,
                       .corunners = options.corunners.value_or(platform.max_corunners()),
                       .runs = options.runs.value_or(runs)};
  if (study.workloads.empty())
    for (const IsolationWorkload& each : platform.workloads()) study.workloads.push_back(each.name);
  for (const std::string& text : options.limits) {
    const Bandwidth limit = limit_of("--limits", text);
    if (!study.limits.empty() && limit <= study.limits.back())
      give_up(Errc::bad_input, "--limits " + text + ": does not ascend; list them in ascending order");
    study.limits.push_back(limit);
  }
  study.runs_limit = limit_of("--runs-limit", options.runs_limit);
  return study;
}

/// Returns the requested modes in which the bandwidth of cores is limited. The requested modes must be among `known`.
/// Returns all known modes if none is requested.
std::vector<std::string_view> modes_of(const IsolationOptions& options, std::span<const std::string_view> known,
                                       const std::string& but) {
  for (const std::string& name : options.modes)
    if (std::ranges::find(known, name) == known.end())
      give_up(Errc::bad_input, "--modes " + config::shortened(name) + ": no mode has this name" + but + "; use " +
                                   config::alternatives(known));
  std::vector<std::string_view> modes;
  std::ranges::copy_if(known, std::back_inserter(modes), [&](std::string_view each) {
    return options.modes.empty() || std::ranges::find(options.modes, each) != options.modes.end();
  });
  return modes;
}

/// Completes a set-up that has its platforms: adds the study.
IsolationSetup complete(IsolationSetup setup, const IsolationOptions& options, std::size_t runs) {
  setup.study = study_of(options, *setup.platforms.front(), runs);
  setup.seed = options.seed;
  return setup;
}

IsolationSetup modelled(const IsolationOptions& options) {
  const IsolationModel& model = tx2_model();
  std::vector<std::string_view> names;
  for (const ModelledMode& mode : model.modes) names.push_back(mode.name);
  IsolationSetup setup{.simulated = true, .preface = {"A model of a Jetson TX2, not a measurement"}};
  for (const std::string_view mode : modes_of(options, names, ""))
    setup.platforms.push_back(
        modelled_platform(model, *std::ranges::find(model.modes, mode, &ModelledMode::name), options.seed));
  return complete(std::move(setup), options, runs_of_thesis);
}

IsolationMachine machine_of(const IsolationOptions& options, std::function<bool()> going_on) {
  IsolationRequest request{.board = must(read_board(options.board)),
                           .event = options.event,
                           .models = {options.models.begin(), options.models.end()},
                           .length = Duration(std::llround(options.seconds * 1e9)),
                           .going_on = std::move(going_on)};
  auto machine = isolation_machine(request);
  if (machine) {
    std::ranges::copy(request.board.warnings, std::back_inserter(machine->notes));
    return std::move(*machine);
  }
  const auto& [code, what] = machine.error();
  if (code != Errc::refused) give_up(code, what);
  give_up(code, "experiment isolation: " + what +
                    "\n--event page-faults runs it with a substitute (co-runners that touch pages), --simulate on the "
                    "model of a Jetson TX2");
}

IsolationSetup measured(const IsolationOptions& options, std::function<bool()> going_on) {
  IsolationMachine machine = machine_of(options, std::move(going_on));
  auto claim = claim_of(machine);
  const auto floor = std::make_shared<Machine>(std::move(machine), must(BandwidthLocks::open()), std::move(claim));
  const auto offered = modes_of(floor->machine);
  std::vector<std::string_view> names;
  for (const MachineMode mode : offered) names.push_back(name_of(mode));
  const bool on_cores = floor->machine.device_on_cores;
  const auto modes = modes_of(
      options, names,
      on_cores ? " here: board '" + options.board + "' computes on the core that mode thesis limits" : " here");
  const std::string core = "core " + std::to_string(floor->machine.feeder);
  const std::string where = on_cores ? core + ", which is the device" : floor->machine.device + ", fed by " + core;
  IsolationSetup setup{.preface = {"Measured on " + where + " (" + hal::machine_name() + ")"},
                       .event = floor->machine.event,
                       .stand_in = floor->machine.stand_in,
                       .machine = floor};
  if (setup.stand_in)
    setup.preface.push_back("A substitute, not memory traffic: " + setup.event +
                            " are counted and limited; speed-ups are not caused by memory bandwidth");
  std::ranges::copy(floor->machine.notes, std::back_inserter(setup.preface));
  for (const MachineMode mode : offered)
    if (std::ranges::find(modes, name_of(mode)) != modes.end())
      setup.platforms.push_back(machine_platform(floor->machine, mode, floor->locks));
  return complete(std::move(setup), options, on_cores ? runs_on_cores : runs_of_thesis);
}

} // namespace

Result<IsolationSetup> isolation_setup(const IsolationOptions& options, std::function<bool()> going_on) {
  return caught([&] { return options.simulate ? modelled(options) : measured(options, std::move(going_on)); });
}

} // namespace rtexec::study
