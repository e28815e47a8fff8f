/**
 * Adapters work in proportion to their input, or refuse it: no request and no response stalls other calls.
 * Each row doubles one dimension of its input.
 */

import t from 'tap'
import { jsonFromSchema } from '../../lib/sandbox/json-from-schema.ts'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { googleChat } from '../../lib/providers/google/index.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { redact } from '../../lib/text/redact.ts'
import { streamOf, readResponse } from '../support/adapters.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'

function ask (request: Partial<ChatInput>): AdapterInput<ChatInput> {
  return {
    request: { model: 'x/gemini-3-pro', messages: [{ role: 'user', content: 'hi' }], ...request },
    route: { providerId: 'x', model: 'gemini-3-pro', modelId: 'x/gemini-3-pro' },
    quirks: {},
    streamed: false
  }
}

/** CPU milliseconds of the fastest of some runs; a refusal counts as a result. */
function timeOf (work: () => unknown): number {
  let best = Infinity
  for (let run = 0; run < 3; run++) {
    const before = process.cpuUsage()
    try {
      work()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
    }
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

const adapters: ReadonlyArray<readonly [string, Adapter<ChatInput, ChatEvent>]> = [
  ['chat-completions', chatCompletions], ['anthropic', anthropicChat], ['google', googleChat]
]

const object = (properties: object, more: object = {}): NonNullable<ChatInput['tools']> => [
  { type: 'function', function: { name: 'f', parameters: { type: 'object', properties, ...more } } }
]
const numbered = (count: number, name = 'name'): string[] =>
  Array.from({ length: count }, (_, index) => `${name}${index}`)
const definitions = (count: number): object =>
  Object.fromEntries(
    numbered(count, 'd').map((name, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` }
      return [
        name,
        index === count - 1
          ? { type: 'object', properties: { a: { type: 'string' } } }
          : { allOf: [next, next] }
      ]
    })
  )

const requests: Readonly<Record<string, (size: number) => Partial<ChatInput>>> = {
  'a long user': size => ({ user: 'a'.repeat(size * 100) }),
  'a user of spaces': size => ({ user: `+${' '.repeat(size * 100)}x` }),
  'messages in a row': size => ({
    messages: Array.from({ length: size * 4 }, () => ({ role: 'user', content: 'hi' }))
  }),
  'parts of one message': size => ({
    messages: [
      { role: 'user', content: Array.from({ length: size * 10 }, () => ({ type: 'text', text: 'a' })) }
    ]
  }),
  'tool calls and their results': size => ({
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        tool_calls: numbered(size).map(id => ({
          id,
          type: 'function',
          function: { name: 'f', arguments: '{}' }
        }))
      },
      ...numbered(size).map(id => ({ role: 'tool' as const, tool_call_id: id, content: 'x' }))
    ]
  }),
  'tool calls without results': size => ({
    messages: [
      { role: 'user', content: 'hi' },
      ...numbered(size).map(id => ({
        role: 'assistant' as const,
        tool_calls: [{ id, type: 'function' as const, function: { name: 'f', arguments: '{}' } }]
      }))
    ]
  }),
  'tools and the allowed ones among them': size => ({
    tools: numbered(size).map(name => ({ type: 'function', function: { name } })),
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: numbered(size).map(name => ({ type: 'function', name })) }
    }
  }),
  'properties, and required names that are none': size => ({
    tools: object(Object.fromEntries(numbered(size).map(name => [name, {}])), {
      required: numbered(size, 'other')
    })
  }),
  'a definition that is merged everywhere': size => ({
    tools: object(
      Object.fromEntries(numbered(size).map(name => [name, { $ref: '#/$defs/all', title: name }])),
      {
        $defs: {
          all: { type: 'object', properties: Object.fromEntries(numbered(size).map(name => [name, {}])) }
        }
      }
    )
  })
}

for (const [name, adapter] of adapters) {
  t.test(`${name} writes requests in proportionate time`, async t => {
    for (const [dimension, request] of Object.entries(requests)) {
      const [small, large] = [ask(request(500)), ask(request(4000))]
      const smallMs = timeOf(() => adapter.request(small))
      // Proportional work grows 8 times, and comparing every part with every other 64 times.
      const maxMs = Math.max(smallMs, 2) * 30
      let largeMs = Infinity
      // The garbage collection of earlier tests is counted as well, but ends.
      for (let attempt = 0; attempt < 5 && largeMs >= maxMs; attempt++) {
        largeMs = timeOf(() => adapter.request(large))
      }
      t.ok(
        largeMs < maxMs,
        `${dimension}: eight times of it took ${largeMs.toFixed(1)} ms, once ${smallMs.toFixed(1)}`
      )
    }
  })
}

t.test('references that double with each definition are followed once', async t => {
  const parameters = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/d0', title: 'x' } },
    $defs: definitions(40)
  }
  const request = ask({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })
  t.ok(timeOf(() => googleChat.request(request)) < 100)
  t.ok(
    timeOf(() => jsonFromSchema({ $ref: '#/$defs/d0', $defs: definitions(25) }, { optional: true })) < 100
  )
  t.same(
    jsonFromSchema({ $ref: '#/$defs/d0', $defs: definitions(25) }, { optional: true }),
    { a: 'sample' },
    'and mean what they say'
  )
})

t.test('a schema that expands beyond its text is refused by name', async t => {
  const parameters = {
    type: 'object',
    properties: Object.fromEntries(numbered(2000).map(name => [name, { $ref: '#/$defs/all', title: name }])),
    $defs: { all: { type: 'object', properties: Object.fromEntries(numbered(2000).map(name => [name, {}])) } }
  }
  t.doesNotThrow(
    () => googleChat.request(ask({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })),
    'a reference costs nothing'
  )
  parameters.properties = Object.fromEntries(
    numbered(2000).map(name => [name, { allOf: [{ $ref: '#/$defs/all' }, { title: name }] }])
  ) as never
  t.throws(
    () => googleChat.request(ask({ tools: [{ type: 'function', function: { name: 'f', parameters } }] })),
    { name: 'GatewayError', status: 400, param: 'tools[0].function.parameters' }
  )
})

t.test('a hundred and fifty thousand parts do not overflow the stack', async t => {
  const content = Array.from({ length: 150_000 }, () => ({ type: 'text' as const, text: 'a' }))
  for (const [, adapter] of adapters) {
    t.doesNotThrow(() =>
      adapter.request(
        ask({
          messages: [
            { role: 'user', content },
            { role: 'user', content },
            { role: 'system', content }
          ]
        })
      )
    )
  }
})

t.test('a provider with false counts is read in proportion to what was requested', async t => {
  const read = (deltas: readonly unknown[], n?: number): ChatEvent[] => {
    const reader = streamOf(chatCompletions, ask(n === undefined ? {} : { n }))
    const events: ChatEvent[] = []
    for (const delta of deltas) {
      reader.read({ event: undefined, id: undefined, data: JSON.stringify(delta) }, events)
    }
    return events
  }
  const call = (index: number): object => ({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } }] }
      }
    ]
  })
  t.throws(() => read(Array.from({ length: 5000 }, (_, index) => call(index))), {
    code: 'upstream_invalid_response'
  })
  const many = read(Array.from({ length: 1024 }, (_, index) => call(index)))
  t.equal(many.filter(({ type }) => type === 'tool-call-start').length, 1024)

  const choices = Array.from({ length: 5_000 }, (_, index) => ({
    index,
    delta: { content: 'x' },
    finish_reason: 'stop'
  }))
  const texts = read([{ choices }], 3).filter(event => event.type === 'text-delta')
  t.same(texts.map(({ choice }) => choice), [0, 1, 2])

  const piece = {
    choices: [
      { index: 0, delta: { tool_calls: [{ index: 0, function: { name: 'f', arguments: '}{"a' } }] } }
    ]
  }
  const pieces = (count: number): number => timeOf(() => read(Array.from({ length: count }, () => piece)))
  const smallMs = pieces(1000)
  t.ok(pieces(8000) < Math.max(smallMs, 2) * 30, 'arguments whose name comes with every piece')

  const candidates = Array.from({ length: 50_000 }, (_, index) => ({
    index,
    content: { parts: [{ text: 'x' }] },
    finishReason: 'STOP'
  }))
  t.equal(
    readResponse(googleChat, { candidates }, ask({ n: 2 })).filter(({ type }) => type === 'choice-end')
      .length,
    2
  )
})

t.test('hostile provider messages are redacted quickly', async t => {
  for (const text of [
    'a'.repeat(60_000),
    'sk-'.repeat(20_000),
    'key: '.repeat(12_000),
    'a.b-'.repeat(15_000) + '@',
    '*'.repeat(60_000)
  ]) {
    t.ok(timeOf(() => redact(text)) < 50, text.slice(0, 8))
  }
})
