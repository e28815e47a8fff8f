/**
 * Streams with unknown events and fields across which a word is split: answer guards still find it.
 */

import t from 'tap'
import {
  dialects, holdsWord, protocols, takenBy, type Json, type Protocol
} from '../support/conversations.ts'
import { testGateway } from '../support/gateway.ts'
import { eventStream, fakeUpstream } from '../support/upstream.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const kinds: Readonly<Record<'pattern' | 'webhook', (t: Test) => GuardSettings | Promise<GuardSettings>>> = {
  pattern: () => ({
    name: 'islands',
    use: 'pattern',
    at: ['answer'],
    action: 'refuse',
    patterns: [{ name: 'island', match: 'Zanzibar', maxLength: 8 }]
  }),
  webhook: async t => {
    const service = await fakeUpstream(({ text }) => ({
      pieces: [JSON.stringify(text.includes('Zanzibar') ? { refuse: 'it contains island' } : {})]
    }))
    t.teardown(service.close)
    const window = { characters: 10, overlap: 20, maxWaitMs: 60_000 }
    return { name: 'islands', use: 'webhook', url: service.url, at: ['answer'], action: 'refuse', window }
  }
}

/** Split inside the word. */
const [before, behind] = ['It is Zanzi', 'bar, by boat.']

interface Stream {
  readonly dialect: keyof typeof dialects
  readonly protocol: Protocol
  readonly first: readonly Json[]
  /** Contains half of the word. */
  readonly half: (text: string) => Json
  readonly last: readonly Json[]
}

const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' }
const response = { ...head, status: 'in_progress', output: [] }
const ofResponses = {
  dialect: 'responses',
  protocol: protocols.responses,
  first: [{ type: 'response.created', response }],
  last: [{ type: 'response.completed', response: { ...response, status: 'completed' } }]
} as const
const ofMessages = {
  dialect: 'messages',
  protocol: protocols.anthropic,
  first: [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 }
      }
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  ],
  last: [
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 2 }
    },
    { type: 'message_stop' }
  ]
} as const
const ofChat = {
  dialect: 'chat',
  protocol: protocols.chat,
  first: [],
  last: [chunk({}, 'stop')]
} as const

const streams: Readonly<Record<string, Stream>> = {
  'an event of Responses': {
    ...ofResponses,
    half: delta => ({ type: 'response.x_new.delta', output_index: 0, delta })
  },
  'an event of Responses with several texts': {
    ...ofResponses,
    half: text => ({ type: 'response.x_new.delta', output_index: 0, delta: { kind: 'a', parts: [{ text }] } })
  },
  'a result of a tool in Responses': {
    ...ofResponses,
    half: stdout => ({
      type: 'response.shell_call_output_content.delta',
      output_index: 0,
      item_id: 'sh_1',
      command_index: 0,
      delta: { stdout }
    })
  },
  'a delta of Messages': {
    ...ofMessages,
    half: text => ({ type: 'content_block_delta', index: 0, delta: { type: 'x_delta', x_text: text } })
  },
  'a field of chat completions': { ...ofChat, half: text => chunk({ x_details: { text } }) }
}

function chunk (delta: Json, finish: string | null = null): Json {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices }
}

for (const [kind, stageOf] of Object.entries(kinds)) {
  t.test(`${kind}: a word split across unknown events is found`, async t => {
    const stage = await stageOf(t)
    for (const [title, { dialect, protocol, first, half, last }] of Object.entries(streams)) {
      let halves = [before, behind]
      const upstream = await fakeUpstream(() => ({
        headers: eventStream,
        pieces: [...first, ...halves.map(half), ...last].map((value, at) => {
          const { type } = value as { readonly type?: string }
          const name = type === undefined ? '' : `event: ${type}\n`
          return `${name}data: ${JSON.stringify({ ...value, sequence_number: at })}\n\n`
        })
      }))
      t.teardown(upstream.close)
      const api = await testGateway(t, { providers: [protocol.provider(upstream.url)], guards: [stage] })
      const { path, request } = dialects[dialect]
      const body = { ...takenBy(protocol, request(protocol.model, 'there')), stream: true }
      const refused = await (await api.post(path, body)).text()
      t.match(refused, /content_refused|The guard `islands` refused this call/, title)
      t.notMatch(refused, /by boat/, title)
      halves = ['It is Zan', 'te, by boat.']
      const passed = await (await api.post(path, body)).text()
      t.match(passed, /by boat/, `${title}: another word passes`)
      t.notOk(holdsWord(passed), title)
    }
  })
}
