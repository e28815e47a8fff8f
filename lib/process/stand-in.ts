/**
 * Answers in place of the workers while none of them listens: the port closes with the last of them, and callers would
 * be refused without a word. Every request gets 503 with `retry-after`, and its connection is closed.
 */

import { createServer, type Server } from 'node:http'
import { GatewayError } from '../core/errors.ts'
import { jsonReplyHeaders } from '../core/reply.ts'
import { loggableError } from '../text/describe-error.ts'
import { listen, type Address } from '../http/listen.ts'
import type { Log } from '../telemetry/log.ts'

/** The port of a worker that has exited is closed a moment later. */
const retryMs = 10
const maxRetries = 200

export class StandIn {
  readonly #connections: number
  readonly #log: Log
  #server: Server | undefined

  /** @param connections at once, at most */
  constructor (connections: number, log: Log) {
    this.#connections = connections
    this.#log = log
  }

  /** Begins to answer at an address; `close` ends it. */
  async open (at: Address): Promise<void> {
    if (this.#server !== undefined) return
    const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, (_request, response) => {
      const failure = new GatewayError('overloaded', { message: 'The gateway is restarting. Try again in a moment.' })
      response.writeHead(failure.status, { ...jsonReplyHeaders, connection: 'close', ...failure.headers() })
      response.end(JSON.stringify(failure.toBody()))
    })
    server.maxConnections = this.#connections
    this.#server = server
    for (let attempt = 0; this.#server === server && attempt < maxRetries; attempt++) {
      try {
        await listen(server, at)
        if (this.#server !== server) end(server)
        else this.#log.warn({ port: at.port }, 'no worker is listening; answering 503')
        return
      } catch (error) {
        if (attempt === maxRetries - 1) this.#log.error({ cause: loggableError(error) }, 'failed to answer while no worker was listening')
        await new Promise(resolve => { setTimeout(resolve, retryMs) })
      }
    }
  }

  /** Frees the port, and ends what is still open. */
  close (): void {
    const server = this.#server
    this.#server = undefined
    if (server?.listening === true) end(server)
  }
}

function end (server: Server): void {
  server.close()
  server.closeIdleConnections()
}
