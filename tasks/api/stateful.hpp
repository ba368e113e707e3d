// A workload whose jobs leave something to the next ones, beside what Workload asks of it.
#pragma once

namespace rtexec::tasks {

class Stateful {
 public:
  /// Between jobs: those before were a rehearsal, and what they left is forgotten. Until it is called, each job finds
  /// what the first one does.
  virtual void begin_to_keep() noexcept = 0;

 protected:
  ~Stateful() = default;
};

} // namespace rtexec::tasks
