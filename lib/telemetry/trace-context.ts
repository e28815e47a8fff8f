/**
 * Reads and writes trace context headers. Malformed headers are ignored, not refused.
 *
 * @see https://www.w3.org/TR/trace-context/
 * @see https://www.w3.org/TR/baggage/
 */

import { createTraceState } from '@opentelemetry/api'
import { randomHex } from '../text/ids.ts'
import type { CallTrace, ChildSpan, Propagation } from '../core/call-trace.ts'
import type { Call } from '../core/call.ts'

/** The caller's trace context. */
export interface CallerTrace {
  readonly traceId: string
  readonly parentId: string
  readonly isSampled: boolean
  /** True if the caller says that the trace id is random, as in Level 2 of the specification. */
  readonly isRandom: boolean
  readonly state: string | undefined
}

/** Returns the caller's trace; `undefined` without a valid `traceparent`. */
export function callerTrace (headers: Call['headers']): CallerTrace | undefined {
  const match = traceparent.exec(text(headers['traceparent']))
  if (match === null) return undefined
  const [, version = '', traceId = '', parentId = '', flags = '', rest = ''] = match
  if (version === 'ff' || (version === '00' && rest !== '')) return undefined
  if (isZero(traceId) || isZero(parentId)) return undefined
  const state = createTraceState(text(headers['tracestate'])).serialize()
  return {
    traceId,
    parentId,
    isSampled: hasFlag(flags, traceFlags.sampled),
    isRandom: hasFlag(flags, traceFlags.random),
    state: state === '' ? undefined : state
  }
}

/** Later versions may append fields after the flags. */
const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/
/** Servers get no others, which the specification reserves. */
const traceFlags = { sampled: 1, random: 2 } as const

function hasFlag (flags: string, flag: number): boolean {
  return (parseInt(flags, 16) & flag) === flag
}

function isZero (id: string): boolean {
  return /^0+$/.test(id)
}

function text (header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}

const maxBaggageLength = 8192
const baggageMember = /^[!#$%&'*+.^_`|~\w-]+[ \t]*=[\t\x20\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]*$/

/** Returns the caller's `baggage`; `undefined` if absent, malformed or too long to forward. */
export function callerBaggage (headers: Call['headers']): string | undefined {
  const baggage = text(headers['baggage'])
  if (baggage === '' || baggage.length > maxBaggageLength) return undefined
  return baggage.split(',').every(member => baggageMember.test(member.trim())) ? baggage : undefined
}

/** Starts the trace of a call, or continues its caller's. */
export function beginTrace (
  headers: Call['headers'],
  isSampled: (traceId: string, caller: CallerTrace | undefined) => boolean
): CallTrace {
  const caller = callerTrace(headers)
  const traceId = caller?.traceId ?? randomHex()
  return new BegunTrace(traceId, caller, callerBaggage(headers), isSampled(traceId, caller))
}

class BegunTrace implements CallTrace {
  readonly traceId: string
  readonly spanId = newSpanId()
  readonly parentId: string | undefined
  readonly state: string | undefined
  readonly isSampled: boolean
  readonly flags: number
  readonly #baggage: string | undefined

  constructor (
    traceId: string,
    caller: CallerTrace | undefined,
    baggage: string | undefined,
    isSampled: boolean
  ) {
    this.traceId = traceId
    this.parentId = caller?.parentId
    this.state = caller?.state
    this.isSampled = isSampled
    // Not set for the gateway's own ids, though they are random: older servers ignore a header with the flag.
    this.flags = (isSampled ? traceFlags.sampled : 0) | (caller?.isRandom === true ? traceFlags.random : 0)
    this.#baggage = baggage
  }

  child (): ChildSpan {
    const spanId = newSpanId()
    return { spanId, headers: propagation => this.#headers(spanId, propagation) }
  }

  #headers (spanId: string, propagation: Propagation): Readonly<Record<string, string>> {
    if (propagation === 'none') return {}
    return {
      traceparent: `00-${this.traceId}-${spanId}-${this.flags.toString(16).padStart(2, '0')}`,
      ...this.state !== undefined && { tracestate: this.state },
      ...propagation === 'all' && this.#baggage !== undefined && { baggage: this.#baggage }
    }
  }
}

/** Returns a random id. All zeros would be invalid but never occurs in practice. */
export function newSpanId (): string {
  return randomHex().slice(0, 16)
}
