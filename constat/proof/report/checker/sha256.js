/*
 * SHA-256 (FIPS 180-4), because the browser's own is asynchronous and absent in insecure contexts.
 *
 * In: pieces of ASCII text.  Out: "sha256:<hex>".  Invariant: the hash depends on the text only, not
 * on how it was cut into pieces.
 * Example: `sha256Of(["a", "bc"])` is that of "abc".
 */

const SHA256_INITIAL = words("6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19");
const SHA256_ROUNDS = words(
  "428a2f9871374491b5c0fbcfe9b5dba53956c25b59f111f1923f82a4ab1c5ed5" +
    "d807aa9812835b01243185be550c7dc372be5d7480deb1fe9bdc06a7c19bf174" +
    "e49b69c1efbe47860fc19dc6240ca1cc2de92c6f4a7484aa5cb0a9dc76f988da" +
    "983e5152a831c66db00327c8bf597fc7c6e00bf3d5a7914706ca635114292967" +
    "27b70a852e1b21384d2c6dfc53380d13650a7354766a0abb81c2c92e92722c85" +
    "a2bfe8a1a81a664bc24b8b70c76c51a3d192e819d6990624f40e3585106aa070" +
    "19a4c1161e376c082748774c34b0bcb5391c0cb34ed8aa4a5b9cca4f682e6ff3" +
    "748f82ee78a5636f84c878148cc7020890befffaa4506cebbef9a3f7c67178f2",
);

function words(hex) {
  return Int32Array.from({ length: hex.length / 8 }, (_, i) => parseInt(hex.substr(8 * i, 8), 16));
}

class Sha256 {
  constructor() {
    this.state = Int32Array.from(SHA256_INITIAL);
    this.schedule = new Int32Array(64);
    this.block = new Uint8Array(64);
    this.filled = 0;
    this.length = 0;
  }

  update(text, start = 0, end = text.length) {
    let filled = this.filled;
    for (let i = start; i < end; i += 1) {
      this.block[filled] = text.charCodeAt(i);
      filled += 1;
      if (filled === 64) {
        this.compress();
        filled = 0;
      }
    }
    this.filled = filled;
    this.length += end - start;
  }

  finish() {
    const bits = this.length * 8;
    this.update("\x80");
    this.update("\0".repeat((120 - this.filled) % 64));
    for (let shift = 56; shift >= 0; shift -= 8) {
      this.update(String.fromCharCode(Math.floor(bits / 2 ** shift) % 256));
    }
    const hex = Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0"));
    return `sha256:${hex.join("")}`;
  }

  fillSchedule() {
    const { schedule: w, block } = this;
    for (let t = 0; t < 16; t += 1) {
      const at = 4 * t;
      w[t] = (block[at] << 24) | (block[at + 1] << 16) | (block[at + 2] << 8) | block[at + 3];
    }
    for (let t = 16; t < 64; t += 1) {
      const x = w[t - 15];
      const y = w[t - 2];
      const small0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const small1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[t] = (w[t - 16] + small0 + w[t - 7] + small1) | 0;
    }
  }

  compress() {
    this.fillSchedule();
    const { schedule: w, state } = this;
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t += 1) {
      const big1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + big1 + ((e & f) ^ (~e & g)) + SHA256_ROUNDS[t] + w[t]) | 0;
      const big0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}

function sha256Of(pieces) {
  const hash = new Sha256();
  for (const piece of pieces) {
    hash.update(piece);
  }
  return hash.finish();
}
