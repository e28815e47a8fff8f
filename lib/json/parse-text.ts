import { yieldFairly } from '../async/yield-fairly.ts'
import { parseInSlices } from './parse-in-slices.ts'
import { ValueCounter, checkParseCost, maxDepth, parseBounded, valueBytes } from './parse-bounded.ts'

/** Larger texts are parsed in slices. */
const parsedAtOnceBytes = 256 * 1024
/** Bytes in which values are counted in a turn. */
const countedBytes = 1024 * 1024

/**
 * Parses JSON that this program printed, a large text in slices.
 *
 * @param takeMemory is called with the bytes that the values will take, before they are made, and may throw
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

/** Parses JSON that others wrote as `parseBounded` does, a large text in slices. */
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
