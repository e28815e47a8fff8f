import { createHook } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { createApp } from '../../lib/http/app.ts'
import { readErrorBody } from '../../lib/providers/error-body.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { raw, requestText, rest } from '../support/raw.ts'
import { settings } from '../support/settings.ts'
import { eventually, until } from '../support/until.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script
} from '../support/upstream.ts'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { standardSignal } from '../../lib/async/cancellation.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Endpoint } from '../../lib/core/endpoint.ts'
import type { LimitSettings, ProviderSettings, Settings } from '../../lib/core/settings.ts'

const path = '/v1/chat/completions'
const question = { model: 'openai/gpt-5', messages: 'hi' }
const streamed = JSON.stringify({ ...question, stream: true })
const [head = '', first = '', ...last] = chatFrames(['a'])

async function start (
  t: Test,
  script: Parameters<typeof fakeUpstream>[0],
  provider: Partial<ProviderSettings> = {},
  parts: Partial<Settings> = {}
): Promise<{ readonly upstream: FakeUpstream, readonly api: TestGateway }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  return {
    upstream,
    api: await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', provider)],
      ...parts
    })
  }
}

/** Limits, including those that are not settings but options of a pipeline or of the HTTP layer. */
function limits (
  parts: Partial<LimitSettings> & { readonly holdMs?: number, readonly graceMs?: number }
): LimitSettings {
  return { ...settings().limits, ...parts }
}

/** A stream that waits for `go` after its first word. */
function gated (): { readonly script: Script, readonly go: () => void } {
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => { go = resolve })
  const pieces = (async function * () {
    yield head + first
    await opened
    yield last.join('')
  })()
  return { script: { headers: eventStream, pieces }, go: () => go() }
}

/** The HTTP layer alone, with one endpoint. */
async function edge (
  t: Test,
  handle: Endpoint['handle']
): Promise<{ readonly url: string, readonly ended: Call[] }> {
  const ended: Call[] = []
  const app = createApp({
    endpoints: [{ name: 'test', method: 'POST', path: '/test', body: 'json', maxBodyBytes: 1000, handle }],
    bounds: settings().limits,
    stop: { isClosed: false },
    onEnd: call => {
      ended.push(call)
    }
  })
  const server = createServer(app.handle).listen(0, '127.0.0.1')
  t.teardown(() => { server.close().closeAllConnections() })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on TCP, so it is an object
  return { url: `http://127.0.0.1:${port}/test`, ended }
}

t.test('nesting is found at the end of a wide body, through lists and objects', async t => {
  const { api } = await start(
    t,
    { pieces: [chatAnswer('x')] },
    {},
    { limits: limits({ jsonBodyBytes: 1e7, jsonDepth: 4, jsonValues: 1e7 }) }
  )
  const answerTo = async (deep: string): Promise<unknown> => {
    const response = await api.post(
      path,
      `{"model":"openai/gpt-5","messages":"x","metadata":{"a":[${'0,'.repeat(2e5)}${'[],'.repeat(2e5)}${deep}]}}`
    )
    return [response.status, await response.text()]
  }
  t.match(await answerTo('{"b":[{}]}'), [400, /nested deeper than 4 levels/])
  t.match(await answerTo('{"b":[]}'), [422, /metadata/], "one level less is left to the endpoint's own rules")
})

