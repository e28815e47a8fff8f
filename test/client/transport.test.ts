import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { sseDecoder } from '../../lib/wire/sse-decoder.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { httpTransport, signRequest } from '../../lib/client/transport.ts'
import { closedUrl } from '../support/closed-port.ts'
import { startLateProvider } from '../support/late-provider.ts'
import { fakeUpstream, type FakeUpstream, type Script } from '../support/upstream.ts'
import { outlast, settles, until } from '../support/until.ts'
import type { Test } from 'tap'
import type { HttpTransport } from '../../lib/client/transport.ts'
import type { CredentialHeaders, Signer, UnsignedRequest } from '../../lib/providers/credential.ts'
import type { SendOptions, UpstreamResponse, UpstreamRequest } from '../../lib/providers/provider.ts'
import { rounds } from '../support/rounds.ts'

const timeouts = {
  connectMs: 2000,
  firstByteMs: 20_000,
  responseMs: 20_000,
  idleBytesMs: 20_000,
  idleEventsMs: 20_000
}
const question: UpstreamRequest = {
  method: 'POST',
  path: '/chat/completions',
  headers: { 'content-type': 'application/json' },
  body: '{"a":1}'
}

interface Pair { readonly upstream: FakeUpstream, readonly transport: HttpTransport }

async function pair (t: Test, script: Parameters<typeof fakeUpstream>[0], connections = 4): Promise<Pair> {
  const upstream = await fakeUpstream(script)
  const transport = httpTransport({
    baseUrl: `${upstream.url}/v1/?api-version=7`,
    connections,
    connectMs: 2000,
    headers: { 'x-fixed': new Secret('yes') }
  })
  t.teardown(async () => {
    await upstream.close()
    await transport.close()
  })
  return { upstream, transport }
}

async function send (
  transport: HttpTransport,
  options: Partial<SendOptions> = {},
  request = question
): Promise<UpstreamResponse> {
  return await transport.send(request, {
    signal: new AbortController().signal,
    credential: { authorization: 'Bearer k' },
    timeouts,
    streamed: true,
    ...options
  })
}

async function textOf (answer: UpstreamResponse): Promise<string> {
  return (await answer.body.buffer(1e7)).toString()
}

t.test('a request is sent completely, and its answer is passed on as it arrives', async t => {
  const { upstream, transport } = await pair(t, {
    status: 201,
    headers: { 'x-request-id': 'up-1' },
    pieces: ['{"ok"', ':true}']
  })
  const answer = await send(transport)
  t.equal(answer.status, 201)
  t.equal(answer.headers['x-request-id'], 'up-1')
  t.equal(await textOf(answer), '{"ok":true}')
  t.match(upstream.requests[0], {
    method: 'POST',
    path: '/v1/chat/completions?api-version=7',
    text: '{"a":1}',
    headers: { authorization: 'Bearer k', 'x-fixed': 'yes', 'accept-encoding': 'identity' }
  })
  await textOf(await send(transport))
  await textOf(await send(transport))
  t.ok(upstream.sockets() <= 2, 'connections are reused')
})

t.test('query parameters of the base URL and of the request are combined', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['ok'] })
  await textOf(await send(transport, {}, { ...question, path: '/models?limit=5' }))
  t.equal(upstream.requests[0]?.path, '/v1/models?limit=5&api-version=7')
})

