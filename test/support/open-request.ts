/** An incoming request and its answer, for tests of functions that need both. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { httpServer } from './http-server.ts'

export interface OpenRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The response that the caller receives. */
  readonly answer: Promise<Response>
}

/** Sends a request that is not answered yet. */
export async function openRequest (
  t: Test,
  path: string = '/',
  init: RequestInit = {}
): Promise<OpenRequest> {
  let accept: (pair: readonly [IncomingMessage, ServerResponse]) => void = () => undefined
  const accepted = new Promise<readonly [IncomingMessage, ServerResponse]>(resolve => { accept = resolve })
  const { url } = await httpServer(t, (request, response) => accept([request, response]))
  const answer = fetch(url + path, init)
  answer.catch(() => undefined) // a test may end without it
  const [request, response] = await accepted
  return { request, response, answer }
}
