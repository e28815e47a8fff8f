import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { ProviderFailure, type Failure } from '../../lib/providers/provider-failure.ts'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { sendRequest, type ProviderCallOptions } from '../../lib/attempts/send-request.ts'
import { provider } from '../support/settings.ts'
import { collectAll } from '../support/collect-young.ts'
import { until } from '../support/until.ts'
import type { OpenResponse } from '../../lib/attempts/open-response.ts'
import type {
  Adapter,
  AdapterInput,
  BodyReader,
  UpstreamFailure,
  Provider,
  SendOptions,
  StreamReader,
  UpstreamRequest
} from '../../lib/providers/provider.ts'
import type { Propagation } from '../../lib/core/call-trace.ts'
import type { Timeouts } from '../../lib/core/settings.ts'

interface Event { readonly type: string, readonly text?: string }
interface Request { readonly stream?: boolean }

/** One event for each word of a message; `!` ends the response, `?` is an error, `<` cannot be read. */
function wordReader (): StreamReader<Event> {
  let complete = false
  let done = false
  return {
    get done () { return done },
    read: ({ data }, into) => {
      for (const word of data.split(' ')) {
        if (word === '<') throw new GatewayError('upstream_invalid_response')
        if (word === '?') throw new ProviderFailure({ kind: 'overloaded' })
        if (word === 'stop') complete = true
        else if (word === '!') done = true
        else if (word === 'head') into.push({ type: 'response-start' })
        else if (word !== 'ping') into.push({ type: 'text-delta', text: word === 'empty' ? '' : word })
      }
    },
    end: into => {
      if (!complete) throw new GatewayError('upstream_stream_interrupted')
      into.push({ type: 'choice-end' })
    }
  }
}

/** A class: its functions need their object. */
class WordAdapter implements Adapter<Request, Event> {
  readonly #path = '/words'
  readonly #reader: BodyReader<Event>

  constructor (reader: BodyReader<Event>) {
    this.#reader = reader
  }

