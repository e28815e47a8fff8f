/**
 * Shares one limiter among all workers of a machine: the primary process counts, workers reserve over the
 * IPC channel. Only calls of limited keys do so.
 *
 * A message costs both processes far more than what it asks for. So all that a worker reserves and settles in one turn of the event loop
 * is one message, and so are the decisions on it. What comes up while a worker waits for decisions is sent after them. So under load some
 * ten calls share a message, and a call by itself waits for nothing but the end of the turn.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../json/guards.ts'
import { sendMessage, type IpcChannel } from '../async/ipc.ts'
import { GatewayError } from '../core/errors.ts'
import type { KeyLimits, Limit } from '../core/key.ts'
import type { ActualUsage, LimitDecision, RateLimitStatus, ReservationRequest } from './counters.ts'
import type { Limiter, LocalLimiter } from './limiter.ts'

/** Other modules send messages over the same IPC channel. */
type Message =
  | { readonly limits: 'count', readonly keys: readonly LimitedKey[], readonly reserve: readonly Wanted[], readonly settle: readonly Settled[] }
  | { readonly limits: 'decisions', readonly decisions: readonly Decided[] }

type LimitedKey = readonly [keyId: string, limits: KeyLimits]
/** `key` is its place in the keys of the message. A list of values takes half the time of an object with names. */
type Wanted = readonly [request: number, key: number, tokens: number, nanoUsd: number, minNanoUsd: number | null, alreadyAdmitted: 0 | 1]
type Settled = readonly [reservation: number, tokens: number, nanoUsd: number, moreRequests: number, rowId: string | null, rowAtMs: number]
type Decided = readonly [
  request: number, reservationOrReason: number | Limit, nanoUsdOrWaitMs: number,
  requestsLeft: number, requestsResetMs: number, tokensLeft: number, tokensResetMs: number
]

interface Waiting {
  readonly limits: KeyLimits
  readonly resolve: (decision: LimitDecision) => void
  readonly reject: (error: GatewayError) => void
}

/**
 * Milliseconds for which a call without a place waits for one. A caller may have the last byte of an answer, and be with another worker,
 * before the settlement of that call has come.
 */
const placeWaitMs = 20

/** Returns a limiter for a worker, which reserves at the primary. */
export function workerLimiter (primary: IpcChannel<Message>): Limiter {
  const waiting = new Map<number, Waiting>()
  let last = 0
  // The next message.
  let keys: LimitedKey[] = []
  let places = new Map<string, number>()
  let wanted: Wanted[] = []
  let settled: Settled[] = []
  let isAsking = false

  const send = (): void => {
    if (isAsking || wanted.length + settled.length === 0) return
    isAsking = wanted.length > 0
    sendMessage(primary, { limits: 'count', keys, reserve: wanted, settle: settled })
    keys = []
    places = new Map()
    wanted = []
    settled = []
  }
  /** Called before something is added. */
  const willSend = (): void => {
    if (wanted.length + settled.length === 0) setImmediate(send)
  }
  const placeOf = (keyId: string, limits: KeyLimits): number => {
    const place = places.get(keyId)
    // While a configuration is reloaded, calls of one key may have different limits.
    if (place !== undefined && keys[place]?.[1] === limits) return place
    places.set(keyId, keys.length)
    return keys.push([keyId, limits]) - 1
  }
  primary.on('message', message => {
    if (!isMessage(message) || message.limits !== 'decisions') return
    isAsking = false
    setImmediate(send)
    for (const decided of message.decisions) {
      const [request] = decided
      const call = waiting.get(request)
      if (call === undefined) continue
      waiting.delete(request)
      call.resolve(decisionOf(decided, call.limits))
    }
  })
  primary.on('disconnect', () => {
    for (const { reject } of waiting.values()) reject(new GatewayError('shutting_down'))
    waiting.clear()
  })
  return {
    reserve: ({ keyId, limits, tokens, nanoUsd, minNanoUsd, alreadyAdmitted = false }) => new Promise((resolve, reject) => {
      if (primary.connected === false) return reject(new GatewayError('shutting_down'))
      const request = ++last
      waiting.set(request, { limits, resolve, reject })
      willSend()
      wanted.push([request, placeOf(keyId, limits), tokens, nanoUsd, minNanoUsd ?? null, alreadyAdmitted ? 1 : 0])
    }),
    settle: (reservation, { tokens, nanoUsd, moreRequests = 0, row }) => {
      willSend()
      settled.push([reservation, tokens, nanoUsd, moreRequests, row?.id ?? null, row?.atMs ?? 0])
    }
  }
}

