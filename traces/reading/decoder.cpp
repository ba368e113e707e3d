#include "traces/reading/decoder.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace rtexec::traces {
namespace {

using Put = RecordDecoder::Put;
using Step = RecordDecoder::Step;
using Input = policies::Event::Kind;
using Action = policies::Action::Kind;

struct Label {
  std::string_view text;
  std::int64_t value;
};

struct FieldRule {
  const char* name;
  Put put;
  std::span<const Label> labels{}; // of an enumeration; another label means `unknown_label`
};

struct KindRule {
  std::string_view event;
  RecordKind kind;
  std::vector<FieldRule> fields;
};

constexpr std::int64_t unknown_label = -1;

constexpr Label outcomes[]{{"ok", 1}};
constexpr Label inputs[]{{"job-requested", static_cast<std::int64_t>(Input::job_requested)},
                         {"job-withdrawn", static_cast<std::int64_t>(Input::job_withdrawn)},
                         {"execution-done", static_cast<std::int64_t>(Input::execution_done)},
                         {"copied-in", static_cast<std::int64_t>(Input::copied_in)},
                         {"copied-out", static_cast<std::int64_t>(Input::copied_out)}};
constexpr Label actions[]{{"start-execution", static_cast<std::int64_t>(Action::start_execution)},
                          {"copy-in", static_cast<std::int64_t>(Action::copy_in)},
                          {"copy-out", static_cast<std::int64_t>(Action::copy_out)},
                          {"refuse", static_cast<std::int64_t>(Action::refuse)},
                          {"drop", static_cast<std::int64_t>(Action::drop)},
                          {"fail", static_cast<std::int64_t>(Action::fail)}};

constexpr std::uint32_t word(std::int64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }
constexpr Instant instant(std::int64_t value) { return Instant(Duration(value)); }

// What the fields of an event become.
constexpr Put task = [](Record& r, std::int64_t v) { r.job.task = word(v); };
constexpr Put job = [](Record& r, std::int64_t v) { r.job.number = number(v); };
constexpr Put at = [](Record& r, std::int64_t v) { r.at = instant(v); };
constexpr Put nominal = [](Record& r, std::int64_t v) { r.nominal = instant(v); };
constexpr Put deadline = [](Record& r, std::int64_t v) { r.deadline = instant(v); };
constexpr Put executed = [](Record& r, std::int64_t v) { r.executed = Duration(v); };
constexpr Put response = [](Record& r, std::int64_t v) { r.response = Duration(v); };
constexpr Put ok = [](Record& r, std::int64_t v) { r.ok = v == 1; };
constexpr Put layer = [](Record& r, std::int64_t v) { r.layer = word(v); };
constexpr Put core = [](Record& r, std::int64_t v) { r.core = word(v); };
constexpr Put bytes = [](Record& r, std::int64_t v) { r.bytes = number(v); };
constexpr Put sequence = [](Record& r, std::int64_t v) { r.sequence = number(v); };
constexpr Put moved_task = [](Record& r, std::int64_t v) { r.transfer.task = word(v); };
constexpr Put slot = [](Record& r, std::int64_t v) { r.transfer.slot = word(v); };
constexpr Put frame = [](Record& r, std::int64_t v) { r.transfer.frame = word(v); };

constexpr Put input_kind = [](Record& r, std::int64_t v) {
  if (v == unknown_label) r.kind = RecordKind::other;
  else r.input.kind = static_cast<Input>(v);
};
constexpr Put input_task = [](Record& r, std::int64_t v) { r.input.job.task = word(v); };
constexpr Put input_job = [](Record& r, std::int64_t v) { r.input.job.number = number(v); };
constexpr Put input_at = [](Record& r, std::int64_t v) { r.at = r.input.now = instant(v); };
constexpr Put input_deadline = [](Record& r, std::int64_t v) {
  if (r.input.kind == Input::job_requested) r.input.deadline = instant(v); // after its kind
};
constexpr Put input_moved_task = [](Record& r, std::int64_t v) { r.input.transfer.task = word(v); };
constexpr Put input_slot = [](Record& r, std::int64_t v) { r.input.transfer.slot = word(v); };
constexpr Put input_frame = [](Record& r, std::int64_t v) { r.input.transfer.frame = word(v); };
constexpr Put input_failed = [](Record& r, std::int64_t v) { r.input.failed = v != 0; };

constexpr Put action_kind = [](Record& r, std::int64_t v) {
  if (v == unknown_label) r.kind = RecordKind::other;
  else r.action.kind = static_cast<Action>(v);
};
constexpr Put action_task = [](Record& r, std::int64_t v) { r.action.job.task = word(v); };
constexpr Put action_job = [](Record& r, std::int64_t v) { r.action.job.number = number(v); };
constexpr Put action_moved_task = [](Record& r, std::int64_t v) { r.action.transfer.task = word(v); };
constexpr Put action_slot = [](Record& r, std::int64_t v) { r.action.transfer.slot = word(v); };
constexpr Put action_frame = [](Record& r, std::int64_t v) { r.action.transfer.frame = word(v); };

std::vector<FieldRule> of_job(std::vector<FieldRule> more) {
  more.insert(more.begin(), {{"task", task}, {"job", job}});
  return more;
}

std::vector<FieldRule> of_swap(std::vector<FieldRule> more) {
  more.insert(
      more.begin(),
      {{"task", moved_task}, {"slot", slot}, {"frame", frame}, {"cause_task", task}, {"cause_job", job}, {"at", at}});
  return more;
}

const std::vector<KindRule>& rules() {
  using enum RecordKind;
  static const std::vector<KindRule> all{
      {"job_release", job_release, of_job({{"nominal", nominal}, {"actual", at}, {"deadline", deadline}})},
      {"job_start", job_start, of_job({{"at", at}})},
      {"cpu_end", cpu_end, of_job({{"at", at}, {"executed", executed}})},
      {"device_request", device_request, of_job({{"at", at}, {"deadline", deadline}})},
      {"device_begin", device_begin, of_job({{"at", at}})},
      {"device_end", device_end, of_job({{"at", at}, {"outcome", ok, outcomes}})},
      {"after_begin", after_begin, of_job({{"at", at}})},
      {"job_end", job_end, of_job({{"at", at}, {"response", response}, {"executed", executed}})},
      {"job_miss", job_miss, of_job({{"at", at}, {"deadline", deadline}})},
      {"job_overrun", job_overrun, of_job({{"at", at}})},
      {"job_skip", job_skip, {{"task", task}, {"nominal", nominal}, {"at", at}}},
      {"job_abort", job_abort, of_job({{"at", at}})},
      {"device_fault", device_fault, of_job({})},
      {"swap_in_begin", swap_in_begin, of_swap({})},
      {"swap_in_end", swap_in_end, of_swap({{"outcome", ok, outcomes}, {"copied_bytes", bytes}})},
      {"swap_out_begin", swap_out_begin, of_swap({})},
      {"swap_out_end", swap_out_end, of_swap({{"outcome", ok, outcomes}, {"copied_bytes", bytes}})},
      {"scheduler_input",
       scheduler_input,
       {{"sequence", sequence},
        {"input", input_kind, inputs},
        {"task", input_task},
        {"job", input_job},
        {"at", input_at},
        {"deadline", input_deadline},
        {"moved_task", input_moved_task},
        {"slot", input_slot},
        {"frame", input_frame},
        {"failed", input_failed}}},
      {"scheduler_action",
       scheduler_action,
       {{"sequence", sequence},
        {"action", action_kind, actions},
        {"task", action_task},
        {"job", action_job},
        {"moved_task", action_moved_task},
        {"slot", action_slot},
        {"frame", action_frame}}},
      {"throttle_begin", throttle_begin, {{"core", core}, {"at", at}}},
      {"throttle_end", throttle_end, {{"core", core}, {"at", at}}},
      {"bandwidth_budget", bandwidth_budget, {{"core", core}, {"at", at}, {"bytes", bytes}}},
      {"layer_begin", layer_begin, of_job({{"layer", layer}, {"at", at}})},
      {"layer_end", layer_end, of_job({{"layer", layer}, {"at", at}})},
      {"run_end", run_end, {{"at", at}}},
  };
  return all;
}

const KindRule* rule_of(std::string_view event) {
  constexpr std::string_view provider = "rtexec:";
  if (!event.starts_with(provider)) return nullptr;
  const auto rule = std::ranges::find(rules(), event.substr(provider.size()), &KindRule::event);
  return rule == rules().end() ? nullptr : &*rule;
}

std::vector<Step::Meaning> meanings(const bt_field_class* enumeration, std::span<const Label> labels) {
  std::vector<Step::Meaning> all;
  for (std::uint64_t i = 0; i < bt_field_class_enumeration_get_mapping_count(enumeration); ++i) {
    const auto* mapping = bt_field_class_enumeration_unsigned_borrow_mapping_by_index_const(enumeration, i);
    const auto* text = bt_field_class_enumeration_mapping_get_label(
        bt_field_class_enumeration_unsigned_mapping_as_mapping_const(mapping));
    const auto label = std::ranges::find(labels, std::string_view(text), &Label::text);
    if (label == labels.end()) continue;
    const auto* ranges = bt_field_class_enumeration_unsigned_mapping_borrow_ranges_const(mapping);
    for (std::uint64_t k = 0;
         k < bt_integer_range_set_get_range_count(bt_integer_range_set_unsigned_as_range_set_const(ranges)); ++k) {
      const auto* range = bt_integer_range_set_unsigned_borrow_range_by_index_const(ranges, k);
      all.push_back(
          {bt_integer_range_unsigned_get_lower(range), bt_integer_range_unsigned_get_upper(range), label->value});
    }
  }
  return all;
}

/// Absent where the class has no such field, or one of another type.
std::optional<Step> step_for(const FieldRule& rule, const bt_field_class* payload) {
  for (std::uint64_t i = 0; i < bt_field_class_structure_get_member_count(payload); ++i) {
    const auto* member = bt_field_class_structure_borrow_member_by_index_const(payload, i);
    if (std::string_view(bt_field_class_structure_member_get_name(member)) != rule.name) continue;
    const auto* field = bt_field_class_structure_member_borrow_field_class_const(member);
    const auto type = bt_field_class_get_type(field);
    if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION && !rule.labels.empty())
      return Step{Step::Type::is_enumeration, i, rule.put, meanings(field, rule.labels)};
    if (!rule.labels.empty()) return std::nullopt;
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
      return Step{Step::Type::is_unsigned, i, rule.put, {}};
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
      return Step{Step::Type::is_signed, i, rule.put, {}};
    return std::nullopt;
  }
  return std::nullopt;
}

