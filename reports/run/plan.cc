#include "reports/run/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "kernels/source.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::span<const Format> kFormats = kStorageFormats;

bool built_for(const Kernel& kernel, Executor executor) {
  if (executor == Executor::ptx) return has_ptx(kernel);
  return executor == Executor::cpu || kernel.has_cuda;
}

}  // namespace

std::vector<const Family*> select_families(const std::vector<std::string>& globs) {
  std::vector<std::string_view> names;
  for (const Family& family : families()) names.push_back(family.name);
  std::vector<const Family*> result;
  for (const std::size_t i : select_names(globs, names, "family")) result.push_back(&families()[i]);
  return result;
}

std::string_view name(SweepTier tier) {
  constexpr std::string_view kNames[] = {"quick", "default", "nightly"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(SweepTier::nightly) + 1);
  return kNames[static_cast<std::size_t>(tier)];
}

std::uint64_t seeds_of(SweepTier tier) {
  constexpr std::uint64_t kSeeds[] = {3, kDefaultSeeds, 200};
  return kSeeds[static_cast<std::size_t>(tier)];
}

void require_seeds(std::uint64_t first, std::uint64_t count) {
  if (count == 0 || first <= std::numeric_limits<std::uint64_t>::max() - (count - 1)) return;
  throw UsageError(fmt::format("--seed {}: {} seeds follow each other from it, legal is 0..{}", first, count,
                               std::numeric_limits<std::uint64_t>::max() - (count - 1)));
}

std::vector<Format> select_formats(const std::vector<std::string>& globs) {
  std::vector<std::string_view> names;
  for (const Format format : kFormats) names.push_back(info(format).name);
  std::vector<Format> result;
  for (const std::size_t i : select_names(globs, names, "format")) result.push_back(kFormats[i]);
  return result;
}

std::vector<const Kernel*> select_kernels(const std::vector<std::string>& globs) {
  std::vector<std::string_view> names;
  std::vector<bool> fault;
  for (const Kernel& kernel : kernels()) {
    names.push_back(kernel.id);
    fault.push_back(kernel.form == Form::broken);
  }

  std::vector<bool> chosen(names.size(), false);
  for (const std::string& glob : globs.empty() ? std::vector<std::string>{"*"} : globs) {
    std::vector<std::size_t> found = select_names(std::vector<std::string>{glob}, names, "kernel");
    const bool only_faults = std::ranges::all_of(found, [&](std::size_t i) { return fault[i]; });
    if (!only_faults && glob.find("broken") == std::string::npos)
      std::erase_if(found, [&](std::size_t i) { return fault[i]; });
    for (const std::size_t i : found) chosen[i] = true;
  }
  std::vector<const Kernel*> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (chosen[i]) result.push_back(&kernels()[i]);
  }
  return result;
}

std::vector<Step> Plan::steps(std::size_t case_index) const {
  const PlannedCase& planned = cases.at(case_index);
  std::vector<Step> result;
  for (const Kernel* kernel : kernels) {
    if (kernel->problem != planned.spec.problem || !kernel->supports(planned.format)) continue;
    for (const Executor executor : executors) {
      if (built_for(*kernel, executor)) result.push_back({kernel, executor});
    }
  }
  return result;
}

Case Plan::make(std::size_t case_index) const {
  const PlannedCase& planned = cases.at(case_index);
  return planned.data ? *planned.data : make_case(planned.spec);
}

Plan make_plan(const Filters& filters, SweepTier tier, std::uint64_t first_seed, std::vector<Executor> executors) {
  return make_plan(filters, seeds_of(tier), first_seed, std::move(executors));
}

Plan make_plan(const Filters& filters, std::uint64_t seeds, std::uint64_t first_seed, std::vector<Executor> executors) {
  Plan plan;
  plan.kernels = select_kernels(filters.kernels);
  plan.executors = std::move(executors);
  const auto chosen_families = select_families(filters.families);
  const auto chosen_formats = select_formats(filters.formats);
  for (const Family* family : chosen_families) {
    for (const ProblemKind problem : kProblemKinds) {
      if (!family->serves(problem)) continue;
      for (const Format& format : chosen_formats) {
        PlannedCase planned{
            {problem, std::string(family->name), 0, {{"format", std::string(info(format).name)}}}, format, {}};
        const auto takes = [&](const Kernel* kernel) { return kernel->problem == problem && kernel->supports(format); };
        if (std::none_of(plan.kernels.begin(), plan.kernels.end(), takes)) continue;
        const std::uint64_t count = family->cases(problem, seeds);
        require_seeds(first_seed, count);
        const auto formats = static_cast<std::uint64_t>(chosen_formats.size());
        const auto turn = static_cast<std::uint64_t>(&format - chosen_formats.data());
        for (std::uint64_t i = 0; i < count; ++i) {
          if (!family->draws(i, seeds, turn, formats)) continue;
          planned.spec.seed = first_seed + i;
          plan.cases.push_back(planned);
        }
      }
    }
  }
  return plan;
}

PlannedCase load_case(const std::string& text, std::map<std::string, std::string>* notes) {
  Case content;
  if (text.ends_with(".safetensors") || std::filesystem::exists(text)) {
    Witness witness = read_witness(text);
    content = std::move(witness.content);
    if (notes != nullptr) *notes = std::move(witness.notes);
  } else {
    content = make_case(parse_case_spec(text));
  }
  PlannedCase planned;
  planned.spec = content.spec;
  planned.spec.problem = kind_of(content.problem);  // the data decide, whatever the file says
  planned.format = format_of(content.problem);
  planned.data = std::make_shared<const Case>(std::move(content));
  return planned;
}

}  // namespace flashproof
