/** A filter searches texts, and says what its findings are replaced by. */

import type { GatewayError } from '../core/errors.ts'
import type { ReplaceText, TextPlace } from '../json/place-table.ts'

/** A finding and its replacement. */
export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Where reported findings end in a text that is searched in parts, so that none counts twice. */
export class ReportedEnds {
  /** Position of the current part in the text. */
  partStart = 0
  readonly #ends = new Map<object, number>()

  /** Returns the position in the part from which a rule may find something. */
  after (rule: object): number {
    return (this.#ends.get(rule) ?? 0) - this.partStart
  }

  /** @param end position in the part */
  note (rule: object, end: number): void {
    this.#ends.set(rule, end + this.partStart)
  }
}

export interface TextFilter {
  /**
   * Length of the longest finding, plus one for lookahead: this many characters after a position decide
   * whether a finding begins there.
   */
  readonly reach: number
  /** False for a filter that only reports. */
  readonly alters: boolean
  /**
   * Finds matches that begin at or after `from` and before `until`, in order and without overlaps. Text
   * before `from` is context.
   *
   * @param reported findings in earlier parts of the same text. Default: the text is complete
   * @throws GatewayError for a finding that refuses the call
   */
  readonly find: (text: string, from: number, until: number, reported?: ReportedEnds) => readonly TextEdit[]
  /** Returns the error for a finding in a text that cannot be changed. Absent: such texts are skipped. */
  readonly refusal?: (edit: TextEdit) => GatewayError
}

/** The filters of a value, by place. */
export interface PlaceFilters {
  readonly at: (place: TextPlace) => TextFilter | undefined
  /** Replaces findings in a complete text. @throws GatewayError for a finding that refuses the call */
  readonly replace: ReplaceText
}

/** Replaces the findings of one filter in a complete text. */
export function replaceFindings (filter: TextFilter, text: string, isFixed = false): string {
  const edits = filter.find(text, 0, Infinity)
  const [first] = edits
  if (first === undefined) return text
  if (isFixed) {
    if (filter.refusal === undefined) return text
    throw filter.refusal(first)
  }
  let result = ''
  let from = 0
  for (const { start, end, replacement } of edits) {
    result += text.slice(from, start) + replacement
    from = end
  }
  return result + text.slice(from)
}
