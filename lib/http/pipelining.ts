/**
 * Limits the requests of one connection that wait behind an open one.
 *
 * Node.js hands over every request of a read together: 64 KiB hold two thousand `GET /livez`, each of which
 * would become a call. The first request above the limit is refused, and its connection ends with that
 * answer; later requests are dropped.
 */

import { GatewayError } from '../core/errors.ts'
import { isPipelined } from './node-internals.ts'
import type { Middleware } from 'koa'
import type { AnswerCall } from './answer-call.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Returns middleware that limits the requests waiting behind another one of their connection. */
export function limitPipelining (pipelining: Pipelining, answer: AnswerCall): Middleware {
  return (context, next) => {
    switch (pipelining.admit(context.req, context.res)) {
      case 'serve': return next()
      case 'refuse': return answer(context, tooManyPipelined(pipelining.maxPipelined))
      case 'drop':
        context.respond = false
        return Promise.resolve()
    }
  }
}

function tooManyPipelined (limit: number): GatewayError {
  return new GatewayError('overloaded', {
    message: `Too many pipelined requests on this connection (limit ${limit}).`
  })
}

/** Counts the waiting requests, by connection. */
export class Pipelining {
  /** Answers that a connection may wait for. */
  maxPipelined: number
  readonly #waiting = new WeakMap<Socket, number>()
  /** Connections with a refused request: they end with that answer. */
  readonly #refused = new WeakSet<Socket>()

  constructor (maxPipelined: number) {
    this.maxPipelined = maxPipelined
  }

  /** Decides about a new request. Costs nothing for a request that does not wait. */
  admit ({ socket }: IncomingMessage, response: ServerResponse): 'serve' | 'refuse' | 'drop' {
    if (!isPipelined(response)) return 'serve'
    if (this.#refused.has(socket)) return 'drop'
    const waiting = this.#waiting.get(socket) ?? 0
    if (waiting + 1 >= this.maxPipelined) {
      this.#refused.add(socket)
      response.setHeader('connection', 'close')
      socket.pause()
      return 'refuse'
    }
    this.#waiting.set(socket, waiting + 1)
    response.once('close', () => { this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1) })
    return 'serve'
  }
}
