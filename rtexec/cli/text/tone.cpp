#include "rtexec/cli/text/tone.hpp"

#include <ostream>
#include <utility>

namespace rtexec::report {

namespace {

/// Returns the stream's storage (xalloc) in which this file keeps whether colours are enabled.
long& colours(std::ostream& out) {
  static const int place = std::ios_base::xalloc();
  return out.iword(place);
}

const char* code(Tone tone) {
  switch (tone) {
  case Tone::plain: return "";
  case Tone::head: return "\033[1m";
  case Tone::good: return "\033[32m";
  case Tone::warning: return "\033[33m";
  case Tone::bad: return "\033[31m";
  }
  std::unreachable();
}

} // namespace

void use_colours(std::ostream& out, bool wanted) { colours(out) = wanted ? 1 : 0; }

bool has_colours(std::ostream& out) { return colours(out) != 0; }

std::ostream& operator<<(std::ostream& out, const Toned& toned) {
  if (toned.tone == Tone::plain || !has_colours(out)) return out << toned.text;
  return out << code(toned.tone) << toned.text << "\033[0m";
}

} // namespace rtexec::report
