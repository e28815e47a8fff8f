/**
 * The public compliance cases of Open Responses (openresponses.org), reproduced from their description: each
 * sends one request, validates the answer and every event against that specification, and checks what the
 * case is about. They run with the sandbox, and with OpenAI (both of its APIs), Anthropic and Gemini as
 * played by a third-party mock. The two optional cases are about web searches that OpenAI runs itself.
 */

import { LLMock } from '@copilotkit/aimock'
import { Ajv2019, type AnySchema } from 'ajv/dist/2019.js'
import t from 'tap'
import { chatUpstreamAt, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { streamEvents, type StreamEvent } from '../support/responses.ts'
import { storingGateway } from '../support/storing-gateway.ts'
import type { Test } from 'tap'

type Schema = Readonly<Record<string, unknown>>
type Fields = Readonly<Record<string, unknown>>

const text = { type: 'string' }
const integer = { type: 'integer' }
const number = { type: 'number' }
const boolean = { type: 'boolean' }
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
const list = (items: Schema): Schema => ({ type: 'array', items })
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties)
})
const named = (type: string, properties: Readonly<Record<string, Schema>>): Schema =>
  object({ type: { const: type }, ...properties })

const status = { enum: ['in_progress', 'completed', 'incomplete'] }
const outputText = named('output_text', {
  text,
  annotations: list(object({ type: text })),
  logprobs: { type: 'array' }
})
const part = { anyOf: [outputText, named('refusal', { refusal: text })] }
const summaryPart = named('summary_text', { text })
const item = {
  anyOf: [
    named('message', { id: text, status, role: { const: 'assistant' }, content: list(part) }),
    named('function_call', { id: text, call_id: text, name: text, arguments: text, status }),
    named('reasoning', { id: text, summary: list(summaryPart) })
  ]
}
const functionTool = named('function', {
  name: text,
  description: orNull(text),
  parameters: orNull({ type: 'object' }),
  strict: orNull(boolean)
})
const usage = object({
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  input_tokens_details: object({ cached_tokens: integer }),
  output_tokens_details: object({ reasoning_tokens: integer })
})
/** Fields that are always present. */
const response = object({
  id: text,
  object: { const: 'response' },
  created_at: integer,
  completed_at: orNull(integer),
  status: { enum: ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
  incomplete_details: orNull(object({ reason: text })),
  model: text,
  previous_response_id: orNull(text),
  instructions: orNull(text),
  output: list(item),
  error: orNull(object({ code: text, message: text })),
  tools: list(functionTool),
  tool_choice: { anyOf: [text, { type: 'object' }] },
  truncation: { enum: ['auto', 'disabled'] },
  parallel_tool_calls: boolean,
  text: object({ format: object({ type: text }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: integer,
  temperature: number,
  reasoning: orNull(object({ effort: orNull(text), summary: orNull(text) })),
  usage: orNull(usage),
  max_output_tokens: orNull(integer),
  max_tool_calls: orNull(integer),
  store: boolean,
  background: boolean,
  service_tier: text,
  metadata: { type: 'object' },
  safety_identifier: orNull(text),
  prompt_cache_key: orNull(text)
})

const inItem = { item_id: text, output_index: integer }
const inPart = { ...inItem, content_index: integer }
const inSummary = { ...inItem, summary_index: integer }
const logprobs = { type: 'array' }
const eventFields: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  'response.created': { response },
  'response.in_progress': { response },
  'response.completed': { response },
  'response.output_item.added': { output_index: integer, item },
  'response.output_item.done': { output_index: integer, item },
  'response.content_part.added': { ...inPart, part },
  'response.content_part.done': { ...inPart, part },
  'response.output_text.delta': { ...inPart, delta: text, logprobs },
  'response.output_text.done': { ...inPart, text, logprobs },
  'response.function_call_arguments.delta': { ...inItem, delta: text },
  'response.function_call_arguments.done': { ...inItem, arguments: text },
  'response.reasoning_summary_part.added': { ...inSummary, part: summaryPart },
  'response.reasoning_summary_part.done': { ...inSummary, part: summaryPart },
  'response.reasoning_summary_text.delta': { ...inSummary, delta: text },
  'response.reasoning_summary_text.done': { ...inSummary, text }
}

const ajv = new Ajv2019({ strict: false })
const compiled = new Map<unknown, ReturnType<typeof ajv.compile>>()

function conforms (t: Test, schema: AnySchema, value: unknown, what: string): void {
  let validate = compiled.get(schema)
  if (validate === undefined) compiled.set(schema, validate = ajv.compile(schema))
  t.ok(validate(value), what, { errors: validate.errors, value })
}

const events = Object.fromEntries(
  Object.entries(eventFields).map(([type, fields]) => [
    type,
    named(type, { sequence_number: integer, ...fields })
  ])
)

/** Validates every event and their order; returns the response of the last one. */
function finalResponse (t: Test, seen: readonly StreamEvent[]): Fields {
  for (const [index, event] of seen.entries()) {
    const schema = events[event.type]
    if (schema === undefined) t.fail(`an event of an unknown type: ${event.type}`)
    else conforms(t, schema, event, event.type)
    t.equal(event.sequence_number, index)
  }
  t.same(seen.slice(0, 2).map(({ type }) => type), ['response.created', 'response.in_progress'])
  return Object(seen.at(-1)?.['response']) as Fields // checked above
}

const message = (role: string, content: unknown): Fields => ({ type: 'message', role, content })
const red =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC'
const weather = {
  // without `strict`, as in the public cases
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: {
    type: 'object',
    properties: { location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' } },
    required: ['location']
  }
}
const weatherQuestion = message('user', 'What\'s the weather like in San Francisco?')

interface Case {
  readonly id: string
  readonly request: Fields
  readonly streamed?: boolean
  /** The type of one item in the output. */
  readonly output: string
  /** Events that must occur. */
  readonly events?: readonly string[]
}

const cases: readonly Case[] = [
  {
    id: 'basic-response',
    request: { input: [message('user', 'Say hello in exactly 3 words.')] },
    output: 'message'
  },
  {
    id: 'streaming-response',
    request: { input: [message('user', 'Count from 1 to 5.')] },
    streamed: true,
    output: 'message',
    events: ['response.output_text.delta', 'response.output_text.done']
  },
  {
    id: 'system-prompt',
    request: {
      input: [
        message('system', 'You are a pirate. Always respond in pirate speak.'),
        message('user', 'Say hello.')
      ]
    },
    output: 'message'
  },
  { id: 'tool-calling', request: { input: [weatherQuestion], tools: [weather] }, output: 'function_call' },
  {
    id: 'tool-calling-streaming',
    request: { input: [weatherQuestion], tools: [weather] },
    streamed: true,
    output: 'function_call',
    events: [
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done'
    ]
  },
  {
    id: 'function-call-roundtrip',
    request: {
      tools: [weather],
      input: [
        weatherQuestion,
        {
          type: 'function_call',
          call_id: 'call_1',
          name: 'get_weather',
          arguments: '{"location":"San Francisco, CA"}'
        },
        { type: 'function_call_output', call_id: 'call_1', output: '{"temperature":"18 C"}' }
      ]
    },
    output: 'message'
  },
  {
    id: 'image-input',
    request: {
      input: [
        message('user', [
          { type: 'input_text', text: 'What do you see in this image? Answer in one sentence.' },
          { type: 'input_image', image_url: red }
        ])
      ]
    },
    output: 'message'
  },
  {
    id: 'file-input',
    request: {
      input: [
        message('user', [
          { type: 'input_text', text: 'What does this file say?' },
          {
            type: 'input_file',
            filename: 'note.txt',
            file_data: `data:text/plain;base64,${Buffer.from('Ahoy').toString('base64')}`
          }
        ])
      ]
    },
    output: 'message'
  },
  {
    id: 'multi-turn',
    request: {
      input: [
        message('user', 'My name is Alice.'),
        message('assistant', 'Hello Alice! How can I help you today?'),
        message('user', 'What is my name?')
      ]
    },
    output: 'message'
  }
]

const models: Readonly<Record<string, string>> = {
  sandbox: 'sandbox/echo',
  openai: 'openai/gpt-5',
  chat: 'chat/gpt-5',
  anthropic: 'anthropic/claude-sonnet-4-5',
  google: 'google/gemini-2.5-flash'
}

async function start (t: Test): Promise<TestGateway> {
  const mock = new LLMock({ port: 0 })
  const hasResult = ({
    messages
  }: {
    readonly messages: ReadonlyArray<{ readonly role: string }>
  }): boolean => messages.some(({ role }) => role === 'tool')
  mock.on(
    { userMessage: 'weather', predicate: request => !hasResult(request) },
    { toolCalls: [{ name: 'get_weather', arguments: '{"location":"San Francisco, CA"}' }] }
  )
  mock.on({ predicate: () => true }, { content: 'Ahoy there, matey.' })
  await mock.start()
  t.teardown(async () => await mock.stop())
  return await storingGateway(t, {
    providers: [
      { ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } },
      upstreamAt(`${mock.url}/v1`),
      { ...chatUpstreamAt(`${mock.url}/v1`), id: 'chat' },
      upstreamAt(mock.url, 'anthropic', 'anthropic'),
      upstreamAt(mock.url, 'google', 'google')
    ]
  })
}

t.test('previous-response-id: a conversation continues by the id of an answer', async t => {
  const api = await start(t)
  for (const model of Object.values(models)) {
    // checked below
    const first = Object(
      await (await api.post('/v1/responses', { model, input: 'My name is Alice.' })).json()
    ) as Fields
    conforms(t, response, first, model)
    // as above
    const second = Object(
      await (
        await api.post('/v1/responses', {
          model,
          input: 'What is my name?',
          previous_response_id: first['id']
        })
      ).json()
    ) as Fields
    conforms(t, response, second, model)
    t.match(second, { status: 'completed', previous_response_id: first['id'], store: true })
  }
})

t.test('every case with each provider', async t => {
  const api = await start(t)
  for (const [provider, model] of Object.entries(models)) {
    for (const { id, request, streamed = false, output, events: wanted = [] } of cases) {
      await t.test(`${id}: ${provider}`, async t => {
        const answer = await api.post('/v1/responses', { model, ...request, stream: streamed })
        t.equal(answer.status, 200)
        const seen = streamed ? streamEvents(await answer.text()) : []
        // checked below
        const final = streamed ? finalResponse(t, seen) : Object(await answer.json()) as Fields
        conforms(t, response, final, 'the response')
        t.equal(final['status'], 'completed')
        t.match(final['output'], [{ type: output }])
        t.same(
          wanted.filter(type => !seen.some(event => event.type === type)),
          [],
          'every required event'
        )
      })
    }
  }
})
