#include <utility>

#include "kernels/simt/executor.h"

namespace flashproof::simt {
namespace {

ScopedSchedule* innermost = nullptr;

}  // namespace

ScopedSchedule::ScopedSchedule(Schedule schedule)
    : schedule_(std::move(schedule)), random_(schedule_.seed), outer_(innermost) {
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

bool ScopedSchedule::next_byte(std::uint8_t& byte) {
  if (used_ == schedule_.bytes.size()) return false;
  byte = schedule_.bytes[used_++];
  return true;
}

}  // namespace flashproof::simt
