// Every law shows its teeth: it rejects the seeded faults that it names on at least one default case, and the kernel
// without the fault passes there, so that the rejection means something; and on the first case of every family that kernel passes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/laws/test/teeth_check.h"

namespace flashproof {
namespace {

using testing::IsEmpty;

class TeethTest : public testing::TestWithParam<const Law*> {};

TEST_P(TeethTest, rejects_the_faults_it_names) { EXPECT_THAT(accepted_faults(*GetParam()), IsEmpty()); }

TEST_P(TeethTest, passes_the_hardened_kernels) {
  // Those that its faults are seeded in; the property tests have all.
  std::set<const Kernel*> seeded;
  for (const std::string_view id : GetParam()->must_reject) {
    const Kernel* faulty = find_kernel(id);
    if (faulty != nullptr && faulty->fault != nullptr) seeded.insert(find_kernel(faulty->fault->kernel));
  }
  const std::vector<const Kernel*> hardened(seeded.begin(), seeded.end());
  std::map<VerdictKind, int> verdicts;
  EXPECT_THAT(doubts(*GetParam(), hardened, verdicts), IsEmpty());
  for (const auto& [kind, count] : verdicts) RecordProperty(std::string(name(kind)), count);
}

std::vector<const Law*> all_laws() {
  std::vector<const Law*> list;
  for (const Law& law : laws()) list.push_back(&law);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Laws, TeethTest, testing::ValuesIn(all_laws()),
                         [](const auto& of) { return std::string(of.param->name); });

TEST(Teeth, EveryFaultIsNamedByALaw) {
  for (const Kernel& kernel : kernels()) EXPECT_EQ(kernel.form == Form::broken, kernel.fault != nullptr) << kernel.id;
  EXPECT_THAT(unnamed_faults(laws(), kernels()), IsEmpty());
}

}  // namespace
}  // namespace flashproof
