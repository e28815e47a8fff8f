/** Filters that search the texts of a call, and the replacements for what they find. */

import type { GatewayError } from '../core/errors.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ApiKey } from '../core/key.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { ReplaceText, TextPlace } from '../json/place-table.ts'
import type { GuardPoint } from '../../schemas/config/stages.ts'
import type { JudgeSpending, ModuleStages, CallJudge } from './text-judge.ts'

/** A finding, and what stands in its place. */
export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/**
 * Where findings end that were only counted, in a text that is searched a part at a time: none counts twice.
 */
export class ReportedEnds {
  /** The place in the text of the part that is searched. */
  partStart = 0
  readonly #ends = new Map<object, number>()

  /** Returns the place in the part from which on a rule may find something. */
  after (rule: object): number {
    return (this.#ends.get(rule) ?? 0) - this.partStart
  }

  /** @param end in the part */
  note (rule: object, end: number): void {
    this.#ends.set(rule, end + this.partStart)
  }
}

export interface TextFilter {
  /**
   * Characters of the longest finding, and one more for lookahead: so many after a place decide whether a
   * finding begins there.
   */
  readonly reach: number
  /** False for one that only reports. */
  readonly alters: boolean
  /** True for one that does not look at what cannot be changed. Default: a finding there refuses the call. */
  readonly skipsFixed?: true
  /**
   * Finds what begins at or after `from` and before `until`: in order, without overlaps. What stands
   * before `from` is context.
   *
   * @param reported what was found in earlier parts of the same text. Default: it is all of the text
   * @throws GatewayError for a finding that refuses the call
   */
  readonly find: (text: string, from: number, until: number, reported?: ReportedEnds) => readonly TextEdit[]
  /** Makes the error for a finding where nothing can be replaced. */
  readonly refusal: (edit: TextEdit) => GatewayError
}

/** The guards that look at texts, in their order. */
export interface TextGuards {
  readonly layers: readonly TextLayer[]
  /** Returns the names of those that look at a call, in their order. Absent: its caller is not to know. */
  readonly namesFor?: ((call: RoutedCall<unknown>) => readonly string[]) | undefined
  /** Absent: what they find is not given back. */
  readonly reversible?: ReversibleGuards | undefined
}

/** The guards whose findings callers get back. */
export interface ReversibleGuards {
  /** Says who gets values in place of placeholders; `undefined`: a call has none. */
  readonly restores: (call: RoutedCall<unknown>) => Restoration | undefined
  /** Returns the placeholders of a call, which are made where it has none; `undefined` as above. */
  readonly placeholdersOf: (call: RoutedCall<unknown>) => Placeholders | undefined
  /** Opens those that are stored with an answer of a key. */
  readonly open: (key: ApiKey, sealed: string) => Placeholders
}

/** Who gets the values that placeholders stand for, beside the caller. */
export interface Restoration {
  /** True: tools of servers as well. */
  readonly forServers: boolean
}

/** One after the other looks at what the one before has left. */
export type TextLayer = FilterLayer | JudgeLayer | StageLayer

/** Guards that search a text at once. */
export interface FilterLayer {
  /** Returns what looks at the texts of one of these points of a call; `undefined`: nothing does. */
  readonly filter: (call: RoutedCall<unknown>, points: readonly GuardPoint[]) => TextFilter | undefined
}

/** A guard that waits for something before it decides. */
export interface JudgeLayer {
  /**
   * Returns what looks at the texts of a call.
   *
   * @param point all texts of the request or of the answer, what its places name included; or what tools are
   *   called with, or return, on the gateway
   * @returns `undefined`: nothing does
   */
  readonly judge: (call: RoutedCall<unknown>, point: GuardPoint) => CallJudge | undefined
  /** Returns what each look at a call may cost. Absent: nothing. */
  readonly spends?: ((call: RoutedCall<unknown>) => JudgeSpending | undefined) | undefined
}

/** A guard of the operator's own, which calls pass as those of a pipeline. */
export interface StageLayer {
  /** Returns the stages that a call passes. */
  readonly stages: (call: RoutedCall<unknown>) => ModuleStages
}

/** Lists what looks at a request may be billed with. */
export function spendingOn ({ layers }: TextGuards, call: RoutedCall<unknown>): JudgeSpending[] {
  return layers.flatMap(layer => 'judge' in layer ? layer.spends?.(call) ?? [] : [])
}

/** Returns true for a call whose answer a guard may change or refuse. */
export function altersAnswer ({ layers, reversible }: TextGuards, call: RoutedCall<unknown>): boolean {
  return reversible?.restores(call) !== undefined || layers.some(layer => {
    if ('filter' in layer) return layer.filter(call, ['answer', 'tool_call', 'tool_result'])?.alters === true
    if ('judge' in layer) return layer.judge(call, 'answer')?.alters === true
    return layer.stages(call).answer !== undefined
  })
}

/** The filters of a value, by place. */
export interface PlaceFilters {
  readonly at: (place: TextPlace) => TextFilter | undefined
  /** Replaces what is found in a complete text. @throws GatewayError for a finding that refuses the call */
  readonly replace: ReplaceText
}

/** The filters of a call for its request or its answer, by place. */
export class TextFilters implements PlaceFilters {
  readonly #all: TextFilter | undefined
  readonly #calls: TextFilter | undefined
  readonly #results: TextFilter | undefined

  constructor (stages: FilterLayer, call: RoutedCall<unknown>, point: 'request' | 'answer') {
    this.#all = stages.filter(call, [point])
    // What a caller repeats of earlier calls of tools is part of its request.
    this.#calls = point === 'request' ? this.#all : stages.filter(call, [point, 'tool_call'])
    this.#results = stages.filter(call, [point, 'tool_result'])
  }

  /** True when nothing looks at the texts of this call. */
  get isEmpty (): boolean {
    return this.#all === undefined && this.#calls === undefined && this.#results === undefined
  }

  at ({ part, kind }: TextPlace): TextFilter | undefined {
    const filter = this.#of(part)
    return kind === 'fixed' && filter?.skipsFixed === true ? undefined : filter
  }

  #of (part: TextPlace['part']): TextFilter | undefined {
    switch (part) {
      case undefined: return this.#all
      case 'tool_call': return this.#calls
      case 'tool_result': return this.#results
      default: return part satisfies never
    }
  }

  /**
   * Replaces what is found in a complete text. @throws GatewayError as `TextFilter.find` does, and for a
   * finding in a fixed text
   */
  readonly replace: ReplaceText = (text, place) => {
    const filter = this.at(place)
    return filter === undefined ? text : replaceFindings(filter, text, place.kind === 'fixed')
  }
}

/** Replaces what is found in a complete text. @throws GatewayError as above */
export function replaceFindings (filter: TextFilter, text: string, isFixed = false): string {
  const edits = filter.find(text, 0, Infinity)
  const [first] = edits
  if (first === undefined) return text
  if (isFixed) throw filter.refusal(first)
  let result = ''
  let from = 0
  for (const { start, end, replacement } of edits) {
    result += text.slice(from, start) + replacement
    from = end
  }
  return result + text.slice(from)
}
