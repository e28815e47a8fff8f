import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { raw, requestText } from '../support/raw.ts'
import { settles, until } from '../support/until.ts'
import { Secret } from '../../lib/core/secret.ts'
import { settings } from '../support/settings.ts'
import type { FakeUpstream } from '../support/upstream.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const path = '/v1/chat/completions'
const question = { model: 'openai/gpt-5', messages: 'hi' }

interface Started { readonly upstream: FakeUpstream, readonly api: TestGateway }

async function start (
  t: Test,
  script: Script | ((request: SeenRequest, number: number) => Script | Promise<Script>),
  provider: Partial<ProviderSettings> = {},
  parts: Partial<Settings> = {}
): Promise<Started> {
  const upstream = await fakeUpstream(script)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', provider)],
    ...parts
  })
  t.teardown(upstream.close)
  return { upstream, api }
}

/** Answers as requested, streamed or complete. */
function answering (texts: readonly string[]): (request: SeenRequest) => Script {
  return request => isStreamed(request)
    ? { headers: eventStream, pieces: chatFrames(texts) }
    : { pieces: [chatAnswer(texts.join(''))] }
}

function isStreamed ({ json }: SeenRequest): boolean {
  return Reflect.get(Object(json), 'stream') === true
}

async function json (response: Response): Promise<Record<string, unknown>> {
  return await response.json() as Record<string, unknown>
}

t.test("complete and streamed answers have the same content, under the gateway's own name", async t => {
  const { upstream, api } = await start(t, answering(['Hel', 'lo']))
  const complete = await api.post(path, question)
  t.equal(complete.status, 200)
  t.match(complete.headers.get('content-type'), /^application\/json/)
  t.match(await json(complete), {
    id: /^chatcmpl-/,
    object: 'chat.completion',
    created: Number,
    model: 'openai/gpt-5',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hello', refusal: null }, finish_reason: 'stop' }
    ],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
  })
  const streamed = await api.post(path, {
    ...question,
    stream: true,
    stream_options: { include_usage: true }
  })
  t.equal(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.match(streamed.headers.get('cache-control'), 'no-cache')
  const text = await streamed.text()
  t.match(text, /"content":"Hel"/)
  t.match(
    text,
    /"usage":\{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5\}\}\n\ndata: \[DONE\]\n\n$/
  )
  t.equal(upstream.requests.length, 2)
  t.match(upstream.requests[0]?.json, { model: 'gpt-5', messages: [{ role: 'user', content: 'hi' }] })
  t.notOk('authorization' in (upstream.requests[0]?.headers ?? {}), 'the caller\'s key goes no further')
})

