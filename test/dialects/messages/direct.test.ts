/**
 * Passing requests and answers through when caller and provider both use this dialect, compared with
 * translating them.
 */

import fc from 'fast-check'
import t from 'tap'
import { readObjectText } from '../../../lib/json/object-text.ts'
import { directRequest } from '../../../lib/dialects/messages/direct.ts'
import { messagesInput } from '../../../lib/dialects/messages/input.ts'
import { messageReply } from '../../../lib/dialects/messages/complete.ts'
import { answerStart } from '../../../lib/replies/answer-reply.ts'
import { PrintedJson } from '../../../lib/core/reply.ts'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import { normalise } from '../../../lib/stages/normalise.ts'
import { sseEncode } from '../../../lib/stages/sse-encode.ts'
import { messages } from '../../../lib/dialects/messages/index.ts'
import { readResponse, streamOf } from '../../support/adapters.ts'
import { bufferBody } from '../../../lib/wire/buffer-body.ts'
import { readEvents } from '../../support/read-events.ts'
import { holds } from '../../support/property.ts'
import { batchesOf, collect, route, routedCall } from '../../support/stages.ts'
import { callWith, folded, framesOf } from './answer.ts'
import type { ChatBatch } from '../../../lib/dialects/dialect.ts'
import type { MessagesContext } from '../../../lib/dialects/messages/input.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { Route } from '../../../lib/core/route.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { AdapterInput } from '../../../lib/providers/provider.ts'
import type { AnswerBlock, MessagesAnswer } from '../../../schemas/messages-answer.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'

function sentBody (text: string, parts: Partial<ChatInput> = {}, to: Route = route): string {
  const request = JSON.parse(text) as MessagesRequest // taken as validated
  const { context, request: input } = messagesInput({
    ...routedCall(request),
    callerBody: () => ({ text: () => text, print: JSON.stringify })
  })
  const { body } = directRequest(
    {
      ...routedCall<ChatInput>({ ...input, ...parts }),
      callerBody: () => ({ text: () => text, print: JSON.stringify })
    },
    { route: to },
    context
  )
  if (typeof body !== 'string') throw new TypeError('a small request is a text')
  return body
}

t.test('a large request is serialized while it is sent, with all its fields', async t => {
  const request = {
    x_new: { a: 1 },
    model: 'mine',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'x'.repeat(2_000_000) }]
  } as unknown as MessagesRequest
  const { context, request: input } = messagesInput(routedCall(request))
  const call = routedCall<ChatInput>(input)
  call.record.request.bodyBytes = 2_000_000
  const { body } = directRequest(call, { route }, context)
  t.type(body, 'function')
  t.same(JSON.parse((await bufferBody(body)).toString()), { ...request, model: route.model })
})

t.test(
  'unknown fields, blocks and tools anywhere in a request reach a provider of this dialect',
  async t => {
    const unknown = fc.dictionary(
      fc.string({ minLength: 1 }).map(name => `x_${name}`),
      fc.jsonValue(),
      { maxKeys: 3 }
    )
    const block = fc
      .record({ type: fc.constant('of_the_future') })
      .chain(known => unknown.map(more => ({ ...known, ...more })))
    const requests = fc.record({
      top: unknown,
      inMessage: unknown,
      blocks: fc.array(block, { minLength: 1, maxLength: 3 }),
      tool: unknown,
      indent: fc.constantFrom(undefined, 2)
    })
    holds(
      t,
      fc.property(requests, ({ top, inMessage, blocks, tool, indent }) => {
        const request = {
          ...top,
          max_tokens: 5,
          model: 'mine',
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: 'hi', cache_control: { ttl: '1h', type: 'ephemeral' } },
                ...blocks
              ],
              ...inMessage
            }
          ],
          tools: [{ type: 'server_20300101', name: 's', ...tool }]
        }
        const text = JSON.stringify(request, undefined, indent)
        const place = readObjectText(text)?.fields.get('model')
        if (place === undefined) return false
        return sentBody(text) === text.slice(0, place.start) + '"m"' + text.slice(place.end)
      }),
      { numRuns: 100 }
    )
  }
)

t.test('a limit of the gateway replaces a higher one', async t => {
  const text = '{"model":"a","max_tokens":500,"messages":[{"role":"user","content":"hi"}]}'
  t.equal(
    sentBody(text, { max_completion_tokens: 20 }),
    '{"model":"m","max_tokens":20,"messages":[{"role":"user","content":"hi"}]}'
  )
})

