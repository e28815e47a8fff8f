/**
 * The fast path of a stream that its caller gets as it came.
 *
 * Deltas that follow each other differ in their number, their text and their padding. What stands around these is remembered
 * of one; messages that have the same are stepped over in the bytes of a read, and are not decoded, taken apart or printed.
 */

import { LiteralScanner } from '../../json/literal-scanner.ts'

/** Messages that follow each other, each a delta with the number after that of the one before it. */
export interface DeltaRun {
  /** As text where they are ASCII. */
  readonly frames: string | Uint8Array
  readonly count: number
  readonly firstNumber: number
  /** The length of their texts, as strings. */
  readonly characters: number
  /** The place behind the last one. */
  readonly end: number
}

interface Delta {
  readonly number: number
  readonly characters: number
  readonly isAscii: boolean
  readonly end: number
}

/** A value in which messages differ, with what stands between it and the one before. */
interface Part {
  readonly before: string
  readonly value: 'sequence_number' | 'delta' | 'obfuscation'
}

/** Matches up to the value: to match texts as well would read one that does not end again from each place in it. */
const names = /"(?:(sequence_number)":(?=\d)|(delta|obfuscation)":")/g
/** Longer messages are few. */
const maxLength = 4096

const scanner = new LiteralScanner()

export class DeltaTemplate {
  readonly #parts: readonly Part[]
  readonly #last: string

  private constructor (parts: readonly Part[], last: string) {
    this.#parts = parts
    this.#last = last
  }

  /** Returns the template of a delta; `undefined` for one in an unusual form, or that its caller does not get as it came. */
  static of (name: string, data: string): DeltaTemplate | undefined {
    if (data.length > maxLength) return undefined
    const frame = `event: ${name}\ndata: ${data}\n\n`
    const parts: Part[] = []
    let from = 0
    for (const { 0: { length }, 1: number, 2: text, index } of frame.matchAll(names)) {
      if (index < from) continue // in a text
      const start = index + length
      parts.push({ before: frame.slice(from, start), value: (number ?? text) as Part['value'] }) // by the expression
      from = text === undefined ? endOfDigits(frame, start) : scanner.scan(frame, start).end
      if (from === -1) return undefined
    }
    const last = frame.slice(from)
    const hasEachOnce = parts.length < 4 && ['sequence_number', 'delta'].every(name => parts.filter(({ value }) => value === name).length === 1)
    const around = parts.map(({ before }) => before).join('') + last
    // Clients need a list that some servers leave out: it is added to one message at a time.
    const isComplete = name !== 'response.output_text.delta' || around.includes('"logprobs"')
    return hasEachOnce && isComplete && /^[ -~]*\n[ -~]*\n\n$/.test(around) ? new DeltaTemplate(parts, last) : undefined
  }

  /**
   * Reads messages that fit, from a place in an event stream on, for as long as they follow each other.
   *
   * @param frames bytes as characters
   */
  readRun (frames: string, from: number): DeltaRun | undefined {
    let count = 0
    let firstNumber = 0
    let characters = 0
    let isAscii = true
    let end = from
    for (let delta = this.#read(frames, end); delta !== undefined; delta = this.#read(frames, end)) {
      if (count === 0) firstNumber = delta.number
      if (delta.number !== firstNumber + count) break
      count++
      characters += delta.characters
      isAscii &&= delta.isAscii
      end = delta.end
    }
    if (count === 0) return undefined
    const bytes = frames.slice(from, end)
    return { frames: isAscii ? bytes : Buffer.from(bytes, 'latin1'), count, firstNumber, characters, end }
  }

  #read (frames: string, from: number): Delta | undefined {
    let at = from
    let number = 0
    let characters = 0
    let isAscii = true
    for (const { before, value } of this.#parts) {
      const start = at + before.length
      if (frames.slice(at, start) !== before) return undefined
      if (value === 'sequence_number') {
        at = start
        for (let digit = digitAt(frames, at); digit >= 0 && digit <= 9; digit = digitAt(frames, ++at)) number = 10 * number + digit
      } else {
        at = scanner.scan(frames, start).end
        if (at === -1) return undefined
        if (value === 'delta') characters = scanner.characters
        isAscii &&= scanner.isAscii
      }
    }
    const end = at + this.#last.length
    return frames.slice(at, end) === this.#last ? { number, characters, isAscii, end } : undefined
  }
}

function endOfDigits (text: string, at: number): number {
  for (let digit = digitAt(text, at); digit >= 0 && digit <= 9; digit = digitAt(text, at)) at++
  return at
}

function digitAt (text: string, at: number): number {
  return text.charCodeAt(at) - 0x30
}

/** Returns the length of the text of a delta, as a string. */
export function deltaLength (data: string): number {
  const field = '"delta":"'
  const start = data.indexOf(field) + field.length
  const end = start < field.length ? -1 : scanner.scan(data, start).end
  if (end === -1) return 0
  const literal = data.slice(start, end)
  return literal.includes('\\') ? String(JSON.parse(`"${literal}"`)).length : literal.length
}