t.test(
  'pads a stream and reports its usage on request, and ignores both options for complete answers',
  async t => {
    const { upstream, api } = await start(t, answering(['Hel', 'lo']))
    const ask = async (more: object): Promise<string> =>
      await (await api.post(path, { ...question, ...more })).text()
    const options = { include_usage: true, include_obfuscation: true }
    const padded = await ask({ stream: true, stream_options: options })
    t.equal(padded.match(/"obfuscation":"[^"]+"/g)?.length, 4, 'the role, two words and the finish')
    t.match(padded, /"usage":\{/)
    t.notMatch(await ask({ stream: true }), /obfuscation|usage/)
    t.notMatch(await ask({ stream: true, stream_options: { include_usage: false } }), /usage/)
    for (const more of [
      { stream_options: options },
      { stream: false, stream_options: options },
      { stream: null, stream_options: null }
    ]) {
      t.match(JSON.parse(await ask(more)), { object: 'chat.completion', usage: { total_tokens: 4 } })
    }
    t.match(
      upstream.requests[1]?.json,
      { stream_options: { include_usage: true, include_obfuscation: false } },
      'for the usage records'
    )
    t.notOk('stream_options' in Object(upstream.requests.at(-1)?.json))
  }
)

t.test('headers that clients add have no effect', async t => {
  const { upstream, api } = await start(t, answering(['Hello']))
  const headers = {
    accept: 'application/json',
    'idempotency-key': 'stainless-node-retry-1',
    'x-stainless-retry-count': '2',
    'x-stainless-timeout': '60',
    'x-sdk-version': '1.0.0',
    'user-agent': 'Dedalus/JS'
  }
  for (const accept of ['application/json', 'audio/mpeg', 'nothing/here']) {
    const response = await api.post(path, { ...question, stream: true }, { headers: { ...headers, accept } })
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /event-stream/, 'the body decides')
    t.match(await response.text(), /DONE/)
  }
  t.notMatch(JSON.stringify(upstream.requests.map(({ headers }) => headers)), /stainless|Dedalus|audio/)
})

t.test(
  "every answer has an id, the gateway's processing time, and a log line without secrets",
  async t => {
    const { api } = await start(t, (_request, number) =>
      number === 0
        ? { headers: { 'x-request-id': 'up-7' }, pieces: [chatAnswer('Hi')] }
        : {
            status: 401,
            pieces: [JSON.stringify({ error: { message: 'Incorrect API key provided: sk-canary1234' } })]
          }
    )
    const good = await api.post(
      path,
      { ...question, messages: [{ role: 'user', content: 'canary-body' }], user: 'ada' },
      { headers: { 'x-request-id': 'mine-1' } }
    )
    t.equal(good.headers.get('x-request-id'), 'mine-1')
    t.equal(good.headers.get('x-upstream-request-id'), 'up-7')
    t.match(good.headers.get('x-headgate-overhead-ms'), /^\d+\.\d\d$/)
    const refused = await api.post(path, question, { headers: { 'x-request-id': 'bad id; drop' } })
    t.match(refused.headers.get('x-request-id'), /^[\da-f]{32}$/, 'an id that is not plain is replaced')
    t.equal(refused.status, 502)
    t.match(await json(refused), {
      error: { type: 'server_error', code: 'upstream_auth_failed', param: null }
    })
    t.equal(refused.headers.get('x-should-retry'), 'false')
    await api.post(path, question, { headers: { authorization: 'Bearer canary-key' } })
    await until(() => api.lines.length === 3, 'three lines in the log')
    t.match(api.lines, [
      {
        id: 'mine-1',
        key: 'key-1',
        endpoint: 'chat',
        requested: 'openai/gpt-5',
        model: 'openai/gpt-5',
        provider: 'openai',
        status: 200,
        outcome: 'ok',
        attempts: 1,
        usage: { total: 4 }
      },
      { status: 502, outcome: 'error', error: 'upstream_auth_failed' },
      { status: 401, error: 'invalid_api_key' }
    ])
    t.notMatch(JSON.stringify(api.lines), /canary|Bearer|My API Key/)
  }
)

t.test('keys are checked before anything else', async t => {
  const { upstream, api } = await start(t, answering(['x']))
  for (const headers of [
    { authorization: '' },
    { authorization: 'Basic abc' },
    { authorization: 'Bearer wrong' }
  ]) {
    const response = await api.post(path, '{bad json', { headers })
    t.equal(response.status, 401)
    t.match(await json(response), { error: { type: 'authentication_error', code: 'invalid_api_key' } })
  }
  const alternative = await api.post(path, question, { headers: { authorization: '', 'x-api-key': testKey } })
  t.equal(alternative.status, 200)
  t.equal(upstream.requests.length, 1)
})

t.test('fields that need no translation reach the provider exactly as the caller wrote them', async t => {
  const { upstream, api } = await start(t, answering(['ok']))
  const long = 'x'.repeat(8 * 1024) // shorter bodies are parsed and printed
  const messages = `[ {"role":"user","content":"${long} gr\\u00fc\u00dfe \u{1F680}"} ]`
  const tools =
    '[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{},"maximum":1.0}}}]'
  await api.post(
    path,
    `{"model":"openai/gpt-5","messages":${messages},"tools":${tools},"unheard":[1],"user":null}`
  )
  t.equal(upstream.requests[0]?.text, `{"model":"gpt-5","messages":${messages},"tools":${tools}}`)
  await api.post(
    path,
    '{"model":"openai/gpt-5","messages":[{"role":"user","role":"user","content":"' +
      long +
      '","unheard":1}]}'
  )
  t.equal(
    upstream.requests[1]?.text,
    `{"model":"gpt-5","messages":[{"role":"user","content":"${long}"}]}`,
    'what may be read in two ways is printed'
  )
})

t.test(
  'a developer message becomes a system message for a provider that does not know the role',
  async t => {
    const upstream = await fakeUpstream(answering(['Hi.']))
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: ['openai', 'deepseek'].map(kind =>
        upstreamAt(`${upstream.url}/v1`, kind, kind as 'openai' | 'deepseek')
      )
    })
    const long = 'x'.repeat(8 * 1024) // shorter bodies are parsed and printed
    const messages = `[ {"role":"developer","content":"Be br\\u0069ef."}, {"role":"user","content":"${long}"} ]`
    for (const model of ['openai/gpt-4o', 'deepseek/deepseek-chat']) {
      t.equal((await api.post(path, `{"model":"${model}","messages":${messages}}`)).status, 200)
    }
    t.equal(upstream.requests[0]?.text, `{"model":"gpt-4o","messages":${messages}}`)
    t.strictSame(Reflect.get(Object(upstream.requests[1]?.json), 'messages'), [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: long }
    ])
  }
)

