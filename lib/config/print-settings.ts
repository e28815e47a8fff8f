/** Prints settings with their secrets, which `JSON.stringify` leaves out: to compare them, or for another process. Never for a log. */

import { randomUUID } from 'node:crypto'
import { Secret } from '../core/secret.ts'

/** @param printSecret what to print in place of a secret. Default: its text */
export function printSettings (settings: unknown, printSecret = (secret: Secret) => secret.reveal()): string {
  return JSON.stringify(settings, function (this: object, name, printed: unknown) {
    // `printed` is what toJSON made of a secret: all of them would look the same.
    const original: unknown = Reflect.get(this, name)
    return original instanceof Secret ? printSecret(original) : printed
  })
}

/** Returns a text that `decodeSettings` makes the same settings of. Secrets begin with a mark that no other text can begin with. */
export function encodeSettings (settings: unknown): string {
  const mark = randomUUID()
  return mark + printSettings(settings, secret => mark + secret.reveal())
}

/** Returns settings that are equal to those that were encoded. */
export function decodeSettings (text: string): unknown {
  const mark = text.slice(0, uuidLength)
  return JSON.parse(text.slice(uuidLength), (_name, value: unknown) => (
    typeof value === 'string' && value.startsWith(mark) ? new Secret(value.slice(uuidLength)) : value
  ))
}

const uuidLength = 36