t.test("cache marks are inserted into the caller's text", async t => {
  const marking: Route = { ...route, minMarkedTokens: 1 }
  const mark = ',"cache_control":{"type":"ephemeral"}'
  const used = '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"n":1.0}}]}'
  const result = '{"type":"tool_result","tool_use_id":"a","content":"\\u0041"'
  const tools = '[{"name":"f","input_schema":{"type":"object","maximum":9223372036854775807}'
  const messages = `[{"role":"user", "content":[{"type":"text","text":"hi"}]}, ${used}, {"role":"user","content":[${result}}]}]`
  const text = `{"model":"a","max_tokens":5,"tools":${tools}}],"system":"Be kind.", "messages":${messages}}`
  t.equal(
    sentBody(text, {}, marking),
    text
      .replace('"a"', '"m"')
      .replace('"Be kind."', `[{"type":"text","text":"Be kind."${mark}}]`)
      .replace(`${tools}}`, `${tools}${mark}}`)
      .replace('"hi"', `"hi"${mark}`)
      .replace(result, result + mark)
  )
  t.equal(sentBody(text), text.replace('"a"', '"m"'), 'only if enabled for the route')
  const marked = text.replace('"text":"hi"', `"text":"hi"${mark}`)
  t.equal(sentBody(marked, {}, marking), marked.replace('"a"', '"m"'), 'nothing, if the caller has marks')
})

t.test(
  'cache marks are added to replaced fields too: sorted tools, and thinking from elsewhere',
  async t => {
    const foreign = { type: 'thinking', thinking: 'x', signature: '' }
    const [a, b] = ['a', 'b'].map(name => ({ name, description: 'd', input_schema: { type: 'object' } }))
    const mark = { cache_control: { type: 'ephemeral' } }
    const [hi, more] = ['hi', 'more'].map(said => [{ type: 'text', text: said }])
    const ok = { type: 'text', text: 'ok' }
    const rest = { max_tokens: 5, system: [{ type: 'text', text: 's' }] }
    const messages = [
      { role: 'user', content: hi },
      { role: 'assistant', content: [foreign, ok] },
      { role: 'user', content: more }
    ]
    const text = JSON.stringify({ model: 'a', ...rest, tools: [b, a], messages })
    t.same(JSON.parse(sentBody(text, {}, { ...route, minMarkedTokens: 1 })), {
      model: 'm',
      max_tokens: 5,
      system: [{ type: 'text', text: 's', ...mark }],
      tools: [a, { ...b, ...mark }],
      messages: [
        { role: 'user', content: [{ ...hi?.[0], ...mark }] },
        { role: 'assistant', content: [ok] },
        { role: 'user', content: [{ ...more?.[0], ...mark }] }
      ]
    })
  }
)

/** Returns an answer of Anthropic as stream events. */
function streamText (answer: MessagesAnswer): string {
  const frames: Array<Record<string, unknown>> = [
    {
      type: 'message_start',
      message: {
        ...answer,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...answer.usage, output_tokens: 1 }
      }
    }
  ]
  for (const [index, block] of answer.content.entries()) {
    frames.push(
      { type: 'content_block_start', index, content_block: emptied(block) },
      ...deltasOf(block).map(delta => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index }
    )
  }
  frames.push(
    {
      type: 'message_delta',
      delta: { stop_reason: answer.stop_reason, stop_sequence: answer.stop_sequence },
      usage: answer.usage
    },
    { type: 'message_stop' }
  )
  return frames.map(frame => `event: ${String(frame['type'])}\ndata: ${JSON.stringify(frame)}\n\n`).join('')
}

function emptied (block: AnswerBlock): AnswerBlock {
  switch (block.type) {
    case 'text':
      return { ...block, text: '' }
    case 'thinking':
      return { ...block, thinking: '', signature: '' }
    case 'tool_use':
      return { ...block, input: {} }
    case 'redacted_thinking':
      return block
  }
}

