/**
 * Checks that an answer is the requested one: all its frames, and nothing but its text.
 *
 * Every answer is either byte for byte equal to one that was read in full, or has its frames counted. Of the
 * latter, one in sixteen and every one of another length is read in full.
 */

import { objectsOf, property } from '../json/type-guards.ts'

export interface Expected {
  /** SSE frames, `[DONE]` included; 0 for a complete answer. */
  readonly frames: number
  /** The text of all deltas; absent if each contains the time at which it was written. */
  readonly text?: string
}

/** Where answers of a dialect have their text. */
export interface AnswerTexts {
  readonly lastFrame: RegExp
  /** Returns the text of a complete answer, or of one event; an empty text if there is none. */
  readonly textOf: (value: unknown, streamed: boolean) => string
}

export const chatTexts: AnswerTexts = {
  lastFrame: /^data: \[DONE\]$/,
  textOf: (value, streamed) => {
    const [choice] = objectsOf(property(value, 'choices'))
    const text = property(choice?.[streamed ? 'delta' : 'message'], 'content')
    return typeof text === 'string' ? text : ''
  }
}

/** Throws for a complete body that is not the expected one. */
export type BodyCheck = (body: Buffer) => void

const fullCheckEvery = 16
const frameEnd = '\n\n'

export class AnswerCheck {
  /** True if the text of its events is the time at which they were written. */
  readonly stamped: boolean
  readonly #expected: Expected
  readonly #texts: AnswerTexts
  readonly #checkBody: BodyCheck | undefined
  #sample: Buffer | undefined
  #answers = 0

  /** @param checkBody replaces the check of texts, for answers that are not conversations */
  constructor (expected: Expected, texts: AnswerTexts = chatTexts, checkBody?: BodyCheck) {
    this.#expected = expected
    this.#texts = texts
    this.#checkBody = checkBody
    this.stamped = expected.text === undefined && checkBody === undefined
  }

  /**
   * @param pieces the body, without HTTP framing
   * @returns its number of frames
   * @throws Error when a frame is missing or wrong
   */
  answer (pieces: readonly Buffer[]): number {
    const [first] = pieces
    const body = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
    const { frames } = this.#expected
    if (this.#sample?.equals(body) === true) return frames
    const isNew = body.length !== this.#sample?.length
    if (this.#answers++ % fullCheckEvery === 0 || isNew) this.#readInFull(body)
    else if (frames !== countFrames(body)) throw new Error('a frame is missing')
    return frames
  }

  #readInFull (body: Buffer): void {
    const { frames, text: expected } = this.#expected
    if (this.#checkBody !== undefined) this.#checkBody(body)
    else if (frames === 0) {
      const text = body.toString()
      if (this.#textOf(text, false) !== expected) throw new Error(`a different answer came: ${start(text)}`)
    } else {
      const found = body.toString().split(frameEnd).filter(frame => frame !== '')
      if (found.length !== frames) throw new Error(`${frames} frames were sent, ${found.length} came`)
      const last = found.at(-1) ?? ''
      if (!this.#texts.lastFrame.test(last)) throw new Error(`the stream does not end: ${start(last)}`)
      const said = found.map(frame => this.#textOf(dataOf(frame), true)).join('')
      if (expected !== undefined && said !== expected) {
        throw new Error(`a different text came: ${start(said)}`)
      }
    }
    this.#sample = body
  }

  #textOf (json: string, streamed: boolean): string {
    return json === '[DONE]' ? '' : this.#texts.textOf(JSON.parse(json), streamed)
  }
}

function start (text: string): string {
  return text.slice(0, 300)
}

function dataOf (frame: string): string {
  return frame.slice(frame.indexOf('data: ') + 'data: '.length)
}

function countFrames (body: Buffer): number {
  let count = 0
  for (let at = body.indexOf(frameEnd); at !== -1; at = body.indexOf(frameEnd, at + 2)) count++
  return count
}
