// Every law shows its teeth: it rejects the broken kernels that it names on at least one default case, and the
// hardened kernels pass every law on every one of those cases, so that the rejection means something.
#include "properties/laws/teeth_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace flashproof {
namespace {

/// The names of the laws that reject the kernel on some case.
std::vector<std::string_view> rejecting_laws(const Kernel& kernel) {
  std::vector<std::string_view> names;
  for (const TeethCase& c : teeth_cases(kernel.problem)) {
    if (!takes(kernel, c.content.problem)) continue;
    const auto verdicts = ask_laws(kernel, c, run(kernel, c.content.problem));
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const std::string_view law = laws()[i].name;
      if (verdicts[i].failed() && std::ranges::find(names, law) == names.end()) names.push_back(law);
    }
  }
  return names;
}

TEST(Teeth, EveryLawRejectsTheBrokenKernelsItNames) {
  std::map<std::string_view, std::vector<std::string_view>> rejected;
  for (const Law& law : laws()) {
    for (const std::string_view id : law.must_reject) {
      const Kernel* kernel = find_kernel(id);
      ASSERT_NE(kernel, nullptr) << law.name << " names " << id;
      EXPECT_EQ(kernel->form, Form::broken) << id;
      EXPECT_EQ(kernel->rejected_by, law.name) << id;
      if (!rejected.contains(id)) rejected[id] = rejecting_laws(*kernel);
      EXPECT_NE(std::ranges::find(rejected[id], law.name), rejected[id].end())
          << law.name << " accepts " << id << " (" << kernel->defect << ") on every default case";
    }
  }
}

TEST(Teeth, EveryBrokenKernelIsNamedByTheLawThatMustRejectIt) {
  int broken = 0;
  for (const Kernel& kernel : kernels()) {
    if (kernel.form != Form::broken) continue;
    ++broken;
    const Law* law = find_law(kernel.rejected_by);
    ASSERT_NE(law, nullptr) << kernel.id << " names " << kernel.rejected_by;
    EXPECT_NE(std::ranges::find(law->must_reject, kernel.id), law->must_reject.end()) << kernel.id;
  }
  EXPECT_GT(broken, 0);
}

TEST(Teeth, HardenedKernelsPassEveryLawOnEveryCase) {
  std::map<std::string_view, int> passed;
  for (const Kernel& kernel : kernels()) {
    if (kernel.form != Form::hardened) continue;
    for (const TeethCase& c : teeth_cases(kernel.problem)) {
      if (!takes(kernel, c.content.problem)) continue;
      const auto verdicts = ask_laws(kernel, c, run(kernel, c.content.problem));
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        EXPECT_FALSE(verdicts[i].failed() || verdicts[i].kind == VerdictKind::inconclusive)
            << kernel.id << " " << to_string(c.content.spec) << " " << laws()[i].name << ": " << to_string(verdicts[i])
            << " " << verdicts[i].detail;
        passed[laws()[i].name] += verdicts[i].kind == VerdictKind::pass ? 1 : 0;
      }
    }
  }
  for (const Law& law : laws()) EXPECT_GT(passed[law.name], 0) << law.name << " passed nothing: it was not exercised";
}

}  // namespace
}  // namespace flashproof
