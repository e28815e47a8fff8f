/**
 * Compiles an operator's pattern to a regular expression whose matches have a maximum length, so that
 * searching a text in pieces gives the same result as searching it whole. `*`, `+` and `{2,}` repeat up to
 * that limit.
 *
 * `RegExp` tries every way of dividing a text among parts that match the same characters: a pattern with too
 * many such parts is refused.
 */

import {
  parsePattern, PatternError, type CodeRange, type PatternNode, type RepeatNode
} from './parse-pattern.ts'

export interface BoundedPattern {
  /** Global: a match begins at or after `lastIndex`. */
  readonly expression: RegExp
  /** Characters of the longest match. */
  readonly maxLength: number
}

/** Maximum ways to divide a text among the parts of a pattern: 18 ms for 100 KB of the worst text. */
const maxWays = 4096
/** Characters of a stream held until a match is decided. */
const longestMatch = 4096

/**
 * @param maxRepeats the limit of unbounded repetitions
 * @throws PatternError for a pattern that is invalid, matches the empty text, or takes too long
 */
export function boundedPattern (source: string, maxRepeats: number): BoundedPattern {
  const node = bounded(parsePattern(source), maxRepeats)
  const { length, canBeEmpty } = sizeOf(node)
  if (canBeEmpty) throw new PatternError('matches the empty text')
  if (length > longestMatch) {
    throw new PatternError(
      `has matches of up to ${length} characters, of ${longestMatch} at most: set a smaller \`max_length\``
    )
  }
  if (waysOf(node, []) > maxWays) {
    throw new PatternError(
      'has repetitions that can share the same characters in too many ways: set a smaller `max_length`, or make adjacent repetitions match different characters'
    )
  }
  return { expression: new RegExp(printNode(node), 'g'), maxLength: length }
}

/**
 * Returns the source of a pattern with limited repetitions: `a+` as `a{1,256}`.
 *
 * @throws PatternError for an invalid pattern
 */
export function boundedSource (source: string, maxRepeats: number): string {
  return repeatsOf(parsePattern(source)).reduceRight((text, node) => {
    const { min, max, start, end } = node
    return max === Infinity
      ? `${text.slice(0, start)}{${min},${boundOf(node, maxRepeats)}}${text.slice(end)}`
      : text
  }, source)
}

/** Lists the repetitions of a pattern in the order of their quantifiers. */
function repeatsOf (node: PatternNode): readonly RepeatNode[] {
  switch (node.type) {
    case 'code':
    case 'position': return []
    case 'sequence': return node.parts.flatMap(repeatsOf)
    case 'choice': return node.options.flatMap(repeatsOf)
    case 'repeat': return [...repeatsOf(node.part), node]
  }
}

function boundOf ({ min, max }: RepeatNode, most: number): number {
  return max === Infinity ? Math.max(min, most) : max
}

function bounded (node: PatternNode, most: number): PatternNode {
  switch (node.type) {
    case 'code':
    case 'position':
      return node
    case 'sequence':
      return { ...node, parts: node.parts.map(part => bounded(part, most)) }
    case 'choice':
      return { ...node, options: node.options.map(option => bounded(option, most)) }
    case 'repeat':
      return { ...node, part: bounded(node.part, most), max: boundOf(node, most) }
  }
}

interface Size {
  /** Characters at most. */
  readonly length: number
  readonly canBeEmpty: boolean
}

function sizeOf (node: PatternNode): Size {
  switch (node.type) {
    case 'code': return { length: 1, canBeEmpty: false }
    case 'position': return { length: 0, canBeEmpty: true }
    case 'sequence': {
      const sizes = node.parts.map(sizeOf)
      return {
        length: sizes.reduce((sum, { length }) => sum + length, 0),
        canBeEmpty: sizes.every(({ canBeEmpty }) => canBeEmpty)
      }
    }
    case 'choice': {
      const sizes = node.options.map(sizeOf)
      return {
        length: Math.max(...sizes.map(({ length }) => length)),
        canBeEmpty: sizes.some(({ canBeEmpty }) => canBeEmpty)
      }
    }
    case 'repeat': {
      const { length, canBeEmpty } = sizeOf(node.part)
      return { length: length * node.max, canBeEmpty: canBeEmpty || node.min === 0 }
    }
  }
}

/**
 * Counts the ways in which parts can divide a text.
 *
 * @param following the characters that can follow
 */
function waysOf (node: PatternNode, following: readonly CodeRange[]): number {
  switch (node.type) {
    case 'code':
    case 'position': return 1
    case 'sequence': {
      let ways = 1
      let next = following
      for (const part of node.parts.toReversed()) {
        ways *= waysOf(part, next)
        next = sizeOf(part).canBeEmpty ? [...firstOf(part), ...next] : firstOf(part)
      }
      return ways
    }
    case 'choice': {
      const ways = node.options.map(option => waysOf(option, following))
      return beginAlike(node.options) ? ways.reduce((sum, each) => sum + each, 0) : Math.max(...ways)
    }
    case 'repeat': {
      const { part, min, max } = node
      const first = firstOf(part)
      const inner = waysOf(part, max > 1 ? [...first, ...following] : following)
      return (max > min && overlaps(first, following) ? max - min + 1 : 1) * inner ** max
    }
  }
}

function firstOf (node: PatternNode): readonly CodeRange[] {
  switch (node.type) {
    case 'code': return node.ranges
    case 'position': return []
    case 'choice': return node.options.flatMap(firstOf)
    case 'repeat': return firstOf(node.part)
    case 'sequence': {
      const end = node.parts.findIndex(part => !sizeOf(part).canBeEmpty)
      return node.parts.slice(0, end === -1 ? undefined : end + 1).flatMap(firstOf)
    }
  }
}

/** True for alternatives that can begin with the same character: each of them is tried. */
function beginAlike (options: readonly PatternNode[]): boolean {
  return options.some(
    (option, index) =>
      sizeOf(option).canBeEmpty ||
      options.slice(index + 1).some(other => overlaps(firstOf(option), firstOf(other)))
  )
}

function overlaps (some: readonly CodeRange[], others: readonly CodeRange[]): boolean {
  return some.some(([from, to]) => others.some(([first, last]) => from <= last && first <= to))
}

function printNode (node: PatternNode): string {
  switch (node.type) {
    case 'code':
      return `[${node.ranges.map(([from, to]) => `${escaped(from)}-${escaped(to)}`).join('')}]`
    case 'position':
      return { start: '^', end: '$', word_boundary: '\\b', no_word_boundary: '\\B' }[node.position]
    case 'sequence':
      return node.parts.map(printNode).join('')
    case 'choice':
      return `(?:${node.options.map(printNode).join('|')})`
    case 'repeat':
      return `(?:${printNode(node.part)}){${node.min},${node.max}}${node.isLazy ? '?' : ''}`
  }
}

function escaped (code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