t.test(
  'media in a body too large for the store is sent unchanged, other strings must be shorter',
  async t => {
    const large = {
      limits: { ...settings().limits, jsonBodyTotalBytes: 30_000_000, storedBodyBytes: 2_000_000 }
    }
    const { upstream, api } = await start(t, answering(['ok']), {}, large)
    const url = `data:image/png;base64,${'AbC+/'.repeat(500_000)}`
    const content = [{ type: 'image_url', image_url: { url } }]
    t.equal((await api.post(path, { ...question, messages: [{ role: 'user', content }] })).status, 200)
    t.ok(
      upstream.requests[0]?.text ===
        JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content }] })
    )
    const source = { type: 'base64', media_type: 'image/png', data: url.slice(url.indexOf(',') + 1) }
    t.equal(
      (
        await api.post('/v1/messages', {
          ...question,
          max_tokens: 9,
          messages: [{ role: 'user', content: [{ type: 'image', source }] }]
        })
      ).status,
      200
    )
    t.ok(upstream.requests[1]?.text.includes(url))
    const refused = await api.post(path, { ...question, messages: 'word '.repeat(3_400_000) })
    t.equal(refused.status, 413)
    t.match(await json(refused), {
      error: { code: 'file_too_large', message: /a string of more than 16 MB/ }
    })
    t.equal(upstream.requests.length, 2)
  }
)

t.test('an invalid body is refused with its own status', async t => {
  const { upstream, api } = await start(
    t,
    answering(['x']),
    {},
    { limits: { ...settings().limits, jsonBodyBytes: 20_000, jsonDepth: 8 } }
  )
  const row = async (
    body: string,
    status: number,
    expected: object,
    headers: Record<string, string> = {}
  ): Promise<void> => {
    const response = await api.post(path, body, { headers })
    t.equal(response.status, status, body.slice(0, 40))
    t.match(await json(response), expected)
  }
  await row('{bad', 400, { error: { code: 'invalid_json' } })
  await row('"text"', 400, { error: { code: 'invalid_json' } })
  await row('[]', 400, { error: { code: 'invalid_json' } })
  await row('', 400, { error: { code: 'invalid_json' } })
  await row('[['.repeat(10) + ']]'.repeat(10), 400, { error: { code: 'invalid_json', message: /deeper/ } })
  await row('x'.repeat(30_000), 413, { error: { code: 'file_too_large' } })
  await row(
    'a=b',
    415,
    { error: { code: 'unsupported_media_type' } },
    { 'content-type': 'application/x-www-form-urlencoded' }
  )
  await row('{}', 415, { error: { code: 'unsupported_media_type' } }, { 'content-encoding': 'compress' })
  await row('{}', 422, { detail: [{ loc: ['body', 'model'], type: 'missing' }] })
  await row('{"model":5,"temperature":3,"messages":[{}]}', 422, { detail: Array })
  await row(JSON.stringify({ ...question, mcp_servers: { url: `https://${'ü'.repeat(8192)}` } }), 422, {
    detail: [{ loc: ['body', 'mcp_servers'] }]
  })
  await row('{"model":"openai/gpt-5","messages":"x","top_logprobs":3}', 400, {
    error: { param: 'top_logprobs' }
  })
  await row('{"model":"openaj/gpt-5","messages":"x"}', 404, {
    error: { code: 'model_not_found', param: 'model', message: /openai\/gpt-5/ }
  })
  t.equal(upstream.requests.length, 0)
  const packed = await fetch(api.url + path, {
    method: 'POST',
    body: gzipSync(JSON.stringify(question)),
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'content-encoding': 'gzip' }
  })
  t.equal(packed.status, 200, 'a compressed body is read')
  const latin = await fetch(api.url + path, {
    method: 'POST',
    body: Buffer.from('{"model":"openai/gpt-5","messages":"caf\xe9"}', 'latin1'),
    headers: { 'x-api-key': testKey, 'content-type': 'application/json' }
  })
  t.equal(latin.status, 400, 'what is not UTF-8 is not guessed')
  t.match(await json(latin), { error: { code: 'invalid_json', message: 'The body is not UTF-8.' } })
  const bomb = await fetch(api.url + path, {
    method: 'POST',
    body: gzipSync(' '.repeat(1e6)),
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'content-encoding': 'gzip' }
  })
  t.equal(bomb.status, 413, 'within the limit of what it unpacks to')
})

t.test('unknown paths are 404, other methods 405, and only /livez needs no key', async t => {
  const { api } = await start(t, answering(['x']))
  const missing = await api.post('/v2/nothing', {})
  t.equal(missing.status, 404)
  t.match(await json(missing), { error: { code: 'not_found' } })
  const wrong = await api.get(path)
  t.equal(wrong.status, 405)
  t.match(wrong.headers.get('allow'), /POST/)
  t.match(await json(wrong), { error: { code: 'method_not_allowed' } })
  t.equal((await api.get('/v1/models/openai%2Fgpt-5')).status, 200)
  t.equal((await api.get('/v1/models/openai/gpt-5')).status, 200)
  t.equal((await api.get('/health', { headers: { authorization: '' } })).status, 401)
  t.same(await json(await api.get('/livez', { headers: { authorization: '' } })), { status: 'ok' })
  for (const other of ['/livez?deep=1', '/livez/', '/LIVEZ']) {
    t.equal((await api.get(other)).status, 200, other)
  }
  const headOnly = await fetch(`${api.url}/livez`, { method: 'HEAD' })
  t.same([headOnly.status, headOnly.headers.get('content-length'), await headOnly.text()], [200, '15', ''])
})

