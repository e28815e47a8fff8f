/**
 * Checks that an answer is the one that was requested: all its frames, and nothing but its text.
 *
 * Every answer is either byte for byte the same as one that was read in full, or has its frames
 * counted; of the latter, one in sixteen and every one of another length is read in full.
 */

import { callerDialects, type CallerDialect, type CallerDialectName } from './caller-dialects.ts'
import { media } from './media.ts'

export interface Expected {
  /** SSE frames, `[DONE]` included; 0 for a complete JSON answer. */
  readonly frames: number
  /** The text of all deltas; absent for one that says when it was written. */
  readonly text?: string
  /** The dialect of the answer. Default: chat completions */
  readonly dialect?: CallerDialectName
  /** The name of what was requested, when it is no conversation. */
  readonly media?: string
}

const fullCheckEvery = 16
const frameEnd = '\n\n'

export class AnswerCheck {
  /** True when the text of its events is the time at which they were written. */
  readonly stamped: boolean
  readonly #expected: Expected
  readonly #dialect: CallerDialect
  #sample: Buffer | undefined
  #answers = 0

  constructor (expected: Expected) {
    this.#expected = expected
    this.#dialect = callerDialects[expected.dialect ?? 'chat']
    this.stamped = expected.text === undefined && expected.media === undefined
  }

  /**
   * @param pieces the body, without the framing of HTTP
   * @returns frames in it
   * @throws Error when a frame is missing or wrong
   */
  answer (pieces: readonly Buffer[]): number {
    const [first] = pieces
    const body = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
    const { frames } = this.#expected
    if (this.#sample?.equals(body) === true) return frames
    if (this.#answers++ % fullCheckEvery === 0 || body.length !== this.#sample?.length) this.#readInFull(body)
    else if (frames !== countFrames(body)) throw new Error('a frame is missing')
    return frames
  }

  #readInFull (body: Buffer): void {
    const { frames, text: expected, media: name } = this.#expected
    const text = name === undefined ? body.toString() : ''
    if (name !== undefined) media.find(medium => medium.name === name)?.check(body)
    else if (frames === 0) {
      if (this.#textOf(text, false) !== expected) throw new Error(`another answer came: ${text.slice(0, 300)}`)
    } else {
      const found = text.split(frameEnd).filter(frame => frame !== '')
      if (found.length !== frames) throw new Error(`${frames} frames were sent, ${found.length} came`)
      if (!this.#dialect.lastFrame.test(found.at(-1) ?? '')) throw new Error(`the stream does not end: ${found.at(-1)}`)
      const said = found.map(frame => this.#textOf(dataOf(frame), true)).join('')
      if (expected !== undefined && said !== expected) throw new Error(`another text came: ${said.slice(0, 300)}`)
    }
    this.#sample = body
  }

  #textOf (json: string, streamed: boolean): string {
    return json === '[DONE]' ? '' : this.#dialect.textOf(JSON.parse(json), streamed)
  }
}

function dataOf (frame: string): string {
  return frame.slice(frame.indexOf('data: ') + 'data: '.length)
}

function countFrames (body: Buffer): number {
  let count = 0
  for (let at = body.indexOf(frameEnd); at !== -1; at = body.indexOf(frameEnd, at + 2)) count++
  return count
}
