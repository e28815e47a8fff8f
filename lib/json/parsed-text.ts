import type { CallerBody } from '../core/caller-body.ts'
import { isContainer, isObject, type JsonObject } from './guards.ts'
import { countKeys, readObjectText, type ObjectText, type TextRange } from './object-text.ts'

/**
 * Keeps a JSON object with the bytes that it was parsed from.
 *
 * Most of a request is sent on as it came. A list or an object in it that still is the very one that was
 * parsed needs no printing: to print and encode 33 KB of messages takes 66 µs, to find them in the bytes and
 * copy them 30; of 1 KB either takes 3, and bytes that are kept cost the collector more (Node.js 20).
 */
export class ParsedText implements CallerBody {
  readonly #value: JsonObject
  readonly #pieces: readonly Buffer[]
  #text: string | undefined

  private constructor (value: JsonObject, pieces: readonly Buffer[], text: string | undefined) {
    this.#value = value
    this.#pieces = pieces
    this.#text = text
  }

  /**
   * @param pieces UTF-8, as it was parsed into `value`
   * @param text the same as text, if it is known
   */
  static of (value: unknown, pieces: readonly Buffer[], text?: string): ParsedText | undefined {
    return isObject(value) ? new ParsedText(value, pieces, text) : undefined
  }

  /**
   * Returns the text, and forgets it: each collection would copy it while its call waits for the provider. If
   * it is needed again, it is made of the bytes.
   */
  text (): string {
    return this.#takeText() ?? this.#bytes().toString()
  }

  /** Prints an object: what it shares with the parsed one in the bytes that it came as. */
  print (object: object): string | Uint8Array {
    const fields = Object.entries(object)
    const text = this.#takeText()
    if (!fields.some(([name, value]) => this.#isShared(name, value))) return JSON.stringify(object)
    const bytes = this.#bytes()
    // Each byte a character: the text itself, where all of it is ASCII.
    const outline = readObjectText(text?.length === bytes.length ? text : bytes.toString('latin1'))
    if (outline === undefined) return JSON.stringify(object)
    const pieces: Uint8Array[] = []
    let printed = ''
    for (const [name, value] of fields) {
      if (value === undefined) continue
      printed += `${printed === '' && pieces.length === 0 ? '{' : ','}${JSON.stringify(name)}:`
      const range = this.#isShared(name, value) ? unambiguous(outline, name, value) : undefined
      if (range === undefined) {
        printed += JSON.stringify(value)
      } else {
        pieces.push(Buffer.from(printed), bytes.subarray(range.start, range.end))
        printed = ''
      }
    }
    pieces.push(Buffer.from(`${printed}}`))
    return Buffer.concat(pieces)
  }

  #takeText (): string | undefined {
    const text = this.#text
    this.#text = undefined
    return text
  }

  #bytes (): Buffer {
    const [first] = this.#pieces
    return this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces)
  }

  #isShared (name: string, value: unknown): boolean {
    return isContainer(value) && value === this.#value[name]
  }
}

/**
 * Returns where the value of a field is; `undefined` for one with a key that comes twice, of which another
 * parser may take the first.
 */
function unambiguous ({ fields }: ObjectText, name: string, value: unknown): TextRange | undefined {
  const range = fields.get(name)
  return range?.keys === countKeys(value) ? range : undefined
}