t.test('a slow body times out, and a caller over the limit can read the answer', async t => {
  const { api } = await start(
    t,
    answering(['x']),
    {},
    { limits: { ...settings().limits, bodyMs: 30, jsonBodyBytes: 1000 } }
  )
  const slow = await raw(t, api.url)
  slow.write(requestText('{"model":').replace('content-length: 9', 'content-length: 900'))
  const [bytes] = await once(slow, 'data') as [Buffer]
  t.match(bytes.toString(), /^HTTP\/1.1 408 /)
  await once(slow, 'close')

  const large = await raw(t, api.url)
  large.write(requestText('').replace('content-length: 0', 'content-length: 5000000'))
  large.write('x'.repeat(200_000))
  const [refusal] = await once(large, 'data') as [Buffer]
  t.match(refusal.toString(), /^HTTP\/1.1 413 /)
})

t.test('a provider sees that the caller disconnected, wherever the call is', async t => {
  const { upstream, api } = await start(t, request => {
    const text = JSON.stringify(request.json)
    if (text.includes('silent')) return { silent: true }
    const [head = '', first = ''] = chatFrames(['a'])
    return { headers: eventStream, pieces: text.includes('waiting') ? [head] : [head, first], then: 'stall' }
  })
  for (const [number, [messages, stream]] of (
    [
      ['silent', false],
      ['silent', true],
      ['waiting', true],
      ['speaking', true]
    ] as const
  ).entries()) {
    const leaving = new AbortController()
    const answer = api.post(path, { ...question, messages, stream }, { signal: leaving.signal })
    answer.catch(() => undefined)
    const seen = await upstream.request(number)
    if (messages === 'speaking') await (await answer).body?.getReader().read()
    leaving.abort()
    await settles(seen.aborted, `the provider to see it: ${messages} ${String(stream)}`)
  }
  await until(() => api.lines.length === 4, 'four lines in the log')
  t.ok(
    api.lines.every(line => line['outcome'] === 'client_closed' && line['error'] === 'client_closed_request')
  )
  t.ok(
    api.lines.every(line => line['level'] === 'info'),
    'it is no error of ours'
  )
  const half = await raw(t, api.url)
  half.write(requestText('{"model":').replace('content-length: 9', 'content-length: 900'))
  half.destroy()
  await until(() => api.lines.length === 5, 'five lines in the log')
  t.equal(api.lines[4]?.['outcome'], 'client_closed', 'before the body was there')
  t.equal(upstream.requests.length, 4)
})

t.test('a provider that fails midway ends the stream with a named error', async t => {
  for (const then of ['reset', 'fin', 'end'] as const) {
    let go = (): void => undefined
    const read = new Promise<void>(resolve => { go = resolve })
    const { api } = await start(t, {
      headers: eventStream,
      pieces: (async function * () {
        yield chatFrames(['a', 'b']).slice(0, 3).join('')
        await read // a reset may overtake what was sent before it
      })(),
      then
    })
    const response = await api.post(path, { ...question, stream: true })
    const reader = response.body?.getReader()
    let text = ''
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      text += Buffer.from(next.value).toString()
      go()
    }
    t.match(text, /"content":"b"/, then)
    t.match(
      text,
      /event: error\ndata: \{"error":\{"message":"[^"]+","type":"server_error","code":"upstream_stream_interrupted","param":null\}\}\n\n$/
    )
    t.notMatch(text, /DONE/)
    await until(() => api.lines.length === 1, 'one line in the log')
    t.match(api.lines[0], {
      outcome: 'error',
      error: 'upstream_stream_interrupted',
      usage: { estimated: true }
    })
  }
})

t.test('a stream that ends inside an event was interrupted', async t => {
  const [head = '', first = '', second = ''] = chatFrames(['a', 'b'])
  for (const pieces of [[head + first, second.slice(0, 40)], [head + first + second.slice(0, 40)]]) {
    const { api } = await start(t, { headers: eventStream, pieces })
    const text = await (await api.post(path, { ...question, stream: true })).text()
    t.match(text, /"content":"a".*event: error\n.*"code":"upstream_stream_interrupted"/s)
  }
  const early = await start(t, { headers: eventStream, pieces: [head.slice(0, 40)] })
  t.match(await json(await early.api.post(path, { ...question, stream: true })), {
    error: { code: 'upstream_stream_interrupted' }
  })
  const complete = await start(t, { headers: eventStream, pieces: [head + first.slice(0, 40)] })
  t.match(await json(await complete.api.post(path, question)), {
    error: { code: 'upstream_stream_interrupted' }
  })
  const wrong = await start(t, { headers: eventStream, pieces: ['data: {"id":\n\n'] })
  t.match(await json(await wrong.api.post(path, { ...question, stream: true })), {
    error: { code: 'upstream_invalid_response' }
  })
})

