import OpenAI from 'openai'
import t from 'tap'
import {
  chatAnswer,
  chatFrames,
  completionOf,
  eventStream,
  fakeUpstream,
  toolCallAnswer,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { chatUpstreamAt, testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { openaiResponse, openaiScript } from '../support/openai-responses.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { Secret } from '../../lib/core/secret.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { streamEvents } from '../support/responses.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { Test } from 'tap'

const path = '/v1/responses'
const tool = {
  type: 'function' as const,
  name: 'get_weather',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
}

async function sandbox (t: Test): Promise<{ api: TestGateway, client: OpenAI }> {
  const api = await testGateway(t, {
    providers: [{ ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }]
  })
  return { api, client: new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 }) }
}

async function upstream (t: Test, script: Script | ((request: SeenRequest, number: number) => Script)) {
  const provider = await fakeUpstream(script)
  const api = await testGateway(t, { providers: [chatUpstreamAt(`${provider.url}/v1`)] })
  t.teardown(provider.close)
  return { provider, api }
}

/** Replaces ids and times by fixed texts. */
function plain (value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value)
      .replaceAll(/\b(resp|msg|fc)_[0-9a-f]{32}\b/g, '$1_')
      .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":1')
  )
}

t.test('a request to OpenAI and its answer are passed on unchanged, and stored for their key', async t => {
  const provider = await fakeUpstream(openaiScript)
  t.teardown(provider.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const api = await testGateway(
    t,
    { providers: [upstreamAt(`${provider.url}/v1`)] },
    { other: { id: 'key-2', name: 'other' } },
    { database }
  )
  const body = {
    model: 'openai/gpt-5',
    input: [{ type: 'of_the_future', x: 1 }],
    tools: [{ type: 'web_search', y: 2 }],
    z: { deep: [null] },
    include: ['reasoning.encrypted_content']
  }
  const first = await api.post(path, body)
  t.equal(first.status, 200)
  t.match(await first.json(), { id: 'resp_up0', model: 'openai/gpt-5', x_new: JSON.stringify(body.input) })
  t.equal(provider.requests[0]?.path, '/v1/responses')
  t.same(provider.requests[0]?.json, { ...body, model: 'gpt-5' })

  const streamed = streamEvents(
    await (
      await api.post(path, {
        model: 'openai/gpt-5',
        input: 'And?',
        previous_response_id: 'resp_up0',
        stream: true
      })
    ).text()
  )
  t.same(
    streamed.map(({ sequence_number: number }) => number),
    [0, 1, 2, 3, 4, 5]
  )
  t.match(streamed[2], { type: 'response.of_the_future', thing: { a: 1 } })
  t.match(provider.requests[1]?.json, { model: 'gpt-5', input: 'And?', previous_response_id: 'resp_up0' })
  t.same(await (await api.get(`${path}/resp_up1`)).json(), streamed.at(-1)?.['response'])
  t.match(await (await api.get(`${path}/resp_up1/input_items?order=asc`)).json(), {
    data: [{ type: 'of_the_future' }, { id: 'msg_up0' }, { content: [{ text: 'And?' }] }]
  })
  const other = { headers: { authorization: 'Bearer other' } }
  t.equal((await api.get(`${path}/resp_up1`, other)).status, 404)
  t.match(
    await (
      await api.post(path, { model: 'openai/gpt-5', input: 'Hm?', previous_response_id: 'resp_up1' }, other)
    ).json(),
    { error: { code: 'previous_response_not_found' } }
  )
  t.equal(provider.requests.length, 2)
})

t.test(
  'developer instructions become one system message elsewhere, and later ones become reminders',
  async t => {
    const provider = await fakeUpstream({ pieces: [chatAnswer('Hi.')] })
    t.teardown(provider.close)
    const api = await testGateway(t, {
      providers: [
        upstreamAt(`${provider.url}/v1`, 'deepseek', 'deepseek'),
        upstreamAt(`${provider.url}/v1`, 'groq', 'groq'),
        chatUpstreamAt(`${provider.url}/v1`)
      ]
    })
    const parts = (...texts: string[]): object[] => texts.map(text => ({ type: 'input_text', text }))
    const input = [
      { type: 'message', role: 'developer', content: parts('Be brief.') },
      { type: 'message', role: 'developer', content: parts('Ask first.', 'No network.') },
      { type: 'message', role: 'user', content: parts('Hi') },
      { type: 'message', role: 'developer', content: parts('Now with network.') }
    ]
    for (const model of ['deepseek/deepseek-chat', 'groq/m', 'openai/gpt-4o']) {
      t.equal((await api.post(path, { model, input })).status, 200)
    }
    const user = { role: 'user', content: [{ type: 'text', text: 'Hi' }] }
    const inPlaces = (role: string): object[] => [
      { role, content: 'Be brief.' },
      { role, content: 'Ask first.\n\nNo network.' },
      user,
      { role, content: 'Now with network.' }
    ]
    t.strictSame(
      provider.requests.map(({ json }) => Reflect.get(Object(json), 'messages') as unknown),
      [
        [
          { role: 'system', content: 'Be brief.\n\nAsk first.\n\nNo network.' },
          // DeepSeek takes only a text.
          { role: 'user', content: 'Hi\n\n<system-reminder>\nNow with network.\n</system-reminder>' }
        ],
        inPlaces('system'), // Groq accepts system messages anywhere
        inPlaces('developer')
      ]
    )
  }
)

t.test('reasoning without a following text or call is not sent to servers that do not accept it', async t => {
  const { provider, api } = await upstream(t, { pieces: [chatAnswer('Hi.')] })
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    { role: 'user', content: 'Well?' }
  ]
  t.equal((await api.post(path, { model: 'openai/gpt-4o', input })).status, 200)
  t.strictSame(Reflect.get(Object(provider.requests[0]?.json), 'messages'), [
    { role: 'user', content: 'Hi' },
    { role: 'user', content: 'Well?' }
  ])
})