t.test('headers are sent at once, but a signer gets the complete request first', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['ok'] })
  const plain = send(transport)
  t.equal(transport.load().connections, 1)
  const unsigned: UnsignedRequest[] = []
  const sign = (request: UnsignedRequest): CredentialHeaders => {
    unsigned.push(request)
    return { 'content-type': 'text/signed', authorization: `Signed ${unsigned.length}` }
  }
  const pieces: UpstreamRequest = {
    ...question,
    path: '/a?alt=sse',
    body: async function * () {
      yield Buffer.from('{"a"')
      yield Buffer.from(':2}')
    }
  }
  const credential = { accountId: 'a', sign }
  const signed = send(transport, { credential, trace: { traceparent: '00' } }, pieces)
  for (const answer of [await plain, await signed]) await textOf(answer)
  t.same(unsigned, [
    {
      method: 'POST',
      url: `${upstream.url}/v1/a?alt=sse&api-version=7`,
      headers: {
        'traceparent': '00',
        'user-agent': 'headgate',
        'accept-encoding': 'identity',
        'x-fixed': 'yes',
        'content-type': 'application/json'
      },
      body: Buffer.from('{"a":2}')
    }
  ])
  t.match(upstream.requests.find(({ text }) => text === '{"a":2}'), {
    path: '/v1/a?alt=sse&api-version=7',
    headers: { authorization: 'Signed 1', 'content-type': 'text/signed', traceparent: '00' }
  })
  const { body: _, ...list } = { ...question, method: 'GET' as const }
  await textOf(await send(transport, { credential }, list))
  t.equal(unsigned[1]?.body, undefined)
})

t.test('a body that can be reopened can be sent twice', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['ok'] })
  const body = async function * (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('one ')
    yield Buffer.from('two')
  }
  for (const _ of [1, 2]) {
    await textOf(
      await transport.send(
        { ...question, body },
        { signal: new AbortController().signal, credential: {}, timeouts, streamed: false }
      )
    )
  }
  t.same(upstream.requests.map(({ text }) => text), ['one two', 'one two'])
})

t.test('failures have codes: no server, reset, truncation, timeout, redirect', async t => {
  const code = async (script: Script, options: Partial<SendOptions> = {}): Promise<string> => {
    const { transport } = await pair(t, script)
    try {
      const answer = await send(transport, options)
      return `${answer.status} ${await textOf(answer)}`
    } catch (error) {
      return error instanceof GatewayError ? error.code : String(error)
    }
  }
  // A reset may overtake bytes sent before it, so either outcome is possible.
  t.match(await code({ then: 'reset' }), /^upstream_(stream_interrupted|unreachable)$/)
  t.match(await code({ pieces: ['half'], then: 'reset' }), /^upstream_(stream_interrupted|unreachable)$/)
  t.equal(await code({ pieces: ['half'], then: 'fin' }), 'upstream_stream_interrupted')
  t.equal(await code({ silent: true }, { timeouts: { ...timeouts, firstByteMs: 20 } }), 'upstream_timeout')
  t.equal(
    await code({ silent: true }, { streamed: false, timeouts: { ...timeouts, responseMs: 20 } }),
    'upstream_timeout'
  )
  t.equal(
    await code({ pieces: ['half'], then: 'stall' }, { timeouts: { ...timeouts, idleBytesMs: 20 } }),
    'upstream_timeout'
  )
  t.equal(
    await code({ status: 307, headers: { location: 'http://127.0.0.1:1/' }, pieces: ['elsewhere'] }),
    '307 elsewhere'
  )
  const gone = httpTransport({ baseUrl: closedUrl, connections: 1, connectMs: 2000 })
  t.teardown(gone.close)
  await t.rejects(send(gone), { code: 'upstream_unreachable' })
})

t.test('an abort closes the connection at any stage', async t => {
  const { upstream, transport } = await pair(t, (_request, number) =>
    number === 0 ? { silent: true } : { pieces: ['a'], then: 'stall' }
  )
  const reason = new GatewayError('client_closed_request')

  const early = new AbortController()
  const waiting = send(transport, { signal: early.signal })
  const first = await upstream.request(0)
  early.abort(reason)
  await t.rejects(waiting, reason, 'before the head')
  await first.aborted

  const late = new AbortController()
  const answer = await send(transport, { signal: late.signal })
  const bytes = answer.body[Symbol.asyncIterator]()
  await bytes.next()
  const next = bytes.next()
  late.abort(reason)
  await t.rejects(next, reason, 'during the body')
  await (await upstream.request(1)).aborted

  await t.rejects(send(transport, { signal: AbortSignal.abort(reason) }), reason, 'before it was sent')
  t.equal(upstream.requests.length, 2)
})

