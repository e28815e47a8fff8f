import { yieldFairly } from '../async/yield-fairly.ts'
import { parseInTurns } from './parse-in-turns.ts'
import { ValueCounter, valueBytes } from './parse-bounded.ts'

/** Larger texts are parsed in turns of the event loop. */
const parsedAtOnceBytes = 256 * 1024
/** Bytes in which values are counted in a turn. */
const countedBytes = 1024 * 1024

/**
 * Parses JSON that this program printed, a large text in turns of the event loop.
 *
 * @param takeMemory is called with the bytes that the values will take, before they are made, and may throw
 */
export async function parseText (
  text: string,
  takeMemory: (bytes: number) => void = () => undefined
): Promise<unknown> {
  const bytes = Buffer.from(text)
  const counter = new ValueCounter(Infinity)
  for (let at = 0; at < bytes.length; at += countedBytes) {
    if (at > 0) await yieldFairly()
    counter.push(bytes.subarray(at, at + countedBytes))
  }
  takeMemory(counter.count * valueBytes)
  return bytes.length > parsedAtOnceBytes ? await parseInTurns(bytes, Infinity) : JSON.parse(text)
}
