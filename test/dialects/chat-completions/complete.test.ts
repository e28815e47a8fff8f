import t from 'tap'
import { toCompletion, foldChunks } from '../../../lib/dialects/chat-completions/complete.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import fc from 'fast-check'
import { ChunkBuilder, type Chunk } from '../../../lib/dialects/chat-completions/chunk.ts'
import { sseDecoder } from '../../../lib/wire/sse-decoder.ts'
import { normalise } from '../../../lib/stages/normalise.ts'
import { sseEncode } from '../../../lib/stages/sse-encode.ts'
import { routedCall } from '../../support/stages.ts'
import type { AnswerHead } from '../../../lib/dialects/dialect.ts'
import type { Batch } from '../../../lib/core/call.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import { rounds } from '../../support/rounds.ts'

t.test('all batches of an answer are folded into one completion, compared in full', async t => {
  const head = { type: 'answer-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7 } as const
  const batches: ReadonlyArray<{ readonly events: readonly ChatEvent[] }> = [
    {
      events: [
        head,
        { type: 'text-delta', choice: 0, text: 'he' },
        { type: 'text-delta', choice: 1, text: 'B' }
      ]
    },
    { events: [] },
    {
      events: [
        { type: 'text-delta', choice: 0, text: 'llo' },
        { type: 'choice-end', choice: 0, reason: 'stop' },
        { type: 'choice-end', choice: 1, reason: 'length' }
      ]
    },
    { events: [{ type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }] }
  ]
  t.strictSame(toCompletion(batches), {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 7,
    model: 'x/m',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'hello', refusal: null },
        logprobs: null,
        finish_reason: 'stop'
      },
      {
        index: 1,
        message: { role: 'assistant', content: 'B', refusal: null },
        logprobs: null,
        finish_reason: 'length'
      }
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  })
})

const head: AnswerHead = {
  type: 'answer-start',
  id: 'chatcmpl-1',
  model: 'x/m',
  createdSeconds: 1763686800,
  fingerprint: 'fp'
}
const route = { providerId: 'x', model: 'm', modelId: 'x/m' }

type Options = NonNullable<ChatInput['stream_options']>

function batch (events: readonly ChatEvent[], options?: Options): Batch<ChatInput, ChatEvent> {
  return {
    call: routedCall(
      {
        model: 'x/m',
        messages: [],
        stream: true,
        ...options !== undefined && { stream_options: options }
      },
      { routes: [route] }
    ),
    route,
    events
  }
}

async function* source<T> (values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

async function collect<T> (values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}

async function encode (batches: ReadonlyArray<Batch<ChatInput, ChatEvent>>): Promise<string> {
  return (await collect(sseEncode()(source(batches)))).join('')
}

function chunksIn (text: string): Chunk[] {
  const messages = sseDecoder(1e6).push(Buffer.from(text))
  return messages.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as Chunk)
}

const text = fc.string({ unit: 'binary', maxLength: 12 })
const choice = fc.nat({ max: 2 })
const value = fc.oneof(text, fc.integer(), fc.boolean())
const fields = fc.dictionary(fc.stringMatching(/^u_[a-z]{1,4}$/), value, { minKeys: 1, maxKeys: 2 })
const token = fc.record({
  token: text,
  logprob: fc.double({ noNaN: true, noDefaultInfinity: true, max: 0 }),
  bytes: fc.constant(null),
  top_logprobs: fc.constant([])
})
const logprobs = fc.record({ content: fc.array(token, { maxLength: 2 }), refusal: fc.constant(null) })

