#include "rtexec/runtime/watches/progress_watch.hpp"

namespace rtexec::executive {

const std::string* ProgressWatch::stuck(Instant now) {
  const std::string* first = nullptr;
  for (Watched& watched : watched_) {
    const Progress seen = watched.look(now);
    if (!seen.due || seen.steps != watched.steps) watched.due_since.reset();
    watched.steps = seen.steps;
    if (seen.due && !watched.due_since) watched.due_since = now;
    if (first == nullptr && watched.due_since && now - *watched.due_since > patience_) first = &watched.name;
  }
  return first;
}

} // namespace rtexec::executive
