// SPDX-License-Identifier: Apache-2.0
// The inner loops of training on a CPU with AVX-512 VNNI: fast.py compiles and calls them; model.py
// has the plain PyTorch form of each, which train/fast_test.py compares with.
//
// Products with rounded weights are done in int8: activations are int8 already, and so are, per row
// and for the gradient of the input only, the gradients. Products for the gradient of a weight and
// attention are float32, by OpenBLAS.
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kRow = 101, kNo = 111, kYes = 112 };  // CBLAS: row-major, plain, transposed
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a,
                 int lda, const float* b, int ldb, float beta, float* c, int ldc);

enum { kRows = 12, kPanel = 32 };

// codes + 1 of w [n, k] into panels of 32 rows, four codes of a row together; returns the scale.
// With `across` the transpose is packed: its rows are the columns of w.
void pack(const float* w, int n, int k, float scale, int across, uint8_t* out) {
  const float inverse = 1.0f / scale;
  uint8_t* codes = malloc((size_t)n * k);
  for (size_t i = 0; i < (size_t)n * k; i++) {
    float c = nearbyintf(w[i] * inverse);
    codes[i] = (uint8_t)((c > 1 ? 1 : c < -1 ? -1 : c) + 1.0f);
  }
  const int rows = across ? k : n, inner = across ? n : k;
  for (int p = 0; p < rows; p += kPanel) {
    for (int i = 0; i < inner; i += 4) {
      for (int r = 0; r < kPanel; r++) {
        for (int j = 0; j < 4; j++) {
          *out++ = across ? codes[(size_t)(i + j) * k + p + r] : codes[(size_t)(p + r) * k + i + j];
        }
      }
    }
  }
  free(codes);
}

float mean_abs(const float* w, long n) {
  double sum = 0;
  for (long i = 0; i < n; i += 1024) {
    float part = 0;
    const long end = i + 1024 < n ? i + 1024 : n;
    for (long j = i; j < end; j++) part += fabsf(w[j]);
    sum += part;
  }
  const float mean = (float)(sum / n);
  return mean < 1e-5f ? 1e-5f : mean;
}

// c [m, n] = a [m, k] (int8, rows scaled by scales) times the packed matrix. a has room for whole
// blocks of 12 rows; sums are those of its rows.
void product(const int8_t* a, const float* scales, const int32_t* sums, const uint8_t* packed,
             float scale, int m, int n, int k, float* c, int ldc) {
  for (int p = 0; p < n; p += kPanel) {
    const uint8_t* b = packed + (size_t)p * k;
    for (int r = 0; r < m; r += kRows) {
      __m512i s[kRows][2];
      for (int i = 0; i < kRows; i++) s[i][0] = s[i][1] = _mm512_setzero_si512();
      const int8_t* rows = a + (size_t)r * k;
      for (int j = 0; j < k; j += 4) {
        const __m512i b0 = _mm512_loadu_si512(b + (size_t)j * kPanel);
        const __m512i b1 = _mm512_loadu_si512(b + (size_t)j * kPanel + 64);
#pragma GCC unroll 12
        for (int i = 0; i < kRows; i++) {
          const __m512i x = _mm512_set1_epi32(*(const int32_t*)(rows + (size_t)i * k + j));
          s[i][0] = _mm512_dpbusd_epi32(s[i][0], b0, x);
          s[i][1] = _mm512_dpbusd_epi32(s[i][1], b1, x);
        }
      }
      const int left = m - r < kRows ? m - r : kRows;
#pragma GCC unroll 12
      for (int i = 0; i < kRows; i++) {
        if (i >= left) break;
        const __m512i sum = _mm512_set1_epi32(sums[r + i]);
        const __m512 f = _mm512_set1_ps(scales[r + i] * scale);
        float* to = c + (size_t)(r + i) * ldc + p;
        _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(s[i][0], sum)), f));
        _mm512_storeu_ps(to + 16,
                         _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(s[i][1], sum)), f));
      }
    }
  }
}

