import t from 'tap'
import { argumentsText, contentOf, memberType, partsOf, Retained } from '../../lib/providers/answer-parts.ts'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { streamOf } from '../support/adapters.ts'
import { ask as anthropicAsk } from '../support/anthropic-answers.ts'
import { ask as chatAsk } from '../support/chat-completions.ts'
import { responsesAsk } from '../support/responses-api.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { StreamReader } from '../../lib/providers/provider.ts'

const part = { a: 1 }

t.test('the parts of a list are its objects, in any form of the list', async t => {
  for (const written of [[part], part, [null, part, ''], [[part]]]) {
    t.same(partsOf(written, 'the list'), [part], JSON.stringify(written))
  }
  for (const nothing of [undefined, null, '', [], [null]]) {
    t.same(partsOf(nothing, 'the list'), [], JSON.stringify(nothing))
  }
})

t.test('an unreadable list is an error that names it', async t => {
  for (const odd of ['text', 7, true, ['text'], [part, 7]]) {
    t.throws(
      () => partsOf(odd, 'the list'),
      { code: 'upstream_invalid_response', cause: /the list cannot be read/ },
      JSON.stringify(odd)
    )
  }
})

t.test('a string as content is its only part', async t => {
  t.same(contentOf('hello', 'the content'), [{ type: 'text', text: 'hello' }])
  t.same(contentOf('', 'the content'), [])
  t.same(contentOf([part], 'the content'), [part])
})

t.test('arguments become JSON text, whether sent as text or as an object', async t => {
  for (const [value, text] of [
    ['{"a":1}', '{"a":1}'],
    [{ a: 1 }, '{"a":1}'],
    [null, ''],
    [undefined, ''],
    ['', '']
  ] as const) {
    t.equal(argumentsText(value), text)
  }
})

t.test('a part without a type gets the type of its member', async t => {
  const members = { input: 'tool_use', text: 'text' }
  t.equal(memberType({ text: '' }, members), 'text')
  t.equal(memberType({ text: 'a', input: {} }, members), 'tool_use', 'the first member counts')
  t.equal(memberType({ text: null }, members), undefined)
})

const long = 'x'.repeat(1_000_000)
const chunk = (delta: object, more: object = {}): object => ({
  id: 'c',
  choices: [{ index: 0, delta }],
  ...more
})
const block = { type: 'content_block_start', index: 0 }
const delta = (delta: object): object => ({ type: 'content_block_delta', index: 0, delta })
const added = (item: object): object => ({ type: 'response.output_item.added', output_index: 0, item })

/** The beginning of each stream, and what then repeats forever. */
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

t.test('the retained part of a stream is limited, text that is not retained is not', async t => {
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

t.test('the number of parts is limited, however small they are', async t => {
  const retained = new Retained()
  t.throws(
    () => {
      for (let count = 0; count < 300_000; count++) retained.add(0)
    },
    { code: 'upstream_invalid_response' }
  )
})
