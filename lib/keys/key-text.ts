/** The texts of keys: new ones, their digests, and the part that may be shown again. */

import { hash, randomBytes } from 'node:crypto'

export function newKeyText (): string {
  return `hg_${randomBytes(32).toString('base64url')}`
}

/** Returns the part of a key that may be shown, to recognise it. */
export function hintOf (key: string): string {
  return `${key.slice(0, 6)}…${key.slice(-3)}`
}

/** Returns the stored form of a key: its SHA-256 digest in base64. */
export function digestOf (text: string): string {
  return hash('sha256', text, 'base64')
}
