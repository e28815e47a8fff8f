/**
 * Prints settings with their secrets, which `JSON.stringify` leaves out: to compare them, or for another
 * process. Never for a log.
 */

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

/**
 * Returns a text that `decodeSettings` makes the same settings of. Secrets begin with a mark that no other
 * text can begin with.
 */
export function encodeSettings (settings: unknown): string {
  const mark = randomUUID()
  return mark + printSettings(settings, secret => mark + JSON.stringify([secret.reveal(), secret.source]))
}

/** Returns settings that are equal to those that were encoded. */
export function decodeSettings (text: string): unknown {
  const mark = text.slice(0, uuidLength)
  return JSON.parse(text.slice(uuidLength), (_name, value: unknown) => (
    typeof value === 'string' && value.startsWith(mark) ? secretOf(value.slice(uuidLength)) : value
  ))
}

function secretOf (text: string): Secret {
  // by `encodeSettings`
  const [value, source] = JSON.parse(text) as readonly [value: string, source: string | null]
  return new Secret(value, source ?? undefined)
}

const uuidLength = 36
