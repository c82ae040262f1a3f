/*
 * SHA-256 (FIPS 180-4), because the browser's own is asynchronous and absent in insecure contexts.
 *
 * In: pieces of ASCII text.  Out: "sha256:<hex>".  Invariant: the hash depends on the text only, not
 * on how it was cut into pieces.
 * Example: `sha256Of(["a", "bc"])` is that of "abc".
 */

/** Return the first 32 bits behind the point of the square or cube roots of the first primes. */
function rootsOfPrimes(count, power) {
  const primes = [];
  for (let n = 2n; primes.length < count; n += 1n) {
    if (primes.every((prime) => n % prime > 0n)) {
      primes.push(n);
    }
  }
  return Int32Array.from(primes, (prime) => {
    let root = 0n;
    for (let bit = 1n << 36n; bit > 0n; bit >>= 1n) {
      root += (root + bit) ** power <= prime << (32n * power) ? bit : 0n;
    }
    return Number(BigInt.asIntN(32, root));
  });
}

/** FIPS 180-4 says in 4.2.2 and 5.3.3 what its constants are. */
const SHA256_INITIAL = rootsOfPrimes(8, 2n);
const SHA256_ROUNDS = rootsOfPrimes(64, 3n);

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
