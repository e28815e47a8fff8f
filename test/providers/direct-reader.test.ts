import t from 'tap'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { ask as anthropicAsk, finish, start, stop } from '../support/anthropic-answers.ts'
import { readEvents } from '../support/read-events.ts'
import { responsesAsk } from '../support/responses-api.ts'
import type { DirectDialect } from '../../lib/core/events.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'

interface Api {
  readonly adapter: Adapter<ChatInput, ChatEvent>
  readonly ask: AdapterInput<ChatInput>
  readonly answer: object
  readonly stream: readonly object[]
}

const direct = (dialect: DirectDialect) => ({ direct: { dialect, body: '{}', headers: {}, query: '' } })
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '{}' }
const response = {
  id: 'resp_1',
  status: 'completed',
  output: [call],
  usage: { input_tokens: 5, output_tokens: 3, total_tokens: 8 }
}
const block = { type: 'tool_use', id: 'call_1', name: 'look', input: {} }

const apis: Readonly<Record<string, Api>> = {
  Messages: {
    adapter: anthropicChat,
    ask: { ...anthropicAsk(), ...direct('messages') },
    answer: {
      type: 'message',
      content: [block],
      stop_reason: 'tool_use',
      usage: { input_tokens: 5, output_tokens: 3 }
    },
    stream: [
      start,
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_stop', index: 0 },
      { ...finish, delta: { stop_reason: 'tool_use' } },
      stop
    ]
  },
  Responses: {
    adapter: openaiAdapters.chat,
    ask: { ...responsesAsk(), ...direct('responses') },
    answer: response,
    stream: [
      { type: 'response.created', response: {} },
      { type: 'response.output_item.added', output_index: 0, item: call },
      { type: 'response.output_item.done', output_index: 0, item: call },
      { type: 'response.completed', response }
    ]
  }
}

const framesOf = (events: readonly object[]): string =>
  events
    .map(event => `event: ${String(Reflect.get(event, 'type'))}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')

const facts = (events: readonly ChatEvent[]): ChatEvent[] =>
  events.filter(({ type }) => type !== 'direct-frame' && type !== 'direct-answer')

for (const [name, { adapter, ask, answer, stream }] of Object.entries(apis)) {
  t.test(`${name}: a stream and a complete answer have the same facts and pass unchanged`, async t => {
    const streamed = readEvents([Buffer.from(framesOf(stream))], streamOf(adapter, ask))
    const complete = readResponse(adapter, answer, ask)
    t.same(facts(streamed), facts(complete))
    t.match(facts(complete), [
      { type: 'answer-start' },
      { type: 'tool-call-start', id: 'call_1', name: 'look', callIndex: 0 },
      { type: 'choice-end', reason: 'tool_calls' },
      { type: 'usage', usage: { promptTokens: 5, completionTokens: 3 } }
    ])
    t.same(
      streamed.flatMap(event => (event.type === 'direct-frame' ? [JSON.parse(event.json)] : [])),
      stream
    )
    t.same(
      complete.flatMap(event => (event.type === 'direct-answer' ? [JSON.parse(event.json)] : [])),
      [answer]
    )
  })

  t.test(`${name}: a call announced late is still counted`, async t => {
    const late = stream.filter(event => !String(Reflect.get(event, 'type')).endsWith('added'))
    const events = readEvents([Buffer.from(framesOf(late))], streamOf(adapter, ask))
    t.same(events.filter(({ type }) => type === 'tool-call-start').length, 1)
  })

  t.test(`${name}: a stream without an end is interrupted`, async t => {
    t.throws(() => readEvents([Buffer.from(framesOf(stream.slice(0, -2)))], streamOf(adapter, ask)), {
      code: 'upstream_stream_interrupted'
    })
  })
}