t.test('before visible output a failure becomes a status or another attempt', async t => {
  const error = 'data: {"error":{"message":"busy","code":503}}\n\n'
  const [head = ''] = chatFrames([])
  const twice = await start(t, (_request, number) => number === 0
    ? { headers: eventStream, pieces: [head, ': ping\n\n', error] }
    : { headers: eventStream, pieces: chatFrames(['ok']) }, { retries: 1 })
  const recovered = await twice.api.post(path, { ...question, stream: true })
  t.equal(recovered.status, 200)
  t.match(await recovered.text(), /"content":"ok"/)
  t.equal(recovered.headers.get('x-headgate-attempts'), '2')

  const once = await start(t, { headers: eventStream, pieces: [head, error] })
  const failed = await once.api.post(path, { ...question, stream: true })
  t.equal(failed.status, 503)
  t.equal(failed.headers.get('retry-after'), '1')
  t.match(await json(failed), { error: { code: 'upstream_overloaded' } })
})

t.test('a list of models is tried in order, each with its settings, until one answers', async t => {
  const said = {
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '1m30.951s'
  }
  const { upstream, api } = await start(t, request => {
    switch (Reflect.get(Object(request.json), 'model')) {
      case 'gpt-5':
        return {
          status: 429,
          headers: { 'retry-after': '7', ...said, 'x-ratelimit-limit-secrets': '1' },
          pieces: ['{"error":{"message":"slow down"}}']
        }
      case 'gpt-5-mini':
        return { status: 500, pieces: ['<html>oops'] }
      default:
        return { pieces: [chatAnswer('third')] }
    }
  })
  const response = await api.post(path, {
    messages: 'hi',
    verbosity: 'low',
    model: [
      'openai/gpt-5',
      { model: 'openai/gpt-5-mini', settings: { verbosity: 'high', seed: 7 } },
      { model: 'openai/unheard-of', settings: { seed: 9 } }
    ]
  })
  t.equal(response.status, 200)
  t.match(await json(response), { model: 'openai/unheard-of', choices: [{ message: { content: 'third' } }] })
  t.same(
    upstream.requests.map(({ json }) => [
      Reflect.get(Object(json), 'verbosity'),
      Reflect.get(Object(json), 'seed')
    ]),
    [
      ['low', undefined],
      ['low', 7],
      ['low', 9]
    ]
  )
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], {
    attempts: 3,
    failed_attempts: ['openai/gpt-5: rate_limit_exceeded', 'openai/gpt-5-mini: upstream_error']
  })
  const limited = await api.post(path, question)
  t.equal(limited.status, 429)
  t.equal(limited.headers.get('retry-after'), '7')
  t.same(Object.fromEntries([...limited.headers].filter(([name]) => name.startsWith('x-ratelimit-'))), said)
  t.equal(response.headers.get('x-ratelimit-limit-requests'), null, 'they are of the attempt that failed')
  t.match(await json(limited), { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } })
})

t.test('an answer in another form than requested is read anyway', async t => {
  const complete = chatAnswer('Hi')
  const stream = chatFrames(['Hi']).join('')
  const cases: Array<[string, Script, boolean]> = [
    ['JSON where a stream was requested', { pieces: [complete] }, true],
    ['JSON that calls itself a stream', { headers: eventStream, pieces: [`\n\n${complete}`] }, true],
    ['a stream where JSON was requested', { headers: eventStream, pieces: [stream] }, false],
    ['a stream that calls itself JSON', { pieces: [stream] }, true],
    ['a stream with a byte order mark', { headers: eventStream, pieces: [`\ufeff${stream}`] }, true],
    ['JSON after empty lines', { pieces: ['\n', '\n', '\n', complete] }, false],
    [
      'a compressed stream',
      { headers: { ...eventStream, 'content-encoding': 'gzip' }, pieces: [gzipSync(stream)] },
      true
    ],
    [
      'one byte at a time',
      { headers: eventStream, pieces: [...Buffer.from(stream)].map(byte => Buffer.of(byte)) },
      true
    ]
  ]
  for (const [name, script, streamed] of cases) {
    const { api } = await start(t, script)
    const response = await api.post(path, { ...question, stream: streamed })
    t.equal(response.status, 200, name)
    const text = await response.text()
    t.match(text, streamed ? /"content":"Hi".*DONE/s : /"content":"Hi"/, name)
  }
  const bad: Array<[string, Script]> = [
    ['HTML', { headers: { 'content-type': 'text/html' }, pieces: ['<html>gateway</html>'] }],
    ['nothing', {}],
    ['words', { pieces: ['ok'] }],
    ['half an answer', { pieces: [complete.slice(0, 40)] }],
    ['an error under status 200', { pieces: ['{"error":{"message":"no"}}'] }],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }]
  ]
  for (const [name, script] of bad) {
    for (const streamed of [true, false]) {
      const { api } = await start(t, script)
      const response = await api.post(path, { ...question, stream: streamed })
      t.equal(response.status, 502, `${name} ${String(streamed)}`)
      t.match(await json(response), { error: { type: 'server_error' } })
    }
  }
})

