// Emphasis of text for people. If the stream has colours enabled, the text is coloured. Otherwise it is plain.
#pragma once

#include <iosfwd>
#include <string_view>

namespace rtexec::report {

enum class Tone { plain, head, good, warning, bad };

/// Enables or disables colours of the stream. Colours are for terminals whose user has not disabled colours. One thread
/// at a time.
void use_colours(std::ostream& out, bool wanted = true);
[[nodiscard]] bool has_colours(std::ostream& out);

/// A text with a tone, for `out << Toned{Tone::bad, "missed"}`. A Toned refers to the text, so that it must be printed
/// at once.
struct Toned {
  Tone tone;
  std::string_view text;
};
std::ostream& operator<<(std::ostream& out, const Toned& toned);

} // namespace rtexec::report
