/**
 * Returns a checksum over bytes, most significant bit first, starting from nothing.
 *
 * @param bits its width, 8 to 32
 * @param polynomial without its highest bit
 */
export function crc (bytes: Uint8Array, bits: number, polynomial: number): number {
  const top = 2 ** (bits - 1)
  let value = 0
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const carry = value >= top !== (byte >> bit & 1) > 0
      value = value * 2 % (top * 2)
      if (carry) value = (value ^ polynomial) >>> 0
    }
  }
  return value
}