t.test('requests of one turn are sent at its end; those aborted before are never sent', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['ok'] })
  // two connections are open
  await Promise.all((await Promise.all([send(transport), send(transport)])).map(textOf))
  const reason = new GatewayError('client_closed_request')
  const leaving = new AbortController()
  const kept = send(transport)
  const left = send(transport, { signal: leaving.signal })
  leaving.abort(reason)
  await t.rejects(left, reason)
  t.equal(await textOf(await kept), 'ok')
  t.equal(upstream.requests.length, 3)
})

t.test('a call waiting for a socket can be aborted, and does not block others', async t => {
  const { upstream, transport } = await pair(
    t,
    (_request, number) => (number === 0 ? { silent: true } : { pieces: [String(number)] }),
    1
  )
  const first = new AbortController()
  const silent = send(transport, { signal: first.signal })
  await upstream.request(0)

  const leaving = new AbortController()
  const left = send(transport, { signal: leaving.signal })
  const patient = Promise.all([
    send(transport).then(textOf),
    send(transport).then(textOf),
    send(transport).then(textOf)
  ])
  leaving.abort(new GatewayError('client_closed_request'))
  await t.rejects(left, { code: 'client_closed_request' }, 'while the socket is in use')
  await t.rejects(
    send(transport, { signal: leaving.signal }),
    { code: 'client_closed_request' },
    'before it is queued'
  )
  first.abort(new GatewayError('timeout'))
  await t.rejects(silent, { code: 'timeout' })
  t.same(await patient, ['1', '2', '3'], 'the others, in order of arrival')
  t.equal(upstream.requests.length, 4)
})

t.test('a request waits for a connection up to its timeout', async t => {
  const upstream = await fakeUpstream((_request, number) =>
    number === 0 ? { silent: true } : { pieces: ['ok'] }
  )
  const transport = httpTransport({
    baseUrl: upstream.url,
    connections: 1,
    maxWaitingMs: 30,
    connectMs: 2000
  })
  const leaving = new AbortController()
  t.teardown(async () => {
    await upstream.close()
    await transport.close()
  })
  const first = send(transport, { signal: leaving.signal })
  await upstream.request(0)
  const late = send(transport)
  t.same(transport.load(), { connections: 1, waiting: 1, refused: 0 })
  await t.rejects(late, { code: 'overloaded', fault: 'model' })
  t.same(transport.load(), { connections: 1, waiting: 0, refused: 1 })
  leaving.abort(new GatewayError('timeout'))
  await t.rejects(first, { code: 'timeout' })
  t.equal(await textOf(await send(transport)), 'ok', 'the next one gets it')
})

t.test(
  'without a limit every open answer has its own connection, and closed ones are forgotten',
  async t => {
    let go = (): void => undefined
    const opened = new Promise<void>(resolve => {
      go = resolve
    })
    const upstream = await fakeUpstream(() => ({
      pieces: (async function* () {
        yield 'a'
        await opened
        yield 'b'
      })()
    }))
    const transport = httpTransport({ baseUrl: upstream.url, connectMs: 5000 })
    t.teardown(async () => {
      await upstream.close()
      await transport.close()
    })
    const answers = await Promise.all(Array.from({ length: 300 }, async () => await send(transport)))
    t.same(transport.load(), { connections: 300, waiting: 0, refused: 0 })
    go()
    t.same(new Set(await Promise.all(answers.map(textOf))), new Set(['ab']))
    t.equal(await textOf(await send(transport)), 'ab')
    t.equal(transport.load().connections, 300, 'one of them is reused')
    upstream.closeSockets()
    await until(() => transport.load().connections === 0, 'every connection to be forgotten')
    t.equal(await textOf(await send(transport)), 'ab')
    t.same(transport.load(), { connections: 1, waiting: 0, refused: 0 })
  }
)