t.test('an answer cut by the token limit is incomplete, streamed or complete', async t => {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'get_weather', arguments: '{"city":"Par' }
  }
  const chunk = (choice: object): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm-1', choices: [{ index: 0, ...choice }] })}\n\n`
  const { api } = await upstream(t, ({ json }) =>
    Reflect.get(Object(json), 'stream') === true
      ? {
          headers: eventStream,
          pieces: [
            chunk({ delta: { role: 'assistant', tool_calls: [{ index: 0, ...call }] } }),
            chunk({ delta: {}, finish_reason: 'length' }),
            'data: [DONE]\n\n'
          ]
        }
      : { pieces: [completionOf({ content: null, tool_calls: [call] }, { finishReason: 'length' })] }
  )
  const question = { model: 'openai/gpt-4o', input: 'Weather?', tools: [tool] }
  const item = { type: 'function_call', status: 'incomplete', arguments: '{"city":"Par' }
  t.match(await (await api.post(path, question)).json(), { status: 'incomplete', output: [item] })
  const events = streamEvents(await (await api.post(path, { ...question, stream: true })).text())
  t.match(events.slice(-3), [
    { type: 'response.function_call_arguments.done', arguments: '{"city":"Par' },
    { type: 'response.output_item.done', item },
    { type: 'response.incomplete', response: { output: [item] } }
  ])
})

