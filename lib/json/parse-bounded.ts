import { isDeeperThan } from './depth.ts'
import { ValueCounter } from './value-counter.ts'

/** Nesting that no response of a provider or a tool server has for a reason. */
export const maxDepth = 256
/** A text nested deeper than that is longer than this: shorter ones, as chunks are, need no look. */
const plainLength = 2 * maxDepth
/** Such a text takes no more than a few milliseconds, whatever it holds. */
const uncountedLength = 64 * 1024
/** Parsed in 40 ms: half a million numbers, or 60,000 texts, keys and objects. */
const maxParseCost = 500_000

/**
 * Parses JSON that others wrote, on its own or in a string of other JSON. What is nested thousands of levels deep is refused here, because
 * whatever walks it later, as `JSON.stringify` does, would run out of stack.
 *
 * @throws SyntaxError for what is not JSON, nested deeper than 256 levels, or more than half a million values, of which
 *   keys, strings, objects and lists count as eight
 */
export function parseBounded (text: string): unknown {
  if (text.length > uncountedLength) checkParseCost(text)
  const value: unknown = JSON.parse(text)
  if (text.length > plainLength && isDeeperThan(value, maxDepth)) throw new SyntaxError(`nested deeper than ${maxDepth} levels`)
  return value
}

function checkParseCost (text: string): void {
  const counter = new ValueCounter(Infinity)
  // Part by part: the count may end it soon.
  for (let at = 0; at < text.length; at += uncountedLength) {
    counter.push(Buffer.from(text.slice(at, at + uncountedLength)))
    if (counter.parseCost > maxParseCost) throw new SyntaxError('too many values')
  }
}
