/** Anthropic's official client, unmodified, against a gateway on a real port with several providers. */

import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { testGateway, testKey, type TestGateway } from '../support/gateway.ts'
import {
  functions,
  question,
  resultOf,
  sandbox,
  testConversations,
  type WeatherConversation
} from '../support/weather-conversation.ts'
import type { Test } from 'tap'

function clientOf (api: TestGateway): Anthropic {
  return new Anthropic({ baseURL: api.url, apiKey: testKey, maxRetries: 0 })
}

const tools: Anthropic.Tool[] = functions.map(({ parameters, ...definition }) => ({
  ...definition,
  input_schema: parameters
}))
const model = 'sandbox/echo'
const max_tokens = 200
const thinking = { type: 'enabled', budget_tokens: 1024 } as const

t.test('a message, complete and streamed', async t => {
  const client = clientOf(await testGateway(t, { providers: [sandbox] }))
  const messages = [{ role: 'user' as const, content: 'hello there' }]
  const complete = await client.messages.create({ model, max_tokens, messages })
  t.match(complete, {
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: /hello there/ }],
    stop_reason: 'end_turn',
    usage: { output_tokens: Number }
  })
  t.ok(complete._request_id)
  const texts: string[] = []
  const stream = client.messages.stream({ model, max_tokens, messages }).on('text', text => texts.push(text))
  const final = await stream.finalMessage()
  t.same(final.content, complete.content)
  t.same(final.usage, complete.usage)
  t.equal(texts.join(''), final.content.map(block => block.type === 'text' ? block.text : '').join(''))
})

t.test('errors have the classes and the fields of the client', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const client = clientOf(api)
  const ask = async (content: string, more: object = {}): Promise<unknown> =>
    await client.messages
      .create({ model, max_tokens, messages: [{ role: 'user', content }], ...more })
      .catch((error: unknown) => error)
  const rows: ReadonlyArray<readonly [unknown, abstract new (...given: never[]) => Error, object]> = [
    [
      await ask('hi', { model: 'sandbox/none' }),
      Anthropic.NotFoundError,
      { status: 404, type: 'not_found_error', message: /model: sandbox\/none/ }
    ],
    [
      await ask('hi', { max_tokens: 'many' }),
      Anthropic.BadRequestError,
      { status: 400, type: 'invalid_request_error', message: /max_tokens: Input should be a valid integer/ }
    ],
    [
      await ask('[sandbox: status=429 retry-after=7]'),
      Anthropic.RateLimitError,
      { status: 429, type: 'rate_limit_error' }
    ],
    [await ask('[sandbox: status=500]'), Anthropic.InternalServerError, { status: 502, type: 'api_error' }],
    [
      await new Anthropic({ baseURL: api.url, apiKey: 'wrong', maxRetries: 0 }).messages
        .create({ model, max_tokens, messages: [] })
        .catch((error: unknown) => error),
      Anthropic.AuthenticationError,
      { status: 401, type: 'authentication_error' }
    ]
  ]
  for (const [error, expected, fields] of rows) {
    t.ok(error instanceof expected, `${expected.name}: ${String(error)}`)
    t.match(error, { ...fields, requestID: String, error: { type: 'error', request_id: String } })
  }
  const stream = client.messages.stream({
    model,
    max_tokens,
    messages: [{ role: 'user', content: 'one two three four [sandbox: error after=2]' }]
  })
  const error: unknown = await stream.finalMessage().catch((error: unknown) => error)
  t.ok(error instanceof Anthropic.APIError, String(error))
  t.match(error, { status: undefined, type: 'api_error' })
})

/** Runs a conversation of three turns, and returns the number of calls in each. */
async function converse (
  t: Test,
  ask: (messages: Anthropic.MessageParam[]) => Promise<Anthropic.Message>
): Promise<number[]> {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: question }]
  const seen: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const { content, stop_reason: reason } = await ask(messages)
    const calls = content.filter(block => block.type === 'tool_use')
    seen.push(calls.length)
    messages.push({ role: 'assistant', content })
    t.equal(reason, calls.length > 0 ? 'tool_use' : 'end_turn')
    if (calls.length === 0) {
      t.match(content.at(-1), { type: 'text', text: /\w/ })
      break
    }
    if (turn === 0) t.match(content[0], { type: 'thinking', thinking: /\w/, signature: String })
    for (const { input } of calls) t.match(input, { city: String })
    messages.push({
      role: 'user',
      content: calls.map(({ id, name }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: resultOf(name)
      }))
    })
  }
  return seen
}

async function converseInEveryWay (t: Test, { api, model, calls }: WeatherConversation): Promise<void> {
  const client = clientOf(api)
  const common = { model, tools, max_tokens: 4000, thinking }
  t.same(
    await converse(t, async messages => await client.messages.create({ ...common, messages })),
    calls,
    'complete'
  )
  t.same(
    await converse(
      t,
      async messages => await client.messages.stream({ ...common, messages }).finalMessage()
    ),
    calls,
    'streamed'
  )
}

testConversations(converseInEveryWay, 6)

t.test('the tool runner of the client runs tools until there is an answer', async t => {
  const client = clientOf(await testGateway(t, { providers: [sandbox] }))
  const runner = client.beta.messages.toolRunner({
    model: 'sandbox/thinker',
    max_tokens,
    messages: [{ role: 'user', content: 'use get_weather with {"city":"Paris"}' }],
    tools: [
      {
        type: 'custom',
        name: 'get_weather',
        description: 'The weather',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
        parse: input => input,
        run: async () => 'sunny'
      }
    ]
  })
  const final = await runner.runUntilDone()
  t.match(final, { stop_reason: 'end_turn' })
  t.match(final.content.at(-1), { type: 'text', text: /sunny/ })
})

t.test('tokens are counted before a request, and models are listed', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const client = clientOf(api)
  const messages = [{ role: 'user' as const, content: 'hello there' }]
  const short = await client.messages.countTokens({ model, messages })
  const long = await client.messages.countTokens({
    model,
    messages: [{ role: 'user', content: 'hello '.repeat(1000) }],
    tools
  })
  t.ok(short.input_tokens > 0 && long.input_tokens > short.input_tokens + 1000)
  const counts = await Promise.all(
    Array.from({ length: 25 }, async () => await client.messages.countTokens({ model, messages, tools: [] }))
  )
  t.equal(new Set(counts.map(({ input_tokens: tokens }) => tokens)).size, 1)

  const listed: string[] = []
  for await (const { id, type, display_name: name, created_at: at } of client.models.list({ limit: 2 })) {
    t.match([type, name, at], ['model', String, /^\d{4}-\d\d-\d\dT/])
    listed.push(id)
  }
  t.equal(new Set(listed).size, listed.length)
  const { data } = await (await api.get('/v1/models')).json() as { data: Array<{ id: string }> }
  t.same(listed, data.map(({ id }) => id), 'the same models in the other format')
  t.match(await client.models.retrieve(model), { type: 'model', id: model })
  const missing: unknown = await client.models.retrieve('sandbox/none').catch((error: unknown) => error)
  t.match(missing, { status: 404, type: 'not_found_error' })
})
