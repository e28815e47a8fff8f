/**
 * Shares one limiter among all workers of a machine: the primary process counts, workers reserve over the
 * IPC channel. Only calls of limited keys do so; one message each way, some tens of microseconds.
 */

import { isObject } from '../json/guards.ts'
import { sendMessage, type IpcChannel } from '../async/ipc.ts'
import { GatewayError } from '../core/errors.ts'
import type { ActualUsage, LimitDecision, ReservationRequest } from './counters.ts'
import type { Limiter, LocalLimiter } from './limiter.ts'

/** Other modules send messages over the same IPC channel. */
type Message =
  | { readonly limits: 'reserve', readonly request: number, readonly wanted: ReservationRequest }
  | { readonly limits: 'settle', readonly reservation: number, readonly used: ActualUsage }
  | { readonly limits: 'decision', readonly request: number, readonly decision: LimitDecision }

/** Returns a limiter for a worker, which reserves at the primary. */
export function workerLimiter (primary: IpcChannel<Message>): Limiter {
  const waiting = new Map<number, { resolve: (decision: LimitDecision) => void, reject: (error: GatewayError) => void }>()
  let last = 0
  primary.on('message', message => {
    if (!isMessage(message) || message.limits !== 'decision') return
    waiting.get(message.request)?.resolve(message.decision)
    waiting.delete(message.request)
  })
  primary.on('disconnect', () => {
    for (const { reject } of waiting.values()) reject(new GatewayError('shutting_down'))
    waiting.clear()
  })
  return {
    reserve: async wanted => await new Promise((resolve, reject) => {
      if (primary.connected === false) return reject(new GatewayError('shutting_down'))
      const request = ++last
      waiting.set(request, { resolve, reject })
      sendMessage(primary, { limits: 'reserve', request, wanted })
    }),
    settle: (reservation, used) => sendMessage(primary, { limits: 'settle', reservation, used })
  }
}

/** Serves a worker in the primary, and releases its reservations when it exits. */
export function answerLimitMessages (worker: IpcChannel<Message>, limiter: LocalLimiter, holder: string): void {
  worker.on('message', message => {
    if (!isMessage(message)) return
    if (message.limits === 'settle') limiter.settle(message.reservation, message.used)
    else if (message.limits === 'reserve') void answer(message.request, message.wanted)
  })
  worker.on('disconnect', () => limiter.release(holder))

  const answer = async (request: number, wanted: ReservationRequest): Promise<void> => {
    const decision = await limiter.reserve(wanted, holder)
    // The worker exited while usage records were read: its reservation would never be settled.
    if (worker.connected === false) limiter.release(holder)
    else sendMessage(worker, { limits: 'decision', request, decision })
  }
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'limits' in message
}
