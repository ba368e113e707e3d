#include "traces/reading/decoder.hpp"

#include "config/base/text.hpp"
#include "traces/events.hpp"

#include <concepts>
#include <forward_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rtexec::traces {
namespace {

using Part = EventDecoder::Part;

template <class Value> constexpr bool is_outcome = std::same_as<Value, Status>;
template <class Value> constexpr bool is_labelled = std::is_enum_v<Value> || is_outcome<Value>;
template <class Value> constexpr bool is_text = std::same_as<Value, const char*>;

/// Returns the value that an enumeration's label stands for. For an outcome this is 0 if the label is "ok", otherwise
/// the error's value plus 1.
template <class Value> std::int64_t meaning(std::string_view label) {
  if constexpr (is_outcome<Value>) {
    if (label == "ok") return 0;
    const std::int64_t error = meaning<Errc>(label);
    return error == Part::unknown_label ? error : error + 1;
  } else {
    for (const auto& known : spellings<Value>())
      if (known.text == label) return static_cast<std::int64_t>(known.value);
    return Part::unknown_label;
  }
}

template <class Value> std::vector<Part::Label> labels_of(const bt_field_class* enumeration) {
  std::vector<Part::Label> all;
  for (std::uint64_t i = 0; i < bt_field_class_enumeration_get_mapping_count(enumeration); ++i) {
    const auto* mapping = bt_field_class_enumeration_unsigned_borrow_mapping_by_index_const(enumeration, i);
    const auto* text = bt_field_class_enumeration_mapping_get_label(
        bt_field_class_enumeration_unsigned_mapping_as_mapping_const(mapping));
    const auto* ranges = bt_field_class_enumeration_unsigned_mapping_borrow_ranges_const(mapping);
    for (std::uint64_t k = 0;
         k < bt_integer_range_set_get_range_count(bt_integer_range_set_unsigned_as_range_set_const(ranges)); ++k) {
      const auto* range = bt_integer_range_set_unsigned_borrow_range_by_index_const(ranges, k);
      all.push_back({bt_integer_range_unsigned_get_lower(range), bt_integer_range_unsigned_get_upper(range),
                     meaning<Value>(text)});
    }
  }
  return all;
}

/// Returns how the class of a field stores a Value; `absent` if the class cannot store it.
template <class Value> Part part_of(const bt_field_class* field, std::uint64_t index) {
  const auto type = bt_field_class_get_type(field);
  if ((is_text<Value> || is_labelled<Value>)&&type == BT_FIELD_CLASS_TYPE_STRING)
    return {Part::Type::is_text, index, {}};
  if constexpr (is_labelled<Value>) {
    if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
      return {Part::Type::is_enumeration, index, labels_of<Value>(field)};
  } else if constexpr (!is_text<Value>) {
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)) return {Part::Type::is_unsigned, index, {}};
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) return {Part::Type::is_signed, index, {}};
  }
  return {};
}

/// Finds where events of a class store the parts of an event's fields.
struct Finder {
  const bt_field_class* payload; // may be null
  std::vector<Part>& parts;
  std::set<std::string>& unknown;
  std::string event;

  template <class Value> void operator()(const char* name, Value&) {
    Part part;
    const std::uint64_t members = payload ? bt_field_class_structure_get_member_count(payload) : 0;
    for (std::uint64_t i = 0; i < members; ++i) {
      const auto* member = bt_field_class_structure_borrow_member_by_index_const(payload, i);
      if (std::string_view(bt_field_class_structure_member_get_name(member)) == name)
        part = part_of<Value>(bt_field_class_structure_member_borrow_field_class_const(member), i);
    }
    if (part.type == Part::Type::absent) unknown.insert(event + "." + name);
    parts.push_back(std::move(part));
  }
};