t.test('a wide list is checked once per item, without a string for any index', async t => {
  const width = 300
  let keys = 0
  let looks = 0
  const counted = (list: readonly unknown[]): readonly unknown[] => new Proxy(list, {
    get: (target, name, proxy) => {
      looks++
      return Reflect.get(target, name, proxy)
    },
    ownKeys: target => {
      keys++
      return Reflect.ownKeys(target)
    }
  })
  const { parse } = JSON
  t.intercept(JSON, 'parse', {
    value: (text: string): unknown => {
      const value: unknown = parse(text)
      const wide: unknown = Reflect.get(Object(value), 'wide')
      return Array.isArray(wide) ? { wide: counted(wide) } : value
    }
  })
  const { url } = await edge(t, async call => {
    await call.body()
    return { status: 204, headers: {}, body: '' }
  })
  const response = await fetch(url, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"wide":[${'0,'.repeat(width)}0]}`
  })
  t.equal(response.status, 204)
  t.equal(keys, 0, 'listing the keys of an array took half a minute for 50 MB')
  t.ok(looks <= 2 * width + 10, `${looks} looks at ${width} items`)
})

t.test('the length of a tool name is limited for every provider', async t => {
  const { api } = await start(t, { pieces: [chatAnswer('x')] })
  const status = async (tool: object): Promise<number> =>
    (await api.post(path, { ...question, tools: [tool] })).status
  for (const [length, expected] of [
    [256, 200],
    [257, 422]
  ] as const) {
    const name = 'a'.repeat(length)
    t.equal(await status({ type: 'function', function: { name } }), expected, `a function of ${length}`)
    t.equal(await status({ type: 'custom', custom: { name } }), expected, `a custom tool of ${length}`)
  }
})

t.test('a large answer that has begun arrives completely although the gateway closes', async t => {
  const { api } = await start(t, { pieces: [chatAnswer('x'.repeat(30e6))] }, {}, {
    limits: limits({ answerBytes: 1e8 }), server: { ...settings().server, drainMs: 10_000 }
  })
  const socket = await raw(t, api.url)
  socket.write(requestText(JSON.stringify(question)))
  await once(socket, 'readable')
  const begun = String(socket.read(1000))
  const closed = api.gateway.close()
  const text = begun + await rest(socket)
  await closed
  const [answerHead = '', body = ''] = text.split('\r\n\r\n', 2)
  t.equal(body.length, Number(/content-length: (\d+)/.exec(answerHead)?.[1]))
  t.equal(api.lines[0]?.['outcome'], 'ok')
})

t.test(
  'a connection over the limit is closed at once, and a new one is accepted when another closes',
  async t => {
    const { api } = await start(
      t,
      { pieces: [chatAnswer('a')] },
      {},
      { server: { ...settings().server, maxClientConnections: 2 } }
    )
    const text = requestText(JSON.stringify(question))
    const [first, second, third] = [await raw(t, api.url), await raw(t, api.url), await raw(t, api.url)]
    third.write(text)
    t.equal(await rest(third), '', 'the one over the limit gets no answer')
    second.write(text)
    await once(second, 'data')
    first.destroy()
    await eventually(
      async () => {
        const next = await raw(t, api.url)
        next.write(requestText(JSON.stringify(question), ['connection: close']))
        return await rest(next)
      },
      answer => answer.startsWith('HTTP/1.1 200'),
      'an answer on a new connection'
    )
  }
)

t.test('a call on a connection opened before the gateway began to close is served', async t => {
  const one = gated()
  const two = gated()
  const { api, upstream } = await start(t, (_request, number) => number === 0 ? one.script : two.script, {}, {
    server: { ...settings().server, drainMs: 10_000 }
  })
  const before = await raw(t, api.url)
  const during = await raw(t, api.url)
  const text = requestText(streamed)
  before.write(text)
  during.write(text.slice(0, 60))
  await once(before, 'data')
  const closed = api.gateway.close()
  during.write(text.slice(60))
  await upstream.request(1)
  one.go()
  await until(() => api.lines.length === 1, 'one line in the log')
  two.go()
  const answer = await rest(during)
  await closed
  t.match(answer, /^HTTP\/1.1 200 .*connection: close.*"content":"a".*DONE/is)
  t.same(api.lines.map(line => line['outcome']), ['ok', 'ok'])
})

t.test(
  'a call whose caller does not read its answer stays open until shortly after its deadline',
  async t => {
    const { api, upstream } = await start(
      t,
      (_request, number) => ({ pieces: [chatAnswer(number < 2 ? 'x'.repeat(20e6) : 'x')] }),
      {},
      {
        limits: limits({ answerBytes: 1e8, openCalls: 2, callMs: 12_000, graceMs: 20 })
      }
    )
    const sockets = await Promise.all([raw(t, api.url), raw(t, api.url)])
    for (const socket of sockets) socket.write(requestText(JSON.stringify(question)))
    await Promise.all(sockets.map(async socket => await once(socket, 'readable')))
    t.match(await (await api.post(path, question)).text(), /"overloaded"/)
    t.equal(upstream.requests.length, 2)
    for (const probe of ['/livez', '/readyz']) {
      t.equal((await api.get(probe)).status, 200, `${probe} is served by a gateway that is at its limit`)
    }
    await until(
      () =>
        api.lines.filter(({ outcome, error }) => outcome === 'error' && error === 'timeout').length === 2,
      'two calls to time out',
      30_000
    )
    t.equal((await api.post(path, question)).status, 200, 'there is room again')
  }
)

t.test('pipelined calls that wait on a connection end with it', async t => {
  let begun = 0
  const { url, ended } = await edge(t, async ({ signal }) => {
    if (begun++ > 0) {
      return {
        status: 200,
        headers: {},
        body:
          begun === 2
            ? 'complete'
            : (async function* () {
                yield 'a piece'
              })()
      }
    }
    await once(standardSignal(signal), 'abort')
    throw signal.reason
  })
  const warnings: Error[] = []
  const note = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const calls = 15 // more than a socket has listeners without a warning
  const socket = await raw(t, url)
  socket.write('POST /test HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'.repeat(calls))
  await until(() => begun === calls, 'every call to begin')
  socket.destroy()
  await until(() => ended.length === calls, 'every call to end')
  t.same(new Set(ended.map(({ record }) => record.end.outcome)), new Set(['client_closed']))
  t.same(warnings, [])
})

t.test('a connection whose body the gateway does not read is closed', async t => {
  const { api } = await start(t, {})
  const endless = 'content-length: 1000000000\r\n\r\n'
  await Promise.all(
    [
      [
        `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${endless}`,
        /^HTTP\/1.1 401 /
      ] as const,
      [`GET /livez HTTP/1.1\r\nhost: x\r\n${endless}`, /^HTTP\/1.1 200 /] as const
    ].map(async ([request, expected]) => {
      const socket = await raw(t, api.url)
      socket.write(request)
      const dripping = setInterval(() => socket.write('x'), 50)
      t.teardown(() => clearInterval(dripping))
      let text = ''
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString()
      })
      await new Promise(resolve => {
        socket.once('close', resolve)
      }) // with an error or without
      t.match(text, expected)
    })
  )
})

t.test('an unparsable body is not logged', async t => {
  const { api } = await start(t, {})
  for (const body of [
    '{"a":\nmy private diary\n}',
    '{"messages":"private words\nand more"}',
    'private',
    '{"a":1}\nat private:1:2'
  ]) {
    t.equal((await api.post(path, body)).status, 400)
  }
  await until(() => api.lines.length === 4, 'four lines in the log')
  t.match(api.lines[0], { error: 'invalid_json', cause: { name: 'SyntaxError', at: [/parse-body/] } })
  t.notMatch(JSON.stringify(api.lines), /private|diary|words|more/)
})

t.test('the head of a stream is sent even if its first output takes long', async t => {
  for (const pieces of [[': thinking\n\n'], [head], []]) {
    const { api } = await start(
      t,
      { headers: eventStream, pieces, then: 'stall' },
      {},
      { limits: limits({ holdMs: 20 }) }
    )
    const response = await api.post(path, streamed)
    t.equal(response.status, 200, 'the head is sent long before any content')
    await response.body?.cancel()
  }
})

t.test('an error right after the head is followed by another attempt at once', async t => {
  const { api } = await start(
    t,
    (_request, number) =>
      number === 0
        ? {
            headers: eventStream,
            pieces: [`${head}data: {"error":{"message":"busy","code":503}}\n\n`],
            then: 'stall'
          }
        : { headers: eventStream, pieces: chatFrames(['ok']) },
    { retries: 1 }
  )
  const response = await api.post(path, streamed)
  t.equal(response.headers.get('x-headgate-attempts'), '2')
  t.match(await response.text(), /"content":"ok"/)
})

t.test('decompression of a refused body stops', async t => {
  let steps = 0
  let recording = true
  const inflating = new Set<number>()
  const hook = createHook({
    init: (id, type) => { if (recording && type === 'ZLIB') inflating.add(id) },
    before: id => { if (inflating.has(id)) steps++ }
  }).enable()
  t.teardown(() => hook.disable())
  const { api } = await start(t, {}, {}, { limits: limits({ jsonBodyBytes: 200_000 }) })
  const bomb = gzipSync(Buffer.alloc(150e6, 32))
  const socket = await raw(t, api.url)
  socket.write(
    requestText('', ['content-encoding: gzip']).replace(
      'content-length: 0',
      `content-length: ${bomb.length}`
    )
  )
  socket.write(bomb)
  const [answer] = await once(socket, 'data') as [Buffer]
  t.match(answer.toString(), /^HTTP\/1.1 413 /)
  recording = false
  await promisify(gunzip)(bomb) // the same duration again: enough time for the other to continue, if it does
  t.ok(steps < 200, `${steps} of more than 9,000 steps were taken`)
})

t.test('many listeners on one call cause no warning', async t => {
  const warnings: Error[] = []
  const note = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const { url } = await edge(t, async ({ signal }) => {
    for (let n = 0; n < 20; n++) signal.addEventListener('abort', () => undefined)
    return { status: 200, headers: {}, body: 'ok' }
  })
  t.equal((await fetch(url, { method: 'POST' })).status, 200)
  await new Promise(resolve => { setImmediate(resolve) })
  t.same(warnings, [])
})

t.test('an invalid HTTP request gets an error in the usual format', async t => {
  const { api } = await start(t, { pieces: [chatAnswer('x')] }, {}, { limits: limits({ headersMs: 50 }) })
  const answerTo = async (text: string): Promise<string> => {
    const socket = await raw(t, api.url)
    socket.write(text)
    return await rest(socket)
  }
  const form = (status: number, message: string): RegExp =>
    new RegExp(
      `^HTTP/1.1 ${status} [^]*x-request-id: \\S+[^]*\r\n\r\n{"error":{"message":"${message}","type":"invalid_request_error","code":"\\w+","param":null}}$`
    )
  t.match(await answerTo('no HTTP\r\n\r\n'), form(400, 'The request is not valid HTTP.'))
  t.match(
    await answerTo(`GET /health HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`),
    form(431, 'The request headers are too large.')
  )
  t.match(
    await answerTo('GET /health HTTP/1.1\r\nhost: x\r\n'),
    form(408, 'The request headers did not arrive in time.')
  )
})

t.test(
  '100 Continue is sent when the body is read, and not if it never will be',
  async t => {
    const { api } = await start(t, { pieces: [chatAnswer('x')] })
    const body = JSON.stringify(question)
    const known = await raw(t, api.url)
    const head = requestText(body, ['expect: 100-continue'])
    known.write(head.slice(0, -body.length))
    const [word] = (await once(known, 'data')) as [Buffer]
    t.equal(word.toString(), 'HTTP/1.1 100 Continue\r\n\r\n')
    known.write(body)
    t.match(await rest(known), /^HTTP\/1.1 200 /)

    const old = await raw(t, api.url)
    old.write(head.replace('HTTP/1.1', 'HTTP/1.0'))
    t.match(await rest(old), /^HTTP\/1.1 200 /, 'HTTP/1.0 has no such answer')

    const stranger = await raw(t, api.url)
    stranger.write(head.replace(/bearer .*/i, 'Bearer wrong').slice(0, -body.length))
    t.match(await rest(stranger), /^HTTP\/1.1 401 /)
    for (const line of ['POST /nowhere', 'GET /livez', 'DELETE /v1/chat/completions']) {
      const bodiless = await raw(t, api.url)
      bodiless.write(`${line} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n`)
      t.match(
        await rest(bodiless),
        /^HTTP\/1.1 [24]\d\d [^]*\r\nconnection: close\r\n/i,
        `${line}: what follows the answer may be its body or a request`
      )
    }
    const other = await raw(t, api.url)
    other.write(requestText(body, ['expect: something', 'connection: close']))
    t.match(
      await rest(other),
      /^HTTP\/1.1 417 .*"message":"Only the expectation `100-continue` is supported\."/s
    )
  }
)

t.test('no header is dropped, however many come before it', async t => {
  const { api } = await start(t, {})
  const socket = await raw(t, api.url)
  socket.write(`GET /livez HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(2100)}host: y\r\nconnection: close\r\n\r\n`)
  t.match(await rest(socket), /^HTTP\/1.1 400 [^]*The request has more than one Host header\./)
})

t.test('a request target that is not a URL is refused like any other request', async t => {
  const { api } = await start(t, {})
  for (const target of ['http://[', '//[', '*']) {
    const socket = await raw(t, api.url)
    socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nx-request-id: mine-1\r\nconnection: close\r\n\r\n`)
    t.match(
      await rest(socket),
      /^HTTP\/1.1 (400|404) .*x-request-id: mine-1\r\n.*\r\n\r\n\{"error":\{/is,
      target
    )
  }
  const socket = await raw(t, api.url)
  socket.write('GET http://[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  t.match(await rest(socket), /^HTTP\/1.1 400 .*"type":"invalid_request_error","code":"invalid_value"/s)
  await until(() => api.lines.length === 4, 'four lines in the log')
  t.match(api.lines[3], { status: 400, outcome: 'error', error: 'invalid_value' })
  t.equal((await api.get('/v1/models/%ff')).status, 404, 'an undecodable path matches nothing')
})

