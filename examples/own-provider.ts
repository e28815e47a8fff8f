/**
 * A provider of your own in the complete gateway, for an API that Headgate does not know.
 *
 *     npx tsc && PARROT_URL=http://localhost:9000 node own-provider.js
 *
 * Its API takes `POST /generate` with `{"model", "prompt"}` and answers `{"text", "tokens"}`. An adapter
 * translates both ways and does nothing else: sending, retries, limits, usage and streams to the
 * caller are the gateway's.
 */

import { createGateway, createLog, type Gateway } from 'headgate'
import { loadSettings } from 'headgate/config'
import { defineProvider, httpTransport, ProviderFailure } from 'headgate/providers'
import type { Adapter, ChatEvent, ChatInput, Failure, FailureKind, Provider } from 'headgate/providers'

const chat: Adapter<ChatInput, ChatEvent> = {
  request: ({ request, route }) => ({
    method: 'POST',
    path: '/generate',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: route.model, prompt: promptOf(request) })
  }),
  read: () => ({ as: 'json', read: readAnswer }),
  error: ({ status, body }): Failure => ({
    kind: kindOf(status),
    status,
    message: typeof body === 'string' ? body : undefined
  })
}

function promptOf ({ messages }: ChatInput): string {
  return messages
    .map(
      ({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`
    )
    .join('\n')
}

interface Generated {
  readonly text: string
  readonly tokens: { readonly prompt: number, readonly completion: number }
}

/** Reads one answer into the events that a stream would have given. */
function readAnswer (body: unknown): ChatEvent[] {
  const { text, tokens } = body as Partial<Generated>
  if (text === undefined || tokens === undefined) throw new ProviderFailure({ kind: 'error' })
  const { prompt, completion } = tokens
  return [
    { type: 'answer-start' },
    { type: 'text-delta', choice: 0, text },
    { type: 'choice-end', choice: 0, reason: 'stop' },
    {
      type: 'usage',
      usage: { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion }
    }
  ]
}

function kindOf (status: number): FailureKind {
  switch (status) {
    case 401: return 'credential'
    case 404: return 'model'
    case 429: return 'rate_limit'
    default: return status < 500 ? 'invalid_request' : 'error'
  }
}

/** Creates the provider; its models are `parrot/…`. */
export function parrot (baseUrl: string): Provider {
  return defineProvider({
    id: 'parrot', transport: httpTransport({ baseUrl, connections: 16, connectMs: 5000 }), adapters: { chat }
  })
}

/** Starts a gateway with this provider beside those of the configuration. */
export async function startGateway (
  env: NodeJS.ProcessEnv,
  cwd: string
): Promise<{ gateway: Gateway, url: string }> {
  const keys = {
    check: (presented: string) => (presented === 'secret' ? { id: '1', name: 'me' } : undefined)
  }
  const providers = [parrot(env['PARROT_URL'] ?? 'http://localhost:9000')]
  const gateway = await createGateway(loadSettings({ env, cwd }), { keys, log: createLog('warn'), providers })
  const { host, port } = await gateway.listen()
  return { gateway, url: `http://${host}:${port}` }
}

if (process.argv[1] === import.meta.filename) {
  console.log((await startGateway(process.env, process.cwd())).url)
}
