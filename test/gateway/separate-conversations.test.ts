/** Concurrent conversations through a masking guard and the cache: none sees values of another. */

import fc from 'fast-check'
import t from 'tap'
import { chatUpstreamAt, testGateway, upstreamAt } from '../support/gateway.ts'
import { eventStream, fakeUpstream, type SeenRequest, type Script } from '../support/upstream.ts'
import type { Json } from '../support/conversations.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'

const stage: GuardSettings = {
  name: 'mail',
  use: 'pattern',
  at: ['request', 'answer'],
  action: 'mask',
  patterns: ['email']
}
const keys: Readonly<Record<string, ApiKey>> = {
  one: { id: 'k1', name: 'one', project: { id: 'p1', name: 'P1' } },
  two: { id: 'k2', name: 'two', project: { id: 'p1', name: 'P1' } },
  three: { id: 'k3', name: 'three', project: { id: 'p2', name: 'P2' } }
}
const projects: Readonly<Record<string, string>> = { one: 'p1', two: 'p1', three: 'p2' }

interface Turn {
  readonly key: string
  readonly conversation: number
  readonly dialect: 'chat' | 'messages'
  readonly stream: boolean
  readonly isNew: boolean
}

const turn: fc.Arbitrary<Turn> = fc.record({
  key: fc.constantFrom(...Object.keys(keys)),
  conversation: fc.integer({ min: 0, max: 3 }),
  dialect: fc.constantFrom('chat', 'messages'),
  stream: fc.boolean(),
  isNew: fc.boolean()
})

/** Repeats the value in the request, and adds an address, in pieces. */
function echo ({ text, json, path }: SeenRequest): Script {
  const [, said = ''] = /(value-\w+-\d)/.exec(text) ?? []
  const words = [`You said ${said}. `, 'Ask provider@exa', 'mple.com.']
  const isStreamed = (json as Json)['stream'] === true
  const event = (value: Json): string => `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
  if (path.endsWith('/messages')) {
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: words.join('') }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 }
    }
    if (!isStreamed) {
      return { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(message)] }
    }
    return {
      headers: eventStream,
      pieces: [
        event({ type: 'message_start', message: { ...message, content: [], stop_reason: null } }),
        event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
        ...words.map(text =>
          event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
        ),
        event({ type: 'content_block_stop', index: 0 }),
        event({
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: 1 }
        }),
        event({ type: 'message_stop' })
      ]
    }
  }
  const answer = (choice: Json, object: string): Json => ({
    id: 'c',
    object,
    created: 1,
    model: 'm',
    choices: [{ index: 0, ...choice }]
  })
  if (!isStreamed) {
    return {
      headers: { 'content-type': 'application/json' },
      pieces: [
        JSON.stringify(
          answer(
            { finish_reason: 'stop', message: { role: 'assistant', content: words.join('') } },
            'chat.completion'
          )
        )
      ]
    }
  }
  const chunk = (choice: Json): string =>
    `data: ${JSON.stringify(answer(choice, 'chat.completion.chunk'))}\n\n`
  return {
    headers: eventStream,
    pieces: [
      ...words.map(content => chunk({ delta: { content }, finish_reason: null })),
      chunk({ delta: {}, finish_reason: 'stop' }),
      'data: [DONE]\n\n'
    ]
  }
}

for (const scope of ['key', 'project'] as const) {
  t.test(`values stay in their conversation, with a cache for each ${scope}`, async t => {
    const upstream = await fakeUpstream(echo)
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [chatUpstreamAt(upstream.url), upstreamAt(upstream.url, 'anthropic', 'anthropic')],
      guards: [stage],
      cache: { answers: { ttlMs: 60_000, maxBytes: 1024 * 1024, scope, when: 'always' } }
    }, keys)
    const results = new Set<string | null>()
    const ask = async ({ key, conversation, dialect, stream, isNew }: Turn): Promise<void> => {
      // Keys of one project say the same if they share answers, but never what another project says.
      const value = `value-${scope === 'key' ? key : projects[key] ?? ''}-${conversation}`
      const content = `I am ${value}, write to user${conversation}.${key}@example.com`
      const body = dialect === 'chat'
        ? { model: 'openai/m', messages: [{ role: 'user', content }], stream }
        : { model: 'anthropic/m', max_tokens: 10, messages: [{ role: 'user', content }], stream }
      const response = await api.post(dialect === 'chat' ? '/v1/chat/completions' : '/v1/messages', body, {
        headers: { authorization: `Bearer ${key}`, ...isNew && { 'cache-control': 'no-cache' } }
      })
      const text = await response.text()
      results.add(response.headers.get('x-headgate-cache'))
      t.equal(response.status, 200, text.slice(0, 200))
      t.same([...new Set(text.match(/value-\w+-\d/g) ?? [])], [value])
      t.notMatch(text, /@example\.com/)
      t.match(text, /\[email\]/)
    }
    for (const turns of fc.sample(fc.array(turn, { minLength: 20, maxLength: 40 }), 6)) {
      await Promise.all(turns.map(ask))
    }
    t.ok(results.has('hit') && results.has('miss'))
    for (const { text } of upstream.requests) t.notMatch(text, /@example\.com/)
  })
}
