/**
 * Checks that callers' keys are hard to guess, and unique: otherwise one caller would get the rights of
 * another.
 */

import type { Config } from '../../schemas/config.ts'
import type { Secret } from '../core/secret.ts'
import { firstInvalidChar } from '../text/header-value.ts'
import type { KeySettings } from '../core/settings.ts'
import type { Report } from './report.ts'

/** Minimum characters of a key in `HEADGATE_API_KEYS`. */
const minLength = 8
/** Characters of a key that is hard to guess. A shorter one causes a warning. */
const goodLength = 24

export interface KeyValues {
  readonly secrets: ReadonlyMap<string, Secret>
  /** The keys in `HEADGATE_API_KEYS`. */
  readonly ownKeys: readonly KeySettings[]
  /** The key in `HEADGATE_ADMIN_KEY`. */
  readonly adminKey: Secret | undefined
}

/** The prefix that distinguishes it from a caller's key, and 24 random characters. */
const adminKeyPattern = /^hga_[\w-]{24,}$/

function checkAdminKey (text: string, report: Report): void {
  if (adminKeyPattern.test(text)) return
  report.add(
    ['HEADGATE_ADMIN_KEY'],
    'must be hga_ and at least 24 letters, digits, hyphens or underscores, such as hga_$(openssl rand -hex 24)'
  )
}

export function checkKeyValues (
  { keys }: Config,
  { secrets, ownKeys, adminKey }: KeyValues,
  report: Report
): void {
  if (adminKey !== undefined) checkAdminKey(adminKey.reveal(), report)
  const seen = new Set<string>()
  for (const [index, { name, key }] of keys.entries()) {
    const text = secrets.get(key)?.reveal()
    if (text === undefined) continue
    if (seen.has(text)) report.add(['keys', index, 'key'], 'is the same as that of another key')
    if (text.length < goodLength) {
      report.warn(
        ['keys', index, 'key'],
        `is too short to be hard to guess; use at least ${goodLength} random characters`
      )
    }
    if (ownKeys.some(own => own.name === name)) {
      report.add(['keys', index, 'name'], 'is the name of a key in HEADGATE_API_KEYS')
    }
    seen.add(text)
  }
  for (const [index, own] of ownKeys.entries()) {
    const text = own.key.reveal()
    const at = firstInvalidChar(text)
    const { length } = text
    if (length < minLength) {
      report.add(
        ['HEADGATE_API_KEYS'],
        `key ${index + 1} has ${length} characters, which can be guessed; use at least ${goodLength} random ones`
      )
    } else if (length < goodLength) {
      report.warn(
        ['HEADGATE_API_KEYS'],
        `key ${index + 1} has ${length} characters; use at least ${goodLength} random ones`
      )
    }
    if (at > 0) {
      report.add(
        ['HEADGATE_API_KEYS'],
        `key ${index + 1} contains a character not allowed in headers (position ${at})`
      )
    }
    if (seen.has(text)) {
      report.add(['HEADGATE_API_KEYS'], `key ${index + 1} is the same as that of an entry of keys`)
    }
  }
}
