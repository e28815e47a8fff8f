/** Sends one call of the load, over HTTP or HTTPS. */

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { once } from 'node:events'
import type { AnswerCheck } from './answer-check.ts'

/** The target of calls, with reused connections. */
export interface Target {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly agent: HttpAgent | HttpsAgent
}

/** @param base the address of a gateway, with or without `/v1` */
export function openTarget (base: URL, key: string | undefined): Target {
  const path = base.pathname.replace(/\/(?:v1\/?)?$/, '')
  const url = new URL(`${path}/v1/chat/completions`, base)
  const headers = {
    'content-type': 'application/json',
    ...key !== undefined && { authorization: `Bearer ${key}` }
  }
  const agent = new (url.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true })
  return { url, headers, agent }
}

export interface Answered {
  readonly firstByteMs: number
  readonly endMs: number
  /** The cost in dollars, as the answer reports it. */
  readonly costUsd: number | undefined
}

/** Response headers with which gateways report the cost of a call in dollars. */
export const costHeaders = ['x-headgate-cost-usd', 'x-litellm-response-cost'] as const

/** Many times the largest answer of a lane. */
const maxAnswerBytes = 8 * 1024 * 1024

/** Reports an answer that is not 200, with its status and the code of its error. */
class RefusedError extends Error {}

/**
 * Sends a call and checks its answer.
 *
 * @returns times by `performance.now()`
 * @throws RefusedError; other errors for wrong or broken answers, and when the signal aborts
 */
export async function sendCall (
  { url, headers, agent }: Target, body: Buffer, check: AnswerCheck, signal: AbortSignal
): Promise<Answered> {
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method: 'POST', agent, signal, headers: { ...headers, 'content-length': body.length }
  })
  request.end(body)
  const [response] = await once(request, 'response') as [IncomingMessage]
  const pieces: Buffer[] = []
  let firstByteMs = NaN
  let sizeBytes = 0
  for await (const bytes of response as AsyncIterable<Buffer>) { // no encoding is set
    if (pieces.length === 0) firstByteMs = performance.now()
    sizeBytes += bytes.length
    if (sizeBytes > maxAnswerBytes) throw new Error('the answer does not end')
    pieces.push(bytes)
  }
  const endMs = performance.now()
  if (response.statusCode !== 200) throw new RefusedError(refusal(response.statusCode, Buffer.concat(pieces)))
  check.answer(pieces)
  return { firstByteMs, endMs, costUsd: costOf(response) }
}

function costOf ({ headers }: IncomingMessage): number | undefined {
  const text = costHeaders.map(name => headers[name]).find(value => typeof value === 'string')
  const usd = Number(text ?? NaN)
  return Number.isFinite(usd) ? usd : undefined
}

function refusal (status: number | undefined, body: Buffer): string {
  const [, code] = /"code": ?"(\w{1,60})"/.exec(body.toString('utf8', 0, 2_000)) ?? []
  return code === undefined ? `${status}` : `${status} ${code}`
}
