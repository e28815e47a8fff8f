/**
 * Shares one limiter among all workers of a machine: the primary process counts, workers reserve over the
 * IPC channel. Only calls of limited keys do so.
 *
 * A message costs both processes far more than what it asks for. So all that a worker reserves and settles in one turn of the event loop
 * is one message, and so are the decisions on it. What comes up while a worker waits for decisions is sent after them. A call by itself
 * waits for nothing but the end of the turn. Most calls of a busy key find a reservation that was made ahead, see `reservations-ahead`,
 * and what they have used is sent with that of others.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../json/guards.ts'
import { sendMessage, type IpcChannel, type WorkerChannel } from '../async/ipc.ts'
import { GatewayError } from '../core/errors.ts'
import type { KeyLimits, Limit } from '../core/key.ts'
import { ReservationsAhead, type Wish } from './reservations-ahead.ts'
import type { ActualUsage, LimitCounters, LimitDecision, RateLimitStatus, ReservationRequest } from './counters.ts'
import type { Limiter, LocalLimiter } from './limiter.ts'

/** Other modules send messages over the same IPC channel. */
type Message =
  | {
    readonly limits: 'count', readonly keys: readonly LimitedKey[], readonly reserve: readonly Wanted[], readonly settle: readonly Settled[]
    readonly ahead: readonly Ahead[], readonly unused: readonly number[]
  }
  /** `ahead` is absent from a decision that is sent by itself, later than the others. */
  | { readonly limits: 'decisions', readonly decisions: readonly Decided[], readonly ahead?: readonly Decided[] }

type LimitedKey = readonly [keyId: string, limits: KeyLimits]
/** `key` is its place in the keys of the message. A list of values takes half the time of an object with names. */
type Wanted = readonly [request: number, key: number, tokens: number, nanoUsd: number, minNanoUsd: number | null, alreadyAdmitted: 0 | 1]
/** So many reservations that no call needs yet. */
type Ahead = readonly [key: number, count: number, tokens: number]
type Settled = readonly [reservation: number, tokens: number, nanoUsd: number, moreRequests: number, rowId: string | null, rowAtMs: number]
/** A decision; of a reservation made ahead, `request` is the place of its `Ahead` in the message. */
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

/** A settlement of a call that was reserved ahead waits so many milliseconds, or until there are so many, to share a message. */
const settleWaitMs = 5
const maxSettled = 128

export interface WorkerLimiter extends Limiter {
  /** Sends what waits for the next message, and gives back what was reserved ahead: before the worker exits. */
  readonly flush: () => void
}

/** Returns a limiter for a worker, which reserves at the primary. */
export function workerLimiter (primary: IpcChannel<Message>): WorkerLimiter {
  const waiting = new Map<number, Waiting>()
  let last = 0
  // The next message.
  let keys: LimitedKey[] = []
  let places = new Map<string, number>()
  let wanted: Wanted[] = []
  let settled: Settled[] = []
  let unused: number[] = []
  let isDue = false
  let timer: NodeJS.Timeout | undefined
  // The last message.
  let isAsking = false
  let wishes: readonly Wish[] = []

  /** Reservations of open calls that were made ahead. */
  const taken = new Set<number>()
  const ahead = new ReservationsAhead<Decided>(left => {
    for (const [, reservation] of left) if (typeof reservation === 'number') unused.push(reservation)
    sendSoon()
  })

  const send = (): void => {
    if (isAsking || !isDue) return
    wishes = ahead.wishes()
    sendAll()
  }
  const sendAll = (): void => {
    isDue = false
    const aheadOf = wishes.map<Ahead>(({ keyId, limits, count, tokens }) => [placeOf(keyId, limits), count, tokens])
    isAsking = wanted.length + wishes.length > 0
    sendMessage(primary, { limits: 'count', keys, reserve: wanted, settle: settled, ahead: aheadOf, unused })
    keys = []
    places = new Map()
    wanted = []
    settled = []
    unused = []
  }
  /** Has a message sent at the end of the turn, or when the decisions on the last one have come. */
  const sendSoon = (): void => {
    if (isDue) return
    isDue = true
    setImmediate(send)
  }
  const sendLater = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      if (settled.length > 0) sendSoon()
    }, settleWaitMs).unref()
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
    for (const decided of message.decisions) {
      const [request] = decided
      const call = waiting.get(request)
      if (call === undefined) continue
      waiting.delete(request)
      call.resolve(decisionOf(decided, call.limits))
    }
    if (message.ahead === undefined) return
    isAsking = false
    if (isDue) setImmediate(send)
    const made = wishes.map((): Decided[] => [])
    for (const decided of message.ahead) made[decided[0]]?.push(decided)
    for (const [at, wish] of wishes.entries()) ahead.add(wish, made[at] ?? [])
    wishes = []
  })
  primary.on('disconnect', () => {
    for (const { reject } of waiting.values()) reject(new GatewayError('shutting_down'))
    waiting.clear()
  })
  const takeAhead = ({ keyId, limits, tokens, alreadyAdmitted = false }: ReservationRequest): LimitDecision | undefined => {
    if (limits.budget !== undefined || alreadyAdmitted) return undefined
    const made = ahead.take(keyId, limits, tokens)
    if (ahead.isLow(keyId)) sendSoon()
    if (made === undefined) return undefined
    const decision = decisionOf(made, limits)
    if (decision.admitted) taken.add(decision.reservation)
    return decision
  }
  const ask = ({ keyId, limits, tokens, nanoUsd, minNanoUsd, alreadyAdmitted = false }: ReservationRequest): Promise<LimitDecision> => (
    new Promise((resolve, reject) => {
      const request = ++last
      waiting.set(request, { limits, resolve, reject })
      sendSoon()
      wanted.push([request, placeOf(keyId, limits), tokens, nanoUsd, minNanoUsd ?? null, alreadyAdmitted ? 1 : 0])
    })
  )
  return {
    reserve: request => (
      primary.connected === false ? Promise.reject(new GatewayError('shutting_down')) : takeAhead(request) ?? ask(request)
    ),
    settle: (reservation, { tokens, nanoUsd, moreRequests = 0, row }) => {
      settled.push([reservation, tokens, nanoUsd, moreRequests, row?.id ?? null, row?.atMs ?? 0])
      if (taken.delete(reservation) && settled.length < maxSettled) sendLater()
      else sendSoon()
    },
    flush: () => {
      ahead.giveAllBack()
      wishes = []
      sendAll()
    }
  }
}

