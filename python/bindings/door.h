// Between Python and the functions of its package: texts of JSON both ways, arrays by their addresses. Python opens this library with
// ctypes (flashproof/_flashproof.py); nothing here knows CPython, so that one library serves every version of it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace flashproof::python {

using Json = nlohmann::ordered_json;

/// The caller of a function, as far as it is asked something and told the answer.
class Python {
 public:
  using Tell = void (*)(const char* json);
  explicit Python(Tell tell) : tell_(tell) {}

  /// A question is {"ask": what, ...} as text. `heard` reads the reply, and copies what its addresses lead to; what it throws is thrown here. False: there is none, since Python
  /// has raised something (Ctrl-C, too), which it raises again when the call has returned. The call is to end then.
  bool ask(const std::string& question, const std::function<void(const Json& reply)>& heard = nullptr) const;
  void answer(const Json& answer) const;
  /// An object with addresses, from which Python copies before this returns.
  void answer_arrays(const Json& answer) const;
  /// Instead of an answer: what the call threw.
  void fail(std::string_view kind, std::string_view text) const;

 private:
  Tell tell_;
};

using Function = void (*)(const Json& request, const Python& python);
/// Throws UsageError where there is none of this name.
Function function_named(std::string_view name);

}  // namespace flashproof::python
