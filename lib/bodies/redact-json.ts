/**
 * Redacts JSON text without parsing it, string by string, even if the text is cut off.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { closingQuote } from '../json/string-end.ts'
import { mark } from '../text/redact.ts'
import type { Redaction } from './redaction.ts'

export interface RedactedText {
  readonly text: string
  readonly isRedacted: boolean
  /** True if the text was longer. */
  readonly isTruncated: boolean
}

export interface JsonRedaction {
  readonly redaction: Redaction
  /** Values to be redacted. */
  readonly secrets: readonly string[]
  /** Approximate maximum characters of the result. */
  readonly maxLength: number
  /** True for a text without its end. */
  readonly isCut?: boolean
}

/** Characters read per tick. */
const lengthPerTick = 64 * 1024
/**
 * A string that is cut loses this many more characters: a secret may be cut with it, and no pattern would
 * match the rest.
 */
const marginLength = 1024
/** Strings of at least this length are left out if they are media in base64. */
const minMediaLength = 1024
/** Maximum depth of JSON within strings of JSON, such as the arguments of a tool. */
const maxDepth = 4

/** Returns the text with marks in place of redacted values. Media in base64 are left out. */
export async function redactJson (text: string, options: JsonRedaction, depth = 0): Promise<RedactedText> {
  const { redaction, secrets, maxLength, isCut = false } = options
  let [result, at, tickEnd, isRedacted, isTruncated] = ['', 0, lengthPerTick, false, false]
  const redacted = async (part: string): Promise<string> => {
    const open = await redaction.redact(part, secrets)
    isRedacted ||= open !== part
    return open
  }
  while (at < text.length && result.length < maxLength) {
    const room = maxLength - result.length + marginLength
    const start = text.indexOf('"', at)
    if (start !== at) {
      const end = Math.min(start === -1 ? text.length : start, at + room)
      const between = text.slice(at, end)
      result += hasWords(between) || redaction.hasPatterns
        ? await redactedBetween(between, redaction.hasPatterns, redacted)
        : between
      at = end
      continue
    }
    const end = endOfString(text, start)
    const value = valueAfter(text, end)
    const string = decoded(text.slice(start + 1, end - 1))
    if (value !== undefined && redaction.hidesField(string) && !saysNothing(text, value)) {
      result += `${JSON.stringify(string)}:"${mark}"`
      isRedacted = true
      at = endOfValue(text, value)
    } else {
      const media = mediaNote(string)
      const inner = media === undefined && depth < maxDepth && /^\s{0,100}[[{]/.test(string)
        ? await redactJson(string, { ...options, maxLength: room }, depth + 1)
        : { text: media ?? string.slice(0, room), isRedacted: false }
      isRedacted ||= inner.isRedacted
      const open = await redacted(inner.text)
      const losesEnd = media === undefined && (string.length > room || (isCut && end > text.length))
      isTruncated ||= losesEnd
      result += JSON.stringify(losesEnd ? open.slice(0, -marginLength) : open)
      at = end
    }
    if (at < tickEnd) continue
    tickEnd = at + lengthPerTick
    await yieldFairly()
  }
  return { text: result, isRedacted, isTruncated: isTruncated || at < text.length }
}

/** Returns the index after the string that begins at an index. */
function endOfString (text: string, start: number): number {
  const end = closingQuote(text, start + 1)
  return end === -1 ? text.length + 1 : end + 1 // as if its closing quote were there
}

/**
 * Returns where the value of a member begins whose name ends here; `undefined` if the string is not a name.
 */
function valueAfter (text: string, end: number): number | undefined {
  const colon = withoutSpaces(text, end)
  return text[colon] === ':' ? withoutSpaces(text, colon + 1) : undefined
}

function withoutSpaces (text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return at
}

/** Returns true for a member that is `null`: clients and servers write out unused members. */
function saysNothing (text: string, start: number): boolean {
  return /^null(?![\w.])/.test(text.slice(start, start + 5))
}

function endOfValue (text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at) - 1
        if (depth === 0) return Math.min(at + 1, text.length)
        break
      case '{': case '[':
        depth++
        break
      case '}': case ']':
        depth--
        if (depth < 0) return at
        if (depth === 0) return at + 1
        break
      case ',':
        if (depth === 0) return at
    }
  }
  return text.length
}

/** Returns the content of a JSON string; a string that is cut in an escape, or invalid, as it is written. */
function decoded (written: string): string {
  if (!written.includes('\\')) return written
  try {
    return JSON.parse(`"${written}"`) as string // of a string
  } catch {
    return written
  }
}

/** Returns true for anything besides the punctuation, numbers and constants of JSON. */
function hasWords (between: string): boolean {
  return /[A-Za-z]/.test(between.replace(/true|false|null|\d[eE]/g, ''))
}

/** Redacts the text between strings: numbers, and anything in a text that is not JSON. */
async function redactedBetween (
  between: string,
  hasPatterns: boolean,
  redacted: (part: string) => Promise<string>
): Promise<string> {
  if (hasWords(between)) return await redacted(between)
  if (!hasPatterns || !/\d/.test(between)) return between
  let result = ''
  for (const part of between.split(/(-?\d[\d.eE+-]*)/)) {
    const open = /^-?\d/.test(part) ? await redacted(part) : part
    result += open === part ? part : JSON.stringify(open)
  }
  return result
}

/** Returns the replacement for media in base64; `undefined` for other strings. */
function mediaNote (string: string): string | undefined {
  if (string.length < minMediaLength) return undefined
  const [scheme = ''] = /^data:[\w.+/;=-]{0,200},/.exec(string) ?? []
  const isMedia = /^[\w+/-]{500,}={0,2}$/.test(string.slice(scheme.length, scheme.length + minMediaLength))
  return isMedia ? `${scheme}(${string.length - scheme.length} characters in base64)` : undefined
}
