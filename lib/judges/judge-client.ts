/** Sends texts to the operator's services and reads their answers: JSON over HTTP. */

import { httpTransport } from '../client/transport.ts'
import { sleep } from '../async/sleep.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { printText } from '../json/print-in-slices.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { GuardSettings } from '../core/settings.ts'
import type { UpstreamResponse } from '../providers/provider.ts'

type ClientSettings = Pick<GuardSettings, 'headers' | 'retries' | 'maxBytes'>

/** The call being inspected. */
export interface InspectedCall {
  /** Calls of several keys share a service's connections. */
  readonly keyId: string
  readonly signal: AbortSignal
  /** See `SendOptions`. */
  readonly onSent?: () => void
}

export interface JudgeClient {
  /**
   * Sends a value, retrying transient failures, and returns the answer. Redirects are not followed.
   *
   * @param path appended to the service's URL
   * @param sign returns headers for the body. Default: none
   * @throws Error if the service cannot be reached, returns a status other than 200 or invalid JSON, or if
   *   the request or answer is too large
   */
  readonly post: (
    path: string,
    value: unknown,
    call: InspectedCall,
    sign?: (body: string) => Readonly<Record<string, string>>
  ) => Promise<unknown>
  /** Waits for open requests, then closes the sockets. */
  readonly close: () => Promise<void>
}

const defaultRetries = 1
const defaultMaxBytes = 4 * 1024 * 1024
const retryAfterMs = 100
const connectMs = 5000
/** Connections to one service; further requests wait. */
const connections = 64
/** The guard's own timeout limits a request, so these are set too high to matter. */
const wait = 600_000
const timeouts = { connectMs, firstByteMs: wait, responseMs: wait, idleBytesMs: wait, idleEventsMs: wait }

class WrongStatus extends Error {
  readonly isRetryable: boolean

  constructor (status: number) {
    super(`the service answered with status ${status}`)
    this.isRetryable = status >= 500 || status === 429
  }
}

/** @param url the service's URL; paths of `post` are appended to it */
export function judgeClient (
  url: string,
  { headers, retries = defaultRetries, maxBytes = defaultMaxBytes }: ClientSettings
): JudgeClient {
  const { origin, pathname } = new URL(url)
  const prefix = withoutTrailingSlashes(pathname)
  const transport = httpTransport({
    baseUrl: origin,
    connections,
    connectMs,
    ...headers !== undefined && { headers }
  })
  const send = async (
    path: string,
    body: string,
    signature: Readonly<Record<string, string>>,
    call: InspectedCall
  ): Promise<UpstreamResponse> => {
    const ownHeaders = { 'content-type': 'application/json', accept: 'application/json', ...signature }
    const response = await transport.send(
      { method: 'POST', path: path === '' ? pathname : prefix + path, headers: ownHeaders, body },
      { ...call, credential: {}, timeouts, streamed: false }
    )
    if (response.status !== 200) {
      response.body.cancel()
      throw new WrongStatus(response.status)
    }
    return response
  }
  return {
    post: async (path, value, call, sign = () => ({})) => {
      const body = await printText(value, bytes => {
        if (bytes > maxBytes) {
          throw new Error(`the texts take more than \`max_bytes\` of the guard, ${maxBytes} bytes`)
        }
      })
      const signature = sign(body)
      let response: UpstreamResponse | undefined
      for (let failed = 0; response === undefined; failed++) {
        try {
          response = await send(path, body, signature, call)
        } catch (error) {
          const isRetryable = !(error instanceof WrongStatus) || error.isRetryable
          if (failed >= retries || call.signal.aborted || !isRetryable) throw error
          await sleep(retryAfterMs * 2 ** failed, call.signal)
        }
      }
      // No retry for an answer that is too large or not JSON.
      return parseBounded((await response.body.buffer(maxBytes)).toString())
    },
    close: transport.close
  }
}
