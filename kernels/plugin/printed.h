// What the process of a library prints, shown on stderr: text from outside, so line by line, with nothing in it that steers a terminal,
// and not without end. The library has neither the terminal nor the file that stderr is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reference/system/descriptor.h"

namespace flashproof {

class Printed {
 public:
  /// Throws InfrastructureError.
  Printed();

  /// For stdout and stderr of the process; to be closed here once it is started.
  Descriptor& theirs() { return theirs_; }
  /// To be waited for; -1 once the process has closed its ends.
  int ours() const { return ours_.get(); }
  /// Whatever is there by now.
  void show();
  /// The same, the rest of a line too: the call, or the process, has ended.
  void show_last();

 private:
  void take(std::string_view text);
  void end_line();

  Descriptor ours_, theirs_;
  std::string line_;
  std::size_t shown_ = 0;
};

}  // namespace flashproof
