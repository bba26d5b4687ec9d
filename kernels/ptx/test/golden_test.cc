// Every golden form in the executor, against the hash of a GPU's results (golden/forms_sm_90.inc). FLASHPROOF_PTX_RESULTS=FILE, what
// `ptx_forms_gpu dump` wrote, names the first input that differs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "kernels/ptx/test/form_runner.h"
#include "kernels/ptx/test/golden/form.h"

namespace flashproof::ptx::golden {
namespace {

#define FP_PTX_FORM(inputs, result, text, hash) \
  {#inputs, #result, text FP_PTX_RESULT_##result, InputClass::inputs, hash},
constexpr Form kForms[] = {
#include "kernels/ptx/test/golden/forms_sm_90.inc"
};
#undef FP_PTX_FORM

constexpr InputClass kClasses[] = {InputClass::f16,      InputClass::bf16,    InputClass::f32,
                                   InputClass::f64,      InputClass::integer, InputClass::f16_tiny,
                                   InputClass::f32_tiny, InputClass::f64_tiny};
constexpr const char* kClassNames[] = {"f16", "bf16", "f32", "f64", "integer", "f16_tiny", "f32_tiny", "f64_tiny"};

const std::vector<Input>& operands_of(InputClass inputs) {
  static std::map<InputClass, std::vector<Input>> all;
  std::vector<Input>& operands = all[inputs];
  if (operands.empty()) {
    for (const Triple& triple : inputs_of(inputs)) operands.push_back({triple[0], triple[1], triple[2]});
  }
  return operands;
}

std::vector<std::uint64_t> results_of(const Form& form) {
  const std::string moves =
      "mov.b64 d1, %d1; mov.b64 d2, %d2; mov.b64 d3, %d3; mov.b64 at, %O; .shared .align 8 .b8 cells[1024]; "
      "mov.b32 sh, cells; and.b32 w1, %i, 127; mad.lo.u32 sh, w1, 8, sh; ";
  return run_form(FP_PTX_REGISTERS + moves + FP_PTX_PARTS + form.text + "mov.b64 %od, od; }", operands_of(form.inputs));
}

/// The first input whose result is not that of the file; "" without a file.
std::string first_difference(std::size_t form, const std::vector<std::uint64_t>& results) {
  const char* path = std::getenv("FLASHPROOF_PTX_RESULTS");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr) return "";
  std::vector<std::uint64_t> measured(kInputs);
  const auto bytes = static_cast<std::streamoff>(kInputs * sizeof measured[0]);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(form) * bytes);
  if (!file.read(reinterpret_cast<char*>(measured.data()), bytes)) return fmt::format(": {} is too short", path);
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (measured[i] == results[i]) continue;
    const Input& x = operands_of(kForms[form].inputs)[i];
    return fmt::format(": {:#x}, {:#x}, {:#x} give {:#x}, on the GPU {:#x}", x.a, x.b, x.c, results[i], measured[i]);
  }
  return ": no result differs from the file";
}

class PtxGolden : public testing::TestWithParam<InputClass> {};

TEST_P(PtxGolden, every_form_has_the_results_of_the_gpu) {
  std::size_t forms = 0;
  for (std::size_t i = 0; i < std::size(kForms); ++i) {
    if (kForms[i].inputs != GetParam()) continue;
    ++forms;
    const std::vector<std::uint64_t> results = results_of(kForms[i]);
    const std::uint64_t hash = hash_of(results);
    EXPECT_EQ(hash, kForms[i].hash) << fmt::format("{} {:#x}, on the GPU {:#x}{}", kForms[i].text, hash, kForms[i].hash,
                                                   first_difference(i, results));
  }
  EXPECT_GT(forms, 0U);
}

INSTANTIATE_TEST_SUITE_P(inputs, PtxGolden, testing::ValuesIn(kClasses),
                         [](const auto& info) { return kClassNames[static_cast<std::size_t>(info.param)]; });

/// One bit of one result, and two results that change places.
TEST(PtxGoldenHash, sees_every_result_and_its_place) {
  std::vector<std::uint64_t> results(kInputs, 1);
  const std::uint64_t hash = hash_of(results);
  results[kInputs / 2] = 3;
  const std::uint64_t changed = hash_of(results);
  EXPECT_NE(changed, hash);
  std::swap(results[kInputs / 2], results[0]);
  EXPECT_NE(hash_of(results), changed);
}

}  // namespace
}  // namespace flashproof::ptx::golden
