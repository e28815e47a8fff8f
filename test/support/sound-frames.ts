/**
 * A silent player: walks an audio file frame by frame, checks what a decoder would check, and returns how
 * long it plays. Throws at the first wrong byte.
 */

import type { SpeechFormat } from '../../schemas/speech.ts'

/** Seconds of audio. */
export function secondsOf (format: Exclude<SpeechFormat, 'flac' | 'opus'>, bytes: Buffer): number {
  switch (format) {
    case 'pcm': return bytes.length / 48_000
    case 'wav': return wav(bytes)
    case 'mp3': return mp3(bytes)
    case 'aac': return adts(bytes)
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
      check(
        bytes.readUInt16LE(at + 8) === 1 && bytesPerSecond === bytes.readUInt32LE(at + 12) * frame,
        'the format'
      )
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
    const bitrate =
      [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160][bytes.readUInt8(at + 2) >> 4] ?? 0
    const rate = [22_050, 24_000, 16_000][(bytes.readUInt8(at + 2) >> 2) & 3] ?? 0
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
    const size =
      ((bytes.readUInt8(at + 3) & 3) << 11) | (bytes.readUInt8(at + 4) << 3) | (bytes.readUInt8(at + 5) >> 5)
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
