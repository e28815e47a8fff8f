/**
 * Finds what makes a regular expression take more than linear time on some text.
 *
 * There are two causes. Backtracking: two parts that can match the same text try all ways to share it
 * (`scslre` finds these). And searching: without an anchor every position is a start, so an unbounded
 * repetition that can run over further starts, and fail after them, is run again from each.
 */

import { RegExpParser, type AST } from '@eslint-community/regexpp'
import { getConsumedChars, isPotentiallyEmpty, type ReadonlyFlags } from 'regexp-ast-analysis'
import { analyse } from 'scslre'

type Element = AST.Element | AST.QuantifiableElement

/** Repetitions up to here only multiply the time by a constant. */
const maxRepetitions = 1000

/** Returns the offending parts; none for a linear pattern. */
export function superLinearParts (source: string, flags: string): string[] {
  const { reports } = analyse({ source, flags }, { reportTypes: { Move: false, Self: true, Trade: true } })
  return [...reports.map(({ type }) => `${type} of /${source}/`), ...rescannedParts(source, flags)]
}

function rescannedParts (source: string, given: string): string[] {
  const flags: ReadonlyFlags = {
    ignoreCase: given.includes('i'),
    multiline: given.includes('m'),
    dotAll: given.includes('s'),
    unicode: given.includes('u'),
    sticky: given.includes('y')
  }
  if (flags.sticky === true) return [] // starts at one position only
  const found: string[] = []

  /** @param before what precedes these alternatives in every match */
  const visit = (
    alternatives: readonly AST.Alternative[],
    before: readonly Element[],
    canFail: boolean
  ): void => {
    for (const { elements } of alternatives) {
      const [first] = elements
      if (first?.type === 'Assertion' && first.kind === 'start' && flags.multiline !== true) continue
      for (const [index, element] of elements.entries()) {
        const prefix = [...before, ...elements.slice(0, index)]
        const failsLater =
          canFail ||
          elements
            .slice(index + 1)
            .some(part => part.type === 'Assertion' || !isPotentiallyEmpty(part, flags))
        const repeated = element.type === 'Quantifier' ? element.element : element
        const unbounded = element.type === 'Quantifier' && element.max > maxRepetitions
        if (unbounded && failsLater && !prefix.some(part => stops(part, repeated))) found.push(element.raw)
        if (repeated.type === 'Group' || repeated.type === 'CapturingGroup') {
          visit(repeated.alternatives, prefix, failsLater)
        }
        if (repeated.type === 'Assertion' && 'alternatives' in repeated) {
          visit(repeated.alternatives, [], true)
        }
      }
    }
  }

  /** True if a repetition cannot run over `part`, and so not over another start of the pattern. */
  const stops = (part: Element, repeated: Element): boolean => {
    switch (part.type) {
      case 'Assertion':
      case 'Backreference':
        return false
      case 'Quantifier':
        return part.min > 0 && stops(part.element, repeated)
      case 'Group':
      case 'CapturingGroup':
        return part.alternatives.every(({ elements }) => elements.some(inner => stops(inner, repeated)))
      default:
        return getConsumedChars(part, flags).chars.isDisjointWith(getConsumedChars(repeated, flags).chars)
    }
  }

  visit(
    new RegExpParser().parsePattern(source, 0, source.length, { unicode: flags.unicode === true })
      .alternatives,
    [],
    false
  )
  return found
}
