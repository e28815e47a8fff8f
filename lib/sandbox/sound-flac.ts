import { crc } from './crc.ts'

const samplesPerSecond = 24_000
const blockSize = 4096

/**
 * Returns silence in FLAC: a head and frames whose one subframe is the constant zero.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9639
 */
export function flac (samples: number): Buffer {
  const pieces = [head(samples)]
  for (let number = 0; number * blockSize < samples; number++) {
    pieces.push(frame(number, Math.min(blockSize, samples - number * blockSize)))
  }
  return Buffer.concat(pieces)
}

function head (samples: number): Buffer {
  const bytes = Buffer.alloc(42)
  bytes.write('fLaC', 0, 'latin1')
  bytes.writeUInt8(0x80, 4) // the last block of metadata, and the first
  bytes.writeUIntBE(34, 5, 3)
  bytes.writeUInt16BE(blockSize, 8)
  bytes.writeUInt16BE(blockSize, 10)
  // 20 bits of rate, 3 of channels less one, 5 of bits a sample less one, 36 of samples.
  bytes.writeUInt32BE((samplesPerSecond << 12 | 15 << 4 | Math.floor(samples / 2 ** 32)) >>> 0, 18)
  bytes.writeUInt32BE(samples % 2 ** 32, 22)
  return bytes
}

function frame (number: number, samples: number): Buffer {
  const isFull = samples === blockSize
  // Sync code; 4,096 samples or a number to come, at the rate above; one channel, 16 bits; which it is.
  const start = Buffer.from([0xff, 0xf8, isFull ? 0xc7 : 0x77, 0x08, ...Buffer.from(String.fromCodePoint(number))])
  const size = isFull ? [] : [samples - 1 >> 8, samples - 1 & 0xff]
  const header = Buffer.concat([start, Buffer.from(size)])
  const body = Buffer.concat([header, Buffer.from([crc(header, 8, 0x07), 0, 0, 0])])
  const check = crc(body, 16, 0x8005)
  return Buffer.concat([body, Buffer.from([check >> 8, check & 0xff])])
}
