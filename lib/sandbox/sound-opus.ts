import { crc } from './crc.ts'

const samplesPerPacket = 960
const packetsPerPage = 50
/** Samples that a decoder throws away at the start. */
const preSkip = 312
/** Twenty milliseconds in which nothing is said, as Opus writes them. */
const silence = Buffer.from([0xf8, 0xff, 0xfe])
const firstPage = 2
const lastPage = 4

/**
 * Returns silence in Opus, in Ogg pages of a second each.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7845
 */
export function opus (seconds: number): Buffer {
  const samples = preSkip + Math.round(seconds * 48_000)
  const packets = Math.max(1, Math.ceil(samples / samplesPerPacket))
  const pages = [page([idHeader()], 0, 0, firstPage), page([comment()], 1, 0, 0)]
  for (let from = 0; from < packets; from += packetsPerPage) {
    const count = Math.min(packetsPerPage, packets - from)
    const isLast = from + count === packets
    const position = isLast ? samples : (from + count) * samplesPerPacket
    pages.push(page(Array.from({ length: count }, () => silence), pages.length, position, isLast ? lastPage : 0))
  }
  return Buffer.concat(pages)
}

function idHeader (): Buffer {
  const bytes = Buffer.alloc(19)
  bytes.write('OpusHead', 0, 'latin1')
  bytes.set([1, 1], 8) // version and channels
  bytes.writeUInt16LE(preSkip, 10)
  bytes.writeUInt32LE(24_000, 12)
  return bytes
}

function comment (): Buffer {
  const vendor = Buffer.from('sandbox')
  const bytes = Buffer.alloc(16 + vendor.length)
  bytes.write('OpusTags', 0, 'latin1')
  bytes.writeUInt32LE(vendor.length, 8)
  bytes.set(vendor, 12)
  return bytes
}

/** @param position samples up to the end of this page */
function page (packets: readonly Buffer[], number: number, position: number, flags: number): Buffer {
  const head = Buffer.alloc(27)
  head.write('OggS', 0, 'latin1')
  head.writeUInt8(flags, 5)
  head.writeBigInt64LE(BigInt(position), 6)
  head.writeUInt32LE(1, 14) // the stream
  head.writeUInt32LE(number, 18)
  head.writeUInt8(packets.length, 26)
  const bytes = Buffer.concat([head, Buffer.from(packets.map(({ length }) => length)), ...packets])
  bytes.writeUInt32LE(crc(bytes, 32, 0x04c11db7), 22)
  return bytes
}
