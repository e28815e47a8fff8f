/** Searches for the patterns of several guards in one pass. */

import { GatewayError } from '../core/errors.ts'
import { builtInPatterns, type BuiltInName, type BuiltInPattern } from './built-in-patterns.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { GuardFindings } from '../core/guard-findings.ts'
import type { GuardAction, GuardPoint } from '../../schemas/config/guards.ts'
import type { ReportedEnds, TextEdit, TextFilter } from './text-filter.ts'

/** One pattern of a guard. */
export interface PatternRule {
  /** The name of the guard. */
  readonly guard: string
  readonly action: GuardAction
  /** The name of the pattern. */
  readonly label: string
  readonly pattern: BuiltInPattern
  /** True to replace findings with placeholders that are restored for the caller. */
  readonly isReversible?: boolean
}

/** Returns the rule of a built-in pattern; `undefined` for an unknown name. */
export function builtInPattern (name: string): BuiltInPattern | undefined {
  // it is one of them
  return Object.hasOwn(builtInPatterns, name) ? builtInPatterns[name as BuiltInName] : undefined
}

interface Match {
  readonly rule: PatternRule
  readonly start: number
  readonly end: number
}

/**
 * Replaces the first match and continues after it. If several rules match at the same position, the first
 * rule wins. Matches that are only reported do not exclude others.
 */
export class PatternFilter implements TextFilter {
  readonly reach: number
  readonly #replacing: readonly PatternRule[]
  readonly #reporting: readonly PatternRule[]
  readonly #guards: ReadonlySet<string>
  readonly #point: GuardPoint
  readonly #findings: GuardFindings
  readonly #placeholders: Placeholders | undefined

  /**
   * @param rules in the order of their guards, at least one
   * @param placeholders of the call. Absent: no rule is reversible
   */
  constructor (
    rules: readonly PatternRule[],
    point: GuardPoint,
    findings: GuardFindings,
    placeholders?: Placeholders
  ) {
    this.#guards = new Set(rules.map(({ guard }) => guard))
    this.#reporting = rules.filter(({ action }) => action === 'report')
    this.#replacing = rules.filter(({ action }) => action !== 'report')
    this.reach = Math.max(...rules.map(({ pattern }) => pattern.maxLength)) + 1
    this.#point = point
    this.#findings = findings
    this.#placeholders = placeholders
  }

  get alters (): boolean {
    return this.#replacing.length > 0
  }

  find (text: string, from: number, until: number, reported?: ReportedEnds): readonly TextEdit[] {
    const began = performance.now()
    try {
      return this.#find(text, from, until, reported)
    } finally {
      const nowMs = performance.now()
      const durationMs = (nowMs - began) / this.#guards.size
      for (const guard of this.#guards) this.#findings.noteInspection(guard, this.#point, durationMs, nowMs)
    }
  }

  #find (text: string, from: number, until: number, reported?: ReportedEnds): readonly TextEdit[] {
    for (const rule of this.#reporting) {
      this.#report(rule, text, Math.max(from, reported?.after(rule) ?? 0), until, reported)
    }
    let next: Match[] = []
    for (const rule of this.#replacing) {
      const match = nextMatch(rule, text, from, until)
      if (match !== undefined) next.push(match)
    }
    const edits: TextEdit[] = []
    while (next.length > 0) {
      const first = next.reduce((best, match) => match.start < best.start ? match : best)
      const { rule: { guard, action }, start, end } = first
      this.#findings.note(guard, this.#point, action)
      if (action === 'refuse') throw refusal(first.rule)
      edits.push({ start, end, replacement: this.#replacementOf(first, text) })
      next = next.flatMap(match => match.start >= end ? match : nextMatch(match.rule, text, end, until) ?? [])
    }
    return edits
  }

  #replacementOf ({ rule: { label, isReversible }, start, end }: Match, text: string): string {
    const placeholders = isReversible === true ? this.#placeholders : undefined
    return placeholders?.nameOf(label, text.slice(start, end)) ?? `[${label}]`
  }

  /** Returns an error that names the guard whose finding could not be replaced. */
  refusal ({ replacement }: TextEdit): GatewayError {
    return new GatewayError('content_refused', {
      message: `This call was refused: ${replacement} was found in content that cannot be masked, such as signed reasoning or an unknown field.`
    })
  }

  #report (rule: PatternRule, text: string, from: number, until: number, reported?: ReportedEnds): void {
    for (
      let match = nextMatch(rule, text, from, until);
      match !== undefined;
      match = nextMatch(rule, text, match.end, until)
    ) {
      this.#findings.note(rule.guard, this.#point, rule.action)
      reported?.note(rule, match.end)
    }
  }
}

function nextMatch (rule: PatternRule, text: string, from: number, until: number): Match | undefined {
  const { expression, endOf, mark } = rule.pattern
  if (mark !== undefined && !text.includes(mark, from)) return undefined
  for (let at = from; ;) {
    expression.lastIndex = at
    const found = expression.exec(text)
    if (found === null || found.index >= until) return undefined
    const [match] = found
    const length = endOf === undefined ? match.length : endOf(match)
    if (length !== undefined) return { rule, start: found.index, end: found.index + length }
    at = found.index + 1
  }
}

function refusal ({ guard, label }: PatternRule): GatewayError {
  return new GatewayError('content_refused', {
    message: `The guard \`${guard}\` refused this call: it contains ${label}.`
  })
}
