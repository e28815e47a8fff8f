import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { responsesDialect } from '../../lib/dialects/responses/index.ts'
import { chatAddresses, checkAddresses, type Resolve } from '../../lib/stages/check-addresses.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { openaiScript } from '../support/openai-responses.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { collect, routedCall } from '../support/stages.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'
import type { PassThroughStage } from '../../lib/pipeline/stage.ts'
import { providerKinds, type ProviderKind } from '../../schemas/providers.ts'

const known: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['1.1.1.1'],
  'mixed.test': ['1.1.1.1', '10.0.0.1'],
  'inner.test': ['192.168.1.5'],
  localhost: ['127.0.0.1', '::1'],
  'vllm': ['172.18.0.2'],
  'api.test': ['1.0.0.1']
}

/** Resolves the names of a test; an address resolves to itself. */
const resolve: Resolve = async name => {
  const found = known[name] ?? (/^[\d.]+$|:/.test(name) ? [name] : undefined)
  if (found === undefined) throw new Error('ENOTFOUND')
  return found
}

const unused: Resolve = async name => await Promise.reject(new Error(`${name} was looked up`))

function withImages (...urls: string[]): ChatInput {
  return {
    model: 'one/m',
    messages: [{ role: 'user', content: urls.map(url => ({ type: 'image_url', image_url: { url } })) }]
  }
}

function withFile (data: string): ChatInput {
  return {
    model: 'one/m',
    messages: [
      { role: 'system', content: 'x' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'file', file: { file_data: data } }
        ]
      }
    ]
  }
}

function providerAt (kind: ProviderKind, baseUrl: string): ProviderSettings {
  return { ...providerSettings('one', kind), baseUrl }
}

const vllm = providerAt('vllm', 'http://vllm:8000/v1')
/** Gets requests of the Responses API unchanged. */
const directVllm: ProviderSettings = { ...vllm, quirks: { responsesApi: true } }
const unreachable = { send: async () => await Promise.reject(new Error('nothing may be sent')) }

function checksOf (
  provider: ProviderSettings, allowedHosts: string[], lookUp: Resolve
): PassThroughStage<RoutedCall<ChatInput>> {
  const providers = new Map([[provider.id, createProvider(provider, unreachable)]])
  return checkAddresses(
    { settings: { providers: [provider], tools: { allowedHosts } }, providers },
    chatAddresses,
    responsesDialect(),
    lookUp
  )
}

async function check (
  request: ChatInput,
  provider: ProviderSettings = vllm,
  allowedHosts: string[] = [],
  stage = checksOf(provider, allowedHosts, resolve)
): Promise<unknown> {
  const call = routedCall(request)
  try {
    const [passed] = await collect(stage(once(call)))
    return passed === call ? 'passed' : 'changed'
  } catch (error) {
    return error instanceof GatewayError && error.code === 'invalid_value' ? error.param : error
  }
}

const refusedUrls = [
  'http://169.254.169.254/latest/meta-data',
  'http://127.0.0.1:8080/',
  'http://10.0.0.1/a.png',
  'http://[::1]/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://[::ffff:10.0.0.1]/',
  'http://localhost/a.png',
  'http://inner.test/',
  'https://mixed.test/a.png',
  'http://unknown.test/',
  'http://user@127.0.0.1/',
  'file:///etc/passwd',
  'ftp://1.1.1.1/a',
  '//127.0.0.1/a.png',
  ' http://127.0.0.1/',
  'HTTP://127.0.0.1/',
  'http:127.0.0.1',
  'http://'
]

t.test('a configured server is not sent an address that is not public', async t => {
  for (const url of refusedUrls) {
    t.equal(
      await check(withImages('https://public.test/a.png', url)),
      'messages[0].content[1].image_url.url',
      url
    )
    t.equal(await check(withFile(url)), 'messages[1].content[1].file.file_data', `${url} as a file`)
  }
})

