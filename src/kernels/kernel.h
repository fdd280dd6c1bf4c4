// SPDX-License-Identifier: Apache-2.0
// The kernel interface: the only project header that an ISA file may include besides the .inc of
// its operation. Plain data only, because an inline function compiled for AVX-512 may become the
// copy that an old CPU runs (docs/kernels.md). All kernels: no allocation, no exceptions, no
// reads or writes outside the ranges stated, any alignment, safe from any number of threads.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/sizes.h"

namespace bittern::kernels {

/// A vector of more than 8 bits has two digits: q = kDigitBase * high + low. The largest |q| of 16
/// bits has digits of 127; of 10 bits, a group's sum fits into 16.
constexpr int32_t kDigitBase = 255, kMost16Bits = 32512, kMost10Bits = 511;

/// One of several vectors that meet a matrix whose scales differ along a row. GroupedArgs says how
/// long each field is. All vectors of a call have two digits, or none has.
struct GroupedToken {
  const int8_t* act;
  const int32_t* act_sums;
  const float* act_scales;
  float* out;
  const int8_t* low = nullptr;
};

/// A ternary matrix whose scales differ along a row, times one vector. Groups have 64
/// columns (kGroupCols); a weight scale covers one or two of them.
struct GroupedArgs {
  const uint8_t* tiles;  ///< num_tiles * num_blocks * 512 bytes
  size_t num_tiles, num_blocks;
  const float* weight_scales;  ///< [tile][block][scales_per_block][16 rows]
  size_t scales_per_block;     ///< 1 (128 columns each) or 2 (64)
  const int8_t* act;           ///< groups of four activations (high digits), act_stride bytes apart
  size_t act_stride;           ///< 4: a plain vector; 32: one token of a panel
  const int32_t* act_sums;     ///< [num_blocks * 2]: sum of each group's activations q
  const float* act_scales;     ///< [num_blocks * 2]: what one step of a group is worth
  float* out;                  ///< [num_tiles * 16]
  const int8_t* low;           ///< null, or the low digits, which lie as `act` does
                               ///< (FloatOps::quantize_digits)
};

/// A matrix whose scales differ along a row, times several vectors: as GroupedArgs says.
struct GroupedGemmArgs {
  const uint8_t* tiles;
  size_t num_tiles, num_blocks;
  const float* weight_scales;
  size_t scales_per_block, act_stride;
  const GroupedToken* tokens;
  size_t num_tokens;  ///< at least one
  uint8_t* scratch;   ///< kGemmTiles * num_blocks * 2048 bytes
};

/// A few int8 vectors times a ternary matrix.
struct FewArgs {
  const uint8_t* tiles;  ///< num_tiles * num_blocks * 512 bytes in Tile16, 1280 in Tile48
  size_t num_tiles, num_blocks;
  const int8_t* acts;  ///< num_tokens vectors of num_blocks * 128, act_stride bytes apart
  size_t act_stride, num_tokens;
  const int32_t* act_sums;  ///< [num_tokens]: sum of each vector
  int32_t* out;             ///< of token i and row r of tile t: out[i * out_stride + rows of a tile
                            ///< * t + r] = sum over c of (code - 1) * act[c]
  size_t out_stride;
};

/// Ternary matrix times int8 vectors, exact in int32. Weights are Tile16
/// (quant/layouts/tile16.hpp). |sum| <= cols * 128, so int32 holds every cols < 2^24.
struct Tile16Ops {
  /// Tiles as they are stored, unpacked once for several vectors.
  void (*gemv)(const FewArgs* args);

  /// out[token * out_stride + 16 t + r] = sum over c of (code - 1) * act[c], for many vectors:
  /// panels: ceil(num_tokens / 8) panels of int8[num_blocks * 32][8 tokens][4 columns], the
  /// unused tokens of the last panel zero. act_sums: int32[num_tokens].
  /// num_tiles: 1..kGemmTiles. scratch: kGemmTiles * num_blocks * 2048 bytes.
  void (*gemm)(const uint8_t* tiles, size_t num_tiles, size_t num_blocks, const int8_t* panels,
               const int32_t* act_sums, size_t num_tokens, int32_t* out, size_t out_stride,
               uint8_t* scratch);

