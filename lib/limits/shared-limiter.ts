/**
 * Shares one limiter among all workers of a machine: the primary process counts, workers reserve over the
 * IPC channel. Only calls of limited keys do so.
 *
 * A message costs both processes far more than what it asks for. So all that a worker reserves and settles in
 * one turn of the event loop is one message, and so are the decisions on it. What comes up while a worker
 * waits for decisions is sent after them. A call by itself waits for nothing but the end of the turn.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../json/guards.ts'
import { sendMessage, type IpcChannel, type WorkerChannel } from '../async/ipc.ts'
import { GatewayError } from '../core/errors.ts'
import type { Account } from './call-accounts.ts'
import {
  undoReservation,
  type ActualUsage,
  type LimitDecision,
  type RecordedUsage,
  type ReservationRequest
} from './counters.ts'
import type { Limiter, LocalLimiter } from './limiter.ts'

/** Other modules send messages over the same IPC channel. */
type Message =
  | {
    readonly limits: 'count'
    /** Each list of accounts that calls of this message have, once: it is most of the text of a call. */
    readonly lists: ReadonlyArray<readonly Account[]>
    readonly reserve: readonly Wanted[]
    readonly settle: readonly Settled[]
    readonly record: readonly Recorded[]
  }
  /** `isLate`: sent by itself, later than the others. */
  | { readonly limits: 'decisions', readonly decisions: readonly Decided[], readonly isLate: boolean }
  | { readonly limits: 'settled', readonly request: number }

type HasAccounts = Pick<ReservationRequest, 'accounts'>

/** Has the place of its list of accounts in the message. */
type Listed<T extends HasAccounts> = Omit<T, 'accounts'> & { readonly accounts: number }

/** Requests are numbered by their worker. */
interface Wanted {
  readonly request: number
  readonly wanted: Listed<ReservationRequest>
}

interface Decided {
  readonly request: number
  readonly decision: LimitDecision
}

interface Settled {
  readonly reservation: number
  readonly used: ActualUsage
}

/** Numbered like requests. */
interface Recorded {
  readonly request: number
  readonly usages: ReadonlyArray<Listed<RecordedUsage>>
}

interface Waiting<Reply> {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: GatewayError) => void
}

/**
 * Milliseconds for which a call without a place waits for one. A caller may have the last byte of an answer,
 * and be with another worker, before the settlement of that call has come.
 */
const placeWaitMs = 20

export interface WorkerLimiter extends Limiter {
  /** Sends what waits for the next message: before the worker exits. */
  readonly flush: () => void
}

/** Returns a limiter for a worker, which reserves at the primary. */
export function workerLimiter (primary: IpcChannel<Message>): WorkerLimiter {
  const waiting = new Map<number, Waiting<LimitDecision>>()
  const settling = new Map<number, Waiting<void>>()
  let last = 0
  // The next message.
  let lists = new AccountLists()
  let reserve: Wanted[] = []
  let settle: Settled[] = []
  let record: Recorded[] = []
  let isDue = false
  /** True while the decisions on the last message have not come. */
  let isAsking = false

  const send = (): void => {
    if (isAsking || !isDue) return
    isDue = false
    isAsking = reserve.length > 0
    sendMessage(primary, { limits: 'count', lists: lists.all, reserve, settle, record })
    lists = new AccountLists()
    reserve = []
    settle = []
    record = []
  }
  /** Has a message sent at the end of the turn, or when the decisions on the last one have come. */
  const sendSoon = (): void => {
    if (isDue) return
    isDue = true
    setImmediate(send)
  }
  primary.on('message', message => {
    if (isMessage(message) && message.limits === 'settled') {
      settling.get(message.request)?.resolve()
      settling.delete(message.request)
    }
    if (!isMessage(message) || message.limits !== 'decisions') return
    for (const { request, decision } of message.decisions) {
      waiting.get(request)?.resolve(decision)
      waiting.delete(request)
    }
    if (message.isLate) return
    isAsking = false
    if (isDue) setImmediate(send)
  })
  primary.on('disconnect', () => {
    for (const replies of [waiting, settling]) {
      for (const { reject } of replies.values()) reject(new GatewayError('shutting_down'))
      replies.clear()
    }
  })
  return {
    reserve: async wanted => await new Promise((resolve, reject) => {
      if (primary.connected === false) return reject(new GatewayError('shutting_down'))
      const request = ++last
      waiting.set(request, { resolve, reject })
      reserve.push({ request, wanted: lists.list(wanted) })
      sendSoon()
    }),
    settle: (reservation, used) => {
      settle.push({ reservation, used })
      sendSoon()
    },
    settleRecorded: async usages => await new Promise((resolve, reject) => {
      if (primary.connected === false) return reject(new GatewayError('shutting_down'))
      const request = ++last
      settling.set(request, { resolve, reject })
      record.push({ request, usages: usages.map(usage => lists.list(usage)) })
      sendSoon()
    }),
    flush: () => {
      isAsking = false
      send()
    }
  }
}