/** Serves a worker in the primary, and releases its reservations when it exits. */
export function answerLimitMessages (worker: IpcChannel<Message>, limiter: LocalLimiter, holder: string): void {
  worker.on('message', message => {
    if (!isMessage(message) || message.limits !== 'count') return
    // First, as that makes room.
    for (const settled of message.settle) limiter.settle(settled[0], usageOf(settled))
    if (message.reserve.length === 0) return
    const decisions: Decided[] = []
    for (const [request, key, tokens, nanoUsd, minNanoUsd, alreadyAdmitted] of message.reserve) {
      const [keyId, limits] = message.keys[key] as LimitedKey // the worker counts its own list
      const wanted = { keyId, limits, tokens, nanoUsd, minNanoUsd: minNanoUsd ?? undefined, alreadyAdmitted: alreadyAdmitted === 1 }
      const decision = limiter.reserve(wanted, holder)
      // While the ledger is read for one key, or a place is waited for, others do not wait.
      if (decision instanceof Promise || hasNoPlace(decision)) void answerLater(request, wanted, decision)
      else decisions.push(valuesOf(request, decision))
    }
    // Also without any: the worker sends no more before it comes.
    sendMessage(worker, { limits: 'decisions', decisions })
  })
  worker.on('disconnect', () => limiter.release(holder))

  const answerLater = async (request: number, wanted: ReservationRequest, pending: LimitDecision | Promise<LimitDecision>): Promise<void> => {
    let decision = await pending
    if (hasNoPlace(decision)) {
      await delay(placeWaitMs)
      decision = await limiter.reserve(wanted, holder)
    }
    // The worker exited while usage records were read: its reservation would never be settled.
    if (worker.connected === false) limiter.release(holder)
    else sendMessage(worker, { limits: 'decisions', decisions: [valuesOf(request, decision)] })
  }
}

function hasNoPlace (decision: LimitDecision): boolean {
  return !decision.admitted && decision.reason === 'concurrent_calls'
}

function usageOf ([, tokens, nanoUsd, moreRequests, id, atMs]: Settled): ActualUsage {
  return id === null ? { tokens, nanoUsd, moreRequests } : { tokens, nanoUsd, moreRequests, row: { id, atMs } }
}

function valuesOf (request: number, decision: LimitDecision): Decided {
  const { requests = none, tokens = none } = decision.rateLimits
  const [what, amount] = decision.admitted ? [decision.reservation, decision.nanoUsd] : [decision.reason, decision.waitMs]
  return [request, what, amount, requests.remaining, requests.resetMs, tokens.remaining, tokens.resetMs]
}

function decisionOf (
  [, what, amount, requestsLeft, requestsResetMs, tokensLeft, tokensResetMs]: Decided, { requestsPerMinute, tokensPerMinute }: KeyLimits
): LimitDecision {
  const rateLimits = {
    requests: requestsPerMinute === undefined ? undefined : { limit: requestsPerMinute, remaining: requestsLeft, resetMs: requestsResetMs },
    tokens: tokensPerMinute === undefined ? undefined : { limit: tokensPerMinute, remaining: tokensLeft, resetMs: tokensResetMs }
  }
  return typeof what === 'number'
    ? { admitted: true, reservation: what, nanoUsd: amount, rateLimits }
    : { admitted: false, reason: what, waitMs: amount, rateLimits }
}

/** Stands for a limit that the key does not have. */
const none: Omit<RateLimitStatus, 'limit'> = { remaining: 0, resetMs: 0 }

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'limits' in message
}
