/** What a request can make a provider do with the gateway's credential, over every path to a provider. */

import t, { type Test } from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { fakeUpstream } from '../support/upstream.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import type { ApiKey } from '../../lib/core/key.ts'

/** Every endpoint that sends requests to a provider, and why those without a row below need none. */
const endpoints: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'tested',
  '/v1/messages': 'tested',
  '/v1/messages/count_tokens': 'tested',
  '/v1/responses': 'tested',
  '/v1/responses/input_tokens': 'tested',
  '/v1/responses/compact': 'tested',
  '/v1/ocr': 'tested',
  '/v1/audio/speech': 'tested',
  '/v1/completions': 'a prompt is text alone',
  '/v1/embeddings': 'inputs are text or tokens',
  '/v1/images/generations': 'a prompt is text alone',
  '/v1/images/edits': 'images are files of the form',
  '/v1/images/variations': 'images are files of the form',
  '/v1/audio/transcriptions': 'the recording is a file of the form',
  '/v1/audio/translations': 'the recording is a file of the form',
  '/v1/responses/:response_id/cancel': 'names a response of this key'
}

const keys: Record<string, ApiKey> = {
  plain: { id: 'plain', name: 'plain' },
  may: { id: 'may', name: 'may', providerObjects: true },
  narrow: {
    id: 'narrow',
    name: 'narrow',
    models: ['openai/gpt-4.1', 'anthropic/claude-sonnet-4-5'],
    mcpServers: ['a/b']
  },
  budget: { id: 'budget', name: 'budget', limits: { budget: { usd: 1, per: 'day' } } }
}

/**
 * A gateway whose providers refuse every request, so that what reaches them is recorded and costs nothing.
 */
async function world (t: Test) {
  const upstream = await fakeUpstream({
    status: 400,
    headers: { 'content-type': 'application/json' },
    pieces: ['{"error":{"message":"no","type":"invalid_request_error"}}']
  })
  t.teardown(upstream.close)
  const providers = [
    upstreamAt(upstream.url, 'openai'),
    upstreamAt(upstream.url, 'anthropic', 'anthropic'),
    upstreamAt(upstream.url, 'google', 'google'),
    upstreamAt(upstream.url, 'mistral', 'mistral'),
    upstreamAt(upstream.url, 'server', 'openai-compatible')
  ]
  const database = await openDatabase(t.testdir())
  const api = await testGateway(t, { providers }, keys, { database })
  t.teardown(database.close)
  return async (key: string, path: string, body: object) => {
    const before = upstream.requests.length
    const answer = await api.post(path, body, { headers: { authorization: `Bearer ${key}` } })
    const text = await answer.text()
    const sent = upstream.requests.slice(before).map(request => request.text).join()
    return { status: answer.status, isSent: upstream.requests.length > before, sent, text }
  }
}

const user = (...content: object[]): object => ({ role: 'user', content })
const servers = { mcp_servers: [{ url: 'http://127.0.0.1:9/mcp' }] }
const chatModels = [
  'openai/gpt-4.1',
  'anthropic/claude-sonnet-4-5',
  'google/gemini-2.5-flash',
  'mistral/mistral-large-latest',
  'server/m'
]
/** Models whose provider uses the dialect, and one that gets a translation. */
const spoken = {
  messages: ['anthropic/claude-sonnet-4-5', 'openai/gpt-4.1'],
  responses: ['openai/gpt-4.1', 'anthropic/claude-sonnet-4-5']
} as const

interface Ask {
  readonly title: string
  readonly path: string
  readonly body: object
  /** True if no provider gets the request as written, neither now nor when a stored response is continued. */
  readonly isTranslated?: boolean
}

