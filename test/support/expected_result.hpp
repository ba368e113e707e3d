// Test helpers that check how a Result fails.
#pragma once

#include <rtexec/result.hpp>

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace rtexec::test {

/// Returns the error's text, or "none" if the result holds a value.
template <class T> std::string problem(const Result<T>& result) { return result ? "none" : result.error().what; }

/// Succeeds if the result failed with `code` and its text contains `part`.
template <class T> testing::AssertionResult fails(const Result<T>& result, Errc code, std::string_view part) {
  if (result) return testing::AssertionFailure() << "it did not fail";
  if (result.error().code != code)
    return testing::AssertionFailure() << "code is " << name(result.error().code) << ": " << result.error().what;
  if (result.error().what.find(part) == std::string::npos)
    return testing::AssertionFailure() << '"' << part << "\" is not in: " << result.error().what;
  return testing::AssertionSuccess();
}

inline testing::AssertionResult fails(const Status& status, Errc code) {
  if (status) return testing::AssertionFailure() << "it did not fail";
  return status.error() == code ? testing::AssertionSuccess()
                                : testing::AssertionFailure() << "code is " << name(status.error());
}

} // namespace rtexec::test
