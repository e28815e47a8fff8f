/** The texts of keys: new ones, their digests, and what of them is shown again. */

import { hash, randomBytes } from 'node:crypto'

/** Returns the text of a new key. */
export function newKeyText (): string {
  return `hg_${randomBytes(32).toString('base64url')}`
}

/** Returns what of a key people may see again, to know it by. */
export function hintOf (key: string): string {
  return `${key.slice(0, 6)}…${key.slice(-3)}`
}

/** Returns what is stored of a key: its SHA-256, base64. */
export function digestOf (text: string): string {
  return hash('sha256', text, 'base64')
}