t.test('a request without Host is refused like any other request, unless it is HTTP/1.0', async t => {
  const { api } = await start(t, {})
  for (const target of ['/livez', '/v1/models', '/nowhere']) {
    const socket = await raw(t, api.url)
    socket.write(`GET ${target} HTTP/1.1\r\nx-request-id: mine-2\r\nconnection: close\r\n\r\n`)
    t.match(
      await rest(socket),
      /^HTTP\/1.1 400 .*x-request-id: mine-2\r\n.*\r\n\r\n\{"error":\{"message":"The request has no Host header\."/is,
      target
    )
  }
  await until(() => api.lines.length === 3, 'three lines in the log')
  t.match(api.lines[0], { status: 400, outcome: 'error', error: 'invalid_value' })
  const old = await raw(t, api.url)
  old.write('GET /livez HTTP/1.0\r\n\r\n')
  t.match(await rest(old), /^HTTP\/1.1 200 /)
})

t.test('a reply that cannot be written leaves nothing open', async t => {
  let returned = false
  let call: Call | undefined
  const { url, ended } = await edge(t, async given => {
    call = given
    const body = (async function * () {
      try {
        yield 'a'
        yield 'b'
      } finally {
        returned = true
      }
    })()
    await body.next()
    return { status: 200, headers: { 'x-bad': 'a\nb' }, body }
  })
  const response = await fetch(url, { method: 'POST' })
  t.equal(response.status, 500)
  t.match(await response.json(), { error: { code: 'internal_error' } })
  await until(() => ended.length === 1, 'the call to end')
  t.ok(returned, 'the source was returned')
  t.ok(call?.signal.aborted, 'listeners of its signal were called')
  t.match(ended[0]?.record, { end: { outcome: 'error', errorCode: 'internal_error', status: 500 } })
})

t.test('a failing call releases what it had opened', async t => {
  let call: Call | undefined
  const { url, ended } = await edge(t, async given => {
    call = given
    throw new GatewayError('upstream_error')
  })
  t.equal((await fetch(url, { method: 'POST' })).status, 502)
  await until(() => ended.length === 1, 'the call to end')
  t.match(call?.signal.reason, { code: 'upstream_error' })
})

t.test('a connection that cannot be accepted is logged, and the others stay open', async t => {
  const { api } = await start(t, {})
  let server: Server | undefined
  // documented by node:http
  const learn = (message: unknown): void => { ({ server } = message as { server: Server }) }
  subscribe('http.server.request.start', learn)
  await (await api.get('/livez')).text()
  unsubscribe('http.server.request.start', learn)
  server?.emit('error', new Error('accept EMFILE'))
  t.match(api.lines.at(-1), { level: 'error', msg: /accept a connection/ })
  t.equal((await api.get('/livez')).status, 200)
})

t.test('a refusal whose body breaks is read as empty', async t => {
  const broken = async (): Promise<never> => await Promise.reject(new Error('read ECONNRESET 10.0.0.7'))
  const body = { [Symbol.asyncIterator]: () => ({ next: broken }), buffer: broken, cancel: () => undefined }
  t.equal(await readErrorBody({ status: 400, headers: {}, body }), '')
})
