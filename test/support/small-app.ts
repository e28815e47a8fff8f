/** A small HTTP app with endpoints that answer, fail and wait. */

import { createServer } from 'node:http'
import { GatewayError } from '../../lib/core/errors.ts'
import { createApp, type App, type AppOptions } from '../../lib/http/app.ts'
import { listen, urlOf } from '../../lib/http/listen.ts'
import { settings } from './settings.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Endpoint } from '../../lib/core/endpoint.ts'
import type { Test } from 'tap'

export interface SmallApp {
  readonly app: App
  readonly url: string
  readonly ended: readonly Call[]
  /** Ends the answer of `/wait`. */
  readonly go: () => void
}

export async function smallApp (t: Test, options: Partial<AppOptions> = {}): Promise<SmallApp> {
  const ended: Call[] = []
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => {
    go = resolve
  })
  const text = (body: string): ReturnType<Endpoint['handle']> =>
    Promise.resolve({ status: 200, headers: { 'content-type': 'text/plain' }, body })
  const get = { method: 'GET', body: 'none', maxBodyBytes: 0 } as const
  const endpoints: Endpoint[] = [
    { ...get, name: 'plain', path: '/plain', handle: async () => await text('plain') },
    {
      ...get,
      name: 'one',
      path: '/things/:id',
      handle: async ({ params }) => await text(`thing ${params['id']}`)
    },
    {
      ...get,
      name: 'gone',
      method: 'DELETE',
      path: '/things/:id',
      handle: async () => await text('deleted')
    },
    {
      ...get,
      name: 'broken',
      path: '/broken',
      handle: async () => await Promise.reject(new Error('private'))
    },
    {
      ...get,
      name: 'throws',
      path: '/throws',
      handle: () => {
        throw new GatewayError('not_found')
      }
    },
    {
      ...get,
      name: 'wait',
      path: '/wait',
      handle: async () => {
        await opened
        return await text('waited')
      }
    },
    {
      ...get,
      name: 'stuck',
      path: '/stuck',
      handle: async ({ signal }) =>
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
    }
  ]
  const app = createApp({
    endpoints,
    bounds: settings().limits,
    stop: { isClosed: false },
    onEnd: call => {
      ended.push(call)
    },
    ...options
  })
  const server = createServer({ requireHostHeader: false }, app.handle)
  server.on('checkExpectation', app.handle)
  t.teardown(() => { server.close().closeAllConnections() })
  return { app, url: urlOf(await listen(server, { host: '127.0.0.1', port: 0 })), ended, go }
}

/** Returns the body of a refusal. */
export function refusal (message: string, code: string, type = 'invalid_request_error'): object {
  return { error: { message, type, code, param: null } }
}