/** The lists of accounts of one message. */
class AccountLists {
  readonly all: Array<readonly Account[]> = []
  /** By the text of each list: calls of one key have equal ones. */
  readonly #indexes = new Map<string, number>()

  /** Replaces a list with its place, and adds it where it is new. */
  list<T extends HasAccounts> (from: T): Listed<T> {
    const text = JSON.stringify(from.accounts)
    let index = this.#indexes.get(text)
    if (index === undefined) {
      index = this.all.push(from.accounts) - 1
      this.#indexes.set(text, index)
    }
    return { ...from, accounts: index }
  }
}

/**
 * Serves a worker in the primary, and releases its reservations when it exits: what they have of budgets once
 * its usage records are stored.
 */
export function answerLimitMessages (
  worker: WorkerChannel<Message>,
  limiter: LocalLimiter,
  holder: string
): void {
  let hasExited = false
  worker.on('message', message => {
    if (hasExited || !isMessage(message) || message.limits !== 'count') return
    const { lists } = message
    // A worker sends each list that it names.
    const accountsAt = (index: number): readonly Account[] => lists[index] as readonly Account[]
    // First, as that makes room.
    for (const { reservation, used } of message.settle) limiter.settle(reservation, used)
    for (const { request, usages } of message.record) {
      const recorded = usages.map(usage => ({ ...usage, accounts: accountsAt(usage.accounts) }))
      // The worker stores no row before the reply, so it gets one in any case.
      const reply = (): void => { sendMessage(worker, { limits: 'settled', request }) }
      void limiter.settleRecorded(recorded).then(reply, reply)
    }
    if (message.reserve.length === 0) return
    const decisions: Decided[] = []
    for (const { request, wanted: listed } of message.reserve) {
      const wanted = { ...listed, accounts: accountsAt(listed.accounts) }
      const decision = limiter.reserve(wanted, holder)
      // While the ledger is read for one key, or a place is waited for, others do not wait.
      if (decision instanceof Promise || hasNoSlot(wanted, decision))
        void answerLater(request, wanted, decision)
      else decisions.push({ request, decision })
    }
    // Also without any: the worker sends no more before it comes.
    sendMessage(worker, { limits: 'decisions', decisions, isLate: false })
  })
  worker.on('exit', () => {
    hasExited = true
    limiter.release(holder)
  })

  const answerLater = async (
    request: number,
    wanted: ReservationRequest,
    pending: LimitDecision | Promise<LimitDecision>
  ): Promise<void> => {
    let decision = await pending
    if (hasNoSlot(wanted, decision)) {
      await delay(placeWaitMs)
      decision = await limiter.reserve(wanted, holder)
    }
    // The worker exited while usage records were read: no call has the reservation.
    if (!hasExited)
      sendMessage(worker, { limits: 'decisions', decisions: [{ request, decision }], isLate: true })
    else if (decision.admitted) limiter.settle(decision.reservation, undoReservation)
  }
}

function hasNoSlot ({ accounts }: ReservationRequest, decision: LimitDecision): boolean {
  return !decision.admitted && accounts[decision.accountIndex]?.counting === 'open'
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'limits' in message
}
