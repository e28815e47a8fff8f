/**
 * Creates placeholders such as `<EMAIL_k7q2m3xw>` for values in the texts of one call, and keeps the values.
 *
 * A name is an HMAC of the value, keyed by the key and its project. A value keeps its name through a
 * conversation, so the provider's prompt cache still matches, and names differ between keys. The values stay
 * with the call; a stored response includes them, encrypted.
 */

import { createHmac } from 'node:crypto'
import { GatewayError } from '../core/errors.ts'
import { openText, sealText } from '../text/sealed-text.ts'
import type { Placeholders } from '../core/placeholders.ts'

/** The key and project that the values belong to. */
export interface PlaceholderOwner {
  readonly keyId: string
  readonly projectId: string
}

/** Characters after the label, of five bits each; more if the name is taken. */
export const minTagLength = 8
export const maxTagLength = 32
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
/** Maximum values per call; each takes a few hundred bytes while the call is open. */
const maxValues = 10_000

export class KeyedPlaceholders implements Placeholders {
  readonly #nameKey: Buffer
  readonly #sealingKey: Buffer
  readonly #keyId: string
  readonly #values = new Map<string, string>()
  readonly #names = new Map<string, string>()
  readonly #labels = new Set<string>()
  readonly #joined = new Set<string>()

  /** @param secret the store's secret, or that of the process without a store */
  constructor (secret: Buffer, { keyId, projectId }: PlaceholderOwner) {
    this.#nameKey = digestOf(secret, JSON.stringify(['placeholders', projectId, keyId]))
    this.#sealingKey = digestOf(secret, JSON.stringify(['sealed placeholders', keyId]))
    this.#keyId = keyId
  }

  get size (): number {
    return this.#values.size
  }

  get labels (): ReadonlySet<string> {
    return this.#labels
  }

  nameOf (label: string, value: string): string {
    const prefix = label.toUpperCase().replaceAll('-', '_')
    const existing = this.#names.get(`${prefix} ${value}`)
    if (existing !== undefined) return existing
    if (this.#values.size >= maxValues) throw tooManyValues()
    const digest = digestOf(this.#nameKey, `${prefix} ${value}`)
    const tag = [...digest].map(byte => alphabet[byte % alphabet.length]).join('')
    let length = minTagLength
    while (length < maxTagLength && this.#values.has(`<${prefix}_${tag.slice(0, length)}>`)) length++
    const name = `<${prefix}_${tag.slice(0, length)}>`
    this.#add(name, value)
    return name
  }

  valueOf (name: string): string | undefined {
    return this.#values.get(name)
  }

  isJoined (name: string): boolean {
    return this.#joined.has(name)
  }

  join (sealed: string): void {
    const text = openText(sealed, this.#sealingKey, this.#keyId)
    if (text === undefined) return
    for (const [name, value] of JSON.parse(text) as Array<[string, string]>) { // sealed by this class
      if (this.#values.size >= maxValues) throw tooManyValues()
      this.#add(name, value)
      this.#joined.add(name)
    }
  }

  sealed (): string | undefined {
    return this.#values.size === 0
      ? undefined
      : sealText(JSON.stringify([...this.#values]), this.#sealingKey, this.#keyId)
  }

  #add (name: string, value: string): void {
    const label = name.slice(1, name.lastIndexOf('_'))
    this.#values.set(name, value)
    this.#names.set(`${label} ${value}`, name)
    this.#labels.add(label)
  }
}

function tooManyValues (): GatewayError {
  return new GatewayError('too_many_values', {
    message: `A call may have at most ${maxValues} values that a guard masks. Send fewer in one request.`
  })
}

function digestOf (secret: Buffer, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}
