// Emphasis of text for people, on streams that have colours; on all others the text alone.
#pragma once

#include <iosfwd>
#include <string_view>

namespace rtexec::report {

enum class Tone { plain, head, good, warning, bad };

/// From now on, by one thread at a time. A terminal's stream has them where its user wants them.
void use_colours(std::ostream& out, bool wanted = true);
[[nodiscard]] bool has_colours(std::ostream& out);

/// `out << Toned{Tone::bad, "missed"}`. The text is printed at once.
struct Toned {
  Tone tone;
  std::string_view text;
};
std::ostream& operator<<(std::ostream& out, const Toned& toned);

} // namespace rtexec::report
