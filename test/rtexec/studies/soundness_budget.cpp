#include "test/rtexec/studies/soundness_budget.hpp"

#include <algorithm>
#include <cstdlib>

namespace rtexec::test {

using simulator::Claim;

int sets_to_try(int otherwise) {
  const char* asked = std::getenv("RTEXEC_SOUNDNESS_SETS");
  return asked == nullptr ? otherwise : std::atoi(asked);
}

SwapCost random_cost(simulator::Random& random, Bytes chunk) {
  using simulator::chance, simulator::draw;
  const auto some = [&](int percent, std::int64_t most) {
    return Duration(chance(random, percent) ? draw(random, 1, most) : 0);
  };
  SwapCost cost;
  cost.in_per_chunk = some(85, 6);
  cost.out_per_chunk = some(85, 6);
  cost.drop_per_chunk = some(60, chance(random, 70) ? 1 : 8);
  cost.in_fixed = some(25, chance(random, 80) ? 4 : 30);
  cost.out_fixed = some(25, chance(random, 80) ? 4 : 30);
  cost.chunk = chunk;
  return cost;
}

SwapCost charged(SwapCost cost) {
  cost.out_per_chunk = std::max(cost.out_per_chunk, cost.drop_per_chunk);
  return cost;
}

std::string describe(const Claim& claim) {
  std::string text;
  for (std::size_t i = 0; i < claim.tasks.tasks.size(); ++i) {
    const Task& task = claim.tasks.tasks[i];
    text += "\n" + task.name + " T " + std::to_string(task.period.count()) + " D " +
            std::to_string(task.deadline.count()) + " P " + std::to_string(task.wcet->before.count()) + " C " +
            std::to_string(task.wcet->device.count()) + " Q " + std::to_string(task.wcet->after.count()) + " core " +
            std::to_string(claim.plan.tasks[i].core);
    if (const std::size_t chunks = claim.plan.tasks[i].swap_slots.size(); chunks > 0)
      text += " x " + std::to_string(chunks);
  }
  for (const PlannedChain& chain : claim.plan.chains) {
    text += "\nchain " + chain.name + ":";
    for (const ChainTerm& term : chain.terms) {
      const Task& task = *std::ranges::find(claim.tasks.tasks, term.task, &Task::name);
      text += " " + term.task + " (" + std::string(name(task.trigger)) + ", offset " +
              std::to_string(task.offset.count()) + ", waits " + std::to_string(term.waits.count()) + ", takes " +
              std::to_string(term.takes.count()) + ")";
    }
  }
  if (const auto& swap = claim.plan.swap)
    text += "\nframes " + std::to_string(swap->frames) + ", copy engines " + std::to_string(swap->copy_engines) +
            ", in " + std::to_string(swap->cost.in_fixed.count()) + " + " +
            std::to_string(swap->cost.in_per_chunk.count()) + ", out " + std::to_string(swap->cost.out_fixed.count()) +
            " + " + std::to_string(swap->cost.out_per_chunk.count()) + ", drop " +
            std::to_string(swap->cost.drop_per_chunk.count());
  return text;
}

std::string describe(const Claim& claim, const simulator::BrokenBound& broken) {
  const std::string& name = claim.tasks.tasks[broken.task].name;
  if (!broken.part) return name + " missed";
  const char* part = *broken.part == Part::before   ? "first part"
                     : *broken.part == Part::device ? "device part"
                                                    : "last part";
  return name + "'s " + part + " ended after " + std::to_string(broken.took.count()) + ", bound " +
         std::to_string(broken.bound.count());
}

} // namespace rtexec::test
