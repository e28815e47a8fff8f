/**
 * One limiter for all workers of a machine: the primary process counts, workers ask it over the
 * channel that every child process has. Only calls of limited keys are asked about; one question
 * and one answer each, some tens of microseconds.
 */

import { send, type IpcChannel } from '../async/ipc.ts'
import { GatewayError } from '../core/errors.ts'
import type { Used, Verdict, Wanted } from './counters.ts'
import type { Limiter, LocalLimiter } from './limiter.ts'

/** Messages of others travel on the same channel. */
type Message =
  | { readonly limits: 'reserve', readonly question: number, readonly wanted: Wanted }
  | { readonly limits: 'settle', readonly reservation: number, readonly used: Used }
  | { readonly limits: 'verdict', readonly question: number, readonly verdict: Verdict }

/** In a worker: asks the primary. */
export function workerLimiter (primary: IpcChannel<Message>): Limiter {
  const waiting = new Map<number, { resolve: (verdict: Verdict) => void, reject: (error: GatewayError) => void }>()
  let last = 0
  primary.on('message', message => {
    if (!isMessage(message) || message.limits !== 'verdict') return
    waiting.get(message.question)?.resolve(message.verdict)
    waiting.delete(message.question)
  })
  primary.on('disconnect', () => {
    for (const { reject } of waiting.values()) reject(new GatewayError('shutting_down'))
    waiting.clear()
  })
  return {
    reserve: async wanted => await new Promise((resolve, reject) => {
      if (primary.connected === false) return reject(new GatewayError('shutting_down'))
      const question = ++last
      waiting.set(question, { resolve, reject })
      send(primary, { limits: 'reserve', question, wanted })
    }),
    settle: (reservation, used) => send(primary, { limits: 'settle', reservation, used })
  }
}

/** In the primary: answers a worker, and gives back what it held when it is gone. */
export function serveLimits (worker: IpcChannel<Message>, limiter: LocalLimiter, holder: string): void {
  worker.on('message', message => {
    if (!isMessage(message)) return
    if (message.limits === 'settle') limiter.settle(message.reservation, message.used)
    else if (message.limits === 'reserve') void answer(message.question, message.wanted)
  })
  worker.on('disconnect', () => limiter.release(holder))

  const answer = async (question: number, wanted: Wanted): Promise<void> => {
    const verdict = await limiter.reserve(wanted, holder)
    // It went while the books were read: nobody else would settle this.
    if (worker.connected === false) limiter.release(holder)
    else send(worker, { limits: 'verdict', question, verdict })
  }
}

function isMessage (message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'limits' in message
}
