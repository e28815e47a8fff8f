/**
 * Sessions of coding agents through a configured masking guard: several turns, each with the whole history.
 */

import t from 'tap'
import { claudeCodeTurn, codexTurn } from '../support/agent-sessions.ts'
import { protocols, type Json, type Protocol } from '../support/conversations.ts'
import { testGateway } from '../support/gateway.ts'
import { eventStream, fakeUpstream } from '../support/upstream.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'

const mail = 'ada.lovelace@example.com'
const stage: GuardSettings = {
  name: 'mail',
  use: 'pattern',
  at: ['request', 'answer', 'tool_call', 'tool_result'],
  action: 'mask',
  patterns: ['email', 'card_number', 'api_key']
}

function event (value: Json): string {
  return `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
}

interface Agent {
  readonly path: string
  readonly protocol: Protocol
  readonly turn: (model: string, here: string) => object
  /** The field that grows. */
  readonly list: 'messages' | 'input'
  /** What the provider streams: frames that must pass unchanged, and those with the address. */
  readonly untouched: readonly string[]
  readonly spoken: readonly string[]
  readonly last: readonly string[]
  /** What the agent adds: the received answer, the result of its tool, and the next user message. */
  readonly added: (turn: number) => readonly Json[]
}

const signature = 'EqQBCkgIBRABGAIiQL8+/3s9Kx=='
const encrypted = 'gAAAAABpKx_9-zQ7x+/aB=='

const claudeCode: Agent = {
  path: '/v1/messages?beta=true',
  protocol: protocols.anthropic,
  turn: claudeCodeTurn,
  list: 'messages',
  untouched: [
    event({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' }
    }),
    event({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'I look for the owner.' }
    }),
    event({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature } }),
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix/LafPsn4a' }
    }),
    event({ type: 'content_block_stop', index: 1 }),
    event({ type: 'event_of_the_future', payload: { nested: [1, { a: '\u2028' }] } })
  ],
  spoken: [
    event({ type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } }),
    ...['It is of ada.love', 'lace@exam', 'ple.com, who'].map(text =>
      event({ type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text } })
    ),
    event({ type: 'content_block_stop', index: 2 })
  ],
  last: [
    event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 2 }
    }),
    event({ type: 'message_stop' })
  ],
  added: turn => [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I look for the owner.', signature },
        { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix/LafPsn4a' },
        { type: 'text', text: 'It is of [email], who' },
        { type: 'block_of_the_future', payload: [1e3, null] }
      ]
    },
    { role: 'user', content: [{ type: 'text', text: `Then write to ${mail}, turn ${turn}.` }] }
  ]
}

const part = { output_index: 1, content_index: 0, item_id: 'msg_1' }
const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: encrypted }
const message = (text: string): Json => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }]
})
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'completed',
  output: [reasoning, message(`It is of ${mail}, who`)],
  store: false,
  usage: {
    input_tokens: 3,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 2,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 5
  }
}

const codex: Agent = {
  path: '/v1/responses',
  protocol: protocols.responses,
  turn: codexTurn,
  list: 'input',
  untouched: [
    event({
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...reasoning, encrypted_content: '' },
      sequence_number: 1
    }),
    event({ type: 'response.output_item.done', output_index: 0, item: reasoning, sequence_number: 2 }),
    event({ type: 'response.of_the_future', thing: { kept: [true, 1.5] }, sequence_number: 3 })
  ],
  spoken: [
    event({
      type: 'response.output_item.added',
      output_index: 1,
      item: { ...message(''), content: [] },
      sequence_number: 4
    }),
    ...['It is of ada.love', 'lace@exam', 'ple.com, who'].map((delta, at) =>
      event({ type: 'response.output_text.delta', ...part, delta, sequence_number: 5 + at })
    ),
    event({ type: 'response.output_text.done', ...part, text: `It is of ${mail}, who`, sequence_number: 8 }),
    event({
      type: 'response.output_item.done',
      output_index: 1,
      item: message(`It is of ${mail}, who`),
      sequence_number: 9
    })
  ],
  last: [event({ type: 'response.completed', response, sequence_number: 10 })],
  added: turn => [
    reasoning,
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'It is of [email], who' }]
    },
    { type: 'item_of_the_future', payload: [1e3, null] },
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: `Then write to ${mail}, turn ${turn}.` }]
    }
  ]
}

for (const [name, agent] of Object.entries({ 'Claude Code': claudeCode, 'Codex': codex })) {
  t.test(
    `a session of ${name}: marks, signatures and unknown blocks stay byte for byte the same in every turn`,
    async t => {
      const { path, protocol, turn, list, untouched, spoken, last, added } = agent
      const begin = protocol.frames[0] ?? ''
      const upstream = await fakeUpstream({
        headers: eventStream,
        pieces: [begin, ...untouched, ...spoken, ...last]
      })
      t.teardown(upstream.close)
      const api = await testGateway(t, { providers: [protocol.provider(upstream.url)], guards: [stage] })
      const first = turn(protocol.model, mail) as Json
      const model = protocol.model.replace(/^.*\//, '')
      const grown = [...(first[list] as readonly Json[])]
      let before = ''
      for (let number = 1; number <= 4; number++) {
        const body = JSON.stringify({ ...first, [list]: grown })
        const answer = await api.post(path, body)
        const text = await answer.text()
        t.equal(answer.status, 200, text.slice(0, 300))
        const sent = upstream.requests[number - 1]?.text ?? ''
        t.equal(
          sent,
          body.replace(protocol.model, model).replaceAll(mail, '[email]'),
          `turn ${number}: only the address differs`
        )
        const history = JSON.stringify({ list: (JSON.parse(sent) as Json)[list] }).slice(0, -2)
        t.ok(
          history.startsWith(before),
          `turn ${number}: what was sent before is its beginning, as the caches of providers need it`
        )
        before = history
        for (const frame of untouched) t.ok(text.includes(frame), `turn ${number}: ${frame.slice(0, 60)}`)
        t.notMatch(text, mail, `turn ${number}`)
        t.match(text, /It is of \[email\]/, `turn ${number}`)
        grown.push(...added(number))
      }
    }
  )
}
