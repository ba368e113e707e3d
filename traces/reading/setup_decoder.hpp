// Collects what the set-up events of a trace say about the run.
#pragma once

#include "traces/reading/reader.hpp"

#include <set>
#include <string>

namespace rtexec::traces {

class SetupDecoder {
 public:
  explicit SetupDecoder(RunSetup& setup) : setup_(setup) {}

  void decode(const RecordedEvent& event);
  /// "task_info.criticality": fields that the trace's version of an event does not have; they keep their defaults.
  [[nodiscard]] const std::set<std::string>& unknown_fields() const { return unknown_; }

 private:
  class Fields;
  TaskSetup* task(const Fields& fields);
  void plan(Fields& fields);
  void task_info(Fields& fields);
  void task_memory(Fields& fields);
  void layer_info(Fields& fields);
  void swap_plan(Fields& fields);
  void admission_test(Fields& fields);

  RunSetup& setup_;
  std::set<std::string> unknown_;
};

} // namespace rtexec::traces