/** Every path of a request in a dialect to a provider. */
function waysOf (dialect: 'chat' | 'messages' | 'responses', parts: object): Ask[] {
  const base = {
    max_tokens: 9,
    ...(dialect === 'responses'
      ? { max_tokens: undefined, input: 'hi' }
      : { messages: [{ role: 'user', content: 'hi' }] })
  }
  const ways: ReadonlyArray<readonly [string, string, object]> = {
    chat: [
      ['', '/v1/chat/completions', {}],
      ['streamed', '/v1/chat/completions', { stream: true }],
      ['with tool servers', '/v1/chat/completions', servers],
      ['deferred', '/v1/chat/completions', { deferred: true }]
    ] as const,
    messages: [
      ['', '/v1/messages', {}],
      ['streamed', '/v1/messages', { stream: true }],
      ['counted', '/v1/messages/count_tokens', {}]
    ] as const,
    responses: [
      ['', '/v1/responses', {}],
      ['streamed', '/v1/responses', { stream: true }],
      ['not stored', '/v1/responses', { store: false }],
      ['with tool servers', '/v1/responses', servers],
      ['in the background', '/v1/responses', { background: true }],
      ['counted', '/v1/responses/input_tokens', {}],
      ['compacted', '/v1/responses/compact', {}]
    ] as const
  }[dialect]
  const models = dialect === 'chat' ? chatModels : spoken[dialect]
  return models.flatMap(model =>
    ways.map(([way, path, more]) => ({
      title: [dialect, model, way, JSON.stringify(parts)].filter(Boolean).join(' '),
      path,
      body: { ...base, ...parts, ...more, model },
      isTranslated:
        dialect !== 'chat' &&
        model !== spoken[dialect][0] &&
        (dialect === 'messages' || 'store' in more || /count|input_tokens|compact/.test(path))
    }))
  )
}

