/**
 * Sound files of a given length that players accept: a tone in formats of plain samples, silence in formats
 * where one repeated frame can stand for it.
 *
 * All have 24,000 samples a second and one channel.
 */

import type { SpeechFormat } from '../../schemas/speech.ts'

const rate = 24_000

/** `undefined` for formats that need an encoder. */
const writers: Readonly<Record<SpeechFormat, ((seconds: number) => Buffer) | undefined>> = {
  pcm: tone, wav, mp3, aac, flac: undefined, opus: undefined
}

/** The supported formats. */
export const soundFormats = Object.entries(writers).flatMap(([format, write]) =>
  write === undefined ? [] : [format]
)

/**
 * @param seconds length; codecs round up to their next frame, of at most 43 milliseconds
 * @returns `undefined` for a format that is not in `soundFormats`
 */
export function soundFile (format: SpeechFormat, seconds: number): Buffer | undefined {
  return writers[format]?.(seconds)
}

/**
 * Returns a quiet A below middle C. It repeats itself every 1,200 samples, and a minute of it has a million.
 */
function tone (seconds: number): Buffer {
  const period = Buffer.alloc(1200 * 2)
  for (let index = 0; index < 1200; index++) {
    period.writeInt16LE(Math.round(3000 * Math.sin(2 * Math.PI * 220 * index / rate)), index * 2)
  }
  return Buffer.alloc(Math.round(seconds * rate) * 2, period)
}

function wav (seconds: number): Buffer {
  const samples = tone(seconds)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20) // PCM
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

/**
 * Returns silence in MPEG-2 layer III, 48 kbit/s: frames of 576 samples whose side information says nothing
 * follows.
 */
function mp3 (seconds: number): Buffer {
  const frame = Buffer.alloc(144)
  frame.set([0xff, 0xf3, 0x64, 0xc0])
  return repeated(frame, seconds * rate / 576)
}

/**
 * Returns silence in AAC-LC in ADTS: frames of 1,024 samples, each one channel element without any spectral
 * band.
 */
function aac (seconds: number): Buffer {
  const frame = Buffer.from([0xff, 0xf1, 0x58, 0x40, 0x01, 0x7f, 0xfc, 0, 0, 0, 0x07])
  return repeated(frame, seconds * rate / 1024)
}

function repeated (frame: Buffer, times: number): Buffer {
  const bytes = Buffer.alloc(frame.length * Math.max(1, Math.ceil(times)))
  return bytes.fill(frame)
}