t.test('public addresses and inline data pass', async t => {
  for (const url of [
    'https://public.test/a.png',
    'http://1.1.1.1/',
    'https://[2606:4700::1111]/',
    'data:image/png;base64,AAAA',
    'AAAA'
  ]) {
    t.equal(await check(withImages(url)), 'passed', url)
    t.equal(await check(withFile(url)), 'passed', `${url} as a file`)
  }
  t.equal(
    await check({ model: 'one/m', messages: [{ role: 'user', content: 'http://127.0.0.1/' }] }),
    'passed',
    'text'
  )
})

t.test('the configuration allows hosts and ranges', async t => {
  t.equal(await check(withImages('http://inner.test/'), vllm, ['inner.test']), 'passed')
  t.equal(await check(withImages('http://inner.test/'), vllm, ['192.168.0.0/16']), 'passed')
  t.equal(
    await check(withImages('http://inner.test:81/'), vllm, ['inner.test:80']),
    'messages[0].content[0].image_url.url'
  )
})

t.test('configured servers are recognised by their kind or their address', async t => {
  const inner = withImages('http://10.0.0.1/')
  for (const kind of ['vllm', 'ollama', 'sglang', 'llama.cpp', 'lm-studio'] as const) {
    t.type(await check(inner, providerAt(kind, 'https://api.test/v1')), 'string', kind)
    t.not(await check(inner, providerAt(kind, 'https://api.test/v1')), 'passed', kind)
  }
  for (const baseUrl of [
    'http://vllm:8000/v1',
    'http://127.0.0.1:8000',
    'http://[fd00::1]/v1',
    'http://unknown.test/v1'
  ]) {
    t.not(await check(inner, providerAt('openai-compatible', baseUrl)), 'passed', baseUrl)
  }
  t.equal(
    await check(inner, providerAt('openai-compatible', 'https://api.test/v1')),
    'passed',
    'a service on the internet'
  )
  t.equal(await check(inner, providerAt('openai', 'https://api.test/v1')), 'passed')
})

t.test('a server of any kind is checked if it is at an address of the operator', async t => {
  const inner = withImages('http://10.0.0.1/')
  for (const kind of providerKinds) {
    const { baseUrl, inProcess, traits } = kinds[kind]
    if (inProcess !== undefined) continue
    t.equal(
      await check(inner, providerAt(kind, 'http://vllm:8000')),
      kind === 'azure-openai' ? 'passed' : 'messages[0].content[0].image_url.url',
      kind
    )
    if (baseUrl === undefined || traits?.network === 'internal') continue
    t.equal(
      await check(inner, providerAt(kind, baseUrl), [], checksOf(providerAt(kind, baseUrl), [], unused)),
      'passed',
      `${kind} at its own address, which is not looked up`
    )
  }
})

t.test('fields that agents add pass to a service at an address of the operator', async t => {
  const openai = providerAt('openai', 'http://vllm:8000')
  const request = (fields: object): ChatInput => ({
    model: 'one/m', messages: [], asWritten: { input: [], ...fields }
  })
  t.equal(await check(request({ client_metadata: { window: 'window:0' } }), openai), 'passed')
  const output = { type: 'computer_call_output', output: { image_url: 'http://10.0.0.5/' } }
  t.equal(
    await check(request({ input: [output] }), openai), 'input[0].output.image_url', 'but no address of media'
  )
})

t.test('a server whose name cannot be resolved is internal until the next call', async t => {
  const inner = withImages('http://10.0.0.1/')
  const provider = providerAt('openai-compatible', 'https://api.test/v1')
  const lookups: string[] = []
  const stage = checksOf(provider, [], async name => {
    lookups.push(name)
    return lookups.length === 1 ? await Promise.reject(new Error('EAI_AGAIN')) : await resolve(name)
  })
  const ask = async (): Promise<unknown> => await check(inner, provider, [], stage)
  t.equal(await ask(), 'messages[0].content[0].image_url.url')
  t.equal(await ask(), 'passed')
  t.equal(await ask(), 'passed')
  t.strictSame(lookups.filter(name => name === 'api.test'), ['api.test', 'api.test'], 'then it is known')
})

