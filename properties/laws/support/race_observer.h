// How the law no_race looks at a kernel. Only a program that links the kernels a second time, built for the race shadow, has
// an observer; in others the law is unsupported.
#pragma once

#include "kernels/run/observe.h"

namespace flashproof {

using RaceObserver = Observation (*)(const Kernel& kernel, const Problem& problem, const ObserveOptions& options);

/// set_race_observer(observe), before the first law is asked.
void set_race_observer(RaceObserver observer);

}  // namespace flashproof