t.test('every kind of timeout becomes an error, before and after the first byte', async t => {
  const [head = '', first = ''] = chatFrames(['a'])
  const timeouts = upstreamAt('').timeouts
  const silent = await start(
    t,
    { silent: true },
    { timeouts: { ...timeouts, firstByteMs: 20, responseMs: 20 } }
  )
  for (const stream of [true, false]) {
    const response = await silent.api.post(path, { ...question, stream })
    t.equal(response.status, 504)
    t.match(await json(response), { error: { code: 'upstream_timeout' } })
  }
  const idle = await start(
    t,
    { headers: eventStream, pieces: [head + first], then: 'stall' },
    { timeouts: { ...timeouts, idleBytesMs: 20 } }
  )
  t.match(
    await (await idle.api.post(path, { ...question, stream: true })).text(),
    /event: error\n.*upstream_timeout/
  )
  const chatter = (async function* () {
    yield head + first
    for (;;) {
      yield ': keep-alive\n\n'
      await new Promise(resolve => { setImmediate(resolve) })
    }
  })()
  const busy = await start(
    t,
    { headers: eventStream, pieces: chatter },
    { timeouts: { ...timeouts, idleEventsMs: 20 } }
  )
  t.match(
    await (await busy.api.post(path, { ...question, stream: true })).text(),
    /event: error\n.*upstream_timeout/,
    'comments are no events'
  )
  const total = await start(
    t,
    { headers: eventStream, pieces: [head + first], then: 'stall' },
    {},
    { limits: { ...settings().limits, callMs: 2000 } }
  )
  t.match(
    await (await total.api.post(path, { ...question, stream: true })).text(),
    /event: error\n.*"code":"timeout"/
  )
})

t.test('callers who never read slow down the provider instead of filling memory', async t => {
  let written = 0
  const frame = chatFrames(['x'.repeat(64_000)])[1] ?? ''
  const { upstream, api } = await start(t, () => ({
    headers: eventStream,
    pieces: (async function * () {
      for (let n = 0; n < 4000; n++) {
        written += frame.length
        yield frame
      }
    })()
  }))
  const callers = 10
  const body = JSON.stringify({ ...question, stream: true })
  const rss = process.memoryUsage().rss
  const sockets = await Promise.all(Array.from({ length: callers }, async () => {
    const socket = await raw(t, api.url)
    socket.pause()
    socket.write(requestText(body))
    return socket
  }))
  await upstream.request(callers - 1)
  let before = -1
  while (before !== written) {
    before = written
    for (let turn = 0; turn < 300; turn++) await new Promise(resolve => { setImmediate(resolve) })
  }
  // The kernel buffers several megabytes for each of the two connections of a call.
  t.ok(
    written < callers * 40e6,
    `${Math.round(written / callers / 1e6)} of 256 MB each were taken from the provider`
  )
  t.ok(process.memoryUsage().rss - rss < callers * 40e6, 'and they are not in our memory')
  for (const socket of sockets) socket.destroy()
  await until(() => api.lines.length === callers, 'a line in the log for each call')
  t.ok(api.lines.every(line => line['outcome'] === 'client_closed'))
})

t.test('a closing gateway lets calls end, refuses new ones, and then aborts the rest', async t => {
  const [head = '', first = '', ...rest] = chatFrames(['a', 'b'])
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => { go = resolve })
  const { api, upstream } = await start(t, {
    headers: eventStream,
    pieces: (async function * () {
      yield head + first
      await opened
      yield rest.join('')
    })()
  })
  const reader = (await api.post(path, { ...question, stream: true })).body?.getReader()
  await reader?.read()
  const closed = api.gateway.close()
  const { hostname, port } = new URL(api.url)
  const isRefused = async (): Promise<boolean> => {
    const socket = connect(Number(port), hostname)
    const refused = await once(socket, 'connect').then(() => false, () => true)
    socket.destroy()
    return refused
  }
  await until(isRefused, 'no more connections')
  await t.rejects(api.post(path, question), 'no new connections')
  go()
  let text = ''
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    text += Buffer.from(next.value).toString()
  }
  t.match(text, /"content":"b".*DONE/s, 'the call in flight ends as it should')
  await closed
  await until(() => upstream.sockets() === 0, 'every connection to the provider to close')

  const stuck = await start(
    t,
    { headers: eventStream, pieces: [head + first], then: 'stall' },
    {},
    { server: { ...settings().server, drainMs: 20 } }
  )
  const waiting = await stuck.api.post(path, { ...question, stream: true })
  await stuck.api.gateway.close()
  t.match(await waiting.text(), /event: error\n.*shutting_down/)
})