void set(bool& value, std::int64_t raw) { value = raw != 0; }
void set(std::uint32_t& value, std::int64_t raw) { value = static_cast<std::uint32_t>(raw); }
void set(std::uint64_t& value, std::int64_t raw) { value = static_cast<std::uint64_t>(raw); }
void set(Bytes& value, std::int64_t raw) { value.count = static_cast<std::uint64_t>(raw); }
void set(Frequency& value, std::int64_t raw) { value.hertz = static_cast<std::uint64_t>(raw); }
void set(Duration& value, std::int64_t raw) { value = Duration(raw); }
void set(Instant& value, std::int64_t raw) { value = Instant(Duration(raw)); }
void set(std::optional<std::uint32_t>& value, std::int64_t raw) {
  if (raw >= 0) value = static_cast<std::uint32_t>(raw);
}
void set(std::optional<Duration>& value, std::int64_t raw) {
  if (raw >= 0) value = Duration(raw);
}
void set(policies::Event& request, std::int64_t deadline) { // must be called after the kind of `request` is set
  if (request.kind == policies::Event::Kind::job_requested) request.deadline = Instant(Duration(deadline));
}
/// Sets an outcome. An unknown label counts as device_fault.
void set(Status& value, std::int64_t raw) {
  if (raw != 0) value = Unexpected(raw < 0 ? Errc::device_fault : static_cast<Errc>(raw - 1));
}
template <class Enum>
requires std::is_enum_v<Enum>
void set(Enum& value, std::int64_t raw) {
  if (raw != Part::unknown_label) value = static_cast<Enum>(raw);
}

std::int64_t label_of(const Part& part, std::uint64_t raw) {
  for (const Part::Label& label : part.labels)
    if (label.lower <= raw && raw <= label.upper) return label.value;
  return Part::unknown_label;
}

constexpr std::size_t longest_text = 4096;

/// Fills the parts of an event, in their order. Makes texts printable, because tables, pictures and files show them.
/// The texts are valid while the filler exists.
struct Filler {
  const bt_field* payload;
  const Part* next;
  std::forward_list<std::string> texts{};
  bool unknown_step = false; // true for a scheduler step that this version of rtexec does not know

  template <class Value> void operator()(const char*, Value& value) {
    const Part& part = *next++;
    if constexpr (is_text<Value>) value = "";
    if (part.type == Part::Type::absent) return;
    const bt_field* field = bt_field_structure_borrow_member_field_by_index_const(payload, part.index);
    if constexpr (is_text<Value>) {
      value = texts.emplace_front(config::printable(bt_field_string_get_value(field), longest_text)).c_str();
    } else {
      const std::int64_t raw = number<Value>(part, field);
      if constexpr (std::same_as<Value, policies::Event::Kind> || std::same_as<Value, policies::Action::Kind>)
        unknown_step = unknown_step || raw == Part::unknown_label;
      set(value, raw);
    }
  }

  template <class Value> static std::int64_t number(const Part& part, const bt_field* field) {
    if (part.type == Part::Type::is_signed) return bt_field_integer_signed_get_value(field);
    if constexpr (is_labelled<Value>)
      if (part.type == Part::Type::is_text) return meaning<Value>(bt_field_string_get_value(field));
    const std::uint64_t raw = bt_field_integer_unsigned_get_value(field);
    return part.type == Part::Type::is_unsigned ? static_cast<std::int64_t>(raw) : label_of(part, raw);
  }
};

