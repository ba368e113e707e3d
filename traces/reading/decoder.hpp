// Turns events of libbabeltrace2 into records. The fields of each class of events are looked up once; an event then
// costs a call or two per field.
#pragma once

#include "traces/reading/reader.hpp"

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace rtexec::traces {

class RecordDecoder {
 public:
  /// The event as a record; RecordKind::other where it is none. Valid until the next call.
  [[nodiscard]] const Record& decode(const bt_event* event, Instant time);
  /// "job_end.executed": fields of records that the trace's version of an event does not have; they keep their
  /// defaults.
  [[nodiscard]] const std::set<std::string>& unknown_fields() const { return unknown_; }

  using Put = void (*)(Record& record, std::int64_t value);
  /// One field of one class of events.
  struct Step {
    enum class Type : std::uint8_t { is_signed, is_unsigned, is_enumeration };
    /// A range of values with a label, and what that label means.
    struct Meaning {
      std::uint64_t lower, upper;
      std::int64_t value;
    };
    Type type{};
    std::uint64_t index = 0; // in the payload
    Put put = nullptr;
    std::vector<Meaning> meanings;
  };

 private:
  struct Plan {
    RecordKind kind = RecordKind::other;
    std::vector<Step> steps;
  };

  [[nodiscard]] Plan make_plan(const bt_event_class* type);

  std::unordered_map<const bt_event_class*, Plan> plans_;
  const bt_event_class* last_class_ = nullptr;
  const Plan* last_plan_ = nullptr;
  std::set<std::string> unknown_;
  Record record_;
};

} // namespace rtexec::traces
