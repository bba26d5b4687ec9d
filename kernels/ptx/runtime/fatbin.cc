#include "kernels/ptx/runtime/fatbin.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>
#include <optional>
#include <set>

#include "kernels/ptx/parse/module.h"
#include "reference/system/error.h"

namespace flashproof::cudart {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint16_t kPtx = 1, kCubin = 2;
constexpr std::size_t kHeaderBytes = 16, kLeastEntryBytes = 64;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000;

template <class Number>
Number number_at(Bytes bytes, std::size_t at) {
  if (at > bytes.size() || sizeof(Number) > bytes.size() - at)
    throw UsageError(fmt::format("the fat binary ends in the middle of a header, at byte {}", bytes.size()));
  Number number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// Where each number of an entry's header lies.
struct Image {
  std::uint16_t kind;
  std::uint32_t capability;
  std::uint64_t flags, unpacked_bytes;
  Bytes payload;
  std::size_t whole;  // header and padded payload
};

Image image_at(Bytes rest) {
  const std::uint64_t header = number_at<std::uint32_t>(rest, 4), padded = number_at<std::uint64_t>(rest, 8),
                      packed = number_at<std::uint32_t>(rest, 16), flags = number_at<std::uint64_t>(rest, 40);
  if (header < kLeastEntryBytes || header > rest.size() || padded > rest.size() - header || packed > padded) {
    throw UsageError(fmt::format("an entry of the fat binary has {} + {} bytes, {} of them used, where {} are left",
                                 header, padded, packed, rest.size()));
  }
  const std::uint64_t used = packed != 0 ? packed : padded;
  return {number_at<std::uint16_t>(rest, 0),
          number_at<std::uint32_t>(rest, 28),
          flags,
          number_at<std::uint64_t>(rest, 56),
          rest.subspan(header, used),
          static_cast<std::size_t>(header + padded)};
}

std::string unpacked(const Image& image) {
  if ((image.flags & kLz4) != 0)
    throw UsageError("the PTX of the fat binary is packed by LZ4: compile with -no-compress, or -compress-mode=size");
  const bool is_packed = (image.flags & kZstd) != 0;
  const std::uint64_t bytes = is_packed ? image.unpacked_bytes : image.payload.size();
  if (bytes > ptx::kMaxFileBytes)
    throw UsageError(
        fmt::format("the PTX of the fat binary has {} bytes, legal: at most {}", bytes, ptx::kMaxFileBytes));
  std::string text(bytes, '\0');
  if (is_packed) {
    const std::size_t made = ZSTD_decompress(text.data(), text.size(), image.payload.data(), image.payload.size());
    if (ZSTD_isError(made) != 0)
      throw UsageError(fmt::format("the PTX of the fat binary cannot be unpacked: {}", ZSTD_getErrorName(made)));
    text.resize(made);
  } else if (!text.empty()) {
    std::memcpy(text.data(), image.payload.data(), text.size());
  }
  text.resize(text.find_last_not_of('\0') + 1);  // it ends with one, and is padded with more
  return text;
}

[[noreturn]] void refuse_without(const std::set<std::uint32_t>& ptx, bool has_cubin, std::uint32_t capability) {
  std::string newer;
  for (const std::uint32_t one : ptx) newer += fmt::format("{}{}", newer.empty() ? "" : ", ", one);
  if (!newer.empty()) {
    throw UsageError(fmt::format(
        "the fat binary has PTX for compute_{} only, and this device runs compute_{} and older", newer, capability));
  }
  throw UsageError(fmt::format("the fat binary has {}no PTX: compile with -gencode arch=compute_{},code=compute_{}",
                               has_cubin ? "machine code (SASS) and " : "", capability, capability));
}

}  // namespace

std::string ptx_of(Bytes container, std::uint32_t capability) {
  if (number_at<std::uint32_t>(container, 0) != kMagic)
    throw UsageError("this is no fat binary: its first bytes differ");
  const std::size_t header = number_at<std::uint16_t>(container, 6);
  const std::uint64_t stated = number_at<std::uint64_t>(container, 8);
  if (header < kHeaderBytes || header > container.size() || stated > container.size() - header) {
    throw UsageError(fmt::format("the fat binary states {} + {} bytes and has {}", header, stated, container.size()));
  }
  std::optional<Image> best;
  std::set<std::uint32_t> too_new;
  bool has_cubin = false;
  for (Bytes rest = container.subspan(header, stated); !rest.empty();) {
    const Image image = image_at(rest);
    rest = rest.subspan(image.whole);
    has_cubin |= image.kind == kCubin;
    if (image.kind != kPtx) continue;
    if (image.capability > capability)
      too_new.insert(image.capability);
    else if (!best || image.capability > best->capability)
      best = image;
  }
  if (!best) refuse_without(too_new, has_cubin, capability);
  return unpacked(*best);
}

Bytes container_at(const void* address) {
  const Bytes header(static_cast<const std::byte*>(address), kHeaderBytes);
  if (number_at<std::uint32_t>(header, 0) != kMagic) throw UsageError("this is no fat binary: its first bytes differ");
  const std::uint64_t stated = number_at<std::uint64_t>(header, 8);
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;  // what a program's addresses reach
  if (stated > kMost) throw UsageError(fmt::format("the fat binary states {} bytes, legal: at most {}", stated, kMost));
  return {static_cast<const std::byte*>(address),
          number_at<std::uint16_t>(header, 6) + static_cast<std::size_t>(stated)};
}

}  // namespace flashproof::cudart