t.test('one request may name 16 hosts', async t => {
  const urls = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `http://1.1.1.${index}/`)
  t.equal(await check(withImages(...urls(16), ...urls(16))), 'passed')
  t.equal(await check(withImages(...urls(17))), 'messages[0].content[16].image_url.url')
  t.equal(
    await check(withImages(...urls(16), 'http://unknown.test/')),
    'messages[0].content[16].image_url.url',
    'a name that is one too many is not looked up: nothing would wait for its failure'
  )
})

/**
 * Returns a request of the Responses API for a server of that dialect; the translated conversation is empty.
 */
function asWritten (...input: object[]): ChatInput {
  return { model: 'one/m', messages: [], asWritten: { model: 'one/m', input } }
}

t.test(
  "a server that gets the caller's own body is not sent an address found only there",
  async t => {
    const inner = 'http://10.0.0.5/a'
    const rows: ReadonlyArray<readonly [param: string, item: object]> = [
      ['file_url', { role: 'user', content: [{ type: 'input_file', file_url: inner }] }],
      ['image_url', { role: 'user', content: [{ type: 'input_image', image_url: inner }] }],
      [
        'file_data',
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_data: inner }] }
      ],
      [
        'image_url',
        {
          type: 'computer_call_output',
          call_id: 'c',
          output: { type: 'computer_screenshot', image_url: inner }
        }
      ],
      ['video_url', { role: 'user', content: [{ type: 'input_video', video_url: inner }] }],
      ['url', { type: 'of_the_future', things: [[{ image_url: { url: inner } }]] }]
    ]
    for (const [param, item] of rows) {
      const request = asWritten({ role: 'user', content: 'hi' }, item, {
        role: 'user',
        content: [{ type: 'input_image', image_url: 'https://public.test/a' }]
      })
      t.match(await check(request, directVllm), param, JSON.stringify(item))
      t.equal(
        await check(request, directVllm, ['10.0.0.5']),
        'passed',
        'an address that the operator allows'
      )
      t.equal(await check(request), 'passed', 'a server that gets the conversation')
      t.equal(
        await check(request, {
          ...providerAt('openai-compatible', 'https://api.test/v1'),
          quirks: { responsesApi: true }
        }),
        'passed',
        'a service on the internet'
      )
    }
    t.equal(
      await check(asWritten({ content: [{ type: 'input_file', file_url: inner }] }), directVllm),
      'input[0].content[0].file_url',
      'the error says where it is'
    )
    t.equal(
      await check({ ...withImages(inner), asWritten: { input: [] } }, directVllm),
      'messages[0].content[0].image_url.url',
      'both are looked through'
    )
  }
)

t.test(
  'in a body passed on unchanged, an address is found in any spelling and field',
  async t => {
    const spellings = [
      'ht\ttp://10.0.0.5/',
      '\u0001http://10.0.0.5/',
      '\nfile:///etc/passwd',
      ' //10.0.0.5/',
      'http://1.1.1.1\\@10.0.0.5/',
      `h${'\n'.repeat(9000)}ttp://10.0.0.5/`
    ]
    const rows: ReadonlyArray<readonly [param: string, item: (text: string) => object]> = [
      ['image_url', text => ({ role: 'user', content: [{ type: 'input_image', image_url: text }] })],
      [
        'data',
        text => ({
          role: 'user',
          content: [{ type: 'input_audio', input_audio: { data: text, format: 'wav' } }]
        })
      ],
      ['of_the_future', text => ({ type: 'x', of_the_future: text })],
      ['of_the_future', text => ({ type: 'x', of_the_future: [[text]] })],
      ['image_urls', text => ({ type: 'x', image_urls: ['AAAA', text] })],
      ['source', text => ({ type: 'input_image', source: text })]
    ]
    for (const [param, item] of rows) {
      for (const text of spellings) {
        t.match(
          await check(asWritten(item(text)), directVllm),
          param,
          JSON.stringify([param, text.slice(0, 30)])
        )
      }
    }
    for (const [param, item] of rows.slice(0, 2)) {
      for (const text of ['/etc/passwd.png', 'a.png', '127.0.0.1/a', ' data:image/png;base64,AAAA']) {
        t.match(await check(asWritten(item(text)), directVllm), param, text)
      }
    }
    for (const text of ['note: an answer', 'a b', 'http://10.0.0.5/a']) {
      t.equal(
        await check(
          asWritten(
            { role: 'user', content: text },
            { type: 'function_call_output', call_id: 'functions.f:0', output: text }
          ),
          directVllm
        ),
        'passed',
        text
      )
      t.equal(
        await check(
          asWritten({ type: 'document', source: { type: 'text', data: text, media_type: 'text/plain' } }),
          directVllm
        ),
        'passed',
        text
      )
    }
  }
)

