import { isDeeperThan } from './depth.ts'

/** Nesting that no response of a provider has for a reason. */
const maxDepth = 256
/** A text nested deeper than that is longer than this: shorter ones, as chunks are, need no look. */
const plainLength = 2 * maxDepth

/**
 * Parses JSON that others wrote. What is nested thousands of levels deep is refused here, because
 * whatever walks it later, as `JSON.stringify` does, would run out of stack.
 *
 * @throws SyntaxError for what is not JSON, or nested deeper than 256 levels
 */
export function parseBounded (text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (text.length > plainLength && isDeeperThan(value, maxDepth)) throw new SyntaxError(`nested deeper than ${maxDepth} levels`)
  return value
}
