/** Describes messages with one piece of text, followed by the token counts so far. */

import { objectOf, onlyObjectOf } from '../../json/type-guards.ts'
import type { TextMessage } from '../text-template.ts'

/** Matches a number in value position. */
const numbers = /(?<=:\s?)\d{1,15}(?=[,}\s])/

export const textMessage: TextMessage = {
  opening: /"text":\s?"/,
  values: { split: splitAtCounts, endOf: endOfNumber, examples: ['1', '2'] },
  // The candidate has no number that could be one of the changing values.
  hasNoOtherFacts: (text, message, other) => {
    const candidate = onlyObjectOf(message['candidates'])
    const isText = onlyObjectOf(objectOf(candidate?.['content'])?.['parts'])?.['text'] === text
    return isText && JSON.stringify(message['candidates']) === JSON.stringify(other['candidates'])
  }
}

function splitAtCounts (behind: string): string[] {
  const usage = behind.indexOf('"usageMetadata"')
  const counts = usage === -1 ? behind.length : usage
  const [first = '', ...others] = behind.slice(counts).split(numbers)
  return [behind.slice(0, counts) + first, ...others]
}

/** Returns the position after an integer; for a number invalid in JSON, a position inside it. */
function endOfNumber (data: string, start: number): number {
  let at = start
  while (isDigit(data, at) && (at === start || data[start] !== '0')) at++
  return at === start ? data.length : at
}

function isDigit (data: string, at: number): boolean {
  const code = data.charCodeAt(at)
  return code >= 0x30 && code <= 0x39
}