t.test('a conversation returns to the provider and credential that store it', async t => {
  const provider = await fakeUpstream(openaiScript)
  t.teardown(provider.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const apiKeys = [
    { key: new Secret('first-credential'), weight: 1 },
    { key: new Secret('second-credential'), weight: 1 }
  ]
  const api = await testGateway(
    t,
    { providers: [upstreamAt(`${provider.url}/v1`, 'openai', 'openai', { apiKeys })] },
    {},
    { database }
  )
  let previous: string | undefined
  for (let turn = 0; turn < 8; turn++) {
    // as above
    const { id } = (await (
      await api.post(path, {
        model: 'openai/gpt-5',
        input: 'Hi',
        ...previous !== undefined && { previous_response_id: previous }
      })
    ).json()) as { id: string }
    previous = id
  }
  t.equal(new Set(provider.requests.map(({ headers }) => headers.authorization)).size, 1)
  t.same(
    provider.requests
      .slice(1)
      .map(({ json }) => Reflect.get(Object(json), 'previous_response_id') as unknown),
    provider.requests.slice(1).map((_, turn) => `resp_up${turn}`)
  )
})

t.test(
  'a response stored by its provider is deleted there too, with the credential that created it',
  async t => {
    const statuses = [200, 404, 500]
    const provider = await fakeUpstream((request, number) =>
      request.method === 'DELETE'
        ? { status: statuses.shift() ?? 200, pieces: ['{}'] }
        : openaiScript(request, number)
    )
    t.teardown(provider.close)
    const database = await openDatabase(t.testdir())
    t.teardown(database.close)
    const apiKeys = [
      { key: new Secret('first-credential'), weight: 1 },
      { key: new Secret('second-credential'), weight: 1 }
    ]
    const api = await testGateway(
      t,
      { providers: [upstreamAt(`${provider.url}/v1`, 'openai', 'openai', { apiKeys })] },
      { other: { id: 'key-2', name: 'other' } },
      { database }
    )
    const remove = async (id: string, headers: Record<string, string> = {}): Promise<Response> =>
      await api.get(`${path}/${id}`, { method: 'DELETE', headers })
    for (const copy of ['deleted', 'deleted', 'kept']) {
      // as above
      const { id } = (await (await api.post(path, { model: 'openai/gpt-5', input: 'Hi' })).json()) as {
        id: string
      }
      const made = provider.requests.at(-1)
      t.equal((await remove(id, { authorization: 'Bearer other' })).status, 404)
      t.equal(provider.requests.at(-1), made, 'nothing is sent for another key')
      const answer = await remove(id)
      t.match(
        [answer.status, answer.headers.get('x-headgate-provider-copy'), await answer.json()],
        [200, copy, { id, deleted: true }]
      )
      const sent = provider.requests.at(-1)
      t.match(
        [sent?.method, sent?.path, sent?.headers.authorization],
        ['DELETE', `/v1/responses/${id}`, made?.headers.authorization]
      )
      t.equal((await remove(id)).status, 404)
    }
    // as above
    const unkept = (await (
      await api.post(path, { model: 'openai/gpt-5', input: 'Hi', store: false })
    ).json()) as { id: string }
    t.equal((await remove(unkept.id)).status, 404)
  }
)

t.test(
  'a chat-only server configured as OpenAI is detected once, and gets translated requests',
  async t => {
    const provider = await fakeUpstream(({ path }) =>
      path.endsWith('/responses')
        ? { status: 404, pieces: ['{"detail":"Not Found"}'] }
        : { pieces: [chatAnswer('Hello')] }
    )
    t.teardown(provider.close)
    const api = await testGateway(t, { providers: [upstreamAt(`${provider.url}/v1`)] })
    for (let turn = 0; turn < 2; turn++) {
      t.match(await (await api.post(path, { model: 'openai/gpt-5', input: 'Hi' })).json(), {
        status: 'completed',
        output: [{ content: [{ text: 'Hello' }] }]
      })
    }
    t.same(
      provider.requests.map(request => request.path),
      ['/v1/responses', '/v1/chat/completions', '/v1/chat/completions']
    )
  }
)

t.test(
  'an object that a provider does not find is a 404 with its message, without effect on others',
  async t => {
    const provider = await fakeUpstream((request, number) => {
      const { conversation, input } = request.json as { conversation?: string, input: unknown } // as sent
      const gone = conversation ?? (JSON.stringify(input).includes('rs_gone') ? 'rs_gone' : undefined)
      if (gone === undefined) return openaiScript(request, number)
      return {
        status: 404,
        pieces: [
          JSON.stringify({
            error: {
              message: `Object with id '${gone}' not found.`,
              type: 'invalid_request_error',
              param: null,
              code: null
            }
          })
        ]
      }
    })
    t.teardown(provider.close)
    const api = await testGateway(t, { providers: [upstreamAt(`${provider.url}/v1`)] })
    const hosted = {
      model: 'openai/gpt-5',
      input: [{ role: 'user', content: 'What is new?' }],
      tools: [{ type: 'web_search' }]
    }
    const item = { type: 'reasoning', id: 'rs_gone', summary: [], encrypted_content: 'gAAAA' }
    for (const [body, headers, id] of [
      [{ ...hosted, conversation: 'conv_x' }, { 'x-provider-key': 'sk-own' }, 'conv_x'],
      [{ ...hosted, input: [...hosted.input, item, { role: 'user', content: 'And?' }] }, {}, 'rs_gone'],
      [{ ...hosted, input: [...hosted.input, item], stream: true }, {}, 'rs_gone']
    ] as const) {
      const refused = await api.post(path, body, { headers })
      t.equal(refused.status, 404)
      t.match(await refused.json(), {
        error: { message: `Object with id '${id}' not found.`, type: 'invalid_request_error', param: null }
      })
      t.match(await (await api.post(path, hosted)).json(), {
        status: 'completed',
        output: [{ id: /^msg_up/ }]
      })
    }
    t.same(new Set(provider.requests.map(request => request.path)), new Set(['/v1/responses']))
    t.match(provider.requests.at(-1)?.json, { ...hosted, model: 'gpt-5' })
  }
)

t.test(
  'only a translated request that succeeds with a gateway key marks a server as lacking this API',
  async t => {
    let chat: Script = { status: 400, pieces: ['{"error":{"message":"Bad."}}'] }
    let responses: Script | undefined = { status: 404 }
    const provider = await fakeUpstream((request, number) =>
      request.path.endsWith('/responses') ? (responses ?? openaiScript(request, number)) : chat
    )
    t.teardown(provider.close)
    const api = await testGateway(t, { providers: [upstreamAt(`${provider.url}/v1`)] })
    const ask = async (status: number, headers = {}): Promise<string[]> => {
      const before = provider.requests.length
      t.equal((await api.post(path, { model: 'openai/gpt-5', input: 'Hi' }, { headers })).status, status)
      return provider.requests.slice(before).map(request => request.path.slice('/v1'.length))
    }
    const both = ['/responses', '/chat/completions']
    t.same(await ask(400), both)
    chat = { pieces: [chatAnswer('Hello')] }
    t.same(await ask(200, { 'x-provider-key': 'sk-own' }), both)
    responses = undefined
    t.same(await ask(200), ['/responses'])
    responses = { status: 404 }
    t.same(await ask(200), both)
    t.same(await ask(200), both, 'it has had the API')
  }
)

t.test('a server that answers this path without having it gets translated requests', async t => {
  const words = '{"error":"Unexpected endpoint or method. (POST /v1/responses)"}'
  const provider = await fakeUpstream(({ path, json }) => {
    if (path.endsWith('/responses')) return { pieces: [words] }
    // as sent
    return (json as { stream?: boolean }).stream === true
      ? { headers: eventStream, pieces: chatFrames(['Hello']) }
      : { pieces: [chatAnswer('Hello')] }
  })
  t.teardown(provider.close)
  for (const stream of [false, true]) {
    const api = await testGateway(t, { providers: [upstreamAt(`${provider.url}/v1`)] })
    t.match(await (await api.post(path, { model: 'openai/gpt-5', input: 'Hi', stream })).text(), /"Hello"/)
  }
})

t.test('the official client gets a complete answer, and the same one streamed', async t => {
  const { client } = await sandbox(t)
  const request = { model: 'sandbox/echo', input: 'Hello', instructions: 'Be brief.', metadata: { a: 'b' } }
  const complete = await client.responses.create(request)
  t.equal(
    complete.output_text,
    'This is Headgate\'s sandbox, a simulator without a model behind it. My instructions are: "Be brief.". You said: "Hello".'
  )
  const stream = client.responses.stream(request)
  let text = ''
  stream.on('response.output_text.delta', ({ delta }) => {
    text += delta
  })
  const streamed = await stream.finalResponse()
  t.equal(text, complete.output_text)
  const { output_parsed: _, ...final } = streamed
  t.match(plain(final.output), plain(complete.output))
  t.strictSame(plain({ ...final, output: [] }), plain({ ...complete, output: [] }), 'every other field')
})

t.test('a complete response on the wire', async t => {
  const { api } = await upstream(t, { pieces: [chatAnswer('Hi')] })
  const response = await api.post(path, { model: 'openai/gpt-5', input: 'Hello' })
  t.equal(response.status, 200)
  t.strictSame(plain(await response.json()), {
    id: 'resp_',
    object: 'response',
    created_at: 1,
    completed_at: 1,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: 'openai/gpt-5',
    output: [
      {
        id: 'msg_',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }]
      }
    ],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    background: false,
    service_tier: 'auto',
    temperature: 1,
    text: { verbosity: 'medium', format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 4
    },
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    presence_penalty: 0,
    frequency_penalty: 0
  })
})

