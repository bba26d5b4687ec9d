#include "kernels/simt/cpu/launch_target.h"

namespace flashproof::simt {
namespace {

thread_local LaunchTarget* current_target = nullptr;

}  // namespace

ScopedLaunchTarget::ScopedLaunchTarget(LaunchTarget& target) : outer_(current_target) { current_target = &target; }
ScopedLaunchTarget::~ScopedLaunchTarget() { current_target = outer_; }
LaunchTarget* ScopedLaunchTarget::current() { return current_target; }

}  // namespace flashproof::simt