/** Serves a worker in the primary, and releases its reservations when it exits: what they have of budgets once its usage records are stored. */
export function answerLimitMessages (worker: WorkerChannel<Message>, limiter: LocalLimiter, holder: string): void {
  let hasExited = false
  worker.on('message', message => {
    if (hasExited || !isMessage(message) || message.limits !== 'count') return
    // First, as that makes room.
    for (const settled of message.settle) limiter.settle(settled[0], usageOf(settled))
    for (const reservation of message.unused) limiter.settle(reservation, noUse)
    if (message.reserve.length + message.ahead.length === 0) return
    const decisions: Decided[] = []
    for (const [request, key, tokens, nanoUsd, minNanoUsd, alreadyAdmitted] of message.reserve) {
      const [keyId, limits] = message.keys[key] as LimitedKey // the worker counts its own list
      const wanted = { keyId, limits, tokens, nanoUsd, minNanoUsd: minNanoUsd ?? undefined, alreadyAdmitted: alreadyAdmitted === 1 }
      const decision = limiter.reserve(wanted, holder)
      // While the ledger is read for one key, or a place is waited for, others do not wait.
      if (decision instanceof Promise || hasNoPlace(decision)) void answerLater(request, wanted, decision)
      else decisions.push(valuesOf(request, decision))
    }
    const ahead = message.ahead.flatMap(([key, count, tokens], at) => {
      const [keyId, limits] = message.keys[key] as LimitedKey
      return reserveAhead(limiter.counters, { keyId, limits, tokens, nanoUsd: 0 }, count, holder).map(decision => valuesOf(at, decision))
    })
    // Also without any: the worker sends no more before it comes.
    sendMessage(worker, { limits: 'decisions', decisions, ahead })
  })
  worker.on('exit', () => {
    hasExited = true
    limiter.release(holder)
  })

  const answerLater = async (request: number, wanted: ReservationRequest, pending: LimitDecision | Promise<LimitDecision>): Promise<void> => {
    let decision = await pending
    if (hasNoPlace(decision)) {
      await delay(placeWaitMs)
      decision = await limiter.reserve(wanted, holder)
    }
    // The worker exited while usage records were read: no call has the reservation.
    if (!hasExited) sendMessage(worker, { limits: 'decisions', decisions: [valuesOf(request, decision)] })
    else if (decision.admitted) limiter.settle(decision.reservation, noUse)
  }
}

/** Makes reservations for calls to come, while less than half of the limits is used. */
function reserveAhead (counters: LimitCounters, wanted: ReservationRequest, count: number, holder: string): LimitDecision[] {
  const decisions: LimitDecision[] = []
  while (decisions.length < count && counters.isHalfFree(wanted)) decisions.push(counters.reserve(wanted, holder))
  return decisions
}

/** Settles a reservation that no call has needed: it was no request either. */
const noUse: ActualUsage = { tokens: 0, nanoUsd: 0, moreRequests: -1 }

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
