/**
 * Validates what callers of the Responses API receive, what their clients were recorded to send, and what is
 * sent to providers of that API, against its description.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import fc from 'fast-check'
import t from 'tap'
import { toResponse } from '../../lib/dialects/responses/complete.ts'
import { directRequest } from '../../lib/dialects/responses/direct.ts'
import { encodeResponse } from '../../lib/dialects/responses/encode.ts'
import { inputItemPage } from '../../lib/dialects/responses/input-item-list.ts'
import { identified } from '../../lib/dialects/responses/item-ids.ts'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { ResponsesRequest } from '../../schemas/responses.ts'
import type { InputItem } from '../../schemas/response-items.ts'
import { anyAnswer } from '../dialects/responses/any-answer.ts'
import { streamOf } from '../support/adapters.ts'
import { description } from '../support/description.ts'
import { readEvents } from '../support/read-events.ts'
import { batchesOf, responsesStart, streamEvents } from '../support/responses.ts'
import { fixtures, responsesAsk, responsesBody } from '../support/responses-api.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

const choice = 0
const answers: Readonly<Record<string, readonly ChatEvent[]>> = {
  text: [
    { type: 'reasoning-delta', choice, text: 'Hm.' },
    { type: 'thinking-block', choice, block: { type: 'thinking', thinking: 'Hm.', signature: 's' } },
    { type: 'text-delta', choice, text: 'Hi' },
    { type: 'text-delta', choice, text: ' there' },
    {
      type: 'annotation-delta',
      choice,
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 }
        }
      ]
    },
    { type: 'choice-end', choice, reason: 'stop' }
  ],
  calls: [
    {
      type: 'tool-call-start',
      choice,
      callIndex: 0,
      id: 'call_1',
      name: 'get',
      kind: 'function',
      extra: { extra_content: {} }
    },
    { type: 'tool-call-start', choice, callIndex: 1, id: 'call_2', name: 'run', kind: 'function' },
    { type: 'tool-call-delta', choice, callIndex: 1, text: '{"input":"ls"}', kind: 'function' },
    { type: 'tool-call-delta', choice, callIndex: 0, text: '{}', kind: 'function' },
    { type: 'choice-end', choice, reason: 'tool_calls' }
  ],
  server: [
    {
      type: 'tools-listed',
      serverName: 'files',
      tools: [{ name: 'read', inputSchema: { type: 'object' } }]
    },
    { type: 'tool-servers-failed', errors: { docs: { message: 'unreachable' } } },
    {
      type: 'tool-result',
      result: { toolName: 'read', serverName: 'files', arguments: { a: 1 }, isError: false, result: 'text' }
    },
    {
      type: 'tool-result',
      result: { toolName: 'read', serverName: 'files', arguments: {}, isError: true, result: 'gone' }
    },
    { type: 'tool-approval-needed', serverName: 'files', toolName: 'write', arguments: { a: 1 } },
    { type: 'text-delta', choice, text: 'Done' },
    { type: 'choice-end', choice, reason: 'stop' }
  ],
  refusal: [
    { type: 'refusal-delta', choice, text: 'No.' },
    { type: 'choice-end', choice, reason: 'content_filter' }
  ],
  cut: [
    { type: 'text-delta', choice, text: 'Onc' },
    { type: 'choice-end', choice, reason: 'length' }
  ],
  empty: [{ type: 'choice-end', choice, reason: 'stop' }]
}
const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 } }
const request = {
  tools: [
    { type: 'function' as const, name: 'get', parameters: { type: 'object' } },
    { type: 'custom' as const, name: 'run' }
  ],
  metadata: { a: 'b' },
  instructions: 'Be brief.',
  reasoning: { effort: 'low' as const }
}

const api = description('openai-responses.json')
if (api !== undefined) {
  const isResponse = api.validator('Response')
  const isEvent = api.validator('ResponseStreamEvent')
  for (const [name, events] of Object.entries(answers)) {
    const complete = responsesStart(request)
    const value = JSON.parse(
      JSON.stringify(toResponse(complete, batchesOf(complete, [...events, usage])))
    ) as unknown
    t.ok(isResponse(value), `${name}: complete`, { errors: isResponse.errors, value })
    const printer = encodeResponse(responsesStart({ ...request, stream: true }))
    for (const event of streamEvents(printer.print([...events, usage]) + printer.end())) {
      t.ok(isEvent(event), `${name}: ${event.type}`, { errors: isEvent.errors, event })
    }
  }
  t.test('every answer, and every event of its stream, matches the API', async () => {
    fc.assert(fc.property(anyAnswer, events => {
      const start = responsesStart(request)
      const value: unknown = JSON.parse(JSON.stringify(toResponse(start, batchesOf(start, events))))
      if (!isResponse(value)) throw new Error(JSON.stringify([isResponse.errors, value]))
      const printer = encodeResponse(responsesStart({ ...request, stream: true }))
      for (const event of streamEvents(printer.print(events) + printer.end())) {
        if (!isEvent(event)) throw new Error(JSON.stringify([isEvent.errors, event]))
      }
    }), { numRuns: 200 })
  })
  t.test('the listed items of a stored response match the API', async () => {
    const isList = api.validator('ResponseItemList')
    fc.assert(fc.property(anyAnswer, events => {
      const start = responsesStart(request)
      const { output } = toResponse(start, batchesOf(start, events))
      // as clients send them back
      const { items } = identified([{ role: 'user', content: 'Hi' }, ...output as InputItem[]])
      const list: unknown = JSON.parse(JSON.stringify(inputItemPage(items, 'limit=100')))
      if (!isList(list)) throw new Error(JSON.stringify([isList.errors, list]))
    }), { numRuns: 100 })
  })
  const path = join(import.meta.dirname, '../../../../shared/dialects/codex-0.169-requests.json')
  const recorded = JSON.parse(readFileSync(path, 'utf8')) as Array<{ name: string, body: unknown }>
  const accepts = new Ajv2019({ strict: false }).compile(ResponsesRequest)
  for (const { name, body } of recorded) {
    t.ok(accepts(body), name, { errors: accepts.errors })
    const { call, route, context } = directStart(body as ResponsesRequest) // checked above
    const { body: sent } =
      directRequest(call, { route, provider: {}, model: undefined, account: () => 'a1' }, context) ?? {}
    api.check('CreateResponse', JSON.parse(String(sent)), `direct: ${name}`)
  }

  // our own fixture
  const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as Array<{
    name: string
    request: Partial<ChatInput>
  }>
  for (const { name, request } of requests) {
    for (const streamed of [false, true]) {
      api.check('CreateResponse', responsesBody(request, streamed), `request: ${name}`)
    }
  }
  // Of a type that is not in the description.
  for (const name of readdirSync(fixtures).filter(
    name => name.endsWith('.sse') && name !== 'new-events.sse'
  )) {
    for (const event of streamEvents(readFileSync(join(fixtures, name), 'utf8'))) {
      t.ok(isEvent(event), `recorded: ${name}`, { errors: isEvent.errors, event })
    }
  }
  for (const name of readdirSync(fixtures).filter(
    name => name.endsWith('.sse') && name !== 'new-events.sse'
  )) {
    const direct = { dialect: 'responses' as const, body: '{}', headers: {}, query: '' }
    const read = readEvents(
      [readFileSync(join(fixtures, name))],
      streamOf(openaiAdapters.chat, { ...responsesAsk(), direct })
    )
    const printer = encodeResponse(directStart({ model: 'openai/gpt-5', stream: true }))
    for (const event of streamEvents(printer.print(read) + printer.end())) {
      t.ok(isEvent(event), `direct: ${name}`, { errors: isEvent.errors, event })
      if (event.type === 'response.completed') api.check('Response', event['response'], `direct: ${name}`)
    }
  }
}

/** Returns the start of a passed-through answer. */
function directStart (request: Partial<ResponsesRequest>) {
  const start = responsesStart(request)
  start.context.direct.accounts.set(start.route, () => 'a1')
  return start
}