t.test('a new configuration applies from the next call on, without dropping calls', async t => {
  const { api, upstream } = await start(t, answering(['old']))
  const other = await fakeUpstream(answering(['new']))
  t.teardown(other.close)
  const calls = Array.from({ length: 20 }, async () => await json(await api.post(path, question)))
  const reloaded = api.gateway.reload(settings({ providers: [upstreamAt(`${other.url}/v1`)] }))
  const after = await reloaded.then(async () => await json(await api.post(path, question)))
  t.match(after, { choices: [{ message: { content: 'new' } }] })
  for (const answer of await Promise.all(calls)) {
    t.match(answer, { choices: [{ message: { content: /old|new/ } }] })
  }
  await until(() => upstream.sockets() === 0, 'every connection to the provider to close')
})

t.test('a new configuration knows the models of its providers from its first call on', async t => {
  let list = (): void => undefined
  const listed = new Promise<void>(resolve => { list = resolve })
  const ollama = await fakeUpstream(async ({ path }) => {
    if (!path.endsWith('/models')) return { pieces: [chatAnswer('listed')] }
    await listed
    return { pieces: ['{"data":[{"id":"qwen3"}]}'] }
  })
  t.teardown(ollama.close)
  const { api } = await start(t, answering(['old']))
  const bare = { ...question, model: 'qwen3' }
  const local = { ...upstreamAt(`${ollama.url}/v1`, 'ollama', 'ollama'), listModels: true }
  const reloaded = api.gateway.reload(settings({ providers: [local] }))
  const again = api.gateway.reload(
    settings({ providers: [local], routes: [{ name: 'last', models: ['qwen3'] }] })
  )
  t.match(
    await json(await api.post(path, question)),
    { choices: [{ message: { content: 'old' } }] },
    'until then the old one holds'
  )
  list()
  await reloaded
  t.match(await json(await api.post(path, bare)), { choices: [{ message: { content: 'listed' } }] })
  await again
  t.match(
    await json(await api.post(path, { ...bare, model: 'last' })),
    { choices: [{ message: { content: 'listed' } }] },
    'the last one stays'
  )
})

t.test("the caller's own provider key is used, and its refusal is passed on", async t => {
  const { upstream, api } = await start(t, (_request, number) => number === 0
    ? { pieces: [chatAnswer('Hi')] }
    : { status: 401, pieces: ['{"error":{"message":"Incorrect API key provided"}}'] })
  t.equal((await api.post(path, question, { headers: { 'x-provider-key': 'sk-mine' } })).status, 200)
  t.equal(upstream.requests[0]?.headers.authorization, 'Bearer sk-mine')
  t.notOk('x-provider-key' in (upstream.requests[0]?.headers ?? {}))
  const refused = await api.post(path, question, { headers: { 'x-provider-key': 'sk-mine' } })
  t.equal(refused.status, 401)
  t.match(await json(refused), { error: { type: 'authentication_error', code: 'invalid_provider_key' } })
  t.equal(
    (await api.post(path, question, { headers: { 'x-provider-key': 'k', 'x-provider': 'missing' } })).status,
    400
  )
})

t.test("a caller's own key that is refused under status 200 is refused to the caller", async t => {
  const refusals: ReadonlyArray<readonly [refusal: object, status: number, code: string]> = [
    [{ message: 'no', code: 401 }, 401, 'invalid_provider_key'],
    [{ message: 'no', type: 'authentication_error' }, 401, 'invalid_provider_key'],
    [{ message: 'no', type: 'permission_error' }, 403, 'invalid_provider_key'],
    [{ message: 'no', code: 'insufficient_quota' }, 402, 'insufficient_quota']
  ]
  for (const [refusal, status, code] of refusals) {
    const error = JSON.stringify({ error: refusal })
    const { upstream, api } = await start(t, (_request, number) => [
      { pieces: [error] },
      { headers: eventStream, pieces: [`data: ${error}\n\n`] },
      { headers: eventStream, pieces: [chatFrames(['half'])[1] ?? '', `data: ${error}\n\n`] }
    ][number] ?? { pieces: [chatAnswer('Hi')] }, { retries: 1 })
    const own = { headers: { 'x-provider-key': 'sk-mine' } }
    for (const stream of [false, true]) {
      const refused = await api.post(path, { ...question, stream }, own)
      t.equal(refused.status, status)
      t.match(await json(refused), { error: { code } })
    }
    const broken = await (await api.post(path, { ...question, stream: true }, own)).text()
    t.match(broken, new RegExp(`half.*event: error\\n.*"code":"${code}"`, 's'))
    t.equal((await api.post(path, question)).status, 200, 'the gateway\'s own key is as good as before')
    t.equal(upstream.requests.length, 4, 'and nothing was tried again')
  }
})