const delta: fc.Arbitrary<ChatEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('text-delta' as const), choice, text }) },
  fc.record({ type: fc.constant('text-delta' as const), choice, text, logprobs }),
  fc.record({ type: fc.constant('reasoning-delta' as const), choice, text }),
  fc.record({ type: fc.constant('refusal-delta' as const), choice, text }),
  fc.record({
    type: fc.constant('thinking-block' as const),
    choice,
    block: fc.record({ type: fc.constant('thinking' as const), thinking: text, signature: text })
  }),
  fc.record({
    type: fc.constant('audio-delta' as const),
    choice,
    audio: fc.oneof(fc.record({ id: text }), fc.record({ data: text }), fc.record({ transcript: text }))
  }),
  fc.record({
    type: fc.constant('annotation-delta' as const),
    choice,
    annotations: fc.array(fc.record({ url: text }), { minLength: 1, maxLength: 2 })
  }),
  fc.record({
    type: fc.constant('extra' as const),
    scope: fc.constant('answer' as const),
    fields,
    alone: fc.boolean()
  }),
  fc.record({
    type: fc.constant('extra' as const),
    scope: fc.constantFrom('choice' as const, 'message' as const),
    choice,
    fields
  }),
  fc.record({
    type: fc.constant('tool-result' as const),
    result: fc.record({
      toolName: text,
      serverName: text,
      arguments: fc.constant({}),
      isError: fc.boolean(),
      durationMs: fc.nat()
    })
  }),
  fc.record({
    type: fc.constant('tool-servers-failed' as const),
    errors: fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.record({ message: text }))
  })
)

/** A tool call with its pieces in order, as an adapter gives it. */
const toolCalls: fc.Arbitrary<ChatEvent[]> = fc
  .array(
    fc.record({
      choice,
      name: text,
      kind: fc.constantFrom('function' as const, 'custom' as const),
      pieces: fc.array(text, { maxLength: 3 })
    }),
    { maxLength: 3 }
  )
  .map(calls => {
    const next = [0, 0, 0]
    return calls.flatMap(({ choice, name, kind, pieces }): ChatEvent[] => {
      const call = next[choice] ?? 0
      next[choice] = call + 1
      return [
        {
          type: 'tool-call-start',
          choice,
          callIndex: call,
          id: `call_${choice}_${call}`,
          name,
          kind,
          extra: { extra_content: { sign: name } }
        },
        ...pieces.map(text => ({ type: 'tool-call-delta' as const, choice, callIndex: call, text, kind })),
        { type: 'tool-call-end', choice, callIndex: call }
      ]
    })
  })

const usage: fc.Arbitrary<ChatEvent> = fc.constant({
  type: 'usage',
  usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3, cachedTokens: 0, reasoningTokens: 1 }
})

const answer = fc
  .record({
    deltas: fc.array(delta, { maxLength: 12 }),
    calls: toolCalls,
    usage: fc.option(usage, { nil: undefined })
  })
  .map(({ deltas, calls, usage }): ChatEvent[] => [
    head,
    ...deltas,
    ...calls,
    ...[0, 1, 2].map(choice => ({ type: 'choice-end' as const, choice, reason: 'stop' as const })),
    ...(usage === undefined ? [] : [usage])
  ])

t.test('folding the chunks of a stream gives the complete answer', async t => {
  await fc.assert(
    fc.asyncProperty(answer, fc.integer({ min: 1, max: 5 }), async (events, size) => {
      const batches: Array<Batch<ChatInput, ChatEvent>> = []
      for (let at = 0; at < events.length; at += size) {
        batches.push(batch(events.slice(at, at + size), { include_usage: true }))
      }
      const streamed = foldChunks(chunksIn(await encode(batches)))
      const complete: unknown = JSON.parse(JSON.stringify(toCompletion(batches)))
      t.same(JSON.parse(JSON.stringify(streamed)), complete)
    }),
    { numRuns: rounds(300) }
  )
})

