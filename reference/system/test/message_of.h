// How code complains, for tests.
#pragma once

#include <functional>
#include <string>

#include "reference/system/error.h"

namespace flashproof {

/// What the Error says that `body` throws.
template <class Error = UsageError>
std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace flashproof
