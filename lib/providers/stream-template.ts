import { TextTemplate, type TextMessage } from './text-template.ts'

/**
 * Keeps the template of the texts of one stream. To make one takes as long as to parse a message: it is tried half as often each
 * time, where all differ.
 */
export class StreamTemplate {
  readonly #form: TextMessage
  #template: TextTemplate | undefined
  /** Messages of text in a row that fitted no template. */
  #missed = 0

  constructor (form: TextMessage) {
    this.#form = form
  }

  /** Returns the text of a message that fits, else `undefined`. */
  deltaText (data: string): string | undefined {
    const text = this.#template?.deltaText(data)
    if (text !== undefined) this.#missed = 0
    return text
  }

  /** Notes a message that was read as one piece of text and nothing else. */
  noteMiss (data: string): void {
    this.#template = isPowerOfTwo(++this.#missed) ? TextTemplate.of(data, this.#form) : undefined
  }

  /** Forgets what is known: messages that look the same may mean something else from now on. */
  forget (): void {
    this.#template = undefined
  }
}

function isPowerOfTwo (number: number): boolean {
  return (number & (number - 1)) === 0
}