t.test(
  'a stream has the role first, one finish per choice, usage only when requested, and one [DONE]',
  async t => {
    const events: ChatEvent[] = [
      head,
      { type: 'text-delta', choice: 0, text: 'Hel' },
      { type: 'text-delta', choice: 0, text: 'lo' },
      { type: 'text-delta', choice: 1, text: '"' },
      { type: 'choice-end', choice: 0, reason: 'stop' },
      { type: 'choice-end', choice: 1, reason: 'length' },
      { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }
    ]
    const bare = await encode([batch(events)])
    const chunks = chunksIn(bare)
    t.same(
      chunks.map(chunk => [
        chunk.choices[0]?.index,
        chunk.choices[0]?.delta,
        chunk.choices[0]?.finish_reason
      ]),
      [
        [0, { role: 'assistant', content: '' }, null],
        [0, { content: 'Hel' }, null],
        [0, { content: 'lo' }, null],
        [1, { role: 'assistant', content: '' }, null],
        [1, { content: '"' }, null],
        [0, {}, 'stop'],
        [1, {}, 'length']
      ]
    )
    t.notOk(
      chunks.some(chunk => 'usage' in chunk),
      'no usage, not even null, when it was not requested'
    )
    t.ok(bare.endsWith('data: [DONE]\n\n'))
    t.equal(bare.split('[DONE]').length, 2)
    t.notMatch(bare, /^(?!data: |$)/m, 'only data lines')

    const withUsage = chunksIn(await encode([batch(events, { include_usage: true })]))
    t.same(withUsage.at(-1), {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1763686800,
      model: 'x/m',
      system_fingerprint: 'fp',
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
    })
    t.ok(withUsage.slice(0, -1).every(chunk => chunk.usage === null))

    const padded = chunksIn(await encode([batch(events, { include_obfuscation: true })]))
    t.ok(padded.every(chunk => typeof chunk['obfuscation'] === 'string'))
    t.ok(new Set(padded.map(chunk => chunk['obfuscation'])).size > 1)
  }
)

t.test('results of server tools are sent with the last chunk', async t => {
  const events: ChatEvent[] = [
    head,
    {
      type: 'tool-result',
      result: {
        toolName: 'add',
        serverName: 's',
        arguments: { a: 1 },
        isError: false,
        result: 2,
        durationMs: 3
      }
    },
    {
      type: 'tool-result',
      result: { toolName: 'add', serverName: 's', arguments: { a: 2 }, isError: true }
    },
    { type: 'tool-servers-failed', errors: { dead: { message: 'no answer', code: 'connect' } } },
    { type: 'text-delta', choice: 0, text: 'x' },
    { type: 'choice-end', choice: 0, reason: 'stop' },
    { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }
  ]
  const report = {
    tools_executed: ['add'],
    mcp_tool_results: [
      {
        tool_name: 'add',
        server_name: 's',
        arguments: { a: 1 },
        is_error: false,
        result: 2,
        duration_ms: 3
      },
      { tool_name: 'add', server_name: 's', arguments: { a: 2 }, is_error: true }
    ],
    mcp_server_errors: { dead: { message: 'no answer', code: 'connect' } }
  }
  t.match(chunksIn(await encode([batch(events)])).at(-1), {
    choices: [{ finish_reason: 'stop' }],
    ...report
  })
  t.match(chunksIn(await encode([batch(events, { include_usage: true })])).at(-1), {
    choices: [],
    ...report
  })
  t.match(toCompletion([batch(events)]), report)
  const silent = toCompletion([batch([head, { type: 'choice-end', choice: 0, reason: 'stop' }])])
  t.notOk('tools_executed' in silent || 'mcp_server_errors' in silent, 'nothing is sent if there are none')
})

t.test('content is null beside calls and refusals, and otherwise empty text', async t => {
  const message = (...events: ChatEvent[]): unknown =>
    toCompletion([batch([head, ...events, { type: 'choice-end', choice: 0, reason: 'stop' }])]).choices[0]
      ?.message
  t.same(message(), { role: 'assistant', content: '', refusal: null })
  t.match(message({ type: 'refusal-delta', choice: 0, text: 'no' }), { content: null, refusal: 'no' })
  const start: ChatEvent = {
    type: 'tool-call-start', choice: 0, callIndex: 0, id: 'a', name: 'f', kind: 'function'
  }
  t.match(message(start), {
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }]
  })
  t.match(
    message(
      { type: 'tool-call-start', choice: 0, callIndex: 0, id: '', name: 'f', kind: 'legacy' },
      { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{}', kind: 'legacy' }
    ),
    {
      content: null,
      function_call: { name: 'f', arguments: '{}' }
    }
  )
})

