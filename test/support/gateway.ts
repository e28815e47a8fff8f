/** A complete gateway on a free port, in front of the providers given by a test. */

import type { ProviderKind } from '../../schemas/providers.ts'
import { createGateway, type Gateway, type GatewayOptions } from '../../lib/gateway.ts'
import { createLog } from '../../lib/log/log.ts'
import { providerSettings, settings } from './settings.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

/** The key every test gateway knows; official clients are tested with spaces in it. */
export const testKey = 'My API Key'

export interface TestGateway {
  readonly gateway: Gateway
  readonly url: string
  /** Lines of the log, parsed. */
  readonly lines: Array<Record<string, unknown>>
  /** A request with the key and a JSON body. */
  readonly post: (path: string, body: unknown, init?: RequestInit) => Promise<Response>
  readonly get: (path: string, init?: RequestInit) => Promise<Response>
}

/** Starts a gateway that is closed when the test ends. */
export async function testGateway (
  t: Test,
  parts: Partial<Settings> = {},
  keys: Readonly<Record<string, ApiKey>> = {},
  more: Partial<GatewayOptions> = {}
): Promise<TestGateway> {
  const known: Readonly<Record<string, ApiKey>> = { [testKey]: { id: 'key-1', name: 'test' }, ...keys }
  const lines: Array<Record<string, unknown>> = []
  const log = createLog('info', {
    write: line => {
      lines.push(JSON.parse(line) as Record<string, unknown>)
    }
  })
  const all = settings(parts)
  const gateway = await createGateway(all, { keys: { check: presented => known[presented] }, log, ...more })
  const { port } = await gateway.listen()
  t.teardown(async () => await gateway.close())
  const url = `http://127.0.0.1:${port}`
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' }
  return {
    gateway,
    url,
    lines,
    post: async (path, body, init = {}) =>
      await fetch(url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
        headers: { ...headers, ...(init.headers as Record<string, string>) } // tests give plain objects
      }),
    get: async (path, init = {}) =>
      await fetch(url + path, {
        ...init,
        headers: { ...headers, ...(init.headers as Record<string, string>) }
      })
  }
}

/** Settings of a fake OpenAI that has chat completions and no other chat API. */
export function chatUpstreamAt (url: string): ProviderSettings {
  return upstreamAt(url, 'openai', 'openai', { quirks: { responsesApi: false } })
}

/** Settings of a provider at a fake upstream. */
export function upstreamAt (
  url: string,
  id: string = 'openai',
  kind: ProviderKind = 'openai',
  parts: Partial<ProviderSettings> = {}
): ProviderSettings {
  const timeouts = {
    connectMs: 5000,
    firstByteMs: 20_000,
    responseMs: 20_000,
    idleBytesMs: 20_000,
    idleEventsMs: 20_000
  }
  return { ...providerSettings(id, kind), baseUrl: url, maxConnections: 64, timeouts, ...parts }
}
