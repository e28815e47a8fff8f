/**
 * The official clients, unmodified, against a gateway on a real port with a third-party mock of the
 * providers.
 */

import { LLMock } from '@copilotkit/aimock'
import Dedalus from 'dedalus-labs'
import OpenAI from 'openai'
import t from 'tap'
import { fakeUpstream, chatFrames, eventStream } from '../support/upstream.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import type { Test } from 'tap'

const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  }
}
const model = 'openai/gpt-5'

async function start (t: Test): Promise<{ api: TestGateway, mock: LLMock }> {
  const mock = new LLMock({ port: 0 })
  mock.onMessage('hello', { content: 'Hi there, and welcome to the gateway.' })
  mock.on(
    { userMessage: 'weather', hasToolResult: false },
    { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Paris"}' }] }
  )
  mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'It is sunny in Paris.' })
  mock.onMessage('as json', { content: '{"name":"Ada","age":36}' })
  mock.onMessage('limit me', {
    error: { message: 'slow down', type: 'rate_limit_error', code: 'rate_limit_exceeded' },
    status: 429
  })
  mock.onMessage('break', { error: { message: 'it broke', type: 'server_error' }, status: 500 })
  mock.onMessage('refuse', {
    error: {
      message: 'bad value',
      type: 'invalid_request_error',
      code: 'unsupported_value',
      param: 'temperature'
    },
    status: 400
  })
  await mock.start()
  t.teardown(async () => await mock.stop())
  return { mock, api: await testGateway(t, { providers: [upstreamAt(`${mock.url}/v1`)] }) }
}

function openai (api: TestGateway, apiKey: string = testKey): OpenAI {
  return new OpenAI({ baseURL: `${api.url}/v1`, apiKey, maxRetries: 0 })
}

function dedalus (api: TestGateway): Dedalus {
  return new Dedalus({
    baseURL: api.url,
    apiKey: testKey,
    xAPIKey: testKey,
    environment: null as unknown as 'development',
    maxRetries: 0
  })
}

/** The error class of the client. */
async function throws (
  t: Test,
  work: Promise<unknown>,
  expected: abstract new (...given: never[]) => Error
): Promise<void> {
  const error: unknown = await work.then(
    () => undefined,
    (error: unknown) => error
  )
  t.ok(error instanceof expected, `${expected.name}: ${String(error)}`)
}

t.test('openai: complete, streamed, and through its stream helper', async t => {
  const { api } = await start(t)
  const client = openai(api)
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const complete = await client.chat.completions.create({ model, messages })
  t.match(complete, {
    object: 'chat.completion',
    model,
    choices: [{ message: { content: /^Hi there/, refusal: null }, finish_reason: 'stop' }]
  })
  t.ok(complete._request_id)

  let text = ''
  let usage: unknown
  for await (const chunk of await client.chat.completions.create({
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true }
  })) {
    text += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage ?? usage
  }
  t.equal(text, complete.choices[0]?.message.content)
  t.match(usage, { total_tokens: Number })

  const final = await client.chat.completions.stream({ model, messages }).finalChatCompletion()
  t.equal(final.choices[0]?.message.content, text)
})

t.test('openai: tools over two turns, complete and streamed', async t => {
  const { api } = await start(t)
  const client = openai(api)
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'weather in Paris?' }]
  const first = await client.chat.completions.create({ model, messages, tools: [weather] })
  const message = first.choices[0]?.message
  t.match(first.choices[0], {
    finish_reason: 'tool_calls',
    message: {
      content: null,
      tool_calls: [{ type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }]
    }
  })
  if (message === undefined) throw new Error('no message')
  messages.push(message, { role: 'tool', tool_call_id: message.tool_calls?.[0]?.id ?? '', content: 'sunny' })
  const second = await client.chat.completions.create({ model, messages, tools: [weather] })
  t.match(second.choices[0]?.message.content, /sunny/)
  const runner = client.chat.completions.runTools({
    model,
    stream: true,
    messages: [{ role: 'user', content: 'weather in Paris?' }],
    tools: [
      {
        type: 'function',
        function: {
          ...weather.function,
          parse: JSON.parse,
          function: async ({ city }: { city: string }) => `sunny in ${city}`
        }
      }
    ]
  })
  t.match(await runner.finalContent(), /sunny in Paris/)
})

t.test('openai: structured output, error classes, aborts', async t => {
  const { api, mock } = await start(t)
  const client = openai(api)
  const parsed = await client.chat.completions.parse({
    model,
    messages: [{ role: 'user', content: 'as json' }],
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'person',
        strict: true,
        schema: {
          type: 'object',
          properties: { name: { type: 'string' }, age: { type: 'number' } },
          required: ['name', 'age'],
          additionalProperties: false
        }
      }
    }
  })
  t.same(parsed.choices[0]?.message.parsed, { name: 'Ada', age: 36 })
  t.match(mock.getLastRequest()?.body, { response_format: { type: 'json_schema' } })

  const ask = async (content: string, more: object = {}): Promise<unknown> =>
    await client.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more })
  await throws(t, openai(api, 'wrong').models.list(), OpenAI.AuthenticationError)
  await throws(t, ask('limit me'), OpenAI.RateLimitError)
  await throws(t, ask('break'), OpenAI.InternalServerError)
  await t.rejects(ask('refuse'), { status: 400, code: 'unsupported_value', param: 'temperature' })
  await throws(t, ask('hello', { temperature: 9 }), OpenAI.UnprocessableEntityError)
  await t.rejects(ask('hello', { temperature: 9 }), {
    message: '422 Invalid value for `temperature`: Input should be less than or equal to 2.',
    code: 'invalid_value',
    param: 'temperature'
  })
  await throws(t, ask('hello', { model: 'openaj/gpt-5' }), OpenAI.NotFoundError)
  await throws(t, ask('hello', { top_logprobs: 2 }), OpenAI.BadRequestError)

  const [head = '', piece = ''] = chatFrames(['a'])
  const stalled = await fakeUpstream({ headers: eventStream, pieces: [head, piece], then: 'stall' })
  t.teardown(stalled.close)
  const slow = await testGateway(t, { providers: [upstreamAt(`${stalled.url}/v1`)] })
  const stream = await openai(slow).chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'x' }],
    stream: true
  })
  await t.resolves(
    (async () => {
      for await (const chunk of stream) {
        if (chunk.choices[0]?.delta.content === 'a') stream.controller.abort()
      }
    })()
  )
  await (
    await stalled.request(0)
  ).aborted
  await until(() => slow.lines.length === 1, 'one line in the log')
  t.equal(slow.lines[0]?.['outcome'], 'client_closed')
})

