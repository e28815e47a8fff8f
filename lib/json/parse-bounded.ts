/** Parses JSON that others wrote, within bounds of depth and of values. */

import { ValueCounter } from './value-counter.ts'
import { isContainer } from './guards.ts'

/** Nesting that no response of a provider or a tool server has for a reason. */
export const maxDepth = 256
/** A text nested deeper than that is longer than this: shorter ones, as chunks are, need no look. */
const plainLength = 2 * maxDepth
/** Such a text takes no more than a few milliseconds, whatever it holds. */
const uncountedLength = 64 * 1024
/** Parsed in 40 ms: half a million numbers, or 60,000 texts, keys and objects. */
const maxParseCost = 500_000

/**
 * Parses JSON that others wrote, on its own or in a string of other JSON. What is nested thousands of levels
 * deep is refused here, because whatever walks it later, as `JSON.stringify` does, would run out of stack.
 *
 * @throws SyntaxError for what is not JSON, nested deeper than 256 levels, or more than half a million
 *   values, of which keys, strings, objects and lists count as eight
 */
export function parseBounded (text: string): unknown {
  if (text.length > uncountedLength) checkParseCost(text)
  const value: unknown = JSON.parse(text)
  if (text.length > plainLength && isDeeperThan(value, maxDepth)) {
    throw new SyntaxError(`nested deeper than ${maxDepth} levels`)
  }
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

/** Levels that are walked by recursion, which makes no lists; most bodies have fewer. */
const maxRecursion = 64

/**
 * Returns true when objects and lists are nested in more than so many levels. Beyond some levels it walks
 * without recursion: a hostile text must not choose the depth of our stack.
 */
export function isDeeperThan (value: unknown, levels: number): boolean {
  return isDeeper(value, levels, maxRecursion)
}

function isDeeper (value: unknown, levels: number, recursion: number): boolean {
  if (!isContainer(value)) return false
  if (levels === 0) return true
  if (recursion === 0) return isDeeperByLevel(value, levels)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      if (isDeeper(value[index], levels - 1, recursion - 1)) return true
    }
    return false
  }
  for (const name in value) {
    if (isDeeper(Reflect.get(value, name), levels - 1, recursion - 1)) return true
  }
  return false
}

function isDeeperByLevel (value: object, levels: number): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= levels) return true
    const next: object[] = []
    for (const container of level) {
      // `for in` over an array makes a string of every index: 50 MB of numbers took 25 s. Strings are no
      // containers: `Object.values` makes one value of each character, and 20 MB took ten seconds.
      for (const child of Array.isArray(container) ? container : Object.values(container)) {
        if (isContainer(child)) next.push(child)
      }
    }
    level = next
  }
  return false
}
