import { TextTemplate, type TextPlace, type TextRun } from './text-template.ts'

/**
 * Keeps the template of the texts of one stream. To make one takes as long as to parse a message: it is tried half as often each
 * time, where all differ.
 */
export class StreamTemplate {
  readonly #place: TextPlace
  #template: TextTemplate | undefined
  /** Messages of text in a row that fitted no template. */
  #missed = 0

  constructor (place: TextPlace) {
    this.#place = place
  }

  /** Returns the text of a message that fits, else `undefined`. */
  deltaText (data: string): string | undefined {
    const text = this.#template?.deltaText(data)
    if (text !== undefined) this.#missed = 0
    return text
  }

  /** Reads messages that fit, from a place in an event stream on. @param frames bytes as characters */
  readRun (frames: string, from: number): TextRun | undefined {
    const run = this.#template?.readRun(frames, from)
    if (run !== undefined) this.#missed = 0
    return run
  }

  /** Notes a message that was read as one piece of text and nothing else. */
  noteMiss (data: string): void {
    this.#template = isPowerOfTwo(++this.#missed) ? TextTemplate.of(data, this.#place) : undefined
  }

  /** Forgets what is known: messages that look the same may mean something else from now on. */
  forget (): void {
    this.#template = undefined
  }
}

function isPowerOfTwo (number: number): boolean {
  return (number & (number - 1)) === 0
}
