/**
 * Answers in place of the workers while none of them listens: the port closes with the last of them, and callers would
 * be refused without a word. Every request gets 503 with `retry-after`, and its connection is closed.
 */

import { GatewayError } from '../core/errors.ts'
import { jsonReplyHeaders } from '../core/reply.ts'
import { loggableError } from '../text/describe-error.ts'
import { createHttpServer, type HttpServer } from '../http/create-server.ts'
import { listen, type Address } from '../http/listen.ts'
import type { TlsPaths } from '../http/tls-files.ts'
import type { Log } from '../telemetry/log.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** The port of a worker that has exited is closed a moment later. */
const retryMs = 10
const maxRetries = 200

export class StandIn {
  readonly #connections: number
  readonly #log: Log
  readonly #tls: TlsPaths | undefined
  /** Stands for the last `open`; `undefined` after `close`. */
  #opened: object | undefined
  #http: HttpServer | undefined

  /**
   * @param connections at once, at most
   * @param tls the certificate of the gateway, where it serves HTTPS
   */
  constructor (connections: number, log: Log, tls?: TlsPaths) {
    this.#connections = connections
    this.#log = log
    this.#tls = tls
  }

  /** Begins to answer at an address; `close` ends it. */
  async open (at: Address): Promise<void> {
    if (this.#opened !== undefined) return
    const opened = this.#opened = {}
    for (let attempt = 0; this.#opened === opened && attempt < maxRetries; attempt++) {
      try {
        const http = await this.#listening(at)
        if (this.#opened === opened) this.#http = http
        else return end(http)
        this.#log.warn({ port: at.port }, 'no worker is listening; answering 503')
        return
      } catch (error) {
        if (attempt === maxRetries - 1) this.#log.error({ cause: loggableError(error) }, 'failed to answer while no worker was listening')
        await new Promise(resolve => { setTimeout(resolve, retryMs) })
      }
    }
  }

  async #listening (at: Address): Promise<HttpServer> {
    const tls = this.#tls && { ...this.#tls, onReload: () => undefined, onFailure: (error: unknown) => this.#log.warn({ cause: loggableError(error) }, 'failed to read the certificate') }
    const http = await createHttpServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, refuse, tls)
    http.server.maxConnections = this.#connections
    try {
      await listen(http.server, at)
      return http
    } catch (error) {
      http.close()
      throw error
    }
  }

  /** Frees the port, and ends what is still open. */
  close (): void {
    const http = this.#http
    this.#opened = this.#http = undefined
    if (http !== undefined) end(http)
  }
}

function refuse (_request: IncomingMessage, response: ServerResponse): void {
  const failure = new GatewayError('overloaded', { message: 'The gateway is restarting. Try again in a moment.' })
  response.writeHead(failure.status, { ...jsonReplyHeaders, connection: 'close', ...failure.headers() })
  response.end(JSON.stringify(failure.toBody()))
}

function end ({ server, close }: HttpServer): void {
  close()
  server.close()
  server.closeIdleConnections()
}