t.test('a conversation with a tool over three turns', async t => {
  const { client } = await sandbox(t)
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'What is the weather in Paris?' }]
  const first = await client.responses.create({ model: 'sandbox/echo', input, tools: [tool] })
  const [call] = first.output
  t.match(call, {
    type: 'function_call',
    name: 'get_weather',
    arguments: '{"city":"Paris"}',
    status: 'completed'
  })
  if (call?.type !== 'function_call') return
  input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]), {
    type: 'function_call_output',
    call_id: call.call_id,
    output: 'sunny'
  })
  const second = await client.responses.create({ model: 'sandbox/echo', input, tools: [tool] })
  t.equal(second.output_text, 'The tool get_weather returned: sunny')
  input.push(...(second.output as OpenAI.Responses.ResponseInputItem[]), { role: 'user', content: 'Thanks' })
  const third = await client.responses.create({ model: 'sandbox/echo', input, tools: [tool] })
  t.match(third.output_text, 'You said: "Thanks".')
})

t.test('the client parses structured output', async t => {
  const { client } = await sandbox(t)
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false
  }
  const { output_parsed: parsed } = await client.responses.parse({
    model: 'sandbox/echo',
    input: 'Where?',
    text: { format: { type: 'json_schema', name: 'place', schema, strict: true } }
  })
  t.type(Reflect.get(Object(parsed), 'city'), 'string')
})

