/** Generates a short string that matches a regular expression of a schema. */

import { parsePattern, PatternError, type CodeRange, type PatternNode } from '../text/parse-pattern.ts'

// Enough for any sensible pattern, and a bound on senseless ones.
const longest = 10_000
const [firstPrintable, lastPrintable] = [0x20, 0x7e]
const a = 0x61

/**
 * @param stretch further repetitions wherever the expression allows any number
 * @returns `undefined` for an expression that `parsePattern` does not know, or one whose strings are long
 */
export function stringFromPattern (pattern: string, stretch = 0): string | undefined {
  try {
    return stringOf(parsePattern(pattern), stretch)
  } catch (error) {
    if (error instanceof PatternError) return undefined
    throw error
  }
}

/** Writes the least that a part asks for; of alternatives the first. */
function stringOf (node: PatternNode, stretch: number): string {
  switch (node.type) {
    case 'code': return String.fromCharCode(codeIn(node.ranges))
    case 'position': return ''
    case 'choice': return node.options[0] === undefined ? '' : stringOf(node.options[0], stretch)
    case 'sequence': {
      let text = ''
      for (const part of node.parts) {
        text += stringOf(part, stretch)
        refuseLonger(text.length)
      }
      return text
    }
    case 'repeat': {
      const text = stringOf(node.part, stretch)
      const times = node.min + (node.max >= node.min + stretch ? stretch : 0)
      refuseLonger(text.length * times)
      return text.repeat(times)
    }
  }
}

function refuseLonger (length: number): void {
  if (length > longest) throw new PatternError(`has matches of more than ${longest} characters only`)
}

/**
 * Chooses the letter a, or else the first printable character. A character that is written stands for itself.
 */
function codeIn (ranges: readonly CodeRange[]): number {
  const [range] = ranges
  if (ranges.length === 1 && range !== undefined && range[0] === range[1]) return range[0]
  if (ranges.some(([first, last]) => first <= a && a <= last)) return a
  for (const [first, last] of ranges) {
    const code = Math.max(first, firstPrintable)
    if (code <= Math.min(last, lastPrintable)) return code
  }
  throw new PatternError('asks for a character that is not printable')
}
