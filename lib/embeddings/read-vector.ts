/**
 * Vectors remain the JSON bytes that the provider printed. If the caller requested the same form, they are
 * sent unchanged: printing 6 million numbers again would take seconds and change their digits. Otherwise each
 * is converted when it is written.
 */

import { GatewayError } from '../core/errors.ts'
import type { VectorForm, Vector } from '../core/events.ts'
import { openList, quote } from '../json/characters.ts'

const floatBytes = 4

/**
 * Creates a vector from one JSON value of an answer.
 *
 * @param wanted the form it will be written in; numbers that JSON cannot express are searched for only where
 *   they would matter
 * @throws GatewayError `upstream_invalid_response` for a value that is not a vector: empty, with `null` among
 *   its numbers, or not base64 of 32-bit floats
 */
export function readVector (json: Buffer, wanted: VectorForm): Vector {
  if (json[0] === openList && isNumbers(json)) return { form: 'float', json }
  if (json[0] === quote) {
    const vector: Vector = { form: 'base64', json: unescaped(json) }
    if (isFloats(vector.json) && (wanted === 'base64' || isFinite(vector.json))) return vector
  }
  throw new GatewayError('upstream_invalid_response', {
    cause: 'a vector is neither a list of numbers nor base64 of 32-bit floats'
  })
}

/**
 * Returns the vector as JSON in the requested form.
 *
 * @throws GatewayError `upstream_invalid_response` for values to convert that are not numbers, or that do not
 *   fit a 32-bit float
 */
export function printVector ({ form, json }: Vector, wanted: VectorForm): Buffer | string {
  if (form === wanted) return json
  if (form === 'base64') return `[${floatsIn(json).map(shortest).join()}]`
  return `"${base64Of(numbersIn(json))}"`
}

function numbersIn (json: Buffer): number[] {
  let numbers: number[]
  try {
    numbers = JSON.parse(json.toString()) as number[] // a list without words in it
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', { cause })
  }
  if (numbers.every(number => Number.isFinite(Math.fround(number)))) return numbers
  throw new GatewayError('upstream_invalid_response', {
    cause: 'a number exceeds the range of 32-bit floats'
  })
}

/** Encodes numbers as little-endian 32-bit floats in base64. */
export function base64Of (numbers: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(numbers.length * floatBytes)
  for (const [index, number] of numbers.entries()) bytes.writeFloatLE(number, index * floatBytes)
  return bytes.toString('base64')
}

/** One letter of each word that is no number (`null`, `true`, `NaN`, …), and where other values begin. */
const notNumbers = Buffer.from('nau"[{')

function isNumbers (json: Buffer): boolean {
  const inside = json.subarray(1, -1)
  return !notNumbers.some(byte => inside.includes(byte)) && inside.toString('latin1', 0, 64).trim() !== ''
}

/** Some printers write `\/` for a slash. */
function unescaped (json: Buffer): Buffer {
  return json.includes('\\') ? Buffer.from(JSON.stringify(JSON.parse(json.toString()))) : json
}

/** Recognises them by its length: base64 of complete floats, one at least. */
function isFloats (json: Buffer): boolean {
  const characters = json.length - 2
  const padding = json.subarray(-3, -1).toString('latin1').replace(/[^=]/g, '').length
  const bytes = characters / 4 * 3 - padding
  return characters % 4 === 0 && bytes > 0 && bytes % floatBytes === 0
}

/** No infinity and no NaN: those are the floats whose exponent is all ones. */
function isFinite (json: Buffer): boolean {
  const bytes = bytesIn(json)
  for (let at = 3; at < bytes.length; at += floatBytes) {
    if (((bytes[at] ?? 0) & 0x7f) === 0x7f && (bytes[at - 1] ?? 0) >= 0x80) return false
  }
  return true
}

function bytesIn (json: Buffer): Buffer {
  return Buffer.from(json.toString('latin1', 1, json.length - 1), 'base64')
}

function floatsIn (json: Buffer): number[] {
  const bytes = bytesIn(json)
  return Array.from({ length: bytes.length / floatBytes }, (_, index) =>
    bytes.readFloatLE(index * floatBytes)
  )
}

/** Seven to nine digits distinguish a 32-bit float from its neighbours; as a double it is printed with 17. */
function shortest (float: number): number {
  for (const digits of [7, 8]) {
    const number = Number(float.toPrecision(digits))
    if (Math.fround(number) === float) return number
  }
  return Number(float.toPrecision(9))
}