const pdf = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' }
const objects: readonly Ask[] = [
  ...[
    { messages: [user({ type: 'file', file: { file_id: 'file-1' } })] },
    { messages: [user({ type: 'image_url', image_url: { url: 'gs://bucket/a.png' } })] },
    {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', audio: { id: 'audio_1' } },
        { role: 'user', content: 'b' }
      ]
    },
    { cached_content: 'cachedContents/1' },
    { cachedContent: 'cachedContents/1' },
    { modalities: ['text', 'audio'], audio: { format: 'wav', voice: { id: 'voice_1' } } }
  ].flatMap(parts => waysOf('chat', parts)),
  ...[
    { messages: [user({ type: 'document', source: { type: 'file', file_id: 'file_1' } })] },
    { messages: [user({ type: 'container_upload', file_id: 'file_1' })] },
    { tools: [{ type: 'code_execution_20250825', name: 'code', x: { skill_id: 's' } }] }
  ].flatMap(parts => waysOf('messages', parts)),
  ...[
    { input: [user({ type: 'input_file', file_id: 'file-1' })] },
    { input: [user({ type: 'input_image', file_id: 'file-1' })] },
    { input: [user({ type: 'input_text', text: 'a' }), { type: 'image_generation_call', id: 'ig_1' }] },
    { input: [user(pdf), { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1', code: 'a' }] },
    { input: [user({ type: 'input_image', image_url: 'gs://bucket/vs_1' })] },
    {
      input: [
        user(pdf),
        { type: 'additional_tools', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }
      ]
    }
  ].flatMap(parts => waysOf('responses', parts)),
  ...['voice_1', { id: 'mine' }].map(voice => ({
    title: `custom voice ${JSON.stringify(voice)}`,
    path: '/v1/audio/speech',
    body: { model: 'openai/gpt-4o-mini-tts', input: 'a', voice }
  })),
  {
    title: 'a document at the provider',
    path: '/v1/ocr',
    body: {
      model: 'mistral/mistral-ocr-latest',
      document: { document_url: 'https://api.mistral.ai/v1/files/1/content' }
    }
  }
]

t.test('every endpoint that sends requests to a provider has a row', async t => {
  const paths = endpointDocs
    .filter(({ method, path }) => method === 'POST' && !path.startsWith('/admin'))
    .map(({ path }) => path)
  t.same(paths.toSorted(), Object.keys(endpoints).toSorted())
})

t.test(
  "a key without the right cannot use objects in the gateway's provider account",
  async t => {
    const ask = await world(t)
    for (const { title, path, body, isTranslated } of objects) {
      const answer = await ask('plain', path, body)
      if (isTranslated === true && answer.status !== 403) {
        t.notMatch(answer.sent, /(?:file|cntr|ci|ig|vs)[-_]1|skill/, `${title}: a translation leaves it out`)
      } else {
        t.match(answer, { status: 403, isSent: false, text: /may not use what is stored/ }, title)
      }
      // A request sent in the background would be counted with the next one.
      if (!title.includes('background')) {
        t.not((await ask('may', path, body)).status, 403, `${title}, for a key that may`)
      }
    }
    const inline = {
      model: 'openai/gpt-4.1',
      messages: [
        user({
          type: 'file',
          file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' }
        })
      ]
    }
    t.match(
      await ask('plain', '/v1/chat/completions', inline),
      { status: 400, isSent: true },
      'an inline file'
    )
  }
)

t.test('items with an object id are left out of translations, and need no right there', async t => {
  const ask = await world(t)
  const items = [
    user({ type: 'input_text', text: 'a' }),
    { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1', code: 'print(1)', outputs: [] },
    { type: 'image_generation_call', id: 'ig_1', status: 'completed' },
    user({ type: 'input_text', text: 'b' })
  ]
  const body = { model: 'anthropic/claude-sonnet-4-5', input: items }
  const answer = await ask('plain', '/v1/responses', { ...body, store: false })
  t.match(answer, { status: 400, isSent: true })
  t.notMatch(answer.sent, /cntr_1|ci_1|ig_1/)
  t.match(
    await ask('plain', '/v1/responses', { ...body, input: items.toSpliced(2, 1) }),
    { status: 403, isSent: false, text: /input\[1\]\.container_id.*`store: false`/ },
    'a stored response could be continued at a provider that gets it as written'
  )
  t.match(
    await ask('plain', '/v1/responses', { ...body, model: 'openai/gpt-4.1', store: false }),
    { status: 403, isSent: false, text: /^(?!.*store: false).*input\[2\]\.id/ }
  )
  const edited = { role: 'assistant', content: [{ type: 'container_upload', file_id: 'file_1' }] }
  t.match(
    await ask('plain', '/v1/messages', {
      model: 'anthropic/claude-sonnet-4-5',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'a' }, edited]
    }),
    { status: 403, isSent: false, text: /messages\[1\]\.content\[0\]\.file_id/ }
  )
})

t.test('an address at the provider is an object there, also where no translation has it', async t => {
  const ask = await world(t)
  const text = { type: 'input_text', text: 'a' }
  const call = { type: 'computer_call', id: 'cu_1', call_id: 'c', action: { type: 'screenshot' } }
  for (const url of ['gs://bucket/a.png', 'https://api.openai.com/v1/files/file-1/content']) {
    const image = user({ type: 'input_image', image_url: url })
    const output = { type: 'computer_screenshot', image_url: url }
    const shot = { type: 'computer_call_output', call_id: 'c', output }
    for (const [input, param] of [
      [[image], 'input\\[0\\].content\\[0\\].image_url'],
      [[image, { type: 'of_the_future', content: 'a' }], 'input\\[0\\].content\\[0\\].image_url'],
      [[user(text), call, shot], 'input\\[2\\].output.image_url']
    ] as const) {
      const answer = await ask('plain', '/v1/responses', { model: 'openai/gpt-4.1', input })
      const said = new RegExp(`${param}: .*may not use what is stored`)
      t.match(answer, { status: 403, isSent: false, text: said })
    }
  }
})

t.test('provider tools are limited to the models, servers and budget of the key', async t => {
  const ask = await world(t)
  const rows: ReadonlyArray<readonly [key: string, dialect: 'messages' | 'responses', tool: object]> = [
    ['narrow', 'responses', { type: 'image_generation', model: 'gpt-image-1' }],
    ['narrow', 'responses', { type: 'image_generation' }],
    ['narrow', 'responses', { type: 'teleport' }],
    ['budget', 'responses', { type: 'code_interpreter', container: { type: 'auto' } }],
    ['budget', 'responses', { type: 'teleport' }],
    ['narrow', 'messages', { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-1' }],
    ['narrow', 'messages', { type: 'mcp_toolset', mcp_server_name: 'a' }],
    ['budget', 'messages', { type: 'code_execution_20250825', name: 'code' }],
    ['budget', 'messages', { type: 'teleport_20270101', name: 't' }]
  ]
  for (const [key, dialect, tool] of rows) {
    const [model] = spoken[dialect]
    const places =
      dialect === 'messages'
        ? [{ tools: [tool] }]
        : [
            { tools: [tool] },
            { input: [user({ type: 'input_text', text: 'a' }), { type: 'additional_tools', tools: [tool] }] }
          ]
    for (const parts of places) {
      for (const { title, path, body } of waysOf(dialect, parts).filter(
        ({ body }) => 'model' in body && body.model === model
      )) {
        // With MCP servers a request is translated, which drops the tool.
        if (title.includes('with tool servers')) continue
        t.match(await ask(key, path, body), { status: 403, isSent: false }, `${key}: ${title}`)
      }
    }
  }
  t.match(
    await ask('narrow', '/v1/responses', {
      model: 'openai/gpt-4.1',
      input: 'hi',
      tools: [{ type: 'web_search' }]
    }),
    { status: 400, isSent: true }
  )
})

t.test('tools that a translation left out are checked when the stored response is continued', async t => {
  const json = { 'content-type': 'application/json' }
  const message = {
    id: 'msg_1', type: 'message', role: 'assistant', model: 'c', content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 }
  }
  const upstream = await fakeUpstream(({ path }) => path.includes('messages')
    ? { headers: json, pieces: [JSON.stringify(message)] }
    : { status: 400, headers: json, pieces: ['{"error":{"message":"no","type":"invalid_request_error"}}'] })
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  const providers = [
    upstreamAt(upstream.url, 'openai'), upstreamAt(upstream.url, 'anthropic', 'anthropic')
  ]
  const api = await testGateway(t, { providers }, keys, { database })
  t.teardown(database.close)
  const init = { headers: { authorization: 'Bearer narrow' } }
  const tools = [{ type: 'image_generation', model: 'gpt-image-1' }]
  const input = [user({ type: 'input_text', text: 'a' }), { type: 'additional_tools', tools }]
  const first = { model: 'anthropic/claude-sonnet-4-5', input }
  const { id } = await (await api.post('/v1/responses', first, init)).json() as { id: string }
  t.equal(upstream.requests.length, 1)
  const listed = await (await api.get(`/v1/responses/${id}/input_items`, init)).json() as {
    data: ReadonlyArray<{ id: string, type: string }>
  }
  const added = listed.data.find(({ type }) => type === 'additional_tools')
  const more = [{ type: 'item_reference', id: added?.id }, user({ type: 'input_text', text: 'b' })]
  for (const [parts, param] of [
    [{ previous_response_id: id, input: 'b' }, 'previous_response_id'], [{ input: more }, 'input']
  ] as const) {
    const response = await api.post('/v1/responses', { model: 'openai/gpt-4.1', ...parts }, init)
    t.equal(response.status, 403)
    t.match(await response.json(), { error: { param, message: /may not use the model `gpt-image-1`/ } })
  }
  t.equal(upstream.requests.length, 1)
})

t.test("caller headers are sent with the gateway's credential only if they choose no account", async t => {
  const upstream = await fakeUpstream({
    status: 400,
    headers: { 'content-type': 'application/json' },
    pieces: ['{"error":{"message":"no","type":"invalid_request_error"}}']
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(upstream.url, 'openai'), upstreamAt(upstream.url, 'anthropic', 'anthropic')]
  })
  const headers = {
    'openai-organization': 'org',
    'x-openai-organization': 'org',
    'openai-new-account': 'a',
    'anthropic-account': 'a',
    'anthropic-workspace-id': 'w',
    'openai-beta': 'responses=v1',
    'anthropic-beta': 'b-1',
    'anthropic-version': '2023-06-01'
  }
  const namesAfter = async (path: string, body: object, more: object = {}): Promise<string[]> => {
    await (await api.post(path, body, { headers: { ...headers, ...more } })).text()
    return Object.keys(upstream.requests.at(-1)?.headers ?? {})
      .filter(name => name in headers)
      .toSorted()
  }
  const [response, message] = [
    { model: 'openai/gpt-4.1', input: 'hi' },
    { model: 'anthropic/claude-sonnet-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  ]
  t.same(await namesAfter('/v1/responses', response), ['openai-beta'])
  t.same(await namesAfter('/v1/messages', message), ['anthropic-beta', 'anthropic-version'])
  t.ok(
    (await namesAfter('/v1/responses', response, { 'x-provider-key': 'sk-mine' })).includes(
      'openai-organization'
    ),
    'a caller with a key may choose'
  )
})
