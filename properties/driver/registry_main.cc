// Every law on this project's own kernels: the hardened ones, unless --kernel names others. ./flashproof properties
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/broken/fault.h"
#include "kernels/registry.h"
#include "kernels/run/native_kernel.h"
#include "kernels/run/observe.h"
#include "properties/driver/property_options.h"
#include "properties/generators/glob.h"
#include "properties/laws/support/race_observer.h"
#include "reference/system/add_option.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/program.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// Beside hardened kernels those of a form that the options name: of a replay line.
bool may_choose(Form form, const PropertyOptions& options) {
  const auto says_broken = [](const std::string& glob) { return glob.find("broken") != std::string::npos; };
  return form == Form::hardened || (!options.kernels.empty() && form == Form::published) ||
         (form == Form::broken && std::ranges::any_of(options.kernels, says_broken));
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

int properties(int argc, char** argv) {
  CLI::App app{"Every law on flashproof's own kernels: the hardened ones, unless --kernel names others.",
               "flashproof-properties"};
  PropertyOptions options;
  std::vector<std::string> faults;
  std::string math = "det";
  add_property_options(app, options);
  add_declared(&app, "properties", "--with-fault", faults)->excludes(app.get_option("--kernel"));
  add_declared(&app, "properties", "--math", math);
  if (!parse_arguments(app, argc, argv)) return kExitFine;
  const bool native = math == "native";
  options.kernel_of = native ? registered_native : registered;
  if (options.program.empty()) options.program = shell_word(argc > 0 ? argv[0] : "");
  if (native) options.program += " --math native";
  set_race_observer(observe);
  std::vector<KernelDeclaration> chosen;
  if (!faults.empty()) {
    chosen = faults_of(faults);
  } else {
    for (const Kernel& kernel : kernels()) {
      if (may_choose(kernel.form, options)) chosen.push_back(kernel);
    }
  }
  return property_tests(std::move(options), chosen);
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return flashproof::properties(argc, argv); });
}
