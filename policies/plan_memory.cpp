#include "policies/plan_memory.hpp"

#include "policies/arithmetic.hpp"

#include <limits>
#include <string>

namespace rtexec::policies {
namespace {

const char* text(MemoryPolicy policy) {
  switch (policy) {
    case MemoryPolicy::automatic: return "automatic";
    case MemoryPolicy::device: return "device";
    case MemoryPolicy::managed: return "managed";
    case MemoryPolicy::host: return "host";
  }
  return "unknown";
}

Wide whole_chunks(Bytes size, Bytes chunk) { return (Wide{size.count} + chunk.count - 1) / chunk.count * chunk.count; }

Bytes saturated(Wide bytes) {
  return {static_cast<std::uint64_t>(std::min<Wide>(bytes, std::numeric_limits<std::uint64_t>::max()))};
}

Result<> plan_policies(Plan& plan, const TaskSet& tasks, const Board& board) {
  std::string errors;
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    const MemoryPolicy asked = tasks.tasks[i].memory_policy;
    const MemoryPolicy policy = asked == MemoryPolicy::automatic ? MemoryPolicy::device : asked;
    plan.tasks[i].memory_policy = policy;
    if (std::ranges::find(board.memory_policies, policy) != board.memory_policies.end()) continue;
    errors += std::string(errors.empty() ? "" : "\n") + "task '" + tasks.tasks[i].name + "': board '" + board.name +
              "' has no memory policy '" + text(policy) + "'";
  }
  return errors.empty() ? Result<>{} : fail(Errc::bad_input, errors);
}

} // namespace

Result<> plan_memory(Plan& plan, const TaskSet& tasks, const Board& board, std::span<const MemoryDemand> memory) {
  plan.chunk = tasks.device.chunk.value_or(board.chunk);
  if (plan.chunk.count == 0) return fail(Errc::bad_input, "the device's chunk is 0 bytes; set [device] chunk or the board's");
  const Bytes asked = tasks.device.capacity.value_or(board.capacity);
  const bool known_to_board = board.capacity > Bytes{0};
  if (asked == Bytes{0})
    return fail(Errc::bad_input, "the capacity of board '" + board.name + "' is not known here; give [device] capacity, or plan where its device is");
  if (known_to_board && asked > board.capacity)
    return fail(Errc::bad_input, "[device] capacity is " + to_string(asked) + ", but board '" + board.name + "' has " + to_string(board.capacity));
  plan.capacity = {asked.count / plan.chunk.count * plan.chunk.count};
  if (const auto given = plan_policies(plan, tasks, board); !given) return given;

  Wide kept = 0;
  Wide separate = 0;
  Wide largest_scratch = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    plan.tasks[i].memory = memory[i];
    const Wide own = whole_chunks(memory[i].constant, plan.chunk) + whole_chunks(memory[i].state, plan.chunk);
    const Wide scratch = whole_chunks(memory[i].scratch, plan.chunk);
    kept += own;
    separate += own + scratch;
    largest_scratch = std::max(largest_scratch, scratch);
  }
  plan.demand = saturated(kept + largest_scratch);
  plan.separate = saturated(separate);
  if (plan.demand <= plan.capacity) return {};
  return fail(Errc::not_proved, "the tasks need " + to_string(plan.demand) + " of device memory (constants and state " + to_string(saturated(kept)) +
                                    ", shared scratch " + to_string(saturated(largest_scratch)) + "), but the capacity is " +
                                    to_string(plan.capacity) + "; use smaller models, fewer tasks or a larger [device] capacity");
}

} // namespace rtexec::policies
