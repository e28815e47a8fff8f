/** Decodes a field of a form in the charset that its part names: some clients send Latin-1 by default. */

import { TextDecoder } from 'node:util'
import { GatewayError } from '../core/errors.ts'
import { shorten } from '../text/shorten.ts'
import { SmallPieces } from './small-pieces.ts'

export class FieldText {
  readonly #name: string
  readonly #charset: string
  readonly #decoder: TextDecoder
  readonly #bytes: Buffer[] = []
  readonly #small = new SmallPieces(piece => { this.#bytes.push(piece) })

  /**
   * @param name of the field, for errors
   * @param contentType of its part
   * @throws GatewayError `invalid_value` for an unknown charset
   */
  constructor (name: string, contentType: string | null) {
    this.#name = name
    this.#charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType ?? '')?.[1] ?? 'UTF-8'
    try {
      this.#decoder = new TextDecoder(this.#charset, { fatal: true, ignoreBOM: true })
    } catch (cause) {
      const [field, unknown] = [shorten(name), shorten(this.#charset)]
      throw this.#error(
        `The charset \`${unknown}\` of the field \`${field}\` is not known. Send the form as UTF-8.`, cause
      )
    }
  }

  /** @throws GatewayError `invalid_value` after very many tiny pieces */
  push (bytes: Buffer): void {
    this.#small.push(bytes)
  }

  /**
   * Returns the text.
   *
   * @throws GatewayError `invalid_value` for bytes that are not text of the charset: lenient decoding would
   *   send the model another text
   */
  end (): string {
    this.#small.flush()
    try {
      return this.#decoder.decode(Buffer.concat(this.#bytes))
    } catch (cause) {
      const [field, charset] = [shorten(this.#name), shorten(this.#charset)]
      throw this.#error(`The field \`${field}\` is not ${charset}. Send the form as UTF-8.`, cause)
    }
  }

  #error (message: string, cause: unknown): GatewayError {
    return new GatewayError('invalid_value', { message, param: shorten(this.#name), cause })
  }
}
