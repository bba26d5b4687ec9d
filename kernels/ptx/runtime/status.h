// cudaError_t: the numbers that are returned here, with their names and words, and an exception that carries one.
#pragma once

#include <stdexcept>
#include <string>

namespace flashproof::cudart {

/// Numbered as cudaError_t is (driver_types.h of CUDA 13).
enum Status : int {
  success = 0,
  invalid_value = 1,
  memory_allocation = 2,
  invalid_configuration = 9,
  invalid_symbol = 13,
  invalid_direction = 21,
  invalid_device_function = 98,
  invalid_device = 101,
  no_kernel_image = 209,
  jit_compiler_not_found = 221,
  invalid_handle = 400,
  illegal_address = 700,
  assertion = 710,
  already_registered = 712,
  not_registered = 713,
  misaligned_address = 716,
  launch_failure = 719,
  not_supported = 801,
  unknown = 999
};

/// "cudaErrorIllegalAddress", and "an illegal memory access was encountered". Of every number of CUDA 13; else "unrecognized error code".
const char* name_of(int status);
const char* words_of(int status);

/// A call is refused: the status that it returns, and the line that is printed.
struct Refused : std::runtime_error {
  Refused(Status given, const std::string& words) : std::runtime_error(words), status(given) {}
  Status status;
};

}  // namespace flashproof::cudart