t.test('a server may be sent data that describes or records an address', async t => {
  const url = 'http://10.0.0.5/a'
  const request = asWritten(
    { role: 'user', content: [{ type: 'input_text', text: url }] },
    {
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', sources: [{ type: 'url', url }] }
    },
    {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'x', annotations: [{ type: 'url_citation', url }] }]
    }
  )
  const tools = [{ type: 'function', name: 'f', parameters: { properties: { u: { examples: [{ url }] } } } }]
  t.equal(
    await check({ ...request, asWritten: { ...request.asWritten, tools, metadata: { url } } }, directVllm),
    'passed'
  )
})

t.test(
  'a Responses API request with an internal address is a 400, and the server is not called',
  async t => {
    const upstream = await fakeUpstream(openaiScript)
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`, 'vllm', 'vllm', { quirks: { responsesApi: true } })],
      tools: { ...settings().tools, allowedHosts: ['127.0.0.2'] }
    })
    const ask = async (url: string): Promise<Response> =>
      await api.post('/v1/responses', {
        model: 'vllm/m',
        store: false,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
              { type: 'input_file', file_url: url }
            ]
          }
        ]
      })
    const answer = await ask('http://169.254.169.254/latest')
    t.equal(answer.status, 400)
    t.match(await answer.json(), {
      error: { code: 'invalid_value', param: 'input[0].content[1].file_url', message: /is not public/ }
    })
    t.equal(upstream.requests.length, 0)
    t.equal((await ask('http://127.0.0.2/a.pdf')).status, 200)
    t.match(upstream.requests.at(-1)?.text, 'http://127.0.0.2/a.pdf')
  }
)

t.test('a call with an internal address is a 400, and the server is not called', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'vllm', 'vllm')],
    tools: { ...settings().tools, allowedHosts: ['127.0.0.2'] }
  })
  const ask = async (url: string): Promise<Response> =>
    await api.post('/v1/chat/completions', {
      model: 'vllm/m',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
    })
  const answer = await ask('http://169.254.169.254/latest')
  t.equal(answer.status, 400)
  t.match(await answer.json(), {
    error: { code: 'invalid_value', param: 'messages[0].content[0].image_url.url', message: /is not public/ }
  })
  t.equal(upstream.requests.length, 0)
  for (const url of ['http://127.0.0.2/a.png', 'http://1.1.1.1/a.png', 'data:image/png;base64,AAAA']) {
    t.equal((await ask(url)).status, 200, url)
    t.match(upstream.requests.at(-1)?.text, url)
  }
})

const inner = 'https://169.254.169.254/latest'

/** Requests with an internal address, by endpoint, and the parameter that the error names. */
const innerRequests: ReadonlyArray<readonly [path: string, model: string, body: object, param: string]> = [
  ...['anthropic/m', 'openai/m', 'mistral/m', 'google/m'].map(model => [
    '/v1/chat/completions',
    model,
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: inner } }] }] },
    'messages[0].content[0].image_url.url'
  ] as const),
  ...['/v1/messages', '/v1/messages/count_tokens'].map(path => [
    path,
    'anthropic/m',
    {
      ...path.endsWith('messages') && { max_tokens: 9 },
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: inner } }] }]
    },
    'messages[0].content[0].source'
  ] as const),
  ...['/v1/responses', '/v1/responses/input_tokens'].map(path => [
    path,
    'openai/m',
    {
      ...path.endsWith('responses') && { store: false },
      input: [{ role: 'user', content: [{ type: 'input_file', file_url: inner }] }]
    },
    'input[0].content[0].file_url'
  ] as const),
  ['/v1/ocr', 'mistral/m', { document: { document_url: inner } }, 'document'],
  ['/v1/ocr', 'mistral/m', { document: { type: 'image_url', image_url: { url: inner } } }, 'document']
]

t.test('no endpoint sends an internal address to a server of the operator', async t => {
  const upstream = await fakeUpstream({ status: 418, pieces: ['{}'] })
  t.teardown(upstream.close)
  const start = async (allowedHosts: string[]): Promise<TestGateway> =>
    await testGateway(t, {
      providers: (['anthropic', 'openai', 'mistral', 'google'] as const).map(kind =>
        upstreamAt(upstream.url, kind, kind)),
      tools: { ...settings().tools, allowedHosts }
    })
  const api = await start([])
  const lenient = await start(['169.254.169.254'])
  for (const [path, model, body, param] of innerRequests) {
    const answer = await api.post(path, { model, ...body })
    const text = await answer.text()
    t.equal(answer.status, 400, `${path} ${model}`)
    t.match(text, 'is not public', `${path} ${model}`)
    t.match(text, param, `${path} ${model}`)
    t.equal(upstream.requests.length, 0, `${path} ${model}`)
    await lenient.post(path, { model, ...body })
    t.match(upstream.requests.at(-1)?.text, inner, `${path} ${model}: an address that the operator allows`)
    upstream.requests.length = 0
  }
})

t.test('addresses in records of tools and searches pass in a body that is sent unchanged', async t => {
  const upstream = await fakeUpstream({ status: 418, pieces: ['{}'] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: (['anthropic', 'openai'] as const).map(kind => upstreamAt(upstream.url, kind, kind))
  })
  const url = 'http://127.0.0.1:3000/a'
  const toolUse = { type: 'tool_use', id: 't1', name: 'fetch', input: { url, note: 'Note: x' } }
  const output = [{ type: 'text', text: url }]
  await api.post('/v1/messages', {
    model: 'anthropic/m',
    max_tokens: 9,
    tools: [{ name: 'fetch', input_schema: { type: 'object' }, input_examples: [{ url }] }],
    messages: [
      { role: 'user', content: [{ type: 'search_result', source: url, title: 'x', content: output }] },
      { role: 'assistant', content: [toolUse] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: output }] }
    ]
  })
  t.match(upstream.requests.at(-1)?.text, url)
  await api.post('/v1/responses', {
    model: 'openai/m',
    store: false,
    input: [
      { role: 'user', content: 'x' },
      { type: 'shell_call', call_id: 'c', action: { commands: [`curl ${url}`] } },
      {
        type: 'shell_call_output',
        call_id: 'c',
        output: [{ stdout: url, stderr: 'curl: done', outcome: { type: 'exit', exit_code: 0 } }]
      }
    ]
  })
  t.match(upstream.requests.at(-1)?.text, url)
})

t.test('an address in an item that only servers of the dialect read is named in the request', async t => {
  const answer = {
    id: 'resp_1', object: 'response', status: 'completed', store: false,
    output: [
      { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  }
  const upstream = await fakeUpstream({ pieces: [JSON.stringify(answer)] })
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  const api = await testGateway(t, { providers: [upstreamAt(upstream.url)] }, undefined, { database })
  t.teardown(database.close)
  const ask = async (request: object): Promise<Response> =>
    await api.post('/v1/responses', { model: 'openai/m', ...request })
  const { id } = await (await ask({ input: 'a' })).json() as { id: string }
  const shot = { type: 'computer_screenshot', image_url: inner }
  const input = [
    { type: 'computer_call', id: 'cu_1', call_id: 'c', action: { type: 'screenshot' } },
    { type: 'computer_call_output', call_id: 'c', output: shot }
  ]
  for (const more of [{}, { previous_response_id: id }]) {
    const response = await ask({ ...more, input: [{ role: 'user', content: 'b' }, ...input] })
    t.match(await response.json(), { error: { param: 'input[2].output.image_url' } })
  }
  t.equal(upstream.requests.length, 1)
})
