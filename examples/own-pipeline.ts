/**
 * A pipeline of your own: a stage between two of Headgate's, and no HTTP server at all.
 *
 *     npm run build && node build/examples/own-pipeline.js
 *
 * `shout` changes the text of every answer on its way, streamed or whole: it sees events, so it
 * need not know which provider spoke or how the answer will be sent.
 */

import { pipe } from 'it-pipe'
import { createCallRecord } from 'headgate/core/record'
import { toCompletion } from 'headgate/chat/complete'
import { createProvider } from 'headgate/providers/index'
import { sandboxTransport } from 'headgate/sandbox/transport'
import { streamOrJson } from 'headgate/replies/stream-or-json'
import { once, type Stage } from 'headgate/core/stage'
import { normalise } from 'headgate/stages/normalise'
import { providerCall } from 'headgate/stages/provider-call'
import { sseEncode } from 'headgate/stages/sse-encode'
import type { Batch } from 'headgate/core/batch'
import type { RoutedCall } from 'headgate/core/call'
import type { ChatInput } from 'headgate/chat/input'
import type { ChatEvent } from 'headgate/core/events'
import type { Reply } from 'headgate/core/reply'

/** Text in capitals; everything else as it came. */
function shout (): Stage<Batch<ChatInput, ChatEvent>> {
  return async function * (source) {
    for await (const batch of source) {
      yield {
        ...batch,
        events: batch.events.map(event =>
          event.type === 'text-delta' ? { ...event, text: event.text.toUpperCase() } : event)
      }
    }
  }
}

const sandbox = createProvider({
  id: 'sandbox',
  kind: 'sandbox',
  enabled: true,
  baseUrl: 'sandbox:',
  headers: {},
  timeouts: { connectMs: 1000, firstByteMs: 10_000, responseMs: 10_000, idleBytesMs: 10_000, idleEventsMs: 10_000 },
  retries: 0,
  onDisconnect: 'abort',
  connections: 1,
  quirks: {},
  listModels: false,
  options: { words_per_second: 0 }
}, sandboxTransport({ words_per_second: 0 }))

const ask = providerCall({
  providers: new Map([['sandbox', sandbox]]),
  settings: { limits: { answerBytes: 1_000_000, eventBytes: 100_000 } }
}, 'chat')
const reply = streamOrJson({ streamed: sseEncode(), whole: toCompletion })

/** Answers a question in capitals. The signal ends everything that hangs on it. */
export async function askLoudly (question: string, stream: boolean, signal: AbortSignal): Promise<Reply> {
  const call: RoutedCall<ChatInput> = {
    id: 'example',
    headers: {},
    params: {},
    body: async () => ({}),
    signal,
    receivedAtMs: performance.now(),
    record: createCallRecord('example'),
    key: { id: 'me', name: 'me' },
    request: { model: 'sandbox/echo', messages: [{ role: 'user', content: question }], stream },
    routes: [{ providerId: 'sandbox', model: 'echo', modelId: 'sandbox/echo' }]
  }
  return await pipe(once(call), ask, shout(), normalise<ChatInput>(), reply)
}

if (process.argv[1] === import.meta.filename) {
  const { body } = await askLoudly('Is anybody there?', true, AbortSignal.timeout(10_000))
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    for await (const text of body) process.stdout.write(text)
  }
}