t.test('the timeout of an answer starts when its request is sent', async t => {
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => { go = resolve })
  const { upstream, transport } = await pair(t, (_request, number) => number === 0
    ? { pieces: (async function * () { await opened; yield 'slow' })() }
    : { pieces: ['fast'] }, 1)
  const slow = send(transport)
  await upstream.request(0)
  const waiting = send(transport, { timeouts: { ...timeouts, firstByteMs: 200 } })
  await outlast(200)
  go()
  t.equal(await textOf(await slow), 'slow')
  t.equal(
    await textOf(await waiting),
    'fast',
    'although it was queued longer than the first-byte timeout'
  )
})

t.test('a socket is free again however its request ended', async t => {
  const ends: Script[] = [
    { pieces: ['complete'] },
    { pieces: ['cut'], then: 'reset' },
    { pieces: ['cut'], then: 'fin' },
    { pieces: ['stalled'], then: 'stall' },
    { silent: true },
    { pieces: ['left'], then: 'stall' }
  ]
  const { upstream, transport } = await pair(t, (_request, number) => ends[number] ?? { pieces: ['ok'] }, 1)
  t.equal(await textOf(await send(transport)), 'complete')
  await t.rejects(send(transport).then(textOf))
  await t.rejects(send(transport).then(textOf))
  await t.rejects(send(transport, { timeouts: { ...timeouts, idleBytesMs: 30 } }).then(textOf), {
    code: 'upstream_timeout'
  })
  await t.rejects(send(transport, { timeouts: { ...timeouts, firstByteMs: 30 } }), {
    code: 'upstream_timeout'
  })
  const left = await send(transport)
  left.body.cancel()
  t.equal(await textOf(await send(transport)), 'ok')
  t.equal(upstream.requests.length, 7)
})

t.test('an invalid header costs no connection', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['ok'] }, 1)
  for (const key of ['wide\u200b', 'delete\x7f', 'line\nbreak']) {
    await t.rejects(send(transport, { credential: { authorization: key } }), { code: 'internal_error' })
    t.equal(await textOf(await send(transport, { credential: { authorization: 'caf\xe9' } })), 'ok')
  }
  t.equal(upstream.requests.length, 3)
})

t.test('closing waits for queued requests and refuses new ones', async t => {
  const { transport } = await pair(t, { pieces: ['ok'] }, 1)
  const answers = Promise.all([1, 2, 3].map(async () => await textOf(await send(transport))))
  const closed = transport.close()
  t.same(await answers, ['ok', 'ok', 'ok'])
  await closed
  await t.rejects(send(transport), { code: 'upstream_unreachable' })
})

t.test('a connection that takes too long to establish is aborted', async t => {
  // accepts the connection, but never completes the handshake
  const mute = createServer(socket => socket.on('error', () => undefined))
  mute.listen(0, '127.0.0.1')
  await once(mute, 'listening')
  const { port } = mute.address() as AddressInfo // listening on TCP
  const transport = httpTransport({ baseUrl: `https://127.0.0.1:${port}`, connections: 1, connectMs: 20 })
  t.teardown(async () => {
    mute.close()
    await transport.close()
  })
  const error = await send(transport, { signal: AbortSignal.timeout(5000) }).catch((error: unknown) => error)
  t.match(error, { code: 'upstream_unreachable', fault: 'transient', cause: { code: 'ETIMEDOUT' } })
})

t.test('stopping early closes the connection', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['a'], then: 'stall' })
  for await (const bytes of (await send(transport)).body) {
    t.equal(Buffer.from(bytes).toString(), 'a')
    break
  }
  await settles((await upstream.request(0)).aborted, 'the provider to see it')
})

