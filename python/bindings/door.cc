#include "python/bindings/door.h"

#include <exception>
#include <new>
#include <utility>

#include "reference/system/error.h"

namespace flashproof::python {
namespace {

struct Question {
  const std::function<void(const Json&)>& heard;
  bool replied = false;
  std::exception_ptr failed = nullptr;
};

/// The innermost one of this thread: a callable may itself call a function of this library.
thread_local Question* asked = nullptr;

void hear(const char* text) {
  if (asked == nullptr) return;
  asked->replied = true;
  try {
    if (asked->heard) asked->heard(Json::parse(text));
  } catch (...) {  // not through Python's frames
    asked->failed = std::current_exception();
  }
}

void call(const char* request, const Python& python) {
  try {
    const Json parsed = Json::parse(request);
    function_named(parsed.at("function").get<std::string>())(parsed, python);
  } catch (const UsageError& e) {
    python.fail("usage", e.what());
  } catch (const Interrupted& e) {
    python.fail("interrupted", e.what());
  } catch (const InfrastructureError& e) {
    python.fail("infrastructure", e.what());
  } catch (const std::bad_alloc& e) {
    python.fail("memory", e.what());
  } catch (const std::exception& e) {
    python.fail("defect", e.what());
  }
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

bool Python::ask(const std::string& question, const std::function<void(const Json&)>& heard) const {
  Question mine{heard};
  Question* const around = std::exchange(asked, &mine);
  tell_(question.c_str());
  asked = around;
  if (mine.failed) std::rethrow_exception(mine.failed);
  return mine.replied;
}

void Python::answer(const Json& answer) const { tell_(text_of({{"answer", answer}}).c_str()); }

void Python::answer_arrays(const Json& answer) const { tell_(text_of({{"arrays", answer}}).c_str()); }

void Python::fail(std::string_view kind, std::string_view text) const {
  tell_(text_of({{"error", kind}, {"text", text}}).c_str());
}

}  // namespace flashproof::python

extern "C" {

/// request: {"function": name, ...}. `tell` is given questions, which flashproof_reply() replies to before it returns, and in the end
/// {"answer": ...}, {"arrays": ...} or {"error": kind, "text": one line}.
void flashproof_call(const char* request, flashproof::python::Python::Tell tell) {
  flashproof::python::call(request, flashproof::python::Python(tell));
}

void flashproof_reply(const char* reply) { flashproof::python::hear(reply); }

/// The libraries' names end with the CPU that they are built for: of those that a package has the best that this CPU can run.
const char* flashproof_cpu() { return __builtin_cpu_supports("x86-64-v3") != 0 ? "x86-64-v3" : "x86-64-v2"; }

}  // extern "C"
