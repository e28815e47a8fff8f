import { invalidResponse } from './provider-failure.ts'

/** More than any answer has that is kept until it ends: arguments, thinking, citations. */
const maxCharacters = 16 * 1024 * 1024
/** What a part takes beside its text. */
const partCharacters = 64

/** Bounds what the reader of one answer keeps until the answer ends: a provider may go on for ever. */
export class Retained {
  #characters = 0

  /** @throws GatewayError `upstream_invalid_response` for more than 16 million characters */
  add (characters: number): void {
    this.#characters += characters + partCharacters
    if (this.#characters > maxCharacters) throw invalidResponse('an answer without an end')
  }
}
