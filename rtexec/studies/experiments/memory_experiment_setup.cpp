#include "rtexec/studies/experiments/memory_experiment_setup.hpp"

#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "rtexec/studies/experiments/memory_machine.hpp"
#include "rtexec/studies/experiments/memory_model_platform.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::study {
namespace {

std::vector<MemoryWorkload> chosen(std::vector<MemoryWorkload> known, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return known;
  std::vector<std::string_view> names;
  for (const MemoryWorkload& each : known) names.push_back(name(each.kind));
  for (const std::string& each : wanted)
    if (std::ranges::find(names, each) == names.end()) {
      const auto meant = config::nearest(each, names);
      give_up(Errc::bad_input,
              "--workloads " + config::shortened(each) + ": no micro-benchmark has this name" +
                  (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; use " + config::alternatives(names)));
    }
  std::erase_if(known,
                [&](const MemoryWorkload& each) { return std::ranges::find(wanted, name(each.kind)) == wanted.end(); });
  return known;
}

MemoryRounds rounds_of(unsigned least) {
  MemoryRounds rounds;
  rounds.least = least;
  rounds.most = std::max(rounds.most, least);
  return rounds;
}

MemoryStudy study_of(const MemoryExperimentOptions& options, std::vector<MemoryWorkload> workloads,
                     std::vector<MemoryPolicy> policies) {
  return {.workloads = chosen(std::move(workloads), options.workloads),
          .policies = std::move(policies),
          .rounds = rounds_of(static_cast<unsigned>(options.repeats))};
}

MemoryExperimentSetup modelled(const MemoryExperimentOptions& options) {
  const auto boards = memory_board_models();
  const auto model = std::ranges::find(boards, options.simulate, &MemoryBoardModel::name);
  if (model == boards.end()) {
    std::vector<std::string_view> names;
    for (const MemoryBoardModel& each : boards) names.push_back(each.name);
    give_up(Errc::bad_input, "--simulate " + config::shortened(options.simulate) +
                                 ": no model of this board exists; use " + config::alternatives(names));
  }
  const std::string title = "a model of " + std::string(model->title);
  return {.simulated = true,
          .title = title,
          .preface = {"A" + title.substr(1) + ", not a measurement"},
          .platform = modelled_memory(*model, options.seed),
          .study = study_of(options, modelled_workloads(),
                            {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host})};
}

/// Returns the board's memory policies. Policy D (device memory) is the first.
std::vector<MemoryPolicy> policies_of(const Board& board) {
  std::vector<MemoryPolicy> policies = board.memory_policies;
  std::erase(policies, MemoryPolicy::automatic);
  std::ranges::sort(policies);
  if (policies.empty() || policies.front() != MemoryPolicy::device)
    give_up(Errc::refused, "board '" + board.name + "' needs policy D, with which all others are compared");
  return policies;
}

MemoryExperimentSetup measured(const MemoryExperimentOptions& options) {
  const Bytes largest = value_of("--largest", options.largest, parse_bytes);
  if (largest < Bytes{std::uint64_t{1} << 20})
    give_up(Errc::bad_input, "--largest " + options.largest + ": at least 1MiB");
  const Board board = must(read_board(options.board));
  MemoryExperimentSetup setup{
      .title = "board '" + board.name + "'",
      .preface = {},
      .platform = {},
      .study = study_of(options, measured_workloads(board.device, largest), policies_of(board))};
  MemoryMachine machine = must(memory_machine(board));
  setup.preface.push_back("Measured on " + machine.where);
  std::ranges::copy(machine.notes, std::back_inserter(setup.preface));
  std::ranges::copy(board.warnings, std::back_inserter(setup.preface));
  setup.platform = std::move(machine.platform);
  return setup;
}

} // namespace

Result<MemoryExperimentSetup> memory_experiment_setup(const MemoryExperimentOptions& options) {
  return caught([&] { return options.simulate.empty() ? measured(options) : modelled(options); });
}

} // namespace rtexec::study