t.test('backpressure of the reader reaches the provider', async t => {
  let sent = 0
  const { transport } = await pair(t, {
    pieces: (async function * () {
      for (; sent < 2000; sent++) yield Buffer.alloc(64 * 1024, 97)
    })()
  })
  const answer = await send(transport)
  const bytes = answer.body[Symbol.asyncIterator]()
  await bytes.next()
  let before = -1
  while (before !== sent) { // until nothing more is accepted for many turns of the loop
    before = sent
    for (let turn = 0; turn < 200; turn++) await setImmediate()
  }
  t.ok(sent < 1000, `${sent} of 2000 pieces were taken`)
  let total = 0
  for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) {
    total += next.value.length
  }
  t.ok(total > 2000 * 64 * 1024 - 2e6, 'it continues when reading does')
})

t.test('compressed answers are decoded although none were requested', async t => {
  const text = 'data: {"a":"ü"}\n\n'.repeat(50)
  const bodies: Array<[string, Buffer]> = [
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)]
  ]
  for (const [encoding, bytes] of bodies) {
    const { transport } = await pair(t, {
      headers: { 'content-encoding': encoding },
      pieces: [bytes.subarray(0, 20), bytes.subarray(20)]
    })
    t.equal(await textOf(await send(transport)), text, encoding)
  }
  const cut = await pair(t, {
    headers: { 'content-encoding': 'gzip' },
    pieces: [gzipSync(text).subarray(0, 25)]
  })
  await t.rejects(send(cut.transport).then(textOf), { code: 'upstream_stream_interrupted' }, 'truncated')
  const plain = await pair(t, { headers: { 'content-encoding': 'gzip' }, pieces: ['not gzip at all'] })
  await t.rejects(
    send(plain.transport).then(textOf),
    { code: 'upstream_invalid_response' },
    'not the declared encoding'
  )
  const odd = await pair(t, { headers: { 'content-encoding': 'zstd' }, pieces: ['?'] })
  await t.rejects(send(odd.transport).then(textOf), { code: 'upstream_invalid_response' }, 'unknown')
})

t.test('a body over the limit is refused and its connection closed', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['x'.repeat(5000)], then: 'stall' })
  const answer = await send(transport)
  await t.rejects(async () => await answer.body.buffer(1000), { code: 'upstream_invalid_response' })
  await (await upstream.request(0)).aborted
})

t.test('an event stream split at any position gives the same messages', async t => {
  const line = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }).map(text => `data: ${text.replace(/[\r\n]/g, '')}`),
    fc.constantFrom(': comment', 'event: error', 'id: 7', 'data:{"a":1}', 'data', 'retry: x', 'what: ever')
  )
  const stream = fc
    .array(fc.tuple(fc.array(line, { minLength: 1, maxLength: 3 }), fc.constantFrom('\n', '\r\n')), {
      maxLength: 8
    })
    .map(events => events.map(([lines, end]) => lines.join(end) + end + end).join(''))
  fc.assert(
    fc.property(
      stream,
      fc.boolean(),
      fc.array(fc.nat({ max: 40 }), { maxLength: 60 }),
      (text, mark, cuts) => {
        const bytes = Buffer.from((mark ? '\ufeff' : '') + text)
        const complete = sseDecoder(1e6)
        const expected = [...complete.push(bytes), ...complete.end()]
        const reader = sseDecoder(1e6)
        const messages = []
        let at = 0
        for (const size of cuts) messages.push(...reader.push(bytes.subarray(at, (at += size))))
        messages.push(...reader.push(bytes.subarray(at)), ...reader.end())
        t.same(messages, expected)
      }
    ),
    { numRuns: rounds(500) }
  )
})