t.test("normalise adds the gateway's own head, and ends choices once", async t => {
  const first = batch([{ type: 'text-delta', choice: 0, text: 'a' }])
  const { call } = first
  const rest: ChatEvent[][] = [
    [
      { type: 'usage', usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } },
      { type: 'choice-end', choice: 0, reason: 'stop' }
    ],
    [
      { type: 'answer-start', model: 'other' },
      { type: 'choice-end', choice: 0, reason: 'length' },
      { type: 'text-delta', choice: 0, text: 'b' }
    ],
    [{ type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }]
  ]
  const out = await collect(normalise()(source([first, ...rest.map(events => ({ call, route, events }))])))
  const events = out.flatMap(({ events }) => events)
  t.match(events, [
    { type: 'answer-start', id: /^chatcmpl-[0-9a-f]{32}$/, model: 'x/m', createdSeconds: Number },
    { type: 'text-delta', text: 'a' },
    { type: 'text-delta', text: 'b' },
    { type: 'choice-end', reason: 'stop' },
    { type: 'usage', usage: { totalTokens: 3 } }
  ])
  t.equal(events.length, 5)
})

t.test('an error after the first batch is the last message, after what was read before it', async t => {
  const broken = async function* (): AsyncGenerator<Batch<ChatInput, ChatEvent>> {
    yield batch([head, { type: 'text-delta', choice: 0, text: 'a' }])
    throw new Error('boom: sk-secret')
  }
  const text = (await collect(sseEncode()(broken()))).join('')
  t.match(text, /"content":"a"/)
  t.ok(
    text.endsWith(
      'event: error\ndata: {"error":{"message":"Headgate could not handle the request because of an internal error.","type":"server_error","code":"internal_error","param":null}}\n\n'
    )
  )
  t.notMatch(text, /DONE|secret|"finish_reason":"/)
  const early = async function* (): AsyncGenerator<Batch<ChatInput, ChatEvent>> {
    throw new Error('too early')
  }
  await t.rejects(collect(sseEncode()(early())), { message: 'too early' }, 'before that it is thrown')
})

t.test('chunks and printed deltas use the same mapping', async t => {
  const events: ChatEvent[] = [
    head,
    { type: 'text-delta', choice: 0, text: 'a' },
    { type: 'text-delta', choice: 0, text: '\u2028"\ud83d' }
  ]
  const chunks = new ChunkBuilder(head, false)
  const expected = events
    .flatMap(event => chunks.of(event))
    .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
    .join('')
  t.ok((await encode([batch(events)])).startsWith(expected))
})

t.test('annotations that a provider repeats in every chunk appear once in the complete answer', async t => {
  const cited = (url: string) => ({ type: 'url_citation', url_citation: { url, title: url } })
  const events: ChatEvent[] = [
    head,
    { type: 'annotation-delta', choice: 0, annotations: [cited('a')] },
    { type: 'text-delta', choice: 0, text: 'so' },
    { type: 'annotation-delta', choice: 0, annotations: [cited('a'), cited('b')] },
    { type: 'choice-end', choice: 0, reason: 'stop' }
  ]
  t.same(toCompletion([batch(events)]).choices[0]?.message.annotations, [cited('a'), cited('b')])
})

t.test('an unknown service tier is left out', async t => {
  const tiers = (serviceTier: string): unknown => {
    const end: ChatEvent = { type: 'choice-end', choice: 0, reason: 'stop' }
    return toCompletion([batch([{ ...head, serviceTier }, end])]).service_tier
  }
  t.equal(tiers('flex'), 'flex')
  t.equal(tiers('on_demand'), undefined)
})

t.test('audio with non-text data does not fail', async t => {
  const data = { toString: 1 } as unknown as string // as a server may send it
  const { choices: [choice] } = toCompletion([
    {
      events: [
        { type: 'answer-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7 },
        { type: 'audio-delta', choice: 0, audio: { data } },
        { type: 'choice-end', choice: 0, reason: 'stop' }
      ]
    }
  ])
  t.same(choice?.message.audio, { data: '{"toString":1}' })
})
