/** Parses texts without blocking other calls. */

import { yieldFairly } from '../async/yield-fairly.ts'
import { parseInSlices } from './parse-in-slices.ts'
import { ValueCounter, checkParseCost, maxDepth, parseBounded, valueBytes } from './parse-bounded.ts'

/** Larger texts are parsed in slices. */
const parsedAtOnceBytes = 256 * 1024
/** Bytes whose values are counted per tick. */
const countedBytes = 1024 * 1024

/**
 * Parses JSON that this program printed; large texts in slices.
 *
 * @param takeMemory called with the bytes that the values will take, before they are created; may throw
 */
export async function parseText (
  text: string,
  takeMemory: (bytes: number) => void = () => undefined
): Promise<unknown> {
  const bytes = Buffer.from(text)
  const { count } = await countedValues(bytes)
  takeMemory(count * valueBytes)
  return bytes.length > parsedAtOnceBytes ? await parseInSlices(bytes, Infinity) : JSON.parse(text)
}

/** Parses untrusted JSON like `parseBounded`; large texts in slices. */
export async function parseBoundedText (text: string): Promise<unknown> {
  const bytes = Buffer.from(text)
  if (bytes.length <= parsedAtOnceBytes) return parseBounded(text)
  checkParseCost(await countedValues(bytes))
  return await parseInSlices(bytes, maxDepth)
}

async function countedValues (bytes: Buffer): Promise<ValueCounter> {
  const counter = new ValueCounter(Infinity)
  for (let at = 0; at < bytes.length; at += countedBytes) {
    if (at > 0) await yieldFairly()
    counter.push(bytes.subarray(at, at + countedBytes))
  }
  return counter
}
