/**
 * Prints settings including secrets, which `JSON.stringify` leaves out: for comparison, or for another
 * process. Never for logs.
 */

import { randomUUID } from 'node:crypto'
import { Secret } from '../core/secret.ts'

/** @param printSecret returns the text for a secret. Default: the secret itself */
export function printSettings (settings: unknown, printSecret = (secret: Secret) => secret.reveal()): string {
  return JSON.stringify(settings, function (this: object, name, printed: unknown) {
    // `printed` is the result of toJSON, which is the same for all secrets.
    const original: unknown = Reflect.get(this, name)
    return original instanceof Secret ? printSecret(original) : printed
  })
}

/**
 * Returns a text from which `decodeSettings` restores the settings. Secrets start with a mark that no other
 * text can start with.
 */
export function encodeSettings (settings: unknown): string {
  const mark = randomUUID()
  return mark + printSettings(settings, secret => mark + JSON.stringify([secret.reveal(), secret.source]))
}

/** Restores encoded settings. */
export function decodeSettings (text: string): unknown {
  const mark = text.slice(0, uuidLength)
  return JSON.parse(text.slice(uuidLength), (_name, value: unknown) => (
    typeof value === 'string' && value.startsWith(mark) ? secretOf(value.slice(uuidLength)) : value
  ))
}

function secretOf (text: string): Secret {
  // written by `encodeSettings`
  const [value, source] = JSON.parse(text) as readonly [value: string, source: string | null]
  return new Secret(value, source ?? undefined)
}

const uuidLength = 36
