#include "traces/reading/setup_decoder.hpp"

#include "config/names.hpp"

#include <utility>

namespace rtexec::traces {
namespace {

/// A damaged trace may name any.
constexpr std::uint64_t most_tasks = 4096, most_layers = 65'536;

} // namespace

/// The fields of one event; those that it lacks are noted and get a default.
class SetupDecoder::Fields {
 public:
  Fields(const RecordedEvent& event, std::string_view name, std::set<std::string>& unknown)
      : event_(event), name_(name), unknown_(unknown) {}

  [[nodiscard]] std::int64_t integer(const char* field, std::int64_t otherwise = 0) const {
    const auto value = event_.integer(field);
    if (!value) note(field);
    return value.value_or(otherwise);
  }
  [[nodiscard]] std::string text(const char* field) const {
    const auto value = event_.text(field);
    if (!value) note(field);
    return std::string(value.value_or(""));
  }
  [[nodiscard]] bool flag(const char* field) const { return integer(field) != 0; }
  [[nodiscard]] Duration length(const char* field) const { return Duration(integer(field)); }
  [[nodiscard]] Bytes bytes(const char* field) const { return {static_cast<std::uint64_t>(integer(field))}; }
  [[nodiscard]] std::uint32_t count(const char* field) const { return static_cast<std::uint32_t>(integer(field)); }
  template <class Enum> [[nodiscard]] Enum one_of(const char* field, Enum otherwise) const {
    const std::string value = text(field);
    for (const auto& known : spellings<Enum>())
      if (known.text == value) return known.value;
    return otherwise;
  }

 private:
  void note(const char* field) const { unknown_.insert(std::string(name_) + "." + field); }

  const RecordedEvent& event_;
  std::string_view name_;
  std::set<std::string>& unknown_;
};

TaskSetup* SetupDecoder::task(const Fields& fields) {
  const std::uint64_t index = fields.count("task");
  if (index >= most_tasks) return nullptr;
  if (index >= setup_.tasks.size()) setup_.tasks.resize(index + 1);
  return &setup_.tasks[index];
}

void SetupDecoder::plan(Fields& fields) {
  setup_.proved = fields.flag("proved");
  setup_.order = fields.one_of("order", Order::edf);
  setup_.demand = fields.bytes("demand_bytes");
  setup_.capacity = fields.bytes("capacity_bytes");
  setup_.chunk = fields.bytes("chunk_bytes");
}

void SetupDecoder::task_info(Fields& fields) {
  TaskSetup* task = this->task(fields);
  if (!task) return;
  task->name = fields.text("name");
  task->criticality = fields.one_of("criticality", Criticality::real_time);
  task->promised = fields.flag("promised");
  task->period = fields.length("period");
  task->deadline = fields.length("deadline");
  task->offset = fields.length("offset");
  task->core = fields.count("core");
  task->core_rank = fields.count("core_rank");
  task->device_rank = fields.count("device_rank");
  task->wcet = {.before = fields.length("wcet_before"),
                .device = fields.length("wcet_device"),
                .after = fields.length("wcet_after")};
  task->ready_by = fields.length("ready_by");
  task->device_done_by = fields.length("device_done_by");
  if (const auto bound = fields.integer("response_bound", -1); bound >= 0) task->response_bound = Duration(bound);
  task->swap_slots = fields.count("swap_slots");
  if (const auto slots = fields.integer("resident_slots", -1); slots >= 0)
    task->resident_slots = static_cast<std::uint32_t>(slots);
}

void SetupDecoder::task_memory(Fields& fields) {
  TaskSetup* task = this->task(fields);
  if (!task) return;
  task->memory_policy = fields.text("policy");
  task->constant = fields.bytes("constant_bytes");
  task->scratch = fields.bytes("scratch_bytes");
  task->state = fields.bytes("state_bytes");
  task->fixed = fields.bytes("fixed_bytes");
  task->swap_volume = fields.bytes("swap_volume_bytes");
}

void SetupDecoder::layer_info(Fields& fields) {
  TaskSetup* task = this->task(fields);
  const std::uint64_t layer = fields.count("layer");
  if (!task || layer >= most_layers) return;
  if (layer >= task->layers.size()) task->layers.resize(layer + 1);
  task->layers[layer] = fields.text("name");
}

void SetupDecoder::swap_plan(Fields& fields) {
  setup_.swap = SwapSetup{.policy = fields.one_of("policy", SwapPolicy::pipelined),
                          .frames = fields.count("frames"),
                          .copy_engines = fields.count("copy_engines"),
                          .chunk = fields.bytes("chunk_bytes"),
                          .store = fields.text("store")};
}

void SetupDecoder::admission_test(Fields& fields) {
  setup_.tests.push_back({.name = fields.text("name"),
                          .proved = fields.flag("proved"),
                          .baseline = fields.flag("baseline"),
                          .left = fields.length("left"),
                          .right = fields.length("right"),
                          .slack = fields.length("slack"),
                          .limiting_task = fields.text("limiting_task")});
}

void SetupDecoder::decode(const RecordedEvent& event) {
  constexpr std::string_view provider = "rtexec:";
  if (!event.name().starts_with(provider)) return;
  const std::string_view name = event.name().substr(provider.size());
  Fields fields(event, name, unknown_);
  if (name == "plan") plan(fields);
  else if (name == "task_info") task_info(fields);
  else if (name == "task_memory") task_memory(fields);
  else if (name == "task_workload") {
    if (TaskSetup* task = this->task(fields)) task->workload = fields.text("workload");
  } else if (name == "task_tuning") {
    if (TaskSetup* task = this->task(fields)) task->tuning.push_back(fields.text("line"));
  } else if (name == "layer_info") layer_info(fields);
  else if (name == "swap_plan") swap_plan(fields);
  else if (name == "admission_test") admission_test(fields);
  else if (name == "regulated_core") setup_.regulated_cores.insert(fields.count("core"));
  else if (name == "degraded") setup_.degraded.push_back(fields.text("what"));
  else if (name == "probe") setup_.probes.push_back({.service = fields.text("service"), .found = fields.text("found")});
  else if (name == "device_memory") setup_.device = fields.text("name");
  else if (name == "run_begin") {
    setup_.version = fields.text("version");
    setup_.machine = fields.text("machine");
    setup_.simulated = fields.flag("simulated");
    if (setup_.simulated) setup_.device = "simulation";
    setup_.start = Instant(fields.length("start"));
  }
}

} // namespace rtexec::traces
