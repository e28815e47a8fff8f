/** Texts that are shown once and stored as digests: sessions, links and keys of the admin API. */

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
 * Digests a token: with 256 random bits it needs neither salt nor work, and finding it by its digest leaks
 * nothing by time.
 */
export function digestOf (token: string): string {
  return hash('sha256', token, 'base64')
}