t.test(
  "Gemini gets the response format in its own field, and a provider without one refuses the caller's",
  async t => {
    const upstream = await fakeUpstream({
      pieces: [
        '{"candidates":[{"content":{"role":"model","parts":[{"text":"{}"}]},"finishReason":"STOP","index":0}]}'
      ]
    })
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [
        upstreamAt(upstream.url, 'google', 'google'),
        upstreamAt(upstream.url, 'anthropic', 'anthropic')
      ]
    })
    const schema = { type: 'object', properties: { my_city: { type: 'string' } } }
    const request = { input: 'Where?', text: { format: { type: 'json_schema', name: 'place', schema } } }
    t.equal((await api.post('/v1/responses', { model: 'google/gemini-2.5-flash', ...request })).status, 200)
    t.match((await upstream.request(0)).json, {
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema }
    })
    const refused = await api.post('/v1/responses', { model: 'anthropic/claude-sonnet-4-5', ...request })
    t.match(
      [refused.status, await refused.json()],
      [400, { error: { param: 'text.format', message: 'This provider does not support `text.format`.' } }]
    )
  }
)

t.test('a custom tool is called as such through a provider that only knows functions', async t => {
  const { api, provider } = await upstream(t, { pieces: [toolCallAnswer('run', { input: 'ls -l' })] })
  const answer = await (
    await api.post(path, { model: 'openai/gpt-5', input: 'x', tools: [{ type: 'custom', name: 'run' }] })
  ).json()
  t.match(answer, {
    output: [
      { type: 'custom_tool_call', call_id: 'call_1', name: 'run', input: 'ls -l', status: 'completed' }
    ]
  })
  t.match(provider.requests[0]?.json, {
    tools: [{ type: 'function', function: { name: 'run', parameters: { required: ['input'] } } }]
  })
})