t.test('openai: an interrupted stream throws', async t => {
  const broken = await fakeUpstream({ headers: eventStream, pieces: chatFrames(['a', 'b']).slice(0, 3) })
  t.teardown(broken.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${broken.url}/v1`)] })
  const stream = await openai(api).chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'x' }],
    stream: true
  })
  await t.rejects(
    (async () => {
      for await (const _ of stream) continue
    })(),
    { code: 'upstream_stream_interrupted' }
  )
  await throws(
    t,
    openai(api)
      .chat.completions.stream({ model, messages: [{ role: 'user', content: 'x' }] })
      .finalContent(),
    OpenAI.APIError
  )
})

t.test('openai: models are listed and retrieved', async t => {
  const { api } = await start(t)
  const client = openai(api)
  const ids: string[] = []
  for await (const { id } of client.models.list()) ids.push(id)
  t.ok(ids.includes(model))
  t.equal((await client.models.retrieve(model)).id, model)
  await throws(t, client.models.retrieve('openai/none'), OpenAI.NotFoundError)
})

t.test('dedalus: complete, streamed, tools with snake_case keys, errors', async t => {
  const { api, mock } = await start(t)
  const client = dedalus(api)
  const complete = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'hello' }],
    mcp_servers: null,
    tools: []
  })
  t.match(complete, { object: 'chat.completion', choices: [{ message: { content: /^Hi there/ } }] })

  let text = ''
  for await (const chunk of await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'hello' }],
    stream: true
  })) {
    text += chunk.choices[0]?.delta.content ?? ''
  }
  t.match(text, /^Hi there/)

  const tools = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'weather?' }],
    tools: [weather]
  })
  t.match(tools.choices[0]?.message.tool_calls, [{ function: { name: 'get_weather' } }])
  t.match(mock.getLastRequest()?.body, { tools: [{ function: { name: 'get_weather' } }] })

  const models = await client.models.list()
  t.ok(models.data.some(({ id, provider }) => id === model && provider === 'openai'))
  t.match(await client.models.retrieve(model), { id: model, provider_info: { status: 'enabled' } })

  await throws(
    t,
    client.chat.completions.create({ model, messages: [{ role: 'user', content: 'limit me' }] }),
    Dedalus.RateLimitError
  )
  await throws(
    t,
    client.chat.completions.create({ model: 'missing/x', messages: [{ role: 'user', content: 'x' }] }),
    Dedalus.NotFoundError
  )
  await throws(
    t,
    client.chat.completions.create({ model, messages: [{ role: 'user', content: 'x' }], temperature: 9 }),
    Dedalus.UnprocessableEntityError
  )

  const broken = await fakeUpstream({ headers: eventStream, pieces: chatFrames(['a', 'b']).slice(0, 3) })
  t.teardown(broken.close)
  const breaking = dedalus(await testGateway(t, { providers: [upstreamAt(`${broken.url}/v1`)] }))
  const stream = await breaking.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'x' }],
    stream: true
  })
  await throws(
    t,
    (async () => {
      for await (const _ of stream) continue
    })(),
    Dedalus.APIError
  )
})

t.test(
  'dedalus: the client rewrites every key, and schema keywords reach providers as intended',
  async t => {
    const schema = {
      type: 'object',
      properties: { pierName: { anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] } },
      required: ['pierName'],
      additionalProperties: false
    }
    for (const [id, model] of [
      ['openai', 'gpt-5'],
      ['anthropic', 'claude-haiku-4-5'],
      ['google', 'gemini-2.5-flash'],
      ['xai', 'grok-4'],
      ['mistral', 'mistral-large-latest'],
      ['groq', 'llama-x']
    ] as const) {
      const upstream = await fakeUpstream({ status: 400 })
      t.teardown(upstream.close)
      const client = dedalus(await testGateway(t, { providers: [upstreamAt(upstream.url, id, id)] }))
      const tools = [{ type: 'function' as const, function: { name: 'piers', parameters: schema } }]
      await throws(
        t,
        client.chat.completions.create({
          model: `${id}/${model}`,
          messages: [{ role: 'user', content: 'hi' }],
          tools
        }),
        Dedalus.BadRequestError
      )
      const { text = '' } = upstream.requests[0] ?? {}
      t.match(text, /"additionalProperties":false/, id)
      t.match(text, /"anyOf":\[\{"type":"string"/, id)
      t.notMatch(text, /any_of|additional_properties|min_length/, id)
      t.match(text, /"pier_name":/, 'a name is unchanged')
    }
  }
)
