#include "rtexec/study/isolation_setup.hpp"

#include <rtexec/board.hpp>
#include "config/text.hpp"
#include "hal/machine.hpp"
#include "rtexec/study/isolation_machine.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace rtexec::study {

namespace {

// 7.3; a host device takes some 50 ms for each
constexpr std::size_t runs_of_thesis = 100'000, runs_on_cores = 1000;

/// What the plants of this machine stand on.
struct Machine {
  IsolationMachine machine;
  BandwidthLocks locks;
};

Result<Bandwidth> limit_of(const char* option, const std::string& text) {
  const auto limit = parse_bandwidth(text);
  if (!limit) return fail(limit.error().code, std::string(option) + " " + text + ": " + limit.error().what);
  if (*limit < Bandwidth{1'000'000})
    return fail(Errc::bad_input, std::string(option) + " " + text + ": at least 1MB/s");
  return limit;
}

/// `runs`: where none are asked for.
Result<IsolationStudy> study_of(const IsolationOptions& options, const IsolationPlant& plant, std::size_t runs) {
  IsolationStudy study{.workloads = options.workloads,
                       .corunners = options.corunners.value_or(plant.most_corunners()),
                       .runs = options.runs.value_or(runs)};
  if (study.workloads.empty())
    for (const IsolationWorkload& each : plant.workloads()) study.workloads.push_back(each.name);
  for (const std::string& text : options.limits) {
    const auto limit = limit_of("--limits", text);
    if (!limit) return Unexpected(limit.error());
    if (!study.limits.empty() && *limit <= study.limits.back())
      return fail(Errc::bad_input, "--limits " + text + ": does not ascend; list them in ascending order");
    study.limits.push_back(*limit);
  }
  const auto runs_limit = limit_of("--runs-limit", options.runs_limit);
  if (!runs_limit) return Unexpected(runs_limit.error());
  study.runs_limit = *runs_limit;
  return study;
}

/// Of `known`, those that were asked for; all where none were.
Result<std::vector<std::string_view>> modes_of(const IsolationOptions& options, std::span<const std::string_view> known,
                                               const std::string& but) {
  for (const std::string& name : options.modes)
    if (std::ranges::find(known, name) == known.end())
      return fail(Errc::bad_input, "--modes " + config::shortened(name) + ": there is none of this name" + but +
                                       "; use " + config::alternatives(known));
  std::vector<std::string_view> modes;
  std::ranges::copy_if(known, std::back_inserter(modes), [&](std::string_view each) {
    return options.modes.empty() || std::ranges::find(options.modes, each) != options.modes.end();
  });
  return modes;
}

/// With the study of its plants.
Result<IsolationSetup> complete(IsolationSetup setup, const IsolationOptions& options, std::size_t runs) {
  auto study = study_of(options, *setup.plants.front(), runs);
  if (!study) return Unexpected(study.error());
  setup.study = std::move(*study);
  setup.seed = options.seed;
  return setup;
}

Result<IsolationSetup> modelled(const IsolationOptions& options) {
  const IsolationModel& model = tx2_model();
  std::vector<std::string_view> names;
  for (const ModelledMode& mode : model.modes) names.push_back(mode.name);
  const auto modes = modes_of(options, names, "");
  if (!modes) return Unexpected(modes.error());
  IsolationSetup setup{.simulated = true, .preface = {"A model of a Jetson TX2, not a measurement"}};
  for (const std::string_view mode : *modes)
    setup.plants.push_back(
        modelled_plant(model, *std::ranges::find(model.modes, mode, &ModelledMode::name), options.seed));
  return complete(std::move(setup), options, runs_of_thesis);
}

Result<IsolationMachine> machine_of(const IsolationOptions& options, std::function<bool()> going_on) {
  auto board = read_board(options.board);
  if (!board) return Unexpected(board.error());
  IsolationRequest request{.board = std::move(*board),
                           .event = options.event,
                           .models = {options.models.begin(), options.models.end()},
                           .length = Duration(std::llround(options.seconds * 1e9)),
                           .going_on = std::move(going_on)};
  auto machine = isolation_machine(request);
  if (machine || machine.error().code != Errc::refused) return machine;
  return fail(Errc::refused, "experiment isolation: " + machine.error().what +
                                 "\n--event page-faults runs it with a stand-in (co-runners that touch pages), "
                                 "--simulate on the model of a Jetson TX2");
}

Result<IsolationSetup> measured(const IsolationOptions& options, std::function<bool()> going_on) {
  auto machine = machine_of(options, std::move(going_on));
  if (!machine) return Unexpected(machine.error());
  auto locks = BandwidthLocks::open();
  if (!locks) return Unexpected(locks.error());
  const auto floor = std::make_shared<Machine>(std::move(*machine), std::move(*locks));
  const auto offered = modes_of(floor->machine);
  std::vector<std::string_view> names;
  for (const MachineMode mode : offered) names.push_back(name_of(mode));
  const bool on_cores = floor->machine.device_on_cores;
  const auto modes = modes_of(
      options, names,
      on_cores ? " here: board '" + options.board + "' computes on the core that mode thesis would limit" : " here");
  if (!modes) return Unexpected(modes.error());
  const std::string core = "core " + std::to_string(floor->machine.feeder);
  const std::string where = on_cores ? core + ", which is the device" : floor->machine.device + ", fed by " + core;
  IsolationSetup setup{.preface = {"Measured on " + where + " (" + hal::machine_name() + ")"},
                       .event = floor->machine.event,
                       .stand_in = floor->machine.stand_in,
                       .machine = floor};
  if (setup.stand_in)
    setup.preface.push_back("A stand-in, not memory traffic: " + setup.event +
                            " are counted and limited; speed-ups say nothing of memory bandwidth");
  std::ranges::copy(floor->machine.notes, std::back_inserter(setup.preface));
  for (const MachineMode mode : offered)
    if (std::ranges::find(*modes, name_of(mode)) != modes->end())
      setup.plants.push_back(machine_plant(floor->machine, mode, floor->locks));
  return complete(std::move(setup), options, on_cores ? runs_on_cores : runs_of_thesis);
}

} // namespace

Result<IsolationSetup> isolation_setup(const IsolationOptions& options, std::function<bool()> going_on) {
  return options.simulate ? modelled(options) : measured(options, std::move(going_on));
}

} // namespace rtexec::study