// One row to int8 by its largest absolute value; returns the sum of the codes.
static int32_t round_row(const float* x, int n, int8_t* q, float* scale) {
  float most = 1e-5f;
  for (int i = 0; i < n; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
  const float f = 127.0f / most;
  *scale = most / 127.0f;
  int32_t sum = 0;
  for (int i = 0; i < n; i++) {
    const int32_t c = (int32_t)nearbyintf(x[i] * f);
    q[i] = (int8_t)c;
    sum += c;
  }
  return sum;
}

// Gradients to int8: the smallest ones matter as a sum only, so there is no floor but zero.
void round_rows(const float* x, int m, int n, int8_t* q, float* scales, int32_t* sums) {
  for (int r = 0; r < m; r++) {
    const float* row = x + (size_t)r * n;
    float most = 1e-30f;
    for (int i = 0; i < n; i++) most = fabsf(row[i]) > most ? fabsf(row[i]) : most;
    const float f = 127.0f / most;
    scales[r] = most / 127.0f;
    int32_t sum = 0;
    for (int i = 0; i < n; i++) {
      const int32_t c = (int32_t)nearbyintf(row[i] * f);
      q[(size_t)r * n + i] = (int8_t)c;
      sum += c;
    }
    sums[r] = sum;
  }
}

void unround_rows(const int8_t* q, const float* scales, int m, int n, float* x) {
  for (int r = 0; r < m; r++) {
    const float f = scales[r];
    for (int i = 0; i < n; i++) x[(size_t)r * n + i] = f * (float)q[(size_t)r * n + i];
  }
}

static float squares(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}

// gate and up [m, 2n] -> relu(gate)^2 * up of one row.
static void gate_row(const float* x, int n, float* y) {
  for (int i = 0; i < n; i++) {
    const float g = x[i] > 0 ? x[i] : 0;
    y[i] = g * g * x[n + i];
  }
}

// RMSNorm with weight, then int8. With `gated` x is [m, 2n], gate and up.
void norm(const float* x, const float* weight, float eps, int m, int n, int gated, int8_t* q,
          float* scales, int32_t* sums, float* inverses) {
  float* y = malloc(sizeof(float) * n * 2);
  for (int r = 0; r < m; r++) {
    const float* row = x + (size_t)r * n * (gated ? 2 : 1);
    if (gated) {
      gate_row(row, n, y + n);
      row = y + n;
    }
    const float inverse = 1.0f / sqrtf(squares(row, n) / n + eps);
    for (int i = 0; i < n; i++) y[i] = row[i] * inverse * weight[i];
    inverses[r] = inverse;
    sums[r] = round_row(y, n, q + (size_t)r * n, scales + r);
  }
  free(y);
}

// Its gradient: dy [m, n] -> dx (same shape as x), dweight [n] (added to).
void norm_back(const float* dy, const float* x, const float* weight, const float* inverses, int m,
               int n, int gated, float* dx, float* dweight) {
  float* y = malloc(sizeof(float) * n * 2);
  for (int r = 0; r < m; r++) {
    const float* in = x + (size_t)r * n * (gated ? 2 : 1);
    const float* row = in;
    if (gated) {
      gate_row(in, n, y + n);
      row = y + n;
    }
    const float* d = dy + (size_t)r * n;
    const float inverse = inverses[r];
    float dot = 0;
    for (int i = 0; i < n; i++) {
      const float unit = row[i] * inverse;
      dweight[i] += d[i] * unit;
      dot += d[i] * unit * weight[i];
    }
    dot /= n;
    if (!gated) {
      float* out = dx + (size_t)r * n;
      for (int i = 0; i < n; i++) out[i] = (d[i] * weight[i] - row[i] * inverse * dot) * inverse;
      continue;
    }
    float* out = dx + (size_t)r * n * 2;
    for (int i = 0; i < n; i++) {
      const float df = (d[i] * weight[i] - row[i] * inverse * dot) * inverse;
      const float g = in[i] > 0 ? in[i] : 0;
      out[i] = df * 2 * g * in[n + i];
      out[n + i] = df * g * g;
    }
  }
  free(y);
}

// Rotates q and k of qkv [m, (heads + 2 * kv) * d] in place; back turns the other way.
void rotate(float* qkv, const int32_t* positions, const float* cosines, const float* sines, int m,
            int turned, int stride, int d, int back) {
  const int half = d / 2;
  for (int r = 0; r < m; r++) {
    const float* c = cosines + (size_t)positions[r] * half;
    const float* s = sines + (size_t)positions[r] * half;
    for (int h = 0; h < turned; h++) {
      float* x = qkv + (size_t)r * stride + h * d;
      for (int i = 0; i < half; i++) {
        const float a = x[i], b = x[half + i], sine = back ? -s[i] : s[i];
        x[i] = a * c[i] - b * sine;
        x[half + i] = b * c[i] + a * sine;
      }
    }
  }
}

enum { kBlock = 64 };

static inline __m512 exp16(__m512 x) {
  x = _mm512_max_ps(x, _mm512_set1_ps(-87.0f));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693145752f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(1.42860677e-6f), r);
  __m512 p = _mm512_set1_ps(1.0f / 720);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

// Probabilities of `rows` queries, the first of which sees first + 1 keys; s [rows, keys].
static void softmax(float* s, int rows, int keys, int first, float scale) {
  for (int r = 0; r < rows; r++) {
    float* x = s + (size_t)r * keys;
    const int seen = first + r + 1;
    __m512 most = _mm512_set1_ps(-1e30f), sum = _mm512_setzero_ps();
    for (int i = 0; i < seen; i += 16) {
      const __mmask16 m = seen - i >= 16 ? 0xFFFF : (__mmask16)((1u << (seen - i)) - 1);
      most = _mm512_mask_max_ps(most, m, most, _mm512_maskz_loadu_ps(m, x + i));
    }
    const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(most) * scale);
    for (int i = 0; i < seen; i += 16) {
      const __mmask16 m = seen - i >= 16 ? 0xFFFF : (__mmask16)((1u << (seen - i)) - 1);
      const __m512 e = exp16(
          _mm512_fmsub_ps(_mm512_maskz_loadu_ps(m, x + i), _mm512_set1_ps(scale), top));
      sum = _mm512_mask_add_ps(sum, m, sum, e);
      _mm512_mask_storeu_ps(x + i, m, e);
    }
    const float f = 1.0f / _mm512_reduce_add_ps(sum);
    for (int i = 0; i < seen; i++) x[i] *= f;
    for (int i = seen; i < keys; i++) x[i] = 0;
  }
}

