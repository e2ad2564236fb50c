// Random numbers that Python draws too (course.widgets.arithmetic): a page need not carry them.

/** Place i of the stream `seed`, an integer from 0 to 2³² − 1: a counter put through a mix. */
function mixed(seed, i) {
  let x = (Math.imul(seed, 0x9e3779b9) + i) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

/** Fill `out` with standard normal numbers from an even place of the stream (Box–Muller). */
function normals(seed, start, out) {
  for (let i = 0; i < out.length; i += 2) {
    const r = Math.sqrt(-2 * Math.log((mixed(seed, start + i) + 1) / 2 ** 32));
    const a = 2 * Math.PI * (mixed(seed, start + i + 1) / 2 ** 32);
    out[i] = r * Math.cos(a);
    out[i + 1] = r * Math.sin(a);
  }
  return out;
}

/** A shuffled 0 … n − 1; seed 0 leaves it in order. */
function permutation(seed, n) {
  const order = Array.from({ length: n }, (_, i) => i);
  return seed ? order.sort((a, b) => mixed(seed, a) - mixed(seed, b) || a - b) : order;
}