t.test('multi-byte characters survive a split', async t => {
  const bytes = Buffer.from('\ufeffevent: größe\ndata: plain\n\ndata: “naïve” 漢字 👋\n\nerror: ü\n\n')
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = sseDecoder(1e6)
    const messages = [
      ...reader.push(bytes.subarray(0, cut)),
      ...reader.push(bytes.subarray(cut)),
      ...reader.end()
    ]
    t.match(
      messages,
      [{ event: 'größe', data: 'plain' }, { data: '“naïve” 漢字 👋' }, { event: 'error', data: 'ü' }],
      `cut at ${cut}`
    )
  }
})

t.test('the length of a message is limited', async t => {
  const reader = sseDecoder(1000)
  t.throws(() => {
    for (let n = 0; n < 100; n++) reader.push(Buffer.from('data: '.padEnd(100, 'x')))
  }, { code: 'upstream_invalid_response' })
})

t.test(
  'an unsolicited response on an idle connection does not answer the next request',
  async t => {
    const provider = await startLateProvider(t)
    const transport = httpTransport({ baseUrl: provider.url, connectMs: 2000 })
    t.teardown(async () => {
      await transport.close()
    })
    const polled = async (): Promise<void> => {
      // resolves inside a socket callback
      const socket = connect(Number(new URL(provider.url).port), '127.0.0.1')
      await once(socket, 'connect')
      socket.destroy()
    }
    const phases: ReadonlyArray<[string, () => Promise<unknown>]> = [
      ['as the previous answer ends', async () => undefined],
      ['in a socket callback', polled],
      [
        'in a timer',
        async () => {
          await setTimeout(1)
        }
      ],
      [
        'in a check',
        async () => {
          await setImmediate()
        }
      ]
    ]
    let requests = 0
    for (const [phase, enter] of phases) {
      for (let round = 0; round < 3; round++) {
        t.match(await textOf(await send(transport)), `answer ${++requests}`)
        await enter()
        provider.writeUnrequested()
        t.match(await textOf(await send(transport)), `answer ${++requests}`, phase)
      }
    }
  }
)

t.test('closing the transport closes every connection', async t => {
  const { upstream, transport } = await pair(t, { pieces: ['ok'] })
  await Promise.all(Array.from({ length: 20 }, async () => await textOf(await send(transport))))
  t.ok(upstream.sockets() <= 4, 'no more connections than allowed')
  await transport.close()
  await until(() => upstream.sockets() === 0, 'every connection to the provider to close')
  t.equal(upstream.sockets(), 0)
})

const unsigned = { method: 'GET', url: 'http://a/', headers: {}, body: undefined }
const shortTimeouts = { connectMs: 20, firstByteMs: 1, responseMs: 1, idleBytesMs: 1, idleEventsMs: 1 }
const never = new Promise<never>(() => {})

async function signBy (sign: Signer['sign'], signal = new CallCancellation()): Promise<unknown> {
  return await signRequest({ accountId: 'a', sign }, unsigned, { signal, timeouts: shortTimeouts })
}

t.test('a signer receives the request and returns its headers, at once or later', async t => {
  t.same(await signBy(({ url }) => ({ 'x-url': url })), { 'x-url': 'http://a/' })
  t.same(await signBy(async ({ method }) => ({ 'x-method': method })), { 'x-method': 'GET' })
})

t.test('a signer that takes too long is aborted', async t => {
  await t.rejects(signBy(() => never), { code: 'upstream_timeout', mayBeBilled: false })
})

t.test('a call that ends does not wait for the signer', async t => {
  const signal = new CallCancellation()
  const signed = signBy(() => never, signal)
  signal.abort(new GatewayError('request_timeout'))
  await t.rejects(signed, { code: 'request_timeout' })
})

t.test('an error of the signer counts as an unreachable provider', async t => {
  const fails = async (): Promise<never> => await Promise.reject(new Error('no token'))
  await t.rejects(signBy(fails), { code: 'upstream_unreachable', cause: { message: 'no token' } })
  await t.rejects(signBy(() => { throw new GatewayError('upstream_overloaded') }), {
    code: 'upstream_overloaded'
  })
})
