#include "traces/reading/reader.hpp"

#include "traces/reading/decoder.hpp"
#include "traces/reading/merge.hpp"

#include <babeltrace2/babeltrace.h>

namespace rtexec::traces {
namespace {

namespace fs = std::filesystem;

std::optional<std::string_view> name_of_value(const bt_field* enumeration) {
  bt_field_class_enumeration_mapping_label_array names = nullptr;
  std::uint64_t count = 0;
  if (bt_field_enumeration_unsigned_get_mapping_labels(enumeration, &names, &count) !=
          BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK ||
      count == 0)
    return std::nullopt;
  return names[0];
}

const bt_field* field_of(const bt_event* event, const char* name) {
  const bt_field* payload = bt_event_borrow_payload_field_const(event);
  return payload ? bt_field_structure_borrow_member_field_by_name_const(payload, name) : nullptr;
}

/// Reads only the set-up: stops at the first job, unless the recording contains clients of a daemon.
class SetupOnly final : public RecordHandler {
 public:
  explicit SetupOnly(const RunSetup& setup) : setup_(setup) {}
  void record(const Record& record) override { jobs_ = jobs_ || record.kind == RecordKind::job_release; }
  void loss(const Loss&) override {}
  [[nodiscard]] bool stops() const override { return jobs_ && setup_.clients.empty(); }

 private:
  const RunSetup& setup_;
  bool jobs_ = false;
};

/// Passes each event on without decoding it.
class EventReader final : public EventSink {
 public:
  explicit EventReader(const std::function<void(const RecordedEvent&)>& each) : each_(each) {}
  void event(const bt_event* event, Instant time) override { each_(RecordedEvent(event, time)); }
  void loss(const Loss&) override {}

 private:
  const std::function<void(const RecordedEvent&)>& each_;
};

} // namespace

RecordedEvent::RecordedEvent(const bt_event* event, Instant time) : event_(event), time_(time) {
  if (const char* name = bt_event_class_get_name(bt_event_borrow_class_const(event))) name_ = name;
}

std::optional<std::int64_t> RecordedEvent::integer(const char* field) const {
  const bt_field* value = field_of(event_, field);
  if (!value) return std::nullopt;
  const auto type = bt_field_get_class_type(value);
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) return bt_field_integer_signed_get_value(value);
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
    return static_cast<std::int64_t>(bt_field_integer_unsigned_get_value(value));
  return std::nullopt;
}

std::optional<std::string_view> RecordedEvent::text(const char* field) const {
  const bt_field* value = field_of(event_, field);
  if (!value) return std::nullopt;
  const auto type = bt_field_get_class_type(value);
  if (type == BT_FIELD_CLASS_TYPE_STRING) return bt_field_string_get_value(value);
  if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION) return name_of_value(value);
  return std::nullopt;
}

Result<ReadSummary> read_records(const fs::path& folder, RunSetup& setup, RecordHandler& handler) {
  EventDecoder decoder(setup, handler);
  auto summary = read_events(folder, decoder);
  if (!summary) return summary;
  if (const std::string note = decoder.note(); !note.empty()) summary->notes.push_back(note);
  return summary;
}

Result<ReadSummary> read_with_setup(const fs::path& folder, RunSetup& setup, RecordHandler& handler) {
  RunSetup whole;
  SetupOnly first(whole);
  if (const auto read = read_records(folder, whole, first); !read || whole.clients.empty())
    return read_records(folder, setup, handler);
  setup = whole;
  RunSetup again;
  return read_records(folder, again, handler);
}

Result<ReadSummary> read_trace(const fs::path& folder, const std::function<void(const RecordedEvent&)>& each) {
  EventReader reader(each);
  return read_events(folder, reader);
}

Result<Summary> summarize(const fs::path& folder) {
  Summary summary;
  const auto read = read_trace(folder, [&summary](const RecordedEvent& event) {
    const auto known = summary.by_name.find(event.name());
    if (known != summary.by_name.end()) ++known->second;
    else summary.by_name.emplace(event.name(), 1);
  });
  if (!read) return Unexpected(read.error());
  static_cast<ReadSummary&>(summary) = *read;
  return summary;
}

} // namespace rtexec::traces
