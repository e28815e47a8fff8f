/**
 * Passing requests and answers through when caller and provider both use this dialect, compared with
 * translating them.
 */

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { answerStart } from '../../../lib/replies/answer-reply.ts'
import { responsesDialect } from '../../../lib/dialects/responses/index.ts'
import { responsesInput, type ResponsesInputOptions } from '../../../lib/dialects/responses/input.ts'
import { directRequest } from '../../../lib/dialects/responses/direct.ts'
import { encodeResponse } from '../../../lib/dialects/responses/encode.ts'
import { packReasoning } from '../../../lib/dialects/responses/reasoning-state.ts'
import { toThinkingBlock } from '../../../lib/chat/reasoning-item.ts'
import { readObjectText } from '../../../lib/json/object-text.ts'
import { CallRecord } from '../../../lib/core/record.ts'
import { UsageMeter } from '../../../lib/usage/usage-meter.ts'
import { PrintedJson } from '../../../lib/core/reply.ts'
import { openaiAdapters } from '../../../lib/providers/openai/index.ts'
import { normalise } from '../../../lib/stages/normalise.ts'
import { sseEncode } from '../../../lib/stages/sse-encode.ts'
import { endOfStream, sseEvent, type FramePrinter } from '../../../lib/wire/sse-frames.ts'
import { sseDecoder } from '../../../lib/wire/sse-decoder.ts'
import { anyAnswer } from './any-answer.ts'
import { readerAs, readResponse, streamOf } from '../../support/adapters.ts'
import { holds, holdsAsync } from '../../support/property.ts'
import { readEvents } from '../../support/read-events.ts'
import { cutAt, readPieces } from '../../support/read-pieces.ts'
import { printedText, responsesStart, streamEvents, type StreamEvent } from '../../support/responses.ts'
import { fixtures, responsesAsk } from '../../support/responses-api.ts'
import { batchesOf, collect, route as answering, routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { RoutedCall } from '../../../lib/core/call.ts'
import type { ProviderTraits } from '../../../lib/core/provider-traits.ts'
import type { ResponseArchive, ResponseOrigin } from '../../../lib/dialects/responses/archive.ts'
import type { ResponsesContext } from '../../../lib/dialects/responses/input.ts'
import type { Route } from '../../../lib/core/route.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { ResponseObject, ResponsesRequest } from '../../../schemas/responses.ts'

const route: Route = { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' }
const archive: ResponseArchive = {
  keeps: true,
  maxBodyBytes: 1_000_000,
  continuation: async () => undefined,
  items: async () => new Map(),
  keep: async () => undefined
}
const origin: ResponseOrigin = { providerId: 'openai', account: 'a1', responseId: 'resp_up' }

interface Options extends ResponsesInputOptions {
  readonly input?: Partial<ChatInput>
  readonly call?: Partial<RoutedCall<ChatInput>>
  readonly route?: Partial<Route>
  readonly thinks?: boolean
  readonly provider?: ProviderTraits
}

const openai: ProviderTraits = { historyMarks: ['reasoning_item'] }

function sent (
  request: object,
  { input, call, thinks = false, provider = openai, ...options }: Options = {},
  text = JSON.stringify(request)
): string | undefined {
  const made = responsesInput(
    {
      ...routedCall(request as ResponsesRequest),
      callerBody: () => ({ text: () => text, print: JSON.stringify })
    },
    { archive, ...options }
  )
  const routed: RoutedCall<ChatInput> = {
    ...routedCall({ ...made.request, ...input }),
    callerBody: () => ({ text: () => text, print: JSON.stringify }),
    ...call
  }
  // nothing else is read
  const target = {
    route: { ...route, ...options.route },
    provider,
    model: { capabilities: { thinking: thinks } } as never,
    account: () => 'a1'
  }
  const direct = directRequest(routed, target, made.context)
  return direct === undefined ? undefined : String(direct.body)
}

// as printed
const sentJson = (request: object, options: Options = {}): Record<string, unknown> =>
  JSON.parse(sent(request, options) ?? '') as Record<string, unknown>

t.test(
  'unknown fields, items, parts and tools anywhere in a request reach a provider of this dialect',
  async t => {
    const unknown = fc.dictionary(
      fc.string({ minLength: 1 }).map(name => `x_${name}`),
      fc.jsonValue(),
      { maxKeys: 3 }
    )
    const typed = unknown.map(more => ({ type: 'of_the_future', ...more }))
    const requests = fc.record({
      top: unknown,
      inMessage: unknown,
      items: fc.array(typed, { maxLength: 3 }),
      part: typed,
      tool: typed,
      indent: fc.constantFrom(undefined, 2)
    })
    holds(
      t,
      fc.property(requests, ({ top, inMessage, items, part, tool, indent }) => {
        const request = {
          ...top,
          model: 'mine',
          input: [
            { role: 'user', content: [{ type: 'input_text', text: 'hi' }, part], ...inMessage },
            ...items
          ],
          tools: [tool]
        }
        const text = JSON.stringify(request, undefined, indent)
        const place = readObjectText(text)?.fields.get('model')
        if (place === undefined) return false
        return sent(request, {}, text) === text.slice(0, place.start) + '"gpt-5"' + text.slice(place.end)
      }),
      { numRuns: 100 }
    )
  }
)

t.test(
  'gateway fields are not sent, and limits and settings of a route use the names of this API',
  async t => {
    const own = {
      credentials: [],
      max_turns: 3,
      model_attributes: {},
      agent_attributes: {},
      background: true
    }
    t.same(sentJson({ model: 'mine', input: 'hi', ...own }), { model: 'gpt-5', input: 'hi' })
    t.same(
      sentJson(
        {
          model: 'mine',
          input: 'hi',
          max_output_tokens: 500,
          reasoning: { summary: 'auto' },
          temperature: 1
        },
        {
          input: { max_completion_tokens: 20 },
          route: { settings: { temperature: 0, reasoning_effort: 'low', verbosity: 'high', top_p: 0.5 } }
        }
      ),
      {
        model: 'gpt-5',
        input: 'hi',
        max_output_tokens: 20,
        reasoning: { summary: 'auto', effort: 'low' },
        temperature: 1,
        text: { verbosity: 'high' },
        top_p: 0.5
      }
    )
    for (const settings of [
      { max_tokens: 20 },
      { max_completion_tokens: 20 },
      { max_tokens: 50, max_completion_tokens: 20 }
    ]) {
      t.same(sentJson({ model: 'mine', input: 'hi' }, { route: { settings } }), {
        model: 'gpt-5',
        input: 'hi',
        max_output_tokens: 20
      })
      t.same(sentJson({ model: 'mine', input: 'hi', max_output_tokens: 500 }, { route: { settings } }), {
        model: 'gpt-5',
        input: 'hi',
        max_output_tokens: 500
      })
    }
  }
)

t.test('a provider stores only what is stored here too', async t => {
  const none: Options = { archive: { ...archive, keeps: false } }
  t.notOk('store' in sentJson({ model: 'mine', input: 'hi' }))
  t.equal(sentJson({ model: 'mine', input: 'hi', store: false })['store'], false)
  t.same(sentJson({ model: 'mine', input: 'hi', store: true }, none), {
    model: 'gpt-5',
    input: 'hi',
    store: false
  })
  t.same(sentJson({ model: 'mine', input: 'hi' }, { ...none, thinks: true }), {
    model: 'gpt-5',
    input: 'hi',
    store: false,
    include: ['reasoning.encrypted_content']
  })
})

t.test('a conversation continues by id at its provider, and is sent in full to others', async t => {
  const request = { model: 'mine', input: 'And?', previous_response_id: 'resp_1' }
  const items = [
    { id: 'msg_1', type: 'message' as const, role: 'user' as const, content: 'hi' },
    { id: 'rs_1', type: 'reasoning' as const, summary: [] },
    { id: 'rs_2', type: 'reasoning' as const, summary: [], encrypted_content: 'gAAA' },
    {
      id: 'rs_3',
      type: 'reasoning' as const,
      summary: [],
      encrypted_content: packReasoning({
        model: 'anthropic/c',
        blocks: [{ type: 'thinking', thinking: 'a', signature: 'EqQ' }]
      })
    },
    {
      id: 'rs_4',
      type: 'reasoning' as const,
      summary: [],
      encrypted_content: packReasoning({
        model: 'openai/gpt-5-pro',
        blocks: [toThinkingBlock('rs_up', 'gBBB', 'Hm.')]
      })
    }
  ]
  const continuation = { id: 'resp_1', rootId: 'resp_1', items, origin }
  t.same(sentJson(request, { stored: { continuation, items: new Map() } }), {
    model: 'gpt-5',
    input: 'And?',
    previous_response_id: 'resp_up'
  })
  const elsewhere = { ...origin, account: 'a2' }
  t.same(
    sentJson(request, {
      stored: { continuation: { ...continuation, origin: elsewhere }, items: new Map() }
    }),
    {
      model: 'gpt-5',
      input: [
        { type: 'message', role: 'user', content: 'hi' },
        { id: 'rs_2', type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
        {
          type: 'reasoning',
          id: 'rs_up',
          summary: [{ type: 'summary_text', text: 'Hm.' }],
          encrypted_content: 'gBBB'
        },
        { type: 'message', role: 'user', content: 'And?' }
      ]
    }
  )
})

t.test('reasoning as text goes back to servers of open models, and never to OpenAI', async t => {
  const content = [{ type: 'reasoning_text', text: 'I look.' }]
  const reasoning = { id: 'rs_1', type: 'reasoning' as const, summary: [], content }
  const message = { role: 'user' as const, content: 'And?' }
  const request = { model: 'mine', input: [reasoning, message] }
  t.same(sentJson(request, { provider: {} }).input, [reasoning, message])
  t.same(sentJson(request).input, [message])
  const empty = { model: 'mine', input: [{ ...reasoning, content: [] }, message] }
  t.same(sentJson(empty, { provider: {} }).input, [message])
  const continuation = { id: 'resp_1', rootId: 'resp_1', items: [reasoning] }
  t.same(
    sentJson(
      { model: 'mine', input: [message], previous_response_id: 'resp_1' },
      { provider: {}, stored: { continuation, items: new Map() } }
    ).input,
    [reasoning, message]
  )
})

t.test(
  'only the owner may refer to a stored item, since the provider account is shared',
  async t => {
    const item = { id: 'rs_1', type: 'reasoning' as const, summary: [] }
    const message = { role: 'user' as const, content: 'And?' }
    const kept = (account: string): Options => ({
      stored: { items: new Map([['rs_1', { item, origin: { ...origin, account } }]]) }
    })
    const request = { model: 'mine', input: [{ type: 'item_reference', id: 'rs_1' }, message] }
    t.same(sentJson(request, kept('a1'))['input'], [item, message])
    t.same(sentJson(request, kept('a2'))['input'], [message])
    t.same(sentJson({ model: 'mine', input: [item, message] })['input'], [message])
    t.throws(() => sent(request), { code: 'invalid_value', param: 'input' })
  }
)

t.test('MCP servers are called by the gateway, so such a request is translated', async t => {
  t.equal(
    sent({
      model: 'mine',
      input: 'hi',
      tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://a.example' }]
    }),
    undefined
  )
  t.equal(
    sent({ model: 'mine', input: 'hi', tools: [{ type: 'mcp', server_label: 'a', connector_id: 'c' }] }),
    undefined
  )
})

const directAsk = {
  ...responsesAsk(),
  direct: { dialect: 'responses' as const, body: '{}', headers: {}, query: '' }
}

async function replyOf (
  events: readonly ChatEvent[],
  direct: boolean,
  streamed: boolean
): Promise<ResponseObject> {
  const dialect = responsesDialect()
  const made = responsesInput(
    routedCall<ResponsesRequest>({
      model: 'mine',
      input: 'hi',
      store: false,
      ...streamed && { stream: true }
    })
  )
  if (direct) made.context.direct.accounts.set(answering, () => 'a1')
  const batches = batchesOf({ ...made, routes: [answering] }, [events.slice(0, 1), events.slice(1)])
  if (streamed) {
    const last = streamEvents((await collect(sseEncode(dialect)(normalise()(batches)))).join('')).at(-1)
    return last?.['response'] as ResponseObject // of the last event
  }
  const all = await collect(normalise()(batches))
  const [first] = all
  if (first === undefined) throw new TypeError('no batch')
  const reply = await dialect.complete(answerStart<ResponsesContext>(first), all)
  // of this dialect
  return (reply instanceof PrintedJson ? JSON.parse(String(reply.json)) : reply) as ResponseObject
}

/** The part of a response that callers use. */
function facts ({ status, output, usage, incomplete_details: details, model }: ResponseObject): unknown {
  const items: readonly object[] = output
  const said = items.flatMap((item): unknown[] => {
    const { type, content, name, arguments: text, input, summary } = item as Record<string, unknown>
    switch (type) {
      case 'message':
        return (content as Array<Record<string, unknown>>).map(part => part['text'] ?? part['refusal'])
      case 'reasoning':
        return (summary as Array<{ text: string }>).map(part => part.text)
      case 'function_call':
        return [name, text]
      case 'custom_tool_call':
        return [name, input]
      default:
        return []
    }
  })
  return { status, said: said.join('').replaceAll('\n\n', ''), usage, details, model }
}

t.test('an answer is the same when passed through and when translated, streamed and complete', async t => {
  const chat = openaiAdapters.chat
  for (const name of readdirSync(fixtures)
    .filter(name => name.endsWith('.sse'))
    .map(name => name.slice(0, -'.sse'.length))) {
    const results: unknown[] = []
    for (const direct of [true, false]) {
      const ask = direct ? directAsk : responsesAsk()
      const streamed = readEvents([readFileSync(join(fixtures, `${name}.sse`))], streamOf(chat, ask))
      const complete = readResponse(
        chat,
        JSON.parse(readFileSync(join(fixtures, `${name}.json`), 'utf8')),
        ask
      )
      results.push(
        facts(await replyOf(streamed, direct, true)),
        facts(await replyOf(complete, direct, false))
      )
    }
    for (const result of results) t.same(result, results[0], name)
  }
})

/** Random answers as events of this API. */
const anyStream = anyAnswer.map(events => {
  const start = responsesStart({ stream: true })
  const printer = encodeResponse({ ...start, head: { ...start.head, model: answering.modelId } })
  return streamEvents(printer.print(events) + printer.end())
})

const textOf = (events: readonly StreamEvent[]): string =>
  events.map(event => sseEvent(event.type, JSON.stringify(event))).join('')

t.test('random answers are the same when passed through and when translated', async t => {
  const chat = openaiAdapters.chat
  await holdsAsync(
    t,
    fc.asyncProperty(anyStream, async events => {
      const results: unknown[] = []
      for (const [direct, ask] of [
        [true, directAsk],
        [false, responsesAsk()]
      ] as const) {
        const streamed = readEvents([Buffer.from(textOf(events))], streamOf(chat, ask))
        const complete = readResponse(chat, events.at(-1)?.['response'], ask)
        results.push(
          facts(await replyOf(streamed, direct, true)),
          facts(await replyOf(complete, direct, false))
        )
      }
      for (const result of results) assert.deepEqual(result, results[0])
    }),
    { numRuns: 100 }
  )
})

t.test('unknown fields and events anywhere in a stream reach the caller unchanged', async t => {
  const unknown = fc.dictionary(
    fc.string({ minLength: 1 }).map(name => `x_${name}`),
    fc.jsonValue({ maxDepth: 2 }),
    { minKeys: 1, maxKeys: 2 }
  )
  const strange = fc.record({ at: fc.nat(20), fields: unknown })
  holds(
    t,
    fc.property(anyStream, unknown, fc.array(strange, { maxLength: 3 }), (events, more, strangers) => {
      const all: object[] = events.map(event => withUnknown(event, more))
      for (const { at, fields } of strangers) {
        all.splice(1 + (at % (all.length - 1)), 0, { type: 'response.of_the_future', ...fields })
      }
      const text = textOf(
        all.map((event, number) => ({ ...event, sequence_number: number })) as StreamEvent[]
      )
      const printer = directPrinter()
      const read = readEvents([Buffer.from(text)], streamOf(openaiAdapters.chat, directAsk))
      assert.equal(printedText(printer, read) + printer.end(), text + endOfStream)
    })
  )
})

function directPrinter (): FramePrinter<ChatEvent> {
  const start = responsesStart({ stream: true })
  start.context.direct.accounts.set(start.route, () => 'a1')
  return encodeResponse({ ...start, head: { ...start.head, model: answering.modelId } })
}

/** Variants of a message that few servers send. */
const odd: ReadonlyArray<(frame: string) => string> = [
  frame => frame.replaceAll('\n', '\r\n'),
  frame => frame.replace('data: {', 'data: {\ndata: '),
  frame => `: ping\n\n${frame}`,
  frame => frame.replace(/^event: .*\n/, ''),
  frame => frame.replace(/"sequence_number":\d+/, '"sequence_number":3'),
  frame => frame.replace(/,"logprobs":\[\]/, '')
]

/** Passes a stream through to its caller. */
async function passedOn (
  pieces: readonly Buffer[]
): Promise<{ readonly text: string, readonly characters: number }> {
  const batches = await readPieces(pieces, streamOf(openaiAdapters.chat, directAsk))
  const printer = directPrinter()
  const record = new CallRecord('responses')
  const meter = new UsageMeter(record)
  for (const batch of batches) meter.read(batch)
  return {
    text: batches.map(batch => printedText(printer, batch)).join('') + printer.end(),
    characters: record.usage.outputCharacters ?? 0
  }
}

t.test('a stream split at any position reaches the caller unchanged', async t => {
  const streams = fc.record({
    events: anyStream,
    odds: fc.array(fc.nat(odd.length * 4), { maxLength: 40 }),
    cuts: fc.array(fc.nat(4000), { maxLength: 6 })
  })
  await holdsAsync(
    t,
    fc.asyncProperty(streams, async ({ events, odds, cuts }) => {
      const frames = events.map((event, at) => (odd[odds[at] ?? odd.length] ?? String)(textOf([event])))
      const bytes = Buffer.from(frames.join(''))
      assert.deepEqual(await passedOn(cutAt(bytes, cuts)), await passedOn([bytes]))
    }),
    { numRuns: 150 }
  )
})

t.test('a delta is counted by its text, with an escape as one character', async t => {
  const frames = ['"delta":"plain"', '"delta":"a\\n\\u00e9\\""', '"delta":""', '"note":"x"'].map(
    fields => `event: response.output_text.delta\ndata: {"type":"response.output_text.delta",${fields}}\n\n`
  )
  const { reader } = readerAs(openaiAdapters.chat, { ...directAsk, streamed: true }, 'events')
  const events: ChatEvent[] = []
  for (const message of sseDecoder(1000).push(Buffer.from(frames.join('')))) reader.read(message, events)
  t.same(
    events.map(event => event.type === 'direct-frame' && event.characters),
    [5, 4, 0, 0]
  )
})

/** Adds fields to an event, and to the response, the item and the part in it. */
function withUnknown (event: object, more: object): object {
  const objects = Object.entries(event).filter(
    ([name]) => name === 'response' || name === 'item' || name === 'part'
  )
  return {
    ...event,
    ...Object.fromEntries(objects.map(([name, value]) => [name, { ...value, ...more }])),
    ...more
  }
}
