// Fat binaries made by hand, as fatbinary of CUDA 13 writes them: for machines without nvcc, and for damaged ones.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace flashproof::cudart {

enum class Packing : std::uint8_t { none, zstd, lz4 };

class Container {
 public:
  Container() : bytes_(16) {
    put(bytes_, 0, std::uint32_t{0xBA55ED50}), put(bytes_, 4, std::uint16_t{1}), put(bytes_, 6, std::uint16_t{16});
  }

  Container& ptx(std::uint32_t capability, std::string text, Packing packing = Packing::none) {
    text += '\0';
    std::vector<char> payload(text.begin(), text.end());
    if (packing == Packing::zstd) {
      payload.resize(ZSTD_compressBound(text.size()));
      payload.resize(ZSTD_compress(payload.data(), payload.size(), text.data(), text.size(), 3));
    }
    const std::uint64_t flag = packing == Packing::zstd ? 0x8000 : packing == Packing::lz4 ? 0x2000 : 0;
    return entry(1, capability, 0x11 | flag, packing == Packing::none ? 0 : payload.size(), text.size(), payload);
  }
  Container& cubin(std::uint32_t capability) { return entry(2, capability, 0x11, 0, 0, std::vector<char>(100, 'E')); }

  const std::vector<std::byte>& bytes() const { return bytes_; }

  template <class Number>
  static void put(std::vector<std::byte>& bytes, std::size_t at, Number number) {
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }

 private:
  Container& entry(std::uint16_t kind, std::uint32_t capability, std::uint64_t flags, std::size_t packed,
                   std::size_t unpacked, const std::vector<char>& payload) {
    constexpr std::size_t kHeader = 64;
    const std::size_t at = bytes_.size(), padded = (payload.size() + 7) / 8 * 8;
    bytes_.resize(at + kHeader + padded);
    put(bytes_, at, kind);
    put(bytes_, at + 2, std::uint16_t{0x101});
    put(bytes_, at + 4, std::uint32_t{kHeader});
    put(bytes_, at + 8, std::uint64_t{padded});
    put(bytes_, at + 16, static_cast<std::uint32_t>(packed));
    put(bytes_, at + 28, capability);
    put(bytes_, at + 40, flags);
    put(bytes_, at + 56, std::uint64_t{packed != 0 ? unpacked : 0});
    std::memcpy(bytes_.data() + at + kHeader, payload.data(), payload.size());
    put(bytes_, 8, std::uint64_t{bytes_.size() - 16});
    return *this;
  }

  std::vector<std::byte> bytes_;
};

}  // namespace flashproof::cudart
