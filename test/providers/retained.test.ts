/** Streams without an end, of every kind: what a reader keeps of one is bounded. */

import t from 'tap'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { Retained } from '../../lib/providers/retained.ts'
import { streamOf } from '../support/adapters.ts'
import { ask as anthropicAsk } from '../support/anthropic-answers.ts'
import { ask as chatAsk } from '../support/chat-completions.ts'
import { responsesAsk } from '../support/responses-api.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { StreamReader } from '../../lib/providers/provider.ts'

const long = 'x'.repeat(1_000_000)
const chunk = (delta: object, more: object = {}): object => ({
  id: 'c',
  choices: [{ index: 0, delta }],
  ...more
})
const block = { type: 'content_block_start', index: 0 }
const delta = (delta: object): object => ({ type: 'content_block_delta', index: 0, delta })
const added = (item: object): object => ({ type: 'response.output_item.added', output_index: 0, item })

/** What begins each stream, and what then comes for ever. */
const streams: ReadonlyArray<
  readonly [
    name: string,
    open: () => StreamReader<ChatEvent>,
    first: object,
    next: (count: number) => object
  ]
> = [
  [
    'arguments',
    () => streamOf(chatCompletions, chatAsk()),
    chunk({ tool_calls: [{ index: 0, id: 'k', function: { name: 'f' } }] }),
    () => chunk({ tool_calls: [{ index: 0, function: { arguments: long } }] })
  ],
  [
    'thinking',
    () => streamOf(chatCompletions, chatAsk()),
    chunk({ role: 'assistant' }),
    () => chunk({ thinking_blocks: [{ type: 'thinking', thinking: long }] })
  ],
  [
    'fields of any name',
    () => streamOf(chatCompletions, chatAsk()),
    chunk({ role: 'assistant' }),
    count => chunk({}, { [`field ${count}`]: long })
  ],
  [
    'thinking of Messages',
    () => streamOf(anthropicChat, anthropicAsk()),
    { ...block, content_block: { type: 'thinking', thinking: '' } },
    () => delta({ type: 'thinking_delta', thinking: long })
  ],
  [
    'citations',
    () => streamOf(anthropicChat, anthropicAsk()),
    { ...block, content_block: { type: 'text', text: '' } },
    () => delta({ type: 'citations_delta', citation: { url: long } })
  ],
  [
    'arguments of Responses',
    () => streamOf(openaiAdapters.chat, responsesAsk()),
    added({ type: 'function_call', call_id: 'k', name: 'f' }),
    () => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta: long })
  ],
  [
    'reasoning of Responses',
    () => streamOf(openaiAdapters.chat, responsesAsk()),
    added({ type: 'reasoning' }),
    () => ({ type: 'response.reasoning_text.delta', output_index: 0, delta: long })
  ]
]

t.test('what is kept of a stream has a bound, and text that is not kept has none', async t => {
  const read = (reader: StreamReader<ChatEvent>, data: object): void =>
    reader.read({ data: JSON.stringify(data), event: undefined, id: undefined }, [])
  for (const [name, open, first, next] of streams) {
    const reader = open()
    read(reader, first)
    t.throws(
      () => {
        for (let count = 0; count < 20; count++) read(reader, next(count))
      },
      { code: 'upstream_invalid_response' },
      name
    )
  }
  const texts = streamOf(chatCompletions, chatAsk())
  t.doesNotThrow(() => { for (let count = 0; count < 20; count++) read(texts, chunk({ content: long })) })
})

t.test('parts count, however small', async t => {
  const retained = new Retained()
  t.throws(
    () => {
      for (let count = 0; count < 300_000; count++) retained.add(0)
    },
    { code: 'upstream_invalid_response' }
  )
})
