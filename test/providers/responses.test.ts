import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits } from '../../lib/models/traits.ts'
import { toCompletion } from '../../lib/dialects/chat-completions/complete.ts'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import { fixtures, responsesAsk } from '../support/responses-api.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

const { chat } = openaiAdapters
const names = readdirSync(fixtures)
  .filter(name => name.endsWith('.sse'))
  .map(name => name.slice(0, -'.sse'.length))

function recorded (file: string): unknown {
  return JSON.parse(readFileSync(join(fixtures, file), 'utf8'))
}

function folded (events: readonly ChatEvent[]): unknown {
  const [, ...rest] = events
  return JSON.parse(
    JSON.stringify(
      toCompletion([
        { events: [{ type: 'answer-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 1 }, ...rest] }
      ])
    )
  )
}

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  t.ok(names.length >= 7)
  for (const name of names) {
    const bytes = readFileSync(join(fixtures, `${name}.sse`))
    const expected = recorded(`${name}.events.json`)
    for (const size of cutSizes) {
      t.same(readEvents(cut(bytes, size), streamOf(chat, responsesAsk())), expected, `${name} ${size}`)
    }
  }
})

t.test('the same response complete gives the same events', async t => {
  for (const name of names) {
    const streamed = recorded(`${name}.events.json`) as ChatEvent[] // as compared above
    t.same(folded(readResponse(chat, recorded(`${name}.json`), responsesAsk())), folded(streamed), name)
  }
})

t.test('missing parts of a stream are taken from later events', async t => {
  const kept: Readonly<Record<string, RegExp>> = {
    'items that are not announced': /^event: (?!response\.output_item\.added$)/m,
    'items that come complete': /^event: response\.(?:created|output_item\.done|completed|incomplete)$/m,
    'output that comes with the end': /^event: response\.(?:created|completed|incomplete)$/m
  }
  for (const name of names) {
    const frames = readFileSync(join(fixtures, `${name}.sse`), 'utf8').split(/(?<=\n\n)/)
    const expected = folded(readEvents([Buffer.from(frames.join(''))], streamOf(chat, responsesAsk())))
    for (const [what, pattern] of Object.entries(kept)) {
      const events = readEvents(
        [Buffer.from(frames.filter(frame => pattern.test(frame)).join(''))],
        streamOf(chat, responsesAsk())
      )
      t.same(folded(events), expected, `${name}, ${what}`)
    }
  }
})

t.test('a stream without the event that ends a response was cut', async t => {
  for (const name of names) {
    const text = readFileSync(join(fixtures, `${name}.sse`), 'utf8')
    const cutOff = text.slice(0, text.lastIndexOf('event: '))
    t.throws(
      () => readEvents([Buffer.from(cutOff)], streamOf(chat, responsesAsk())),
      { code: 'upstream_stream_interrupted' },
      name
    )
  }
})

t.test('a failure midway is an error, in either of its two forms', async t => {
  const rows: Array<[object, string]> = [
    [
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'server_error', message: 'Sorry.' } }
      },
      'upstream_error'
    ],
    [
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down.' } }
      },
      'rate_limit_exceeded'
    ],
    [
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'invalid_prompt', message: 'No.' } }
      },
      'upstream_invalid_request'
    ],
    [{ type: 'error', code: 'server_is_overloaded', message: 'Busy.' }, 'upstream_overloaded'],
    [
      {
        type: 'error',
        error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'Too long.' }
      },
      'context_length_exceeded'
    ]
  ]
  for (const [event, code] of rows) {
    t.throws(
      () => readEvents([Buffer.from(`data: ${JSON.stringify(event)}\n\n`)], streamOf(chat, responsesAsk())),
      { code }
    )
  }
  t.throws(
    () =>
      readResponse(
        chat,
        { status: 'failed', output: [], error: { code: 'server_error', message: 'Sorry.' } },
        responsesAsk()
      ),
    { code: 'upstream_error' }
  )
  t.throws(() => readResponse(chat, { id: 'resp_1' }, responsesAsk()), { code: 'upstream_invalid_response' })
})

t.test('deprecated functions get one deprecated call', async t => {
  const ask = responsesAsk({ functions: [{ name: 'now' }] })
  const events = readResponse(chat, recorded('summary-calls.json'), ask)
  t.same(events.filter(({ type }) => type.startsWith('tool-call') || type === 'choice-end'), [
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: '', name: 'ferry_times', kind: 'legacy' },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{"pier":"A"}', kind: 'legacy' },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'choice-end', choice: 0, reason: 'function_call' }
  ])
})

t.test('requests to other models of the same provider are chat completions', async t => {
  const ask = responsesAsk()
  t.equal(chat.request({ ...ask, route: { ...ask.route, traits: undefined } }).path, '/chat/completions')
  t.equal(chat.split?.({ ...ask, request: { ...ask.request, n: 3 } }).length, 3)
})

t.test(
  'function tools of a thinking model use the Responses API if chat completions refuse them',
  async t => {
    const tools: ChatInput['tools'] = [{ type: 'function', function: { name: 'f' } }]
    const pathOf = (model: string, request: Partial<ChatInput>): string => {
      const ask = responsesAsk(request)
      return chat.request({
        ...ask,
        route: { ...ask.route, model, traits: familyTraits(families, 'openai', model) }
      }).path
    }
    for (const [model, request, path] of [
      ['gpt-5.6-sol', { tools }, '/responses'],
      ['gpt-6-astra', { tools, reasoning_effort: 'high' }, '/responses'],
      ['gpt-6-luna-2026-09-22', { functions: [{ name: 'f' }] }, '/responses'],
      ['gpt-5.6-sol', { tools, reasoning_effort: 'none' }, '/chat/completions'],
      ['gpt-5.6-sol', {}, '/chat/completions'],
      ['gpt-5.6-sol', { tools: [] }, '/chat/completions'],
      ['gpt-5.4', { tools, reasoning_effort: 'high' }, '/responses'],
      ['gpt-5.5', { tools, reasoning_effort: 'minimal' }, '/responses'],
      ['gpt-5.4', { tools }, '/chat/completions'],
      ['gpt-5.4', { tools, reasoning_effort: 'none' }, '/chat/completions'],
      ['gpt-5.1', { tools, reasoning_effort: 'high' }, '/chat/completions'],
      ['gpt-5', { tools, reasoning_effort: 'high' }, '/chat/completions'],
      ['gpt-4.1', { tools }, '/chat/completions'],
      ['gpt-5-chat-latest', { tools }, '/chat/completions'],
      ['gpt-5.3-codex', {}, '/responses'],
      ['gpt-10', { tools }, '/responses']
    ] as const) {
      t.equal(pathOf(model, request as Partial<ChatInput>), path, `${model} ${JSON.stringify(request)}`)
    }
  }
)

t.test('a response without its wrapper is read, and one whose events have no type', async t => {
  const frame = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
  const usage = { input_tokens: 7, output_tokens: 2, total_tokens: 9 }
  const stream =
    frame('response.created', { id: 'r', status: 'in_progress' }) +
    frame('response.output_text.delta', { delta: 'hi', output_index: 0 }) +
    frame('response.completed', {
      id: 'r',
      status: 'completed',
      output: [{ type: 'message', id: 'i', content: [{ type: 'output_text', text: 'hi' }] }],
      usage
    })
  const events = readEvents([Buffer.from(stream)], streamOf(chat, responsesAsk()))
  t.equal(events.map(event => event.type === 'text-delta' ? event.text : '').join(''), 'hi')
  t.match(events.at(-1), { usage: { promptTokens: 7, completionTokens: 2 } })
})