std::int64_t value_of(const Step& step, const bt_field* field) {
  if (step.type == Step::Type::is_signed) return bt_field_integer_signed_get_value(field);
  const std::uint64_t raw = bt_field_integer_unsigned_get_value(field);
  if (step.type == Step::Type::is_unsigned) return static_cast<std::int64_t>(raw);
  for (const Step::Meaning& meaning : step.meanings)
    if (meaning.lower <= raw && raw <= meaning.upper) return meaning.value;
  return unknown_label;
}

} // namespace

RecordDecoder::Plan RecordDecoder::make_plan(const bt_event_class* type) {
  const char* name = bt_event_class_get_name(type);
  const KindRule* rule = name ? rule_of(name) : nullptr;
  const bt_field_class* payload = bt_event_class_borrow_payload_field_class_const(type);
  Plan plan;
  if (!rule) return plan;
  plan.kind = rule->kind;
  for (const FieldRule& field : rule->fields) {
    auto step = payload ? step_for(field, payload) : std::nullopt;
    if (step) plan.steps.push_back(std::move(*step));
    else unknown_.insert(std::string(rule->event) + "." + field.name);
  }
  return plan;
}

const Record& RecordDecoder::decode(const bt_event* event, Instant time) {
  const bt_event_class* type = bt_event_borrow_class_const(event);
  if (type != last_class_) {
    auto known = plans_.find(type);
    if (known == plans_.end()) known = plans_.emplace(type, make_plan(type)).first;
    last_class_ = type;
    last_plan_ = &known->second;
  }
  record_ = {};
  record_.kind = last_plan_->kind;
  record_.time = time;
  if (last_plan_->steps.empty()) return record_;
  const bt_field* payload = bt_event_borrow_payload_field_const(event);
  for (const Step& step : last_plan_->steps)
    step.put(record_, value_of(step, bt_field_structure_borrow_member_field_by_index_const(payload, step.index)));
  return record_;
}

} // namespace rtexec::traces
