/** Deterministic pseudo-random numbers: hashes and numbers made from text. */

/** Returns 32 bits that depend on every character (FNV-1a). */
export function hash (text: string): number {
  let bits = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193)
  }
  return bits >>> 0
}

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export function randomFrom (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
