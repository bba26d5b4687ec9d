// The numbers in det_math.h. c1, c2, … multiply r, r², … (f, f², … in the logarithms). Sollya's fpminimax
// found them (near-minimax under the condition that each is a float); kernels/simt/tools/det_coefficients.sollya prints
// them, with the error that the polynomials have before rounding.
#pragma once

namespace flashproof {

struct Exp2Coefficients {
  static constexpr float c1 = 0x1.62e43p-1f;
  static constexpr float c2 = 0x1.ebfbep-3f;
  static constexpr float c3 = 0x1.c6b06cp-5f;
  static constexpr float c4 = 0x1.3b2a54p-7f;
  static constexpr float c5 = 0x1.5da97ap-10f;
  static constexpr float c6 = 0x1.44175ep-13f;
  static constexpr float c7 = 0x1.da675cp-17f;
};

struct ExpCoefficients {
  static constexpr float log2_e = 0x1.715476p+0f;
  static constexpr float ln2_high = 0x1.62e43p-1f;
  static constexpr float ln2_low = -0x1.05c61p-29f;
  static constexpr float c2 = 0x1p-1f;
  static constexpr float c3 = 0x1.555556p-3f;
  static constexpr float c4 = 0x1.5555p-5f;
  static constexpr float c5 = 0x1.110fc2p-7f;
  static constexpr float c6 = 0x1.6d3074p-10f;
  static constexpr float c7 = 0x1.a2d982p-13f;
};

struct LogCoefficients {
  static constexpr float ln2_high = 0x1.62e43p-1f;
  static constexpr float ln2_low = -0x1.05c61p-29f;
  static constexpr float c2 = -0x1p-1f;
  static constexpr float c3 = 0x1.555556p-2f;
  static constexpr float c4 = -0x1.ffffb4p-3f;
  static constexpr float c5 = 0x1.999818p-3f;
  static constexpr float c6 = -0x1.55788ap-3f;
  static constexpr float c7 = 0x1.24e7e2p-3f;
  static constexpr float c8 = -0x1.f74baap-4f;
  static constexpr float c9 = 0x1.b9356ep-4f;
  static constexpr float c10 = -0x1.fd145ep-4f;
  static constexpr float c11 = 0x1.ea62c4p-4f;
};

struct Log2Coefficients {
  static constexpr float log2_e_high = 0x1.715476p+0f;
  static constexpr float log2_e_low = 0x1.4ae0cp-26f;
  static constexpr float c2 = -0x1.715476p-1f;
  static constexpr float c3 = 0x1.ec70a2p-2f;
  static constexpr float c4 = -0x1.715452p-2f;
  static constexpr float c5 = 0x1.277478p-2f;
  static constexpr float c6 = -0x1.eca8b4p-3f;
  static constexpr float c7 = 0x1.a6d538p-3f;
  static constexpr float c8 = -0x1.6a77eep-3f;
  static constexpr float c9 = 0x1.3b8c86p-3f;
  static constexpr float c10 = -0x1.728e7ep-3f;
  static constexpr float c11 = 0x1.6b73a4p-3f;
};

/// Of |x| below `kSwitch`.
struct TanhCoefficients {
  static constexpr float kSwitch = 0x1.2p-1f;
  static constexpr float c3 = -0x1.555554p-2f;
  static constexpr float c5 = 0x1.110fa8p-3f;
  static constexpr float c7 = -0x1.b98ebcp-5f;
  static constexpr float c9 = 0x1.5c59ep-6f;
  static constexpr float c11 = -0x1.ab9624p-8f;
};

}  // namespace flashproof
