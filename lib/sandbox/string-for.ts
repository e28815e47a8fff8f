/** Generates a string with the pattern, format and length of a schema. */

import { numberOf } from '../json/type-guards.ts'
import type { Schema } from './schema.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { stringFromPattern } from './string-from-pattern.ts'

interface StringOptions {
  readonly variant: number
  /** Used if only the length is prescribed, and it fits. */
  readonly hint: string | undefined
}

const longest = 100_000

const formats: Readonly<Record<string, (variant: number) => string>> = {
  'date-time': variant => `2026-01-${day(variant)}T12:00:00Z`,
  date: variant => `2026-01-${day(variant)}`,
  time: () => '12:00:00Z',
  duration: variant => `P${variant + 1}D`,
  email: variant => `sample${variant + 1}@example.com`,
  hostname: variant => `sample${variant + 1}.example.com`,
  ipv4: variant => `192.0.2.${1 + variant % 250}`,
  ipv6: variant => `2001:db8::${1 + variant % 250}`,
  uri: variant => `https://example.com/${variant + 1}`,
  'uri-reference': variant => `/${variant + 1}`,
  url: variant => `https://example.com/${variant + 1}`,
  uuid: variant => `00000000-0000-4000-8000-${String(variant + 1).padStart(12, '0')}`
}

/** @throws SandboxRefusal 400 for an unreasonable minimum length */
export function stringFor (schema: Schema, { variant, hint }: StringOptions): string {
  const least = numberOf(schema['minLength']) ?? 0
  const most = numberOf(schema['maxLength']) ?? Infinity
  if (least > longest) {
    throw new SandboxRefusal(400, `The sandbox does not write strings of ${least} characters.`, {
      param: 'schema'
    })
  }

  const { pattern, format } = schema
  if (typeof pattern === 'string') {
    const matching = stretched(pattern, least)
    if (matching !== undefined) return matching
  }
  if (typeof format === 'string' && Object.hasOwn(formats, format)) {
    const formatted = formats[format]?.(variant)
    if (formatted !== undefined) return formatted
  }
  if (hint !== undefined && withinLength(hint, least, most)) return hint
  const text = variant === 0 ? 'sample' : `${variant + 1} sample`
  return text.padEnd(least, ' text').slice(0, most)
}

/** Returns the shortest match of at least this length. */
function stretched (pattern: string, least: number): string | undefined {
  const shortest = stringFromPattern(pattern)
  if (shortest === undefined || shortest.length >= least) return shortest
  return stringFromPattern(pattern, least - shortest.length) ?? shortest
}

/** Schemas count characters, not UTF-16 units. */
function withinLength (text: string, least: number, most: number): boolean {
  const { length } = Array.from(text)
  return length >= least && length <= most
}

function day (variant: number): string {
  return String(1 + variant % 28).padStart(2, '0')
}
