/**
 * A player without ears: walks a sound file frame by frame as its format says, checks what a
 * decoder would check, and returns how long it plays. Throws at the first byte that is wrong.
 */

import type { SpeechFormat } from '../../schemas/speech.ts'

/** Seconds of sound. */
export function secondsOf (format: SpeechFormat, bytes: Buffer): number {
  switch (format) {
    case 'pcm': return bytes.length / 48_000
    case 'wav': return wav(bytes)
    case 'mp3': return mp3(bytes)
    case 'aac': return adts(bytes)
    case 'flac': return flac(bytes)
    case 'opus': return ogg(bytes)
  }
}

function check (condition: boolean, message: string): void {
  if (!condition) throw new Error(message)
}

function wav (bytes: Buffer): number {
  check(bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WAVE', 'no RIFF')
  check(bytes.readUInt32LE(4) === bytes.length - 8, 'the size of the file')
  let bytesPerSecond = 0
  for (let at = 12; at < bytes.length;) {
    const size = bytes.readUInt32LE(at + 4)
    const name = bytes.toString('latin1', at, at + 4)
    check(at + 8 + size <= bytes.length, `${name} ends outside`)
    if (name === 'fmt ') {
      bytesPerSecond = bytes.readUInt32LE(at + 16)
      const frame = bytes.readUInt16LE(at + 20)
      check(bytes.readUInt16LE(at + 8) === 1 && bytesPerSecond === bytes.readUInt32LE(at + 12) * frame, 'the format')
    }
    if (name === 'data') return size / bytesPerSecond
    at += 8 + size + size % 2
  }
  throw new Error('no data')
}

/** MPEG-2, layer III. */
function mp3 (bytes: Buffer): number {
  let seconds = 0
  for (let at = 0; at < bytes.length;) {
    check((bytes.readUInt16BE(at) & 0xfffe) === 0xfff2, `sync at ${at}`)
    const bitrate = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160][bytes.readUInt8(at + 2) >> 4] ?? 0
    const rate = [22_050, 24_000, 16_000][bytes.readUInt8(at + 2) >> 2 & 3] ?? 0
    check(bitrate > 0 && rate > 0, 'bitrate and rate')
    at += Math.floor(72_000 * bitrate / rate) + (bytes.readUInt8(at + 2) >> 1 & 1)
    check(at <= bytes.length, 'the last frame is cut')
    seconds += 576 / rate
  }
  return seconds
}

function adts (bytes: Buffer): number {
  const rates = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000]
  let seconds = 0
  for (let at = 0; at < bytes.length;) {
    check((bytes.readUInt16BE(at) & 0xfff6) === 0xfff0, `sync at ${at}`)
    const size = (bytes.readUInt8(at + 3) & 3) << 11 | bytes.readUInt8(at + 4) << 3 | bytes.readUInt8(at + 5) >> 5
    check(size > 7 && at + size <= bytes.length, 'the size of a frame')
    check((bytes.readUInt8(at + 2) & 1) === 0 && bytes.readUInt8(at + 3) >> 6 === 1, 'one channel')
    check((bytes.readUInt8(at + size - 1) & 7) === 7, 'the end element')
    const rate = rates[bytes.readUInt8(at + 2) >> 2 & 15] ?? 0
    check(rate > 0, 'the rate')
    seconds += 1024 / rate
    at += size
  }
  return seconds
}

/** Only frames of one constant, which is all we write. */
function flac (bytes: Buffer): number {
  check(bytes.toString('latin1', 0, 4) === 'fLaC' && bytes.readUIntBE(5, 3) === 34, 'no stream information')
  check(bytes.readUInt8(4) === 0x80, 'no metadata follows')
  const about = bytes.readBigUInt64BE(18)
  const rate = Number(about >> 44n)
  const samples = Number(about & 0xfffffffffn)
  check((about >> 36n & 0xffn) === 15n, 'one channel of 16 bits')
  let at = 42
  let seen = 0
  for (let number = 0; at < bytes.length; number++) {
    const start = at
    check(bytes.readUInt16BE(at) === 0xfff8, `sync at ${at}`)
    const sizes = bytes.readUInt8(at + 2)
    check((sizes & 15) === 7 && rate === 24_000, 'the rate')
    const coded = Buffer.from(String.fromCodePoint(number))
    check(bytes.subarray(at + 4, at + 4 + coded.length).equals(coded), 'the number of the frame')
    at += 4 + coded.length
    if (sizes >> 4 === 7) {
      seen += bytes.readUInt16BE(at) + 1
      at += 2
    } else {
      check(sizes >> 4 === 12, 'the size of the block')
      seen += 4096
    }
    check(remainder(bytes.subarray(start, at + 1), 8, 0x107n) === 0n, 'the checksum of the head')
    check(bytes.readUInt8(at + 1) === 0, 'a constant')
    at += 6
    check(remainder(bytes.subarray(start, at), 16, 0x18005n) === 0n, 'the checksum of the frame')
  }
  check(seen === samples && at === bytes.length, 'all samples')
  return samples / rate
}

function ogg (bytes: Buffer): number {
  let position = 0n
  let packets = 0
  let number = 0
  let skipped = 0
  for (let at = 0; at < bytes.length; number++) {
    check(bytes.toString('latin1', at, at + 4) === 'OggS' && bytes.readUInt32LE(at + 18) === number, `page ${number}`)
    const count = bytes.readUInt8(at + 26)
    const body = at + 27 + count
    const size = bytes.subarray(at + 27, body).reduce((sum, length) => sum + length, 0)
    const page = Buffer.from(bytes.subarray(at, body + size))
    const sum = page.readUInt32LE(22)
    page.writeUInt32LE(0, 22)
    check(remainder(Buffer.concat([page, Buffer.alloc(4)]), 32, 0x104c11db7n) === BigInt(sum), `the checksum of page ${number}`)
    const flags = bytes.readUInt8(at + 5)
    check(flags === (number === 0 ? 2 : body + size === bytes.length ? 4 : 0), 'where it begins and ends')
    if (number === 0) {
      check(page.toString('latin1', 28, 36) === 'OpusHead' && page.readUInt8(37) === 1, 'the head')
      skipped = page.readUInt16LE(38)
    }
    if (number === 1) check(page.toString('latin1', 28, 36) === 'OpusTags', 'the tags')
    if (number > 1) packets += count
    position = page.readBigInt64LE(6)
    at = body + size
  }
  check(packets * 960 >= Number(position), 'as many packets as the position says')
  return (Number(position) - skipped) / 48_000
}

/** Polynomial division, bit by bit as one writes it on paper: nothing left over is a right checksum. */
function remainder (bytes: Buffer, bits: number, divisor: bigint): bigint {
  const top = 1n << BigInt(bits)
  let rest = 0n
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      rest = rest << 1n | BigInt(byte >> bit & 1)
      if ((rest & top) !== 0n) rest ^= divisor
    }
  }
  return rest
}