  request (): UpstreamRequest {
    return { method: 'POST', path: this.#path, headers: {} }
  }

  read (): BodyReader<Event> {
    return this.#reader
  }

  error ({ status, body }: UpstreamFailure): Failure {
    if (body === 'unreadable') throw new TypeError('body.error is not an object')
    return { kind: 'invalid_request', status, message: JSON.stringify(body) }
  }
}

const json = (value: unknown): Event[] => [{ type: 'json', text: JSON.stringify(value) }]

interface Script {
  readonly reader?: BodyReader<Event>
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly streamed?: boolean
  readonly options?: Partial<ProviderCallOptions>
  readonly timeouts?: Partial<Timeouts>
  /** Of the caller's request. */
  readonly bodyBytes?: number
  /** Of the call, for another request of the same. */
  readonly record?: CallRecord
  /** Of the provider. */
  readonly propagate?: Propagation
}

interface Started {
  /** The body the provider sends. */
  readonly body: BodyQueue
  readonly opening: Promise<OpenResponse<Event>>
  readonly cancelled: () => boolean
  readonly sent: Array<{ request: UpstreamRequest, options: SendOptions }>
  readonly record: CallRecord
}

/** Sends a request to a provider that answers as scripted; its body is the test's to write. */
function start (script: Script = {}): Started {
  const { streamed = true, status = 200, headers = {} } = script
  let cancelled = false
  const sent: Started['sent'] = []
  const body: BodyQueue = new BodyQueue({
    pause: () => undefined,
    resume: () => undefined,
    cancel: () => {
      cancelled = true
      body.fail(new GatewayError('upstream_stream_interrupted'))
    }
  })
  const reader: BodyReader<Event> = script.reader ?? (streamed
    ? { as: 'sse', reader: wordReader(), json }
    : { as: 'json', read: json, sse: wordReader })
  const adapter = new WordAdapter(reader)
  const base = provider('x')
  const scripted: Provider = {
    ...base,
    ...script.propagate !== undefined && { propagate: script.propagate },
    timeouts: { ...base.timeouts, ...script.timeouts },
    transport: {
      send: async (request, options) => {
        sent.push({ request, options })
        return await Promise.resolve({ status, headers, body })
      }
    }
  }
  const record = script.record ?? new CallRecord('test')
  record.bodyBytes = script.bodyBytes ?? 0
  const ask: AdapterInput<Request> = {
    request: {}, route: { providerId: 'x', model: 'm', modelId: 'x/m' }, quirks: {}, streamed
  }
  const key = { id: 'key-1', name: 'key-1', scopes: [] } as never // only its id is looked at
  const opening = sendRequest(
    { signal: new AbortController().signal, call: { id: 'call-1', record, key } },
    { input: ask },
    { provider: scripted, adapter, options: { answerBytes: 1000, eventBytes: 1000, ...script.options } }
  )
  return { body, opening, cancelled: () => cancelled, sent, record }
}

function sse (...messages: string[]): Buffer {
  return Buffer.from(messages.map(data => `data: ${data}\n\n`).join(''))
}

async function wordsOf (response: OpenResponse<Event>): Promise<string[][]> {
  const reads: string[][] = []
  for (let events = await response.next(); events !== undefined; events = await response.next()) {
    reads.push(events.map(({ type, text }) => text ?? type))
  }
  return reads
}

/** True while the response is still waiting after everything that was ready has run. */
async function isWaiting (opening: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol('waiting')
  const turn = new Promise<symbol>(resolve => setImmediate(resolve, waiting))
  return await Promise.race([opening, turn]) === waiting
}

t.test('a stream is open with its first visible output, and what came before it goes out with it', async t => {
  const { body, opening } = start()
  body.push(sse('head'))
  t.ok(await isWaiting(opening), 'a head is nothing')
  body.push(sse('empty'))
  t.ok(await isWaiting(opening), 'nor is an empty delta')
  body.push(sse('one', 'two'))
  const open = await opening
  body.push(sse('three stop'))
  body.end()
  t.same(await wordsOf(open), [['response-start', '', 'one', 'two'], ['three'], ['choice-end']])
})

t.test('the hold is over in time: one read may then be empty', async t => {
  const { body, opening } = start({ options: { holdMs: 5 } })
  const open = await opening
  t.same(await open.next(), [])
  body.push(sse('late stop !'))
  t.same(await wordsOf(open), [['late']])
})

t.test('an error before any visible output is thrown, after it by the read that follows', async t => {
  const before = start()
  before.body.push(sse('head', '?'))
  await t.rejects(before.opening, { name: 'ProviderFailure', failure: { kind: 'overloaded' } })
  t.ok(before.cancelled(), 'and the connection is closed')

  const after = start()
  after.body.push(sse('one', '?', 'never'))
  const open = await after.opening
  t.same(await open.next(), [{ type: 'text-delta', text: 'one' }])
  await t.rejects(async () => await open.next(), { name: 'ProviderFailure' })
})

t.test(
  'a response that cannot be read was accepted, so it is not sent again; one that said so was not',
  async t => {
    for (const text of ['<html>', 'data: <\n\n']) {
      const { body, opening } = start()
      body.push(Buffer.from(text))
      await t.rejects(opening, { code: 'upstream_invalid_response', acceptedByProvider: true }, text)
    }
    const page = start()
    page.body.push(Buffer.from('<html>'))
    await t.rejects(page.opening, {
      message:
        'The provider sent a page of HTML, not JSON: its `base_url` in the configuration may be wrong (see `headgate doctor`).'
    })
    const empty = start()
    empty.body.end()
    await t.rejects(empty.opening, { code: 'upstream_invalid_response', acceptedByProvider: true })

    const cut = start()
    cut.body.push(sse('head'))
    cut.body.fail(new GatewayError('upstream_stream_interrupted'))
    await t.rejects(
      cut.opening,
      { code: 'upstream_stream_interrupted', acceptedByProvider: false },
      'a stream that gave nothing cost nothing'
    )

    const half = start({ streamed: false })
    half.body.push(Buffer.from('{"half":'))
    half.body.fail(new GatewayError('upstream_stream_interrupted'))
    await t.rejects(
      half.opening,
      { code: 'upstream_stream_interrupted', acceptedByProvider: true },
      'a response at once was done'
    )

    for (const text of ['{"half":', `${'['.repeat(3000)}${']'.repeat(3000)}`]) {
      const broken = start({ streamed: false, options: { answerBytes: 10_000 } })
      broken.body.push(Buffer.from(text))
      broken.body.end()
      await t.rejects(
        broken.opening,
        { code: 'upstream_invalid_response', acceptedByProvider: true },
        text.slice(0, 10)
      )
    }
  }
)

t.test('what a reader stumbles over is a 502', async t => {
  const stumble = (): never => { throw new RangeError('Maximum call stack size exceeded') }
  const readers: ReadonlyArray<BodyReader<Event>> = [
    { as: 'json', read: stumble }, { as: 'text', read: stumble }, { as: 'bytes', read: stumble },
    { as: 'sse', reader: { done: false, read: stumble, end: stumble }, json: stumble }
  ]
  for (const reader of readers) {
    const { body, opening } = start({ reader, streamed: false })
    body.push(reader.as === 'sse' ? sse('a') : Buffer.from('{}'))
    body.end()
    await t.rejects(opening, { code: 'upstream_invalid_response', status: 502 }, reader.as)
  }
})

t.test('one JSON text in place of a stream is read as such, up to its limit', async t => {
  const { body, opening } = start()
  body.push(Buffer.from(' \n{"a":'))
  t.ok(await isWaiting(opening))
  body.push(Buffer.from('1}'))
  body.end()
  t.same(await wordsOf(await opening), [['{"a":1}']])

  const large = start()
  large.body.push(Buffer.from(`{"a":"${'x'.repeat(1001)}"}`))
  large.body.end()
  await t.rejects(large.opening, { code: 'upstream_invalid_response' })
})

t.test('a stream in place of JSON is read to its end', async t => {
  const { body, opening } = start({ streamed: false })
  body.push(sse('one', 'two stop'))
  body.end()
  t.same(await wordsOf(await opening), [['one', 'two', 'choice-end']])
  const cut = start({ streamed: false })
  cut.body.push(sse('one'))
  cut.body.end()
  await t.rejects(cut.opening, { code: 'upstream_stream_interrupted' })
})

t.test('the message that ends the response ends it, whatever follows', async t => {
  const { body, opening, cancelled } = start()
  body.push(sse('one stop !', 'more'))
  const open = await opening
  t.same(await wordsOf(open), [['one']])
  open.close()
  t.notOk(cancelled(), 'its connection may be used again')
  body.push(Buffer.from('rest'))
  body.end()
})

t.test('a connection that breaks after the finish reasons leaves a complete response', async t => {
  for (const code of ['upstream_stream_interrupted', 'upstream_timeout'] as const) {
    const { body, opening } = start()
    body.push(sse('one stop'))
    const open = await opening
    body.fail(new GatewayError(code))
    t.same(await wordsOf(open), [['one'], ['choice-end']], code)
  }
  const { body, opening } = start()
  body.push(sse('one'))
  const open = await opening
  body.fail(new GatewayError('upstream_stream_interrupted'))
  t.same(await open.next(), [{ type: 'text-delta', text: 'one' }])
  await t.rejects(
    async () => await open.next(),
    { code: 'upstream_stream_interrupted' },
    'before them it does not'
  )
  const left = start()
  left.body.push(sse('one stop'))
  const given = await left.opening
  left.body.fail(new GatewayError('client_closed_request'))
  await given.next()
  await t.rejects(
    async () => await given.next(),
    { code: 'client_closed_request' },
    'and a caller who left gets that reason'
  )
})

t.test('a message that the end cuts in two is a broken stream', async t => {
  const { body, opening } = start()
  body.push(sse('one'))
  const open = await opening
  body.push(Buffer.from('data: <'))
  body.end()
  await open.next()
  await t.rejects((async () => await wordsOf(open))(), { code: 'upstream_stream_interrupted' })
})

t.test('bytes without events are waited for only so long', async t => {
  const { body, opening } = start({ timeouts: { idleEventsMs: -1 } })
  body.push(sse('one'))
  const open = await opening
  await open.next()
  body.push(sse('ping'))
  await t.rejects(async () => await open.next(), { code: 'upstream_timeout' })
})

t.test('white space is no event, however much of it comes first', async t => {
  const { body, opening } = start({ timeouts: { idleEventsMs: -1 } })
  body.push(Buffer.from('\n\n'))
  await t.rejects(opening, { code: 'upstream_timeout' })
})

t.test('bytes that arrive in any cut give the same events', async t => {
  const bytes = sse('head', 'eins', 'zwei', 'dreißig stop !')
  for (const size of [1, 7, 64, bytes.length]) {
    const { body, opening } = start()
    for (let at = 0; at < bytes.length; at += size) body.push(bytes.subarray(at, at + size))
    body.end()
    t.same(
      (await wordsOf(await opening)).flat(),
      ['response-start', 'eins', 'zwei', 'dreißig'],
      `${size} bytes`
    )
  }
})

t.test('an event and a complete response have their limits', async t => {
  const event = start()
  event.body.push(Buffer.from(`data: ${'x'.repeat(2000)}`))
  await t.rejects(event.opening, { code: 'upstream_invalid_response' })
  for (const as of ['json', 'text', 'bytes'] as const) {
    const { body, opening, cancelled } = start({ streamed: false, reader: { as, read: () => [] } })
    body.push(Buffer.alloc(1001, 0x20))
    await t.rejects(opening, { code: 'upstream_invalid_response' }, as)
    t.ok(cancelled(), `${as}: the rest is not read`)
  }
})

t.test('text and bytes reach their readers as they are', async t => {
  const text = start({ reader: { as: 'text', read: words => [{ type: 'text', text: words }] } })
  text.body.push(Buffer.from('{"not": parsed'))
  text.body.end()
  t.same(await wordsOf(await text.opening), [['{"not": parsed']])
  const bytes = start({
    reader: { as: 'bytes', read: given => [{ type: 'text', text: given.toString('hex') }] }
  })
  bytes.body.push(Buffer.from([1, 2]))
  bytes.body.end()
  t.same(await wordsOf(await bytes.opening), [['0102']])
})

t.test('pieces go out as they arrive, and count', async t => {
  const pieces = {
    as: 'pieces' as const,
    read: (piece: Uint8Array, into: Event[]) => {
      into.push({ type: 'piece', text: String(piece.length) })
    }
  }
  const { body, opening, cancelled } = start({ reader: pieces })
  t.ok(await isWaiting(opening), 'the first is waited for')
  body.push(Buffer.alloc(10))
  const open = await opening
  t.same(await open.next(), [{ type: 'piece', text: '10' }])
  body.push(Buffer.alloc(5))
  t.same(await open.next(), [{ type: 'piece', text: '5' }])
  t.equal(open.sizeBytes(), 15)
  open.close()
  t.ok(cancelled())
  const empty = start({ reader: pieces })
  empty.body.end()
  await t.rejects(empty.opening, { code: 'upstream_invalid_response' })
})

t.test('the request is not kept until the provider answers, however large it is', async t => {
  for (const bodyBytes of [0, 1024 * 1024]) {
    const started = start({ bodyBytes })
    await until(() => started.sent.length === 1, 'the request to be sent')
    const request = new WeakRef(started.sent.splice(0)[0]?.request ?? {})
    await until(() => {
      collectAll()
      return request.deref() === undefined
    }, `the request of a body of ${bodyBytes} bytes to be collected`)
    started.body.push(Buffer.from('data: a\n\n'))
    t.same(await (await started.opening).next(), [{ type: 'text-delta', text: 'a' }])
  }
})

t.test('a refusal is stated with its words, and its limits', async t => {
  const { body, opening } = start({
    status: 429,
    headers: { 'x-ratelimit-limit-requests': '5', 'x-other': '1' }
  })
  body.push(Buffer.from('{"error":"slow"}'))
  body.end()
  await t.rejects(opening, {
    name: 'ProviderFailure',
    failure: { status: 429, message: '{"error":"slow"}', rateLimits: { 'x-ratelimit-limit-requests': '5' } }
  })
  const page = start({ status: 502 })
  page.body.push(Buffer.from('<html>nginx</html>'))
  page.body.end()
  await t.rejects(page.opening, { name: 'ProviderFailure', failure: { message: '""' } })
  const unreadable = start({ status: 529 })
  unreadable.body.push(Buffer.from('unreadable'))
  unreadable.body.end()
  await t.rejects(unreadable.opening, {
    name: 'ProviderFailure',
    failure: { status: 529, cause: { adapter: 'TypeError: body.error is not an object' } }
  })
})

t.test('a caller who is gone closes the connection, wherever the response stands', async t => {
  const { body, opening, cancelled } = start()
  body.push(sse('one'))
  const open = await opening
  open.close()
  t.ok(cancelled())
})

t.test('the request carries the credential, the call and the id of the provider', async t => {
  const { body, opening, sent, record } = start({ streamed: false, headers: { 'x-request-id': 'req-1' } })
  body.push(Buffer.from('{}'))
  body.end()
  await opening
  t.match(sent, [{ request: { path: '/words' }, options: { streamed: false, keyId: 'key-1' } }])
  t.equal(record.attempts, 1)
  t.equal(record.upstreamRequestId, 'req-1')
})

t.test("a provider of one's own gets the id of the call, and another one for each further request", async t => {
  const record = new CallRecord('test')
  const idOf = async (propagate?: Propagation): Promise<unknown> => {
    const { body, opening, sent } = start({
      streamed: false, record, ...propagate !== undefined && { propagate }
    })
    body.push(Buffer.from('{}'))
    body.end()
    await opening
    return sent[0]?.options.trace
  }
  t.strictSame(await idOf('traceparent'), { 'x-request-id': 'call-1' })
  t.strictSame(await idOf('all'), { 'x-request-id': 'call-1-2' })
  t.equal(await idOf('none'), undefined)
  t.equal(await idOf(), undefined)
})

t.test('of two requests the id is that of the one which answers, and none where it has none', async t => {
  const first = start({ headers: { 'x-request-id': 'first' } })
  const { record } = first
  const second = start({ headers: { 'x-request-id': 'second' }, record })
  t.ok(await isWaiting(second.opening), 'its head is there')
  first.body.push(sse('one'))
  await first.opening
  t.equal(record.upstreamRequestId, 'first')
  const third = start({ record })
  third.body.push(sse('one'))
  await third.opening
  t.equal(record.upstreamRequestId, undefined)
})
