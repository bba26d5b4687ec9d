#include "kernels/ptx/runtime/copies.h"

#include <fmt/format.h>

#include <cstring>

namespace flashproof::cudart {
namespace {

/// From the first byte to the last one; nothing of an empty copy.
std::size_t extent(const char* what, std::size_t pitch, Rows rows) {
  if (rows.width == 0 || rows.height == 0) return 0;
  if (pitch < rows.width)
    throw Refused(invalid_value, fmt::format("{}: rows of {} bytes, {} apart", what, rows.width, pitch));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(pitch, rows.height - 1, &bytes) || __builtin_add_overflow(bytes, rows.width, &bytes))
    throw Refused(invalid_value, fmt::format("{}: {} rows, {} bytes apart", what, rows.height, pitch));
  return bytes;
}

void check(const Device& device, const char* what, const void* data, std::size_t bytes, bool is_device, bool is_any) {
  if (bytes == 0) return;
  const bool belongs = device.memory.is_of_device(data);
  if (!is_device && !(is_any && belongs)) {
    if (belongs)
      throw Refused(invalid_value, fmt::format("{} {} is memory of the device, not of the host", what, data));
    if (data == nullptr) throw Refused(invalid_value, fmt::format("{} is a null pointer", what));
    return;
  }
  if (device.memory.holding(data, bytes) != nullptr) return;
  const Allocation* holds = device.memory.holding(data, 0);
  const std::string known = device.memory.words(reinterpret_cast<std::uint64_t>(data));
  throw Refused(
      invalid_value,
      holds != nullptr
          ? fmt::format("{}: {} bytes at {}, which is byte {} of {}, {} bytes", what, bytes, data,
                        reinterpret_cast<std::uint64_t>(data) - holds->low, holds->name, holds->bytes)
          : fmt::format("{} {} is no memory of the device{}{}", what, data, known.empty() ? "" : ": ", known));
}

}  // namespace

void copy(Device& device, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Rows rows,
          int direction) {
  if (direction < 0 || direction > 4)
    throw Refused(invalid_direction, fmt::format("direction {}, legal: 0 to 4", direction));
  const auto way = static_cast<Direction>(direction);
  const bool is_any = way == Direction::any;
  check(device, "the destination", to, extent("the destination", to_pitch, rows),
        way == Direction::host_to_device || way == Direction::device_to_device, is_any);
  check(device, "the source", from, extent("the source", from_pitch, rows),
        way == Direction::device_to_host || way == Direction::device_to_device, is_any);
  if (rows.width == 0) return;
  const Opened opened(device.memory);
  for (std::size_t row = 0; row < rows.height; ++row) {
    std::memmove(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch,
                 rows.width);
  }
}

void fill(Device& device, void* to, std::size_t pitch, int value, Rows rows) {
  check(device, "the memory", to, extent("the memory", pitch, rows), true, false);
  if (rows.width == 0) return;
  const Opened opened(device.memory);
  for (std::size_t row = 0; row < rows.height; ++row)
    std::memset(static_cast<std::byte*>(to) + row * pitch, value, rows.width);
}

}  // namespace flashproof::cudart
