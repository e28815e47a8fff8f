/** Speech by eSpeak NG: a simple voice, in a hundred languages. */

import { WorkQueue } from '../async/work-queue.ts'
import { runProgram } from '../async/run-program.ts'
import type { SendOptions } from '../providers/provider.ts'

/** The supported fields of a speech request. */
export interface Utterance {
  readonly input: string
  readonly voice: string
  readonly speed: number
  readonly format: 'wav' | 'pcm'
}

const wordsPerMinute = 175
const headBytes = 44
/** The longest text at the slowest speed takes less than half of this. */
const maxBytes = 128 * 1024 * 1024
const pcmRate = 24_000

// It computes as fast as it can; more at once would take the processors from all other work.
const queue = new WorkQueue(2)

/**
 * Says a text. The text goes to the program's standard input, and nothing a caller wrote becomes
 * an option: a voice that does not look like one of its own (`de`, `en-gb`) is English.
 *
 * @param program path of eSpeak NG
 * @throws Error when the program fails; the signal's reason when that aborts, and the program ends
 */
export async function speak (
  { input, voice, speed, format }: Utterance,
  program: string,
  { signal, keyId = '' }: Pick<SendOptions, 'signal' | 'keyId'>
): Promise<Buffer> {
  const name = /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/.test(voice) ? voice : 'en'
  const args = [
    '--stdin',
    '--stdout',
    '-b',
    '1',
    '-s',
    String(Math.round(wordsPerMinute * speed)),
    '-v',
    name
  ]
  const wav = await queue.run(
    keyId,
    async () => await runProgram(program, args, { input: Buffer.from(input), signal, maxBytes }),
    signal
  )
  return format === 'wav' ? withLengths(wav) : resampled(wav)
}

/** A program that writes to a pipe cannot go back to fill in how long the sound became. */
function withLengths (wav: Buffer): Buffer {
  wav.writeUInt32LE(wav.length - 8, 4)
  wav.writeUInt32LE(wav.length - headBytes, 40)
  return wav
}

/** Returns the samples at the rate this API promises for `pcm`, each between its two neighbours. */
function resampled (wav: Buffer): Buffer {
  const rate = wav.readUInt32LE(24)
  const count = Math.floor((wav.length - headBytes) / 2)
  const sample = (index: number): number => index < count ? wav.readInt16LE(headBytes + index * 2) : 0
  const bytes = Buffer.alloc(Math.floor(count * pcmRate / rate) * 2)
  for (let index = 0; index * 2 < bytes.length; index++) {
    const at = index * rate / pcmRate
    const before = Math.floor(at)
    const value = sample(before) + (sample(before + 1) - sample(before)) * (at - before)
    bytes.writeInt16LE(Math.round(value), index * 2)
  }
  return bytes
}
