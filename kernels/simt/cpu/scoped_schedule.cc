#include <string>
#include <utility>

#include "kernels/simt/cpu/executor.h"
#include "reference/system/error.h"

namespace flashproof::simt {
namespace {

ScopedSchedule* innermost = nullptr;
BlockFma matrix_unit = kHopperF16;

}  // namespace

ScopedSchedule::ScopedSchedule(Schedule schedule)
    : schedule_(std::move(schedule)), random_(schedule_.seed), accesses_left_(schedule_.preempt), outer_(innermost) {
  innermost = this;
}

ScopedSchedule::~ScopedSchedule() { innermost = outer_; }

ScopedSchedule* ScopedSchedule::current() { return innermost; }

// splitmix64 (Steele, Lea, Flood 2014): any seed will do, one addition and three xor-multiplies per number.
std::uint64_t ScopedSchedule::next_random() {
  random_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = random_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool ScopedSchedule::preempts() {
  if (schedule_.preempt == 0 || --accesses_left_ > 0) return false;
  accesses_left_ = 1 + next_random() % (2 * std::uint64_t{schedule_.preempt} - 1);
  return true;
}

bool ScopedSchedule::next_byte(std::uint8_t& byte) {
  if (used_ == schedule_.bytes.size()) return false;
  byte = schedule_.bytes[used_++];
  return true;
}

ScopedMatrixUnit::ScopedMatrixUnit(const BlockFma& unit) : outer_(matrix_unit) {
  if (unit.k != 8 && unit.k != 16) {
    throw UsageError("matrix unit: k = " + std::to_string(unit.k) + ", legal are 8 and 16");
  }
  matrix_unit = unit;
}

ScopedMatrixUnit::~ScopedMatrixUnit() { matrix_unit = outer_; }

const BlockFma& ScopedMatrixUnit::current() { return matrix_unit; }

}  // namespace flashproof::simt
