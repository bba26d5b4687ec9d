// Every law on this project's own kernels: the hardened ones, unless --kernel names others. ./flashproof properties
//
//   --with-fault GLOB   the seeded faults of kernels/broken, by name or by number (F15: all of that number); may be repeated, not
//                       beside --kernel. A law that rejects one is a finding like any other: exit 1
//   --math MATH         det or native; default det. Native: the GPU's approximations, bit for bit, declared by the shipped profile
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/broken/fault.h"
#include "kernels/registry.h"
#include "kernels/run/native_kernel.h"
#include "kernels/run/observe.h"
#include "properties/driver/property_main.h"
#include "properties/generators/glob.h"
#include "properties/laws/support/race_observer.h"
#include "reference/system/error.h"
#include "reference/system/program.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// The command line without --with-fault, and what that named.
struct Arguments {
  std::vector<char*> rest;
  std::vector<std::string> faults;
  bool native = false;
  bool names_kernel = false, names_fault = false;  // a --kernel, and one that says broken: of a replay line

  bool may_choose(Form form) const {
    return form == Form::hardened || (names_kernel && form == Form::published) || (names_fault && form == Form::broken);
  }
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 0; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--with-fault") {
      if (++i >= argc) throw UsageError("--with-fault: takes a value");
      arguments.faults.emplace_back(argv[i]);
      continue;
    }
    if (option == "--math") {
      const std::string_view math = ++i < argc ? argv[i] : "";
      if (math != "det" && math != "native") throw UsageError("--math " + quote(math) + ": legal det, native");
      arguments.native = math == "native";
      continue;
    }
    if (option == "--kernel" && i + 1 < argc) {
      arguments.names_kernel = true;
      arguments.names_fault |= std::string_view(argv[i + 1]).find("broken") != std::string_view::npos;
    }
    arguments.rest.push_back(argv[i]);
  }
  if (arguments.names_kernel && !arguments.faults.empty()) throw UsageError("--with-fault: not beside --kernel");
  return arguments;
}

/// The faults that each of the texts names. Throws UsageError with the near names for one that names none.
std::vector<KernelDeclaration> faults_of(std::span<const std::string> texts) {
  std::vector<std::string_view> names;
  for (const SeededFault& fault : seeded_faults()) names.push_back(fault.id);
  if (names.empty()) throw UsageError("--with-fault: this build has none (FLASHPROOF_FAULTS=OFF)");
  std::vector<std::string> patterns;
  for (const std::string& text : texts) {
    const std::size_t before = patterns.size();
    for (const SeededFault& fault : seeded_faults()) {
      if (fault.number == text) patterns.emplace_back(fault.id);
    }
    if (patterns.size() == before) patterns.push_back(text);
  }
  std::vector<KernelDeclaration> chosen;
  for (const std::size_t i : select_names(patterns, names, "fault")) chosen.push_back(*find_kernel(names[i]));
  return chosen;
}

/// A fault has its dose and its margins from the registry.
Kernel registered(const KernelDeclaration& declaration) { return *find_kernel(declaration.id); }

Kernel registered_native(const KernelDeclaration& declaration) {
  static const Profile profile = modelled_profile();
  return native_kernel(registered(declaration), profile);
}

/// What replay lines begin with, by then with --math native.
std::string native_program(std::vector<char*>& rest) {
  std::string program = rest.empty() ? "" : shell_word(rest.front());
  for (std::size_t i = 1; i + 1 < rest.size(); i += 2) {
    if (std::string_view(rest[i]) != "--program") continue;
    program = rest[i + 1];
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i), rest.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    break;
  }
  return program + " --math native";
}

int properties(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  set_race_observer(observe);
  std::vector<KernelDeclaration> chosen;
  if (!arguments.faults.empty()) {
    chosen = faults_of(arguments.faults);
  } else {
    for (const Kernel& kernel : kernels()) {
      if (arguments.may_choose(kernel.form)) chosen.push_back(kernel);
    }
  }
  auto rest = arguments.rest;
  if (!arguments.native) return property_main(static_cast<int>(rest.size()), rest.data(), chosen, registered);
  std::string option = "--program", program = native_program(rest);
  rest.insert(rest.begin() + 1, {option.data(), program.data()});
  return property_main(static_cast<int>(rest.size()), rest.data(), chosen, registered_native);
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return flashproof::properties(argc, argv); });
}