function deltasOf (block: AnswerBlock): object[] {
  switch (block.type) {
    case 'text':
      return Array.from(block.text, text => ({ type: 'text_delta', text }))
    case 'thinking':
      return [
        { type: 'thinking_delta', thinking: block.thinking },
        { type: 'signature_delta', signature: block.signature }
      ]
    case 'tool_use':
      return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
    case 'redacted_thinking':
      return []
  }
}

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
const id = fc.stringMatching(/^toolu_[a-zA-Z0-9]{1,8}$/)
const blocks = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('text' as const), text: words }),
    fc.record({
      type: fc.constant('thinking' as const),
      thinking: words,
      signature: fc.stringMatching(/^[A-Z][A-Za-z0-9]{3,8}$/)
    }),
    fc.record({
      type: fc.constant('redacted_thinking' as const),
      data: fc.base64String({ minLength: 4, maxLength: 12 })
    }),
    fc.record({
      type: fc.constant('tool_use' as const),
      id,
      name: fc.constant('read'),
      input: fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue({ maxDepth: 2 }))
    })
  ),
  { maxLength: 5 }
)

/**
 * Without consecutive texts, which a translation joins, or two calls with the same id, which no provider
 * sends.
 */
const answers = blocks
  .map(content =>
    content.filter(
      (block, index) =>
        !(block.type === 'text' && content[index - 1]?.type === 'text') &&
        !(
          block.type === 'tool_use' &&
          content.findIndex(other => other.type === 'tool_use' && other.id === block.id) < index
        )
    )
  )
  .filter(content =>
    content.every((block, index) => block.type !== 'text' || content[index - 1]?.type !== 'text')
  )
  .chain(content =>
    fc.record({
      id: fc.constant('msg_1'),
      type: fc.constant('message' as const),
      role: fc.constant('assistant' as const),
      model: fc.constant('claude-x'),
      content: fc.constant<AnswerBlock[]>(content),
      stop_reason: content.some(({ type }) => type === 'tool_use')
        ? fc.constant('tool_use' as const)
        : fc.constantFrom('end_turn' as const, 'max_tokens' as const, 'stop_sequence' as const),
      usage: fc.record({
        input_tokens: fc.nat(1000),
        cache_creation_input_tokens: fc.nat(1000),
        cache_read_input_tokens: fc.nat(1000),
        output_tokens: fc.nat(1000)
      })
    })
  )
  .map((answer): MessagesAnswer => ({
    ...answer,
    stop_sequence: answer.stop_reason === 'stop_sequence' ? 'END' : null
  }))

function askOf (direct: boolean, streamed: boolean): AdapterInput<ChatInput> {
  return {
    request: { model: 'one/m', messages: [] },
    route,
    quirks: {},
    streamed,
    ...direct && { direct: { dialect: 'messages', body: '{}', headers: {}, query: '' } }
  }
}

async function replyOf (
  events: readonly ChatEvent[],
  direct: boolean,
  streamed: boolean
): Promise<MessagesAnswer> {
  const context = direct ? { direct: { routes: new Set([route]) } } : {}
  const call = callWith(context)
  if (streamed) {
    // Split as it is read: one event, then the others.
    const text = (
      await collect(sseEncode(messages)(normalise()(batchesOf(call, [events.slice(0, 1), events.slice(1)]))))
    ).join('')
    return folded(framesOf(text))
  }
  const batches: ChatBatch[] = await collect(normalise()(batchesOf(call, [events])))
  const [first] = batches
  if (first === undefined) throw new TypeError('no batch')
  const reply = messageReply(answerStart<MessagesContext>(first), batches)
  // of this provider
  return reply instanceof PrintedJson ? (JSON.parse(String(reply.json)) as MessagesAnswer) : reply
}

t.test('an answer is the same when passed through and when translated, streamed and complete', async t => {
  await fc.assert(
    fc.asyncProperty(answers, async answer => {
      const results: MessagesAnswer[] = []
      for (const direct of [true, false]) {
        const streamed = readEvents(
          [Buffer.from(streamText(answer))],
          streamOf(anthropicChat, askOf(direct, true))
        )
        const complete = readResponse(anthropicChat, answer, askOf(direct, false))
        results.push(await replyOf(streamed, direct, true), await replyOf(complete, direct, false))
      }
      for (const result of results) {
        t.same({ ...result, id: '', model: '' }, { ...answer, id: '', model: '' })
        t.equal(result.model, 'one/m')
      }
    }),
    { numRuns: 40 }
  )
})
