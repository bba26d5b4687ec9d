// What a sweep runs: the cross product families × problems × formats × seeds as a list of cases, and for each case the
// steps (kernel, executor). Plain data, built before any worker starts, so that every process sees the same list.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/simt/cpu/schedule.h"
#include "reference/problem/case.h"

namespace flashproof {

struct Kernel;
struct Family;

enum class SweepTier : std::uint8_t { quick, standard, nightly };
std::string_view name(SweepTier tier);
/// Seeds per (family, problem, format). The family chunk_order takes every order of 2, 3 and 4 chunks within 36
/// consecutive seeds; the nightly's 200 contain them.
std::uint64_t seeds_of(SweepTier tier);

/// Throws UsageError where the seeds first .. first + count − 1 would not be 64-bit numbers: a record tells its cases apart
/// by them.
void require_seeds(std::uint64_t first, std::uint64_t count);

/// Globs; an empty list selects everything.
struct Filters {
  std::vector<std::string> kernels, families, formats;
};

/// A recipe; a witness carries its data, too.
struct PlannedCase {
  CaseSpec spec;
  Format format = Format::f32;
  std::shared_ptr<const Case> data;
};

struct Step {
  const Kernel* kernel = nullptr;
  Executor executor = Executor::cpu;
};

struct Plan {
  std::vector<const Kernel*> kernels;                 // id order; with native math det before native
  std::vector<std::shared_ptr<const Kernel>> native;  // those of them that are no kernels of the registry
  std::vector<Executor> executors;
  std::vector<PlannedCase> cases;
  simt::Schedule schedule;

  /// Every selected kernel of the case's problem that has its format, on every executor it was built for.
  std::vector<Step> steps(std::size_t case_index) const;
  /// Throws UsageError if the family refuses the recipe.
  Case make(std::size_t case_index) const;
};

/// Seeds first_seed .. first_seed + seeds_of(tier) − 1. Throws UsageError for a glob that matches nothing.
Plan make_plan(const Filters& filters, SweepTier tier, std::uint64_t first_seed, std::vector<Executor> executors);

/// The same with this many seeds.
Plan make_plan(const Filters& filters, std::uint64_t seeds, std::uint64_t first_seed, std::vector<Executor> executors);

/// The storage formats that the globs select. Throws UsageError for a glob that matches nothing.
std::vector<Format> select_formats(const std::vector<std::string>& globs);

/// One case, given as the path of a .safetensors file or as a case line.
PlannedCase load_case(const std::string& text, std::map<std::string, std::string>* notes = nullptr);

/// Of every problem. A pattern means the seeded faults if it says "broken", or if it fits nothing else. Throws UsageError for
/// a glob that matches nothing.
std::vector<const Kernel*> select_kernels(const std::vector<std::string>& globs);
/// Throws UsageError for a glob that matches nothing.
std::vector<const Family*> select_families(const std::vector<std::string>& globs);

}  // namespace flashproof