t.test('settings that come with a model are checked, and only shape the answer', async t => {
  const { upstream, api } = await start(t, answering(['x']))
  const row = async (settings: object, detail: object): Promise<void> => {
    const response = await api.post(path, {
      messages: 'hi',
      model: ['openai/gpt-5', { model: 'openai/gpt-5-mini', settings }]
    })
    t.equal(response.status, 422, JSON.stringify(settings))
    t.match(await json(response), { detail: [detail] })
  }
  await row({ n: 1e9 }, { loc: ['body', 'model', 1, 'settings', 'n'], type: 'less_than_equal' })
  await row({ tools: 5 }, { loc: ['body', 'model', 1, 'settings', 'tools'] })
  await row({ tools: [null] }, { loc: ['body', 'model', 1, 'settings', 'tools', 0] })
  await row({ temperature: 99 }, { loc: ['body', 'model', 1, 'settings', 'temperature'] })
  const complete = await api.post(path, {
    messages: 'hi',
    model: {
      model: 'openai/gpt-4.1',
      settings: {
        seed: 4,
        stop_sequences: ['x'],
        tool_choice: { type: 'any' },
        temperature: null,
        unheard: 1
      }
    }
  })
  t.match(complete.headers.get('content-type'), /json/)
  t.same(upstream.requests[0]?.json, {
    model: 'gpt-4.1',
    messages: [{ role: 'user', content: 'hi' }],
    seed: 4,
    stop: ['x']
  })
  const refused = await api.post(path, {
    messages: 'hi',
    model: { model: 'openai/gpt-5', settings: { stream: true } }
  })
  t.equal(refused.status, 400)
  t.match(await json(refused), { error: { code: 'unsupported_parameter', param: 'model.settings.stream' } })
})

t.test("the gateway's credential is in no answer, in any form", async t => {
  const key = 'plainlookingcredential0123456789'
  const errors = [
    { status: 400, pieces: [JSON.stringify({ error: { message: `no: ${key} is odd` } })] },
    {
      headers: eventStream,
      pieces: [chatFrames(['a'])[1] ?? '', `data: {"error":{"message":"${key}","code":400}}\n\n`]
    }
  ]
  const { api } = await start(t, (_request, number) => errors[number] ?? {}, {
    apiKey: new Secret(key),
    headers: { 'x-team': new Secret('teamsecret') }
  })
  t.match(await json(await api.post(path, question)), { error: { message: 'no: [redacted] is odd' } })
  t.match(await (await api.post(path, { ...question, stream: true })).text(), /event: error\n.*\[redacted\]/)
  await until(() => api.lines.length === 2, 'two lines in the log')
  t.notMatch(JSON.stringify(api.lines), key)
})

t.test("failures with a caller's own key do not affect retries for others", async t => {
  let calls = 0
  const { api } = await start(
    t,
    request => {
      calls++
      if (request.headers.authorization === 'Bearer sk-mine') {
        return { status: 429, headers: { 'retry-after': '60' }, pieces: ['{"error":{"message":"slow"}}'] }
      }
      return calls === 2 ? { status: 500, pieces: ['{}'] } : { pieces: [chatAnswer('ok')] }
    },
    { retries: 1 }
  )
  t.equal((await api.post(path, question, { headers: { 'x-provider-key': 'sk-mine' } })).status, 429)
  t.equal((await api.post(path, question)).status, 200, 'others are retried as before')
})

t.test('a model that its provider does not have is skipped for the next in the list', async t => {
  const { api } = await start(t, request =>
    Reflect.get(Object(request.json), 'model') === 'gpt-5'
      ? { status: 404, pieces: ['{"error":{"message":"gone","code":"model_not_found"}}'] }
      : { pieces: [chatAnswer('second')] }
  )
  t.match(await json(await api.post(path, { ...question, model: ['openai/gpt-5', 'openai/gpt-5-mini'] })), {
    model: 'openai/gpt-5-mini'
  })
  const alone = await api.post(path, question)
  t.equal(alone.status, 404)
})

t.test('when many calls fail at once, retries stay a small fraction', async t => {
  const { upstream, api } = await start(t, { status: 500, pieces: ['{}'] }, { retries: 2 })
  const calls = Array.from({ length: 60 }, async () => (await api.post(path, question)).status)
  t.ok((await Promise.all(calls)).every(status => status === 502))
  t.ok(upstream.requests.length > 60, 'some were tried again')
  t.ok(upstream.requests.length <= 60 + 60 / 10 + 10, `${upstream.requests.length - 60} retries`)
})

t.test('usage that a provider omits or reports as zero is estimated', async t => {
  const nothing = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const { upstream, api } = await start(t, (_request, number) => ({
    pieces: [
      JSON.stringify({ ...JSON.parse(chatAnswer('12345678')), usage: number === 0 ? nothing : undefined })
    ]
  }))
  for (const _ of [0, 1]) {
    t.notOk(
      'usage' in (await json(await api.post(path, question))),
      'no answer has a number that was not counted'
    )
  }
  await until(() => api.lines.length === 2, 'two lines in the log')
  t.same(
    api.lines.map(({ usage }) => usage),
    Array.from({ length: 2 }, () => ({ prompt: 2, completion: 2, total: 4, estimated: true }))
  )
  t.equal(upstream.requests.length, 2)
})