/// Copies into the record those fields of an event that a record has.
template <class Event> void keep(Record& record, const Event& event) {
  if constexpr (requires { event.job; }) record.job = event.job;
  if constexpr (requires { event.task; }) record.job.task = event.task;
  if constexpr (requires { event.at; }) record.at = event.at;
  if constexpr (requires { event.actual; }) record.at = event.actual;
  if constexpr (requires { event.nominal; }) record.nominal = event.nominal;
  if constexpr (requires { event.deadline; }) record.deadline = event.deadline;
  if constexpr (requires { event.executed; }) record.executed = event.executed;
  if constexpr (requires { event.response; }) record.response = event.response;
  if constexpr (requires { event.outcome; }) record.ok = event.outcome.has_value();
  if constexpr (requires { event.layer; }) record.layer = event.layer;
  if constexpr (requires { event.segment; }) record.segment = event.segment;
  if constexpr (requires { event.core; }) record.core = event.core;
  if constexpr (requires { event.bytes; }) record.bytes = event.bytes.count;
  if constexpr (requires { event.copied_bytes; }) record.bytes = event.copied_bytes.count;
  if constexpr (requires { event.frequency; }) record.frequency = event.frequency;
  if constexpr (requires { event.memory_frequency; }) record.memory_frequency = event.memory_frequency;
  if constexpr (requires { event.limits; }) record.limits = event.limits;
  if constexpr (requires { event.computes; }) record.computes = event.computes;
  if constexpr (requires { event.since; }) record.since = event.since;
  if constexpr (requires { event.stolen; }) record.stolen = event.stolen;
  if constexpr (requires { event.sampled; }) record.sampled = event.sampled;
  if constexpr (requires { event.inputs; }) record.inputs = event.inputs;
  if constexpr (requires { event.stale; }) record.stale = event.stale;
  if constexpr (requires { event.sinks; }) record.sinks = event.sinks;
  if constexpr (requires { event.reason; }) record.reason = event.reason;
  if constexpr (requires { event.transfer; }) record.transfer = event.transfer;
  if constexpr (requires { event.sequence; }) record.sequence = event.sequence;
  if constexpr (requires { event.action; }) record.action = event.action;
  if constexpr (requires { event.input; }) {
    record.input = event.input;
    record.at = event.input.now;
  }
}

} // namespace

template <class Event> void EventDecoder::decode_as(const Class& type, const bt_field* payload) {
  Event event;
  Filler fill{payload, type.parts.data()};
  event.parts(fill);
  if constexpr (Event::of_setup) setup_.take(event);
  else if (fill.unknown_step) record_.kind = RecordKind::other;
  else keep(record_, event);
}

template <class Event> EventDecoder::Class EventDecoder::class_of(RecordKind kind, const bt_field_class* payload) {
  Class made{&EventDecoder::decode_as<Event>, kind, {}};
  Event{}.parts(Finder{payload, made.parts, unknown_, Event::event_name});
  return made;
}

EventDecoder::Class EventDecoder::make_class(const bt_event_class* type) {
  const char* name = bt_event_class_get_name(type);
  const bt_field_class* payload = bt_event_class_borrow_payload_field_class_const(type);
  const std::string_view of = name ? name : "";
#define RTEXEC_EVENT(event_, ...) \
  if (of == "rtexec:" #event_) return class_of<event::event_>(RecordKind::event_, payload);
#define RTEXEC_SETUP_EVENT(event_, ...) \
  if (of == "rtexec:" #event_) return class_of<event::event_>(RecordKind::other, payload);
#define RTEXEC_TOTALS_EVENT(...)
#include "traces/events.inc"
  return {};
}

void EventDecoder::event(const bt_event* event, Instant time) {
  const bt_event_class* type = bt_event_borrow_class_const(event);
  if (type != last_type_) {
    auto known = classes_.find(type);
    if (known == classes_.end()) known = classes_.emplace(type, make_class(type)).first;
    last_type_ = type;
    last_class_ = &known->second;
  }
  record_ = {};
  record_.kind = last_class_->kind;
  record_.time = time;
  if (last_class_->decode) (this->*last_class_->decode)(*last_class_, bt_event_borrow_payload_field_const(event));
  handler_.record(record_);
}

std::string EventDecoder::note() const {
  std::string text;
  for (const std::string& field : unknown_)
    text += (text.empty() ? "recorded by an older version; unknown values: " : ", ") + field;
  return text;
}

} // namespace rtexec::traces
