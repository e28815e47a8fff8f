/** Tokens that are shown once and stored as digests: sessions, links and admin keys. */

import { hash, randomBytes } from 'node:crypto'

/** Returns a text with 256 random bits. */
export function newToken (prefix = ''): string {
  return prefix + randomBytes(32).toString('base64url')
}

/** Returns an id: `user_1f0c…`. */
export function newId (prefix: string): string {
  return `${prefix}_${randomBytes(8).toString('hex')}`
}

/**
 * Digests a token. With 256 random bits it needs neither salt nor stretching, and a lookup by digest reveals
 * nothing through timing.
 */
export function digestOf (token: string): string {
  return hash('sha256', token, 'base64')
}
