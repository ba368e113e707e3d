// Turns events of libbabeltrace2 into the structs of traces/events.hpp. From these structs it makes records and the
// set-up of the run. The fields of each class of events are looked up once. Then each field of an event costs one or
// two calls.
#pragma once

#include "traces/reading/merge.hpp"
#include "traces/reading/setup_decoder.hpp"

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace rtexec::traces {

class EventDecoder final : public EventSink {
 public:
  /// `setup` receives set-up events. `handler` receives every event, including events without a record. Both must
  /// outlive this object.
  EventDecoder(RunSetup& setup, RecordHandler& handler) : setup_(setup), handler_(handler) {}

  void event(const bt_event* event, Instant time) override;
  void loss(const Loss& loss) override { handler_.loss(loss); }
  [[nodiscard]] bool stops() const override { return handler_.stops(); }

  /// Returns a note on the fields that the recording lacks, because the version of rtexec that wrote the recording did
  /// not have these fields. Returns an empty text if no field is missing. Missing fields keep their defaults.
  [[nodiscard]] std::string note() const;

  /// Says how one class of events stores a part of a field. A field of events.hpp has one or more parts.
  struct Part {
    enum class Type : std::uint8_t { absent, is_signed, is_unsigned, is_enumeration, is_text };
    /// A range of an enumeration's values, and the value that the range's label stands for.
    struct Label {
      std::uint64_t lower, upper;
      std::int64_t value;
    };
    static constexpr std::int64_t unknown_label = -1;
    Type type = Type::absent;
    std::uint64_t index = 0; // position in the payload
    std::vector<Label> labels;
  };

 private:
  /// The decoder of one class of events.
  struct Class {
    // null: the event is not an event of rtexec
    void (EventDecoder::*decode)(const Class& type, const bt_field* payload) = nullptr;
    RecordKind kind = RecordKind::other;
    std::vector<Part> parts;
  };

  [[nodiscard]] Class make_class(const bt_event_class* type);
  template <class Event> [[nodiscard]] Class class_of(RecordKind kind, const bt_field_class* payload);
  template <class Event> void decode_as(const Class& type, const bt_field* payload);

  SetupDecoder setup_;
  std::unordered_map<const bt_event_class*, Class> classes_;
  const bt_event_class* last_type_ = nullptr;
  const Class* last_class_ = nullptr;
  std::set<std::string> unknown_; // fields that the recording lacks: "job_end.executed"
  Record record_;
  RecordHandler& handler_;
};

} // namespace rtexec::traces