t.test('errors before the answer are in the format of this API', async t => {
  const { api } = await upstream(t, {
    status: 400,
    pieces: [
      '{"error":{"message":"no","type":"invalid_request_error","param":"messages[1].content","code":null}}'
    ]
  })
  const rows = [
    [{ model: 'openai/gpt-5' }, 400, 'missing_required_parameter', 'input'],
    [{ model: 'openai/gpt-5', input: [{ role: 'user', content: 3 }] }, 400, 'invalid_type', null],
    [{ model: 'openai/gpt-5', input: 'x', top_p: 2 }, 400, 'invalid_value', 'top_p'],
    [{ model: 'nowhere', input: 'x' }, 404, 'model_not_found', 'model'],
    [
      { model: 'openai/gpt-5', instructions: 'a', input: [{ role: 'user', content: 'x' }] },
      400,
      null,
      'input[0].content'
    ]
  ] as const
  for (const [body, status, code, param] of rows) {
    const response = await api.post(path, body)
    t.equal(response.status, status)
    t.match(await response.json(), {
      error: {
        ...code !== null && { code },
        ...param !== null && { param },
        message: String,
        type: 'invalid_request_error'
      }
    })
  }
  const refused = await fetch(`${api.url}${path}`, { method: 'POST', body: '{' })
  t.equal(refused.status, 401)
  t.match(await refused.json(), { error: { code: 'invalid_api_key' } })
})

t.test('the length of a tool name is limited, as in every API', async t => {
  const { api, provider } = await upstream(t, { pieces: [chatAnswer('Hi')] })
  const ask = async (name: string): Promise<Response> =>
    await api.post(path, { model: 'openai/gpt-4o', input: 'hi', tools: [{ type: 'function', name }] })
  t.equal((await ask('x'.repeat(256))).status, 200)
  const refused = await ask('x'.repeat(257))
  t.equal(refused.status, 400)
  t.match(await refused.json(), { error: { param: 'tools[0].name' } })
  t.equal(provider.requests.length, 1)
})

t.test('input tokens are estimated without asking the provider', async t => {
  const { api, provider } = await upstream(t, { pieces: [chatAnswer('Hi')] })
  const answer = await api.post(`${path}/input_tokens`, {
    model: 'openai/gpt-5',
    input: 'Hello there',
    instructions: 'Be brief.'
  })
  t.equal(answer.headers.get('x-headgate-token-count'), 'estimate')
  t.match(await answer.json(), { object: 'response.input_tokens', input_tokens: 18 }, 'rather too high')
  t.equal(provider.requests.length, 0)
})

