/** Runs a judge over the texts of calls, within its timeout, and applies the guard's action. */

import { GuardFindings } from '../core/guard-findings.ts'
import { GatewayError } from '../core/errors.ts'
import { abortable } from '../async/cancellation.ts'
import { isObject } from '../json/type-guards.ts'
import { startDeadline } from '../async/start-deadline.ts'
import {
  defaultWindow, guardActionOf, type GuardAction, type GuardPoint
} from '../../schemas/config/guards.ts'
import { inspects } from './guard-scope.ts'
import type { RoutedCall } from '../core/call.ts'
import type { GuardSettings } from '../core/settings.ts'
import type { TextPlace } from '../json/place-table.ts'
import type { JudgeLayer } from './text-guards.ts'
import type { Judge, JudgeSpending, TextAtPoint, CallJudge, Verdict } from './text-judge.ts'

/** Called when a guard was unavailable for a call, with the cause. */
export type UnavailableGuard = (guard: string, call: RoutedCall<unknown>, cause: unknown) => void

const defaultTimeoutMs = 5000

/** Maximum length of a service's reason in an error: it may quote the text it received. */
const maxReason = 300

/** A configured guard that asks a judge: its settings say which calls and points, and what a finding does. */
export class JudgeGuard implements JudgeLayer {
  readonly kind = 'judge'
  readonly #settings: GuardSettings
  readonly #judge: Judge
  readonly #points: readonly GuardPoint[]
  readonly #onUnavailable: UnavailableGuard

  constructor (settings: GuardSettings, judge: Judge, onUnavailable: UnavailableGuard) {
    const { points } = judge
    this.#settings = settings
    this.#judge = judge
    this.#points = points === undefined ? settings.at : settings.at.filter(point => points.includes(point))
    this.#onUnavailable = onUnavailable
  }

  spends (call: RoutedCall<unknown>): JudgeSpending | undefined {
    return inspects(this.#settings, call) ? this.#judge.spends : undefined
  }

  forCall (call: RoutedCall<unknown>, point: GuardPoint): CallJudge | undefined {
    const points = seenPoints(point).filter(one => this.#points.includes(one))
    if (points.length === 0 || !inspects(this.#settings, call)) return undefined
    const { stream, window, during = false } = this.#settings
    const action = guardActionOf(this.#settings)
    return {
      alters: action !== 'report',
      duringAnswer: during,
      window:
        stream === 'complete' || action === 'report' || !isStreamed(call)
          ? undefined
          : window ?? defaultWindow,
      pointOf: place => pointOf(place, point, points),
      inspect: async texts => await this.#inspect(texts, call, action),
      refusal: () =>
        this.#refusal('it found something in a part that cannot be changed, such as signed reasoning')
    }
  }

  async #inspect (
    texts: readonly TextAtPoint[],
    call: RoutedCall<unknown>,
    action: GuardAction
  ): Promise<readonly string[]> {
    const { name, timeoutMs = defaultTimeoutMs } = this.#settings
    const findings = (call.record.guards.findings ??= new GuardFindings())
    const points = new Set(texts.map(({ point }) => point))
    const given = texts.map(({ text }) => text)
    const began = performance.now()
    const deadline = startDeadline(timeoutMs, call.signal, new Error(`no answer within ${timeoutMs} ms`))
    let verdict: Verdict
    try {
      const { signal } = deadline
      const answer = abortable(this.#judge.inspect(texts, { call, signal }), signal)
      verdict = checkVerdict(await answer, given.length)
    } catch (error) {
      call.signal.throwIfAborted()
      // A caller over budget must not skip the inspection.
      if (error instanceof GatewayError && error.code === 'insufficient_quota') throw error
      return this.#unavailable(call, points, given, error)
    } finally {
      deadline.end()
      const tookMs = (performance.now() - began) / points.size
      for (const point of points) findings.noteInspection(name, point, tookMs)
    }
    const { refusal, texts: replaced = given } = verdict
    const changed = texts.filter(({ text }, index) => text !== replaced[index])
    if (refusal === undefined && changed.length === 0) {
      const { findings: count = 0 } = verdict
      if (count > 0) findings.note(name, texts[0]?.point ?? 'request', 'report', count)
      return given
    }
    const effect = refusal !== undefined && action === 'mask' ? 'refuse' : action
    if (verdict.findings === undefined && changed.length > 0) {
      for (const { point } of changed) findings.note(name, point, effect)
    } else {
      findings.note(name, (changed[0] ?? texts[0])?.point ?? 'request', effect, verdict.findings ?? 1)
    }
    if (effect === 'refuse') throw this.#refusal(refusal)
    return effect === 'mask' ? replaced : given
  }

  #unavailable (
    call: RoutedCall<unknown>,
    points: ReadonlySet<GuardPoint>,
    given: readonly string[],
    cause: unknown
  ): readonly string[] {
    const { name } = this.#settings
    const isReport = guardActionOf(this.#settings) === 'report'
    const { whenUnavailable = isReport ? 'pass' : 'refuse' } = this.#settings
    this.#onUnavailable(name, call, cause)
    for (const point of points) call.record.guards.findings?.note(name, point, 'unavailable')
    if (whenUnavailable === 'pass') return given
    throw new GatewayError('stage_unavailable', {
      message: `The guard \`${name}\` is unavailable, so this call was refused. Try again later.`, cause
    })
  }

  #refusal (reason: string | undefined): GatewayError {
    const [line = ''] = (reason ?? '').slice(0, maxReason).split(/[\r\n]/, 1)
    const because = line === '' ? '.' : `: ${line.replace(/\.$/, '')}.`
    return new GatewayError('content_refused', {
      message: `The guard \`${this.#settings.name}\` refused this call${because}`
    })
  }
}

/** Returns the points that are included in a point. */
function seenPoints (point: GuardPoint): readonly GuardPoint[] {
  switch (point) {
    // Earlier tool results that the caller sends again are part of its request.
    case 'request': return ['request', 'tool_result']
    case 'answer': return ['answer', 'tool_call', 'tool_result']
    case 'tool_call': return ['tool_call']
    case 'tool_result': return ['tool_result']
    default: return point satisfies never
  }
}

/**
 * Returns the point at which a text is judged. Property names have none: they are not prose, and a judge of
 * meaning would misread them.
 */
function pointOf (
  { part, isName }: TextPlace,
  point: GuardPoint,
  points: readonly GuardPoint[]
): GuardPoint | undefined {
  if (isName === true) return undefined
  if (part !== undefined && points.includes(part)) return part
  return points.includes(point) ? point : undefined
}

function isStreamed ({ request }: RoutedCall<unknown>): boolean {
  return isObject(request) && request['stream'] === true
}

/** @throws TypeError for an invalid verdict on `count` texts */
function checkVerdict (verdict: Verdict, count: number): Verdict {
  const { texts, refusal } = verdict
  if (refusal !== undefined && typeof refusal !== 'string') throw new TypeError('the refusal is not text')
  if (texts === undefined) return verdict
  if (!Array.isArray(texts) || texts.length !== count || texts.some(text => typeof text !== 'string')) {
    throw new TypeError(`not as many texts as were given (${count})`)
  }
  return verdict
}
