// Members of what Python sends. Numbers that JSON has not are the words "inf", "-inf" and "nan".
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <utility>

#include "python/bindings/door.h"
#include "reference/system/error.h"

namespace flashproof::python {

inline Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/// Throws UsageError that begins with its name where there is none, or one that no value of this type is equal to.
template <class T>
T value(const Json& object, const std::string& name) {
  if (const auto member = object.find(name); member != object.end()) {
    if constexpr (std::same_as<T, double>) {
      using Limits = std::numeric_limits<double>;
      for (const double one : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
        if (*member == number(one)) return one;
    }
    try {
      if (T found = member->get<T>(); Json(found) == *member) return found;
    } catch (const Json::exception&) {  // it is of another kind
    }
  }
  throw UsageError(name + ": not of the type that it must have");
}

template <class T>
T value_or(const Json& object, const std::string& name, T absent) {
  return object.contains(name) ? value<T>(object, name) : std::move(absent);
}

}  // namespace flashproof::python