  /// out[16 t + r] = sum over the groups, first to last, of
  /// (float(sum of (code - 1) * q) * weight scale) * act scale. q is act, or kDigitBase * act +
  /// low. Each operation rounds once, none is fused; floats hold the inner sum: 64 * 32512 < 2^24.
  void (*gemv_grouped)(const GroupedArgs* args);

  /// The same for every token; weights are unpacked once for several of them.
  void (*gemm_grouped)(const GroupedGemmArgs* args);
};

/// A ternary matrix times up to kVlutTokens int8 vectors, by tables.
struct VlutArgs {
  const uint8_t* tiles;  ///< Tile16: num_tiles * num_blocks * 512 bytes, codes 0..2
  size_t num_tiles, num_blocks;
  const int8_t* panels;  ///< as Tile16Ops::gemm has them; values in -127..127
  size_t num_tokens;     ///< 1..kVlutTokens
  int32_t* out;          ///< out[token * out_stride + 16 t + r] = sum over c of (code - 1) * act[c]
  size_t out_stride;
  uint8_t* scratch;  ///< VlutScratch(num_tiles) bytes, aligned to 4; fastest at 64
};

/// A ternary matrix whose scales differ along a row, times up to kVlutTokens int8 vectors, by
/// tables. GroupedArgs says how long each field is.
struct GroupedVlutArgs {
  const uint8_t* tiles;
  size_t num_tiles, num_blocks;
  const float* weight_scales;
  size_t scales_per_block;
  const int8_t* panels;     ///< as VlutArgs has them
  const float* act_scales;  ///< [num_tokens / digits], act_scales_stride apart
  size_t act_scales_stride;
  size_t num_tokens;  ///< vectors: 1..kVlutTokens, of joined ones 2 * kVlutTokens
  size_t digits;      ///< of a token: 1, or 2 vectors, the high digits first
  bool joined;        ///< two digits whose |q| <= kMost10Bits: one lane takes both
  float* out;         ///< [num_tokens / digits] out_stride apart, as Tile16Ops::gemv_grouped says
  size_t out_stride;
  uint8_t* scratch;  ///< VlutScratch(num_tiles) bytes, aligned to 4; fastest at 64
};

/// Ternary matrices without multiplications: a table holds all 81 sums of four activations, each
/// sum a vector with a lane a token, so a byte of weights is one load and one addition for all
/// tokens. (Vec-LUT, arXiv:2512.06443.) Exact in int32 for cols < 2^24.
struct VlutOps {
  void (*gemm)(const VlutArgs* args);
  /// Rounded as Tile16Ops::gemv_grouped says.
  void (*gemm_grouped)(const GroupedVlutArgs* args);
  /// Speed beside Tile16Ops::gemm and gemm_grouped of the same instruction set, for many rows and
  /// tokens, where it was not measured (kernels_bench: vlut/32, gemm/512; grouped_vlut/32,
  /// grouped_gemm/128).
  float gain, grouped_gain;
};

/// Ternary matrix times int8 vectors from Tile48 (quant/layouts/tile48.hpp), which is smaller than
/// Tile16 and takes more arithmetic. Exact in int32 for cols < 2^18.
struct Tile48Ops {
  void (*gemv)(const FewArgs* args);
  /// One tile as three of Tile16, num_blocks * 512 bytes each, for batches.
  void (*to_tile16)(const uint8_t* tile, size_t num_blocks, uint8_t* tiles16);
  /// As Tile16Ops::gemm_grouped, with num_tiles tiles of 48 rows: `out` has 48 floats of each. The
  /// scales are those of the tiles that to_tile16 makes, so of three times as many. No scratch.
  void (*gemm_grouped)(const GroupedGemmArgs* args);
  /// The most tokens (a digit is one) for which that is faster than to_tile16 and Tile16's kernels.
  size_t most_grouped;
};

/// Ternary matrix times int8 vector by tables: the sums that two (tl1) or three (tl2) activations
/// can make are looked up instead of multiplied. Layout: quant/layouts/lut32.hpp. Exact in int32
/// for cols < 2^23.
struct LutOps {
  /// The tables of one vector. act: int8[num_steps * step columns], any values; tables:
  /// num_steps * kTl1TableBytes or kTl2TableBytes.
  void (*build)(const int8_t* act, size_t num_steps, uint8_t* tables);
  /// out[32 t + r] = sum over c of (code - 1) * act[c]. tiles: num_tiles * num_steps steps.
  void (*gemv)(const uint8_t* tiles, size_t num_tiles, size_t num_steps, const uint8_t* tables,
               int32_t* out);
};

/// A vector of 16-bit integers, given as 256 * high + low, times a coarse copy of a float matrix.
struct ScanArgs {
  const uint8_t* tiles;       ///< num_tiles * cols * 8 bytes
  size_t num_tiles, cols;     ///< cols: a multiple of 512, below 2^16
  const int8_t *high, *low;   ///< [cols], zero past the columns of the matrix
  int32_t high_sum, low_sum;  ///< of all elements
  const float* steps;         ///< [num_tiles * 16]: of the rows
  float factor;               ///< of every estimate
  float* estimates;           ///< [num_tiles * 16]: (256 h + l) * (factor * step), where
                              ///< h = 2 * sum of nibble * high - 15 * high_sum, l likewise
  float* best;                ///< [num_tiles]: the largest estimate of each tile
};

/// The fifth bit of the rows of some tiles: what it adds to their estimates.
struct BitScanArgs {
  const uint8_t* tiles;  ///< of all tiles, cols * 2 bytes each
  size_t cols;           ///< a multiple of 512, below 2^16
  const uint32_t* live;  ///< numbers of the tiles to look at
  size_t count;
  const int8_t* high;  ///< [cols]
  int32_t high_sum;
  const float* steps;  ///< of all rows
  float factor;        ///< of everything that is added
  float* estimates;    ///< of all rows: += (2 * sum of bit * high - high_sum) * (factor * step)
};

/// Several int8 vectors times the first five bits of the rows of some tiles.
struct FiveScanArgs {
  const uint8_t *nibbles, *bits;  ///< num_tiles * cols * 8 and * 2 bytes
  size_t num_tiles, cols;         ///< cols: a multiple of 512, below 2^16
  const int8_t* acts;             ///< [cols / 4][num_vectors][4]: values of -127..127
  size_t num_vectors;             ///< 4, 8 or 16
  int32_t* sums;                  ///< [num_tiles][num_vectors][16]: sum over c of
                                  ///< (2 * nibble + bit) * act[c]
};

/// Which rows may reach a threshold: estimate + rest * size + norm * rest_size + step * step_size +
/// floor >= threshold (rounded as it may be; a bound made of it leaves room for that).
struct SurvivorArgs {
  const float *estimates, *rests, *norms, *steps;  ///< [count]
  size_t count;
  float size, rest_size, step_size, floor, threshold;
  uint32_t first;  ///< id of the first row
  uint32_t* ids;   ///< [count + 16]: survivors, ascending; what follows them is overwritten too
};

/// A coarse copy of a float matrix in bit planes (quant/layouts/screen_planes.hpp), times one
/// vector.
struct ScreenOps {
  void (*scan)(const ScanArgs* args);
  /// As `scan` of each of args[0..count): vectors that meet the same tiles (tiles, num_tiles, cols
  /// and steps are those of the first; estimates and best are of their own).
  void (*scan_several)(const ScanArgs* args, size_t count);
  void (*scan_bits)(const BitScanArgs* args);
  void (*scan_five)(const FiveScanArgs* args);
  /// How many survive.
  size_t (*survivors)(const SurvivorArgs* args);
  /// Sum over c of pair (0..3) * high[c]. pairs: cols / 4 bytes.
  int32_t (*dot_pairs)(const uint8_t* pairs, size_t cols, const int8_t* high);
};

/// Whether the rows of a call were read lately: none, some or all of them. It changes the speed,
/// not the result.
enum class From : uint8_t { kMemory, kBoth, kCache };

/// An int8 vector times chosen rows of a ternary matrix.
struct RowArgs {
  const uint8_t* rows;  ///< num_blocks * 32 bytes each
  size_t num_blocks;
  const uint32_t* live;  ///< [count]: numbers of rows
  size_t count;
  const int8_t* act;  ///< as SparseOps::order_acts leaves it
  int32_t act_sum;    ///< its sum
  From from;          ///< where the rows are
  int32_t* out;       ///< [count]: sum over c of (code - 1) * act[c], of row live[i]
};

/// Vectors of SparseOps::gemv_shared_rows at most.
inline constexpr size_t kRowVectors = 8;

/// A few int8 vectors, each times the rows of a ternary matrix that it has chosen.
struct SharedRowArgs {
  const uint8_t* rows;  ///< num_blocks * 32 bytes each
  size_t num_blocks, num_rows;
  const uint8_t* chosen;  ///< [num_rows]: bit v of a row is set where vector v has chosen it
  const int8_t* acts;     ///< vectors as SparseOps::order_acts leaves them, act_stride bytes apart
  size_t act_stride, out_stride;
  const int32_t* act_sums;  ///< their sums
  From from;                ///< where the rows are
  int32_t* out;  ///< [vector][row], out_stride apart: as RowArgs::out where chosen, else left alone
};

/// A few int8 vectors times chosen columns of a ternary matrix.
struct ColumnArgs {
  const uint8_t* columns;  ///< num_panels * 64 bytes each
  size_t num_panels;
  const uint32_t* live;  ///< [count]: numbers of columns
  size_t count;
  const int8_t* acts;  ///< num_tokens vectors, act_stride bytes apart
  size_t act_stride, num_tokens;
  int32_t* sums;  ///< [num_tokens][num_panels * 256]: of row r, sum over i of code(r, live[i]) *
                  ///< act[live[i]]: of codes, so the sum of `act` is still to be taken away
};

/// Ternary matrix times int8 vector, leaving out what is known to be zero; and the way from those
/// layouts (quant/layouts/skip_layouts.hpp) to Tile16 for batches. Exact in int32 for cols < 2^17.
struct SparseOps {
  void (*gemv_rows)(const RowArgs* args);
  /// A vector for gemv_rows. act: num_blocks * 128 bytes; ordered: OrderedActs(num_blocks).
  void (*order_acts)(const int8_t* act, size_t num_blocks, int8_t* ordered);
  void (*gemv_shared_rows)(const SharedRowArgs* args);
  void (*gemv_columns)(const ColumnArgs* args);
  /// Numbers of the elements of x[size] that are not zero, ascending; how many. found: [size + 16],
  /// what follows them is overwritten too.
  size_t (*find_nonzero)(const int8_t* x, size_t size, uint32_t* found);
  /// The same of floats above zero (a NaN is not), counted from `first`.
  size_t (*find_positive)(const float* x, size_t size, uint32_t first, uint32_t* found);
  /// The Tile16 tile of 16 rows. tile: num_blocks * 512 bytes.
  void (*tile_of_rows)(const uint8_t* rows, size_t num_blocks, uint8_t* tile);
  /// The 16 tiles of one panel, one after the other. panel: its line of the first column.
  void (*tiles_of_columns)(const uint8_t* panel, size_t column_bytes, size_t num_blocks,
                           uint8_t* tiles);
  /// How many times as much a multiply-add costs as in Tile16Ops::gemm, with all operands in the
  /// cache: in gemv_rows or gemv_shared_rows, whichever is faster, and in gemv_columns of one panel
  /// and token. Measured by kernels_bench (rows_in_cache, shared_rows, panel, gemm/512).
  float row_cost, column_cost;
  /// The most tokens for which gemv_shared_rows is faster than gemv_rows of each; 0: for none.
  size_t shared_tokens;
};

/// The type of a KV cache's elements.
enum class KvElement : uint8_t { kF16, kF32, kI8 };

/// An attention call: the query heads that read one key-value head, of a few neighbouring tokens.
/// A row is one query head of one token; row (t, q) is number t * num_queries + q.
struct AttentionArgs {
  const float* queries;  ///< [num_tokens] query_stride apart: [num_queries][head_dim]
  float* out;            ///< [num_tokens] out_stride apart: [num_queries][head_dim]
  size_t query_stride, out_stride;
  const void* keys;                        ///< [positions / 16][head_dim][16] elements
  const void* values;                      ///< [positions][padded_head_dim] elements; padded to 16
  const float *key_scales, *value_scales;  ///< [positions]: what a kI8 element is worth
  /// The index of position p in those four arrays: pages[p / kAttentionBlock] * kAttentionBlock + p
  /// % kAttentionBlock. Null: at p.
  const uint32_t* pages;
  float* scratch;                  ///< AttentionScratch floats
  size_t num_tokens, num_queries;  ///< at most AttentionRows(num_positions + num_tokens) rows
  size_t head_dim;
  size_t num_positions;  ///< token t attends to positions 0..num_positions + t - 1; all arrays hold
                         ///< whole blocks of 16 positions, finite beyond those
  size_t window;         ///< not 0: of those, only to the last `window`
  float scale;           ///< of the scores, 1 / sqrt(head_dim)
  KvElement element;
};

/// One token's step of a causal convolution, channel by channel, and SiLU:
/// out[c] = silu(sum over tap of rows[tap][c] * weights[tap][c]), taps in their order.
struct ConvArgs {
  const float* const* rows;  ///< [num_taps]: the inputs of the tokens before, and the token's own
  const float* weights;      ///< [num_taps][size]
  size_t num_taps, size;
  float* out;  ///< [size]; none of the rows
};

/// The gated delta rule of one head, token by token (arXiv:2412.06464, eq. 10):
///   S = decay * S;   S = S + k (rate * (v - S^T k))^T;   out = S^T q
struct DeltaArgs {
  float* state;                          ///< S: [key_dim][value_dim]
  const float *queries, *keys, *values;  ///< a token's, `stride` apart
  size_t stride;
  const float *decays, *rates;  ///< a token's, gate_stride apart
  size_t gate_stride;
  float* out;  ///< a token's [value_dim], out_stride apart
  size_t out_stride;
  size_t num_tokens, key_dim;
  size_t value_dim;  ///< a multiple of 16
};

/// A row of floats as 8-bit codes, and what its first 4, 5 and 7 bits lose: Euclidean norms in
/// float, each sum rounded n / 16 + 4 times (a bound made of them is widened by that).
struct ScreenRow {
  float step;                 ///< the row is about step * (code + 0.5), code in -128..127
  float norm;                 ///< of the row itself
  float rest4, rest5, rest7;  ///< of the row less step * (code with its last 4, 3, 1 bits halfway)
};

/// Scales exact sums to floats, for the rows of a matrix that some tokens met: out[token][row] =
/// float(sums[token][row]) / act_scales[token] * the row's scale.
struct RescaleArgs {
  const int32_t* sums;  ///< (num_tokens, num_rows), sums_stride apart
  size_t sums_stride, num_rows, num_tokens;
  const float* act_scales;  ///< (num_tokens)
  float weight_scale;       ///< of all rows, where row_scales is null
  const float* row_scales;  ///< (num_rows) or null
  float* out;               ///< (num_tokens, num_rows), out_stride apart; may be row_scales
  size_t out_stride;
};

/// Float operations under the numerics contract (docs/design/0001-numerics.md): sums run in 16
/// lanes (element i in lane i mod 16) closed by a fixed tree; multiply-adds written as one are
/// fused; so every ISA gives the same bits.
struct FloatOps {
  /// out[i] = x[i] / rms(x) * weight[i], rms = sqrt(mean(x^2) + eps); the mean is of `all` >= n
  /// elements, of which those that x lacks are zero. Nothing overflows on the way: finite x give
  /// finite out for |weight| <= 2^100. False, and out all zero, where some x is not finite or all x
  /// and eps are 0. out may be x.
  bool (*rms_norm)(const float* x, const float* weight, size_t n, size_t all, float eps,
                   float* out);
  /// Quantises one token to int8: s = 127 / max(|x|max, 1e-5), q = round half even(x * s),
  /// clamped to [-127, 127]. Returns s; *sum = sum of q. (b1.58, arXiv:2402.17764, sec. 2)
  /// Where some x is not finite: returns 0, which s never is, and every q is 0.
  float (*quantize_absmax)(const float* x, size_t n, int8_t* q, int32_t* sum);
  /// The same to two digits: q = round half even(x * s) = kDigitBase high + low, all digits in
  /// [-127, 127], where s = most / max(|x|max, 1e-5) and most <= kMost16Bits. *sum: of q.
  float (*quantize_digits)(const float* x, size_t n, int32_t most, int8_t* high, int8_t* low,
                           int32_t* sum);
  /// As RescaleArgs says, for every token and row.
  void (*rescale)(const RescaleArgs* args);
  /// x[i] += y[i].
  void (*add)(float* x, const float* y, size_t n);
  /// out[i] = max(gate[i], 0)^2 * up[i] + 0 (so never -0). out may be gate or up.
  void (*relu2_mul)(const float* gate, const float* up, size_t n, float* out);
  /// out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]. out may be gate or up.
  void (*silu_mul)(const float* gate, const float* up, size_t n, float* out);
  /// out[i] = gate[i] / (1 + exp(-z)) * up[i], z = 2 sqrt(2 / pi) (gate[i] + 0.044715 gate[i]^3):
  /// gelu with tanh, times up. out may be gate or up.
  void (*gelu_mul)(const float* gate, const float* up, size_t n, float* out);
  /// Rotates pairs (x[i], x[i + half]) by the angle whose cosine and sine are given; i < half.
  void (*rope)(float* x, const float* cosine, const float* sine, size_t half);
  /// Softmax attention of a few tokens over one key-value head: weights = softmax(q k^T scale),
  /// out = weights times values. With a half cache the weights are rounded to half too (and the
  /// caller rounds the queries), as in llama.cpp's f16 cache, so that both can be compared. A score
  /// that is not finite makes its row's out NaN.
  void (*attention)(const AttentionArgs* args);
  /// Its three steps, for positions that are split over threads. The scores of positions
  /// [begin, end), multiples of 16: row r's at scores + r * stride + position.
  void (*attention_scores)(const AttentionArgs* args, size_t begin, size_t end, float* scores,
                           size_t stride);
  /// Scores of one row to weights, for num_positions positions.
  void (*attention_weights)(const AttentionArgs* args, size_t num_positions, float* scores);
  /// mix[row][padded head_dim] = weights times values of positions [begin, end): begin a multiple
  /// of kAttentionBlock, end a multiple of 16 and at most kAttentionBlock more.
  void (*attention_mix)(const AttentionArgs* args, const float* weights, size_t stride,
                        size_t begin, size_t end, float* mix);
  /// Binary16 with rounding to nearest even, saturated to +-65504 (so a cache stays finite).
  void (*store_half)(const float* x, size_t n, uint16_t* out);
  /// x[i] rounded to binary16 as by store_half, and back.
  void (*round_half)(float* x, size_t n);
  /// out[r] = dot(row r, x), rows contiguous, of n elements each.
  void (*dot_f32)(const float* rows, size_t num_rows, size_t n, const float* x, float* out);
  void (*dot_f16)(const uint16_t* rows, size_t num_rows, size_t n, const float* x, float* out);
  void (*dot_bf16)(const uint16_t* rows, size_t num_rows, size_t n, const float* x, float* out);
  /// Codes for the screened head (model/screened_head.hpp): the step is 2.5 to 20 times the
  /// root mean square of the row, whatever loses least at five bits, over 127.5; what lies outside
  /// is clamped, and its loss counted.
  void (*screen_row)(const float* x, size_t n, int8_t* codes, ScreenRow* out);
  /// Binary16 to float.
  void (*widen_half)(const uint16_t* x, size_t n, float* out);
  /// out[i] = exp(x[i]), 0 below -87.3; exposed for tests.
  void (*exp)(const float* x, size_t n, float* out);
  /// out[i] = x[i] / (1 + exp(-gate[i])). out may be gate or x.
  void (*sigmoid_mul)(const float* gate, const float* x, size_t n, float* out);
  /// As ConvArgs says.
  void (*conv_silu)(const ConvArgs* args);
  /// As DeltaArgs says, for every token.
  void (*delta_rule)(const DeltaArgs* args);
  /// out = H (x * weights), H the Walsh-Hadamard matrix of each `block` elements: a power of two,
  /// at least 16, of which n is a multiple. out may be x.
  void (*hadamard)(const float* x, const float* weights, size_t n, size_t block, float* out);
  /// out = (H x) * weights, which undoes that for weights whose products with each other's are
  /// 1 / block.
  void (*hadamard_inverse)(const float* x, const float* weights, size_t n, size_t block,
                           float* out);
};

/// A line of kernels.def: one operation on one instruction set. The table of that operation is set,
/// the others are null.
struct KernelInfo {
  const char* name;  ///< "tile16_avx2"
  Isa isa;
#define OPERATION(operation, Table, what) const Table* operation = nullptr;
#include "kernels/operations.def"
#undef OPERATION
};

}  // namespace bittern::kernels