// Causal attention inside documents. bounds [count + 1]: where each document starts; qkv as above,
// turned; out [m, heads * d].
void attend(const float* qkv, const int32_t* bounds, int count, int heads, int kv, int d,
            float* out) {
  const int stride = (heads + 2 * kv) * d;
  float* s = NULL;
  for (int doc = 0; doc < count; doc++) {
    const int from = bounds[doc], length = bounds[doc + 1] - from;
    s = realloc(s, sizeof(float) * kBlock * length);
    for (int h = 0; h < heads; h++) {
      const int g = h / (heads / kv);
      const float* q = qkv + (size_t)from * stride + h * d;
      const float* k = qkv + (size_t)from * stride + (heads + g) * d;
      const float* v = k + kv * d;
      for (int b = 0; b < length; b += kBlock) {
        const int rows = length - b < kBlock ? length - b : kBlock, keys = b + rows;
        cblas_sgemm(kRow, kNo, kYes, rows, keys, d, 1, q + (size_t)b * stride, stride, k, stride, 0,
                    s, keys);
        softmax(s, rows, keys, b, 1.0f / sqrtf((float)d));
        cblas_sgemm(kRow, kNo, kNo, rows, d, keys, 1, s, keys, v, stride, 0,
                    out + (size_t)(from + b) * heads * d + h * d, heads * d);
      }
    }
  }
  free(s);
}

// Its gradient into dqkv (set to zero before).
void attend_back(const float* dout, const float* qkv, const float* out, const int32_t* bounds,
                 int count, int heads, int kv, int d, float* dqkv) {
  const int stride = (heads + 2 * kv) * d, wide = heads * d;
  const float scale = 1.0f / sqrtf((float)d);
  float *s = NULL, *ds = NULL;
  for (int doc = 0; doc < count; doc++) {
    const int from = bounds[doc], length = bounds[doc + 1] - from;
    s = realloc(s, sizeof(float) * kBlock * length);
    ds = realloc(ds, sizeof(float) * kBlock * length);
    for (int h = 0; h < heads; h++) {
      const int g = h / (heads / kv);
      const size_t at = (size_t)from * stride;
      const size_t qa = at + h * d, ka = at + (heads + g) * d, va = ka + kv * d;
      for (int b = 0; b < length; b += kBlock) {
        const int rows = length - b < kBlock ? length - b : kBlock, keys = b + rows;
        const float* q = qkv + qa + (size_t)b * stride;
        const float* dy = dout + (size_t)(from + b) * wide + h * d;
        const float* y = out + (size_t)(from + b) * wide + h * d;
        cblas_sgemm(kRow, kNo, kYes, rows, keys, d, 1, q, stride, qkv + ka, stride, 0, s, keys);
        softmax(s, rows, keys, b, scale);
        cblas_sgemm(kRow, kNo, kYes, rows, keys, d, 1, dy, wide, qkv + va, stride, 0, ds, keys);
        cblas_sgemm(kRow, kYes, kNo, keys, d, rows, 1, s, keys, dy, wide, 1, dqkv + va, stride);
        for (int r = 0; r < rows; r++) {
          float delta = 0;
          for (int i = 0; i < d; i++) delta += dy[(size_t)r * wide + i] * y[(size_t)r * wide + i];
          float *p = s + (size_t)r * keys, *dp = ds + (size_t)r * keys;
          for (int i = 0; i < keys; i++) dp[i] = p[i] * (dp[i] - delta) * scale;
        }
        cblas_sgemm(kRow, kNo, kNo, rows, d, keys, 1, ds, keys, qkv + ka, stride, 1,
                    dqkv + qa + (size_t)b * stride, stride);
        cblas_sgemm(kRow, kYes, kNo, keys, d, rows, 1, ds, keys, q, stride, 1, dqkv + ka, stride);
      }
    }
  }
  free(s);
  free(ds);
}

// AdamW over n values; grad is multiplied by `clip` first. first and second are the corrections.
void adamw(float* w, const float* grad, float* m, float* v, long n, float clip, float rate,
           float decay, float beta1, float beta2, float first, float second, float eps) {
  const float keep = 1 - rate * decay, step = rate / first, root = 1 / sqrtf(second);
  for (long i = 0; i < n; i++) {
    const float g = grad[i] * clip;
    m[i] = beta1 * m[i] + (1 - beta1) * g;
    v[i] = beta2 * v[i] + (1 - beta2) * g * g;
    w[i] = w[i] * keep - step * m[i] / (sqrtf(v[i]) * root + eps);
  }
}