t.test(
  'OpenAI compacts conversations, including stored ones, and other providers do not',
  async t => {
    const usage = {
      input_tokens: 90,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 102
    }
    const compacted = JSON.stringify({
      id: 'resp_c',
      object: 'response.compaction',
      created_at: 1,
      output: [{ id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAA', x_new: 1.5 }],
      usage
    })
    const provider = await fakeUpstream((request, number) =>
      request.path.endsWith('/compact') ? { pieces: [compacted] } : openaiScript(request, number)
    )
    t.teardown(provider.close)
    const database = await openDatabase(t.testdir())
    t.teardown(database.close)
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${provider.url}/v1`), upstreamAt('http://127.0.0.1:9', 'mistral', 'mistral')]
      },
      {},
      { database }
    )
    await api.post(path, { model: 'openai/gpt-5', input: 'Hi' })
    const answer = await api.post(`${path}/compact`, {
      model: ['mistral/m', 'openai/gpt-5'],
      previous_response_id: 'resp_up0',
      instructions: 'Be brief.',
      x_new: { a: 1 }
    })
    t.equal(answer.status, 200)
    t.equal(await answer.text(), compacted)
    const sent = provider.requests.at(-1)
    t.equal(sent?.path, '/v1/responses/compact')
    t.same(sent?.json, {
      model: 'gpt-5',
      previous_response_id: 'resp_up0',
      instructions: 'Be brief.',
      x_new: { a: 1 }
    })
    const refused = await api.post(`${path}/compact`, { model: 'mistral/m', input: 'Hello' })
    t.equal(refused.status, 404)
    t.match(await refused.json(), { error: { code: 'not_found', type: 'invalid_request_error' } })
  }
)

t.test('a broken stream ends with response.failed', async t => {
  const { api } = await upstream(t, {
    headers: eventStream,
    pieces: chatFrames(['Hel', 'lo']).slice(0, 2),
    then: 'fin'
  })
  const text = await (await api.post(path, { model: 'openai/gpt-5', input: 'x', stream: true })).text()
  const events = streamEvents(text)
  t.match(events.at(-1), {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error' } }
  })
  t.notOk(events.some(({ type }) => type === 'error'))
  t.ok(text.endsWith('data: [DONE]\n\n'))
})

t.test('a tool loop at OpenAI keeps the phase of each message, complete and streamed', async t => {
  const server = await startToolServer(t)
  const message = (text: string, phase: string) => ({
    ...openaiResponse(0).output[0], id: `msg_${phase}`, phase, content: [{ type: 'output_text', text }]
  })
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'echo', arguments: '{}' }
  const provider = await fakeUpstream(({ text, json }, number) => {
    const output = text.includes('function_call_output')
      ? [message('Seen.', 'final_answer')]
      : [message('Let me look.', 'commentary'), call]
    const response = openaiResponse(number, { output })
    if (Reflect.get(Object(json), 'stream') !== true) return { pieces: [JSON.stringify(response)] }
    const events = [
      ...output.map((item, at) => ({ type: 'response.output_item.done', output_index: at, item })),
      { type: 'response.completed', response }
    ]
    return { headers: eventStream, pieces: events.map(event => `data: ${JSON.stringify(event)}\n\n`) }
  })
  t.teardown(provider.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${provider.url}/v1`)],
    tools: {
      ...settings().tools,
      connectMs: 10_000,
      callMs: 10_000,
      loopMs: 20_000,
      allowedHosts: ['127.0.0.1']
    }
  })
  const tools = [{ type: 'mcp', server_label: 'mine', server_url: server.url, require_approval: 'never' }]
  const request = { model: 'openai/gpt-5.4', reasoning: { effort: 'low' }, input: 'Look.', tools }
  const messages = [
    { type: 'message', phase: 'commentary', content: [{ text: 'Let me look.' }] },
    { type: 'message', phase: 'final_answer', content: [{ text: 'Seen.' }] }
  ]
  const shown = (output: unknown): unknown =>
    (output as Array<{ readonly type: string }>).filter(({ type }) => type === 'message')
  t.match(shown(Reflect.get(Object(await (await api.post(path, request)).json()), 'output')), messages)
  const events = streamEvents(await (await api.post(path, { ...request, stream: true })).text())
  t.match(shown(Reflect.get(Object(events.at(-1)?.['response']), 'output')), messages)
  for (const { json } of [provider.requests[1], provider.requests[3]] as Array<{ readonly json: unknown }>) {
    t.match(Reflect.get(Object(json), 'input'), [
      { role: 'user' },
      { type: 'message', role: 'assistant', phase: 'commentary', content: 'Let me look.' },
      { type: 'function_call' },
      { type: 'function_call_output' }
    ])
  }
})
