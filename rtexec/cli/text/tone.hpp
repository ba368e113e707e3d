// Emphasis of text for people, by colours if the stream has them; otherwise the text alone.
#pragma once

#include <iosfwd>
#include <string_view>

namespace rtexec::report {

enum class Tone { plain, head, good, warning, bad };

/// Switches colours of the stream on or off; one thread at a time. For terminals, unless their user wants none.
void use_colours(std::ostream& out, bool wanted = true);
[[nodiscard]] bool has_colours(std::ostream& out);

/// `out << Toned{Tone::bad, "missed"}`. The text is printed at once.
struct Toned {
  Tone tone;
  std::string_view text;
};
std::ostream& operator<<(std::ostream& out, const Toned& toned);

} // namespace rtexec::report
