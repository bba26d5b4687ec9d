// A change of a declaration or a problem that knows whether it was one.
#pragma once

namespace flashproof {

/// Sets `to` and says whether that was a change.
template <class T>
bool set(T& to, const T& value) {
  if (to == value) return false;
  to = value;
  return true;
}

}  // namespace flashproof
