/**
 * Finds the fields of a JSON object without parsing its values, so that some can be replaced while the rest
 * stays as written: key order, `1.0`, spaces, unknown fields.
 */

import { isContainer } from './type-guards.ts'
import { closingQuote } from './string-end.ts'
import { closeList, closeObject, colon, comma, isSpace, openList, openObject, quote } from './characters.ts'

/** The position of a value in a text. */
export interface TextRange {
  readonly start: number
  readonly end: number
  /** Number of keys in all objects of the value. */
  readonly keys: number
}

export interface ObjectText {
  /** Positions of the values of its own fields. */
  readonly fields: ReadonlyMap<string, TextRange>
  /** Number of keys in all objects of the text. */
  readonly keys: number
}

/**
 * Finds the fields of an object.
 *
 * @param text JSON that was parsed before
 * @returns `undefined` for anything but an object, and for duplicate fields
 */
export function readObjectText (text: string): ObjectText | undefined {
  const fields = new Map<string, TextRange>()
  let keys = 0
  let depth = 0
  let name: string | undefined
  let start = 0
  let keysBefore = 0
  const endField = (end: number): boolean => {
    if (name === undefined) return true
    if (fields.has(name)) return false
    fields.set(name, { start, end: withoutSpace(text, end), keys: keys - keysBefore })
    name = undefined
    return true
  }
  const first = nextOf(text, 0)
  if (text.charCodeAt(first) !== openObject) return undefined
  for (let at = first; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at)
        const after = nextOf(text, end)
        if (text.charCodeAt(after) === colon) {
          keys++
          if (depth === 1) {
            name = keyOf(text.slice(at, end))
            start = nextOf(text, after + 1)
            keysBefore = keys
          }
        }
        at = end - 1
        break
      }
      case openObject: case openList:
        depth++
        break
      case closeObject: case closeList:
        if (--depth === 0 && !endField(at)) return undefined
        break
      case comma:
        if (depth === 1 && !endField(at)) return undefined
    }
  }
  return { fields, keys }
}

/** Returns the text with some fields replaced; new fields come first. */
export function replaceFields (
  text: string,
  { fields }: ObjectText,
  values: ReadonlyMap<string, string>
): string {
  let added = ''
  for (const [name, value] of values) if (!fields.has(name)) added += `${JSON.stringify(name)}:${value},`
  const opening = text.indexOf('{') + 1
  let result = text.slice(0, opening) + (fields.size === 0 ? added.slice(0, -1) : added)
  let from = opening
  // in text order
  for (const [name, { start, end }] of fields) {
    const value = values.get(name)
    if (value === undefined) continue
    result += text.slice(from, start) + value
    from = end
  }
  return result + text.slice(from)
}

/** Replaces fields of the object in a field; returns the text unchanged without such an object. */
export function replaceFieldsIn (text: string, name: string, values: ReadonlyMap<string, string>): string {
  const outer = readObjectText(text)
  const range = outer?.fields.get(name)
  if (outer === undefined || range === undefined) return text
  const inner = text.slice(range.start, range.end)
  const outline = readObjectText(inner)
  return outline === undefined
    ? text
    : text.slice(0, range.start) + replaceFields(inner, outline, values) + text.slice(range.end)
}

/** Counts the keys in all objects of a parsed value: a text with more keys contains duplicates. */
export function countKeys (value: unknown): number {
  let keys = 0
  const open: unknown[] = [value]
  while (open.length > 0) {
    const container = open.pop()
    if (!isContainer(container)) continue
    const isList = Array.isArray(container)
    const children: readonly unknown[] = isList ? container : Object.values(container)
    if (!isList) keys += children.length
    for (const child of children) if (isContainer(child)) open.push(child)
  }
  return keys
}

/**
 * Returns a JSON text unchanged, or reserialised if it contains duplicate keys: another parser might take the
 * value that was not checked.
 *
 * @param value the parsed text
 */
export function withoutRepeatedKeys (text: string, value: unknown): string {
  return countKeysIn(text) === countKeys(value) ? text : JSON.stringify(value)
}

function countKeysIn (text: string): number {
  let keys = 0
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at = endOfString(text, at)
    if (text.charCodeAt(nextOf(text, at)) === colon) keys++
  }
  return keys
}

/**
 * Returns the position after the string, including quotes, that begins at `start`; the end of the text
 * without a closing quote.
 */
export function endOfString (text: string, start: number): number {
  const end = closingQuote(text, start + 1)
  return end === -1 ? text.length : end + 1
}

function keyOf (text: string): string {
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1)
}

function nextOf (text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function withoutSpace (text: string, end: number): number {
  while (isSpace(text.charCodeAt(end - 1))) end--
  return end
}

/** Returns the values of fields as JSON, for insertion into the text of an object. */
export function printedFields (fields: object): Map<string, string> {
  return new Map(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]))
}
