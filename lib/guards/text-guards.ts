/**
 * The guards of a gateway, in layers, and what each layer does with the texts of a call.
 *
 * `configured-guards` turns an entry of `stages:` into a filter (`pattern-filter`) or a judge
 * (`judges/open-judges`). The texts of a request are found by the `text-places` of its dialect
 * (`stages/inspect-request`), those of an answer by `event-texts` (`stages/inspect-answer`): what is not
 * decided yet is held back by `stream-filter` and `stream-judge`. `stages/inspect-results` inspects the
 * answers of other endpoints, `mcp/tool-texts` the arguments and results of server tools.
 */

import type { RoutedCall } from '../core/call.ts'
import type { ApiKey } from '../core/key.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { ReplaceText, TextPlace } from '../json/place-table.ts'
import type { GuardPoint } from '../../schemas/config/guards.ts'
import { replaceFindings, type PlaceFilters, type TextFilter } from './text-filter.ts'
import type { JudgeSpending, ModuleStages, CallJudge } from './text-judge.ts'

/** The guards that inspect texts, in order. */
export interface TextGuards {
  readonly layers: readonly TextLayer[]
  /** Returns the names of the guards that inspect a call, in order. Absent if the caller must not know. */
  readonly namesFor?: ((call: RoutedCall<unknown>) => readonly string[]) | undefined
  /** Absent if no findings are restored. */
  readonly reversible?: ReversibleGuards | undefined
}

/** The guards whose findings are restored for callers. */
export interface ReversibleGuards {
  /** Returns who gets restored values; `undefined` for a call without placeholders. */
  readonly restores: (call: RoutedCall<unknown>) => Restoration | undefined
  /** Returns the placeholders of a call, creating them if necessary; `undefined` for a call without any. */
  readonly placeholdersOf: (call: RoutedCall<unknown>) => Placeholders | undefined
  /** Opens the sealed placeholders stored with a key's response. */
  readonly open: (key: ApiKey, sealed: string) => Placeholders
}

/** Who gets restored values in addition to the caller. */
export interface Restoration {
  /** True to restore them for tool servers too. */
  readonly forServers: boolean
}

/** Each layer inspects the output of the previous one. */
export type TextLayer = FilterLayer | JudgeLayer | StageLayer

/** Guards that search a text together. */
export interface FilterLayer {
  readonly kind: 'filters'
  /** Returns the filter for these points of a call; `undefined` if there is none. */
  readonly filter: (call: RoutedCall<unknown>, points: readonly GuardPoint[]) => TextFilter | undefined
}

/** An asynchronous guard. */
export interface JudgeLayer {
  readonly kind: 'judge'
  /**
   * Returns the judge for the texts of a call.
   *
   * @param point all texts of the request or the answer, including those in named places; or arguments or
   *   results of tools that the gateway calls
   * @returns `undefined` if there is none
   */
  readonly forCall: (call: RoutedCall<unknown>, point: GuardPoint) => CallJudge | undefined
  /** Returns what one inspection of a call may cost. Absent: nothing. */
  readonly spends?: ((call: RoutedCall<unknown>) => JudgeSpending | undefined) | undefined
}

/** A guard module with stages of a pipeline. */
export interface StageLayer {
  readonly kind: 'stages'
  /** Returns the stages that a call passes through. */
  readonly stages: (call: RoutedCall<unknown>) => ModuleStages
}

/** Lists what guards may spend on a request. */
export function spendingOn ({ layers }: TextGuards, call: RoutedCall<unknown>): JudgeSpending[] {
  return layers.flatMap(layer => layer.kind === 'judge' ? layer.spends?.(call) ?? [] : [])
}

/** Returns true if a guard may change or refuse the answer of a call. */
export function altersAnswer ({ layers, reversible }: TextGuards, call: RoutedCall<unknown>): boolean {
  return reversible?.restores(call) !== undefined || layers.some(layer => {
    if (layer.kind === 'filters') {
      return layer.filter(call, ['answer', 'tool_call', 'tool_result'])?.alters === true
    }
    if (layer.kind === 'judge') return layer.forCall(call, 'answer')?.alters === true
    return layer.stages(call).answer !== undefined
  })
}

/** The filters of a call for its request or its answer, by place. */
export class TextFilters implements PlaceFilters {
  readonly #all: TextFilter | undefined
  readonly #calls: TextFilter | undefined
  readonly #results: TextFilter | undefined

  constructor (layer: FilterLayer, call: RoutedCall<unknown>, point: 'request' | 'answer') {
    this.#all = layer.filter(call, [point])
    // Earlier tool calls that the caller sends again are part of its request.
    this.#calls = point === 'request' ? this.#all : layer.filter(call, [point, 'tool_call'])
    this.#results = layer.filter(call, [point, 'tool_result'])
  }

  /** True if nothing inspects the texts of this call. */
  get isEmpty (): boolean {
    return this.#all === undefined && this.#calls === undefined && this.#results === undefined
  }

  at ({ part, kind }: TextPlace): TextFilter | undefined {
    const filter = this.#of(part)
    return kind === 'fixed' && filter?.refusal === undefined ? undefined : filter
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
   * Replaces findings in a complete text. @throws GatewayError as `TextFilter.find` does, and for a finding
   * in a fixed text
   */
  readonly replace: ReplaceText = (text, place) => {
    const filter = this.at(place)
    return filter === undefined ? text : replaceFindings(filter, text, place.kind === 'fixed')
  }
}
