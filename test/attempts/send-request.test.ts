import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { ProviderFailure, type Failure } from '../../lib/providers/provider-failure.ts'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { sendRequest, type ResponseBounds } from '../../lib/attempts/send-request.ts'
import { provider } from '../support/settings.ts'
import { collectAll } from '../support/collect-young.ts'
import { until } from '../support/until.ts'
import type { OpenResponse } from '../../lib/attempts/open-response.ts'
import type {
  Adapter,
  AdapterInput,
  BodyFormat,
  UpstreamFailure,
  Provider,
  SendOptions,
  StreamReader,
  UpstreamRequest
} from '../../lib/providers/provider.ts'
import type { Propagation } from '../../lib/core/call-trace.ts'
import type { Timeouts } from '../../lib/core/settings.ts'

interface Event { readonly type: string, readonly text?: string }
interface Request { readonly stream?: boolean, readonly length?: number }

/** Gives one event per word of a message; `!` ends the response, `?` is an error, `<` cannot be read. */
function wordReader (): StreamReader<Event> {
  let complete = false
  let done = false
  return {
    get isDone () { return done },
    read: ({ data }, into) => {
      for (const word of data.split(' ')) {
        if (word === '<') throw new GatewayError('upstream_invalid_response')
        if (word === '?') throw new ProviderFailure({ kind: 'overloaded' })
        if (word === 'stop') complete = true
        else if (word === '!') done = true
        else if (word === 'head') into.push({ type: 'answer-start' })
        else if (word !== 'ping') into.push({ type: 'text-delta', text: word === 'empty' ? '' : word })
      }
    },
    end: into => {
      if (!complete) throw new GatewayError('upstream_stream_interrupted')
      into.push({ type: 'choice-end' })
    }
  }
}

/** A class, so that calling a method without its object fails. */
class WordAdapter implements Adapter<Request, Event> {
  readonly #path = '/words'
  readonly #fieldNames = new Map([['length', 'max_words']])
  readonly #reader: BodyFormat<Event>

  constructor (reader: BodyFormat<Event>) {
    this.#reader = reader
  }

  request ({ request }: AdapterInput<Request>): UpstreamRequest {
    if (request.length === 0) {
      throw new GatewayError('unsupported_parameter', { message: '`length` is zero.', param: 'length' })
    }
    return { method: 'POST', path: this.#path, headers: {} }
  }

  read (): BodyFormat<Event> {
    return this.#reader
  }

  error ({ status, body }: UpstreamFailure): Failure {
    if (body === 'unreadable') throw new TypeError('body.error is not an object')
    const message = JSON.stringify(body)
    return { kind: 'invalid_request', status, message, ...body === 'length' && { param: 'length' } }
  }

  callerParam (param: string): string {
    return this.#fieldNames.get(param) ?? param
  }
}

const json = (value: unknown): Event[] => [{ type: 'json', text: JSON.stringify(value) }]

interface Script {
  readonly reader?: BodyFormat<Event>
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly streamed?: boolean
  readonly request?: Request
  readonly bounds?: Partial<ResponseBounds>
  readonly timeouts?: Partial<Timeouts>
  /** Size of the caller's request body. */
  readonly bodyBytes?: number
  /** Record of the call, to send a further request of the same call. */
  readonly record?: CallRecord
  /** Propagation setting of the provider. */
  readonly propagate?: Propagation
}

interface Started {
  /** The response body; the test writes it. */
  readonly body: BodyQueue
  readonly opening: Promise<OpenResponse<Event>>
  readonly cancelled: () => boolean
  readonly sent: Array<{ request: UpstreamRequest, options: SendOptions }>
  readonly record: CallRecord
}

/** Sends a request to a provider that answers as scripted. */
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
  const reader: BodyFormat<Event> = script.reader ?? (streamed
    ? { as: 'events', reader: wordReader(), json }
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
  record.request.bodyBytes = script.bodyBytes ?? 0
  const ask: AdapterInput<Request> = {
    request: script.request ?? {},
    route: { providerId: 'x', model: 'm', modelId: 'x/m' },
    quirks: {},
    streamed
  }
  const key = { id: 'key-1', name: 'key-1', scopes: [] } as never // only its id is read
  const opening = sendRequest(
    { signal: new AbortController().signal, call: { id: 'call-1', record, key } },
    ask,
    { provider: scripted, adapter, bounds: { answerBytes: 1000, eventBytes: 1000, ...script.bounds } }
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

/** Returns true while the response is still pending after all ready work has run. */
async function isWaiting (opening: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol('waiting')
  const turn = new Promise<symbol>(resolve => setImmediate(resolve, waiting))
  return await Promise.race([opening, turn]) === waiting
}

t.test('a stream opens at its first visible output, and sends earlier events with it', async t => {
  const { body, opening } = start()
  body.push(sse('head'))
  t.ok(await isWaiting(opening), 'a head alone does not open it')
  body.push(sse('empty'))
  t.ok(await isWaiting(opening), 'nor does an empty delta')
  body.push(sse('one', 'two'))
  const open = await opening
  body.push(sse('three stop'))
  body.end()
  t.same(await wordsOf(open), [['answer-start', '', 'one', 'two'], ['three'], ['choice-end']])
})

t.test('the hold ends after its time, and one read may then be empty', async t => {
  const { body, opening } = start({ bounds: { holdMs: 5 } })
  const open = await opening
  t.same(await open.next(), [])
  body.push(sse('late stop !'))
  t.same(await wordsOf(open), [['late']])
})

t.test('an error before any visible output rejects the opening, a later one the next read', async t => {
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
  'an unreadable response counts as accepted, so that it is not retried; no answer and a break do not',
  async t => {
    for (const [text, isAccepted] of [['<html>', false], ['data: <\n\n', true]] as const) {
      const { body, opening } = start()
      body.push(Buffer.from(text))
      await t.rejects(opening, { code: 'upstream_invalid_response', acceptedByProvider: isAccepted }, text)
    }
    const page = start()
    page.body.push(Buffer.from('<html>'))
    await t.rejects(page.opening, {
      message:
        'The provider sent a page of HTML, not JSON: its `base_url` in the configuration may be wrong (see `headgate doctor`).'
    })
    const empty = start()
    empty.body.end()
    await t.rejects(empty.opening, { code: 'upstream_invalid_response', acceptedByProvider: false })

    const cut = start()
    cut.body.push(sse('head'))
    cut.body.fail(new GatewayError('upstream_stream_interrupted'))
    await t.rejects(
      cut.opening,
      { code: 'upstream_stream_interrupted', acceptedByProvider: undefined },
      'a stream without output was not billed'
    )

    const half = start({ streamed: false })
    half.body.push(Buffer.from('{"half":'))
    half.body.fail(new GatewayError('upstream_stream_interrupted'))
    await t.rejects(
      half.opening,
      { code: 'upstream_stream_interrupted', acceptedByProvider: true },
      'a response that began as JSON was billed'
    )

    for (const text of ['{"half":', `${'['.repeat(3000)}${']'.repeat(3000)}`]) {
      const broken = start({ streamed: false, bounds: { answerBytes: 10_000 } })
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

t.test('an exception in a reader is a 502', async t => {
  const stumble = (): never => { throw new RangeError('Maximum call stack size exceeded') }
  const readers: ReadonlyArray<BodyFormat<Event>> = [
    { as: 'json', read: stumble }, { as: 'text', read: stumble }, { as: 'bytes', read: stumble },
    { as: 'events', reader: { isDone: false, read: stumble, end: stumble }, json: stumble }
  ]
  for (const reader of readers) {
    const { body, opening } = start({ reader, streamed: false })
    body.push(reader.as === 'events' ? sse('a') : Buffer.from('{}'))
    body.end()
    await t.rejects(opening, { code: 'upstream_invalid_response', status: 502 }, reader.as)
  }
})

t.test('a JSON body in place of a stream is read, up to its size limit', async t => {
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

t.test('anything after the final message is ignored', async t => {
  const { body, opening, cancelled } = start()
  body.push(sse('one stop !', 'more'))
  const open = await opening
  t.same(await wordsOf(open), [['one']])
  open.close()
  t.notOk(cancelled(), 'the connection can be reused')
  body.push(Buffer.from('rest'))
  body.end()
})

t.test('a connection that breaks after the finish reason leaves a complete response', async t => {
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
    'before the finish reason it does not'
  )
  const left = start()
  left.body.push(sse('one stop'))
  const given = await left.opening
  left.body.fail(new GatewayError('client_closed_request'))
  await given.next()
  await t.rejects(
    async () => await given.next(),
    { code: 'client_closed_request' },
    'an abort of the caller is reported as such'
  )
})

t.test('a final message that is cut off is an interrupted stream', async t => {
  const { body, opening } = start()
  body.push(sse('one'))
  const open = await opening
  body.push(Buffer.from('data: <'))
  body.end()
  await open.next()
  await t.rejects((async () => await wordsOf(open))(), { code: 'upstream_stream_interrupted' })
})

t.test('a stream that sends bytes without events times out', async t => {
  const { body, opening } = start({ timeouts: { idleEventsMs: -1 } })
  body.push(sse('one'))
  const open = await opening
  await open.next()
  body.push(sse('ping'))
  await t.rejects(async () => await open.next(), { code: 'upstream_timeout' })
})

t.test('leading white space does not count as an event', async t => {
  const { body, opening } = start({ timeouts: { idleEventsMs: -1 } })
  body.push(Buffer.from('\n\n'))
  await t.rejects(opening, { code: 'upstream_timeout' })
})

t.test('bytes split at any position give the same events', async t => {
  const bytes = sse('head', 'eins', 'zwei', 'dreißig stop !')
  for (const size of [1, 7, 64, bytes.length]) {
    const { body, opening } = start()
    for (let at = 0; at < bytes.length; at += size) body.push(bytes.subarray(at, at + size))
    body.end()
    t.same(
      (await wordsOf(await opening)).flat(),
      ['answer-start', 'eins', 'zwei', 'dreißig'],
      `${size} bytes`
    )
  }
})

t.test('an event and a response body have size limits', async t => {
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

t.test('the request is released before the provider answers, whatever its size', async t => {
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

t.test('an error response keeps its message and its rate limits', async t => {
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

t.test('closing a response closes its connection', async t => {
  const { body, opening, cancelled } = start()
  body.push(sse('one'))
  const open = await opening
  open.close()
  t.ok(cancelled())
})

t.test('the request is sent with the key id, and the request id of the provider is recorded', async t => {
  const { body, opening, sent, record } = start({ streamed: false, headers: { 'x-request-id': 'req-1' } })
  body.push(Buffer.from('{}'))
  body.end()
  await opening
  t.match(sent, [{ request: { path: '/words' }, options: { streamed: false, keyId: 'key-1' } }])
  t.equal(record.routing.requestCount, 1)
  t.equal(record.routing.upstreamRequestId, 'req-1')
})

t.test('a provider that receives request ids gets that of the call, numbered for each retry', async t => {
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

t.test('of two requests, the recorded request id is that of the one that answers, if it has one', async t => {
  const first = start({ headers: { 'x-request-id': 'first' } })
  const { record } = first
  const second = start({ headers: { 'x-request-id': 'second' }, record })
  t.ok(await isWaiting(second.opening), 'its headers have arrived')
  first.body.push(sse('one'))
  await first.opening
  t.equal(record.routing.upstreamRequestId, 'first')
  const third = start({ record })
  third.body.push(sse('one'))
  await third.opening
  t.equal(record.routing.upstreamRequestId, undefined)
})

t.test('a rejected parameter is named as the caller wrote it', async t => {
  for (const bodyBytes of [0, 3_000_000]) {
    await t.rejects(
      start({ request: { length: 0 }, bodyBytes }).opening,
      { code: 'unsupported_parameter', param: 'max_words', message: '`max_words` is zero.' },
      'by the adapter'
    )
  }
  const { body, opening } = start({ status: 400 })
  body.push(Buffer.from('"length"'))
  body.end()
  await t.rejects(opening, { name: 'ProviderFailure', failure: { param: 'max_words' } })
})

/** One event for each message; `stop` completes the answer. */
function lineReader (): StreamReader<Event> {
  let isComplete = false
  return {
    isDone: false,
    read: ({ data }, into) => {
      if (data === 'stop') isComplete = true
      else into.push({ type: 'text-delta', text: data })
    },
    end: () => { if (!isComplete) throw new GatewayError('upstream_stream_interrupted') }
  }
}

/** Sends a request whose complete answer is read in some form. */
function open (reader: BodyFormat<Event>) {
  const started = start({ reader, streamed: false })
  const receive = (...pieces: Array<string | Buffer>): void => {
    for (const piece of pieces) started.body.push(Buffer.from(piece))
    started.body.end()
  }
  return { ...started, receive }
}

async function textsOf (response: OpenResponse<Event>): Promise<Array<string | undefined>> {
  const texts: Array<string | undefined> = []
  for (let events = await response.next(); events !== undefined; events = await response.next()) {
    texts.push(...events.map(({ text }) => text))
  }
  return texts
}

const jsonOrLines: BodyFormat<Event> = { as: 'json', read: json, sse: lineReader }

t.test('JSON is parsed, and its size is recorded', async t => {
  const { receive, opening, record } = open(jsonOrLines)
  receive('{"a":', '1}')
  const response = await opening
  t.same(await textsOf(response), ['{"a":1}'])
  t.equal(response.route.modelId, 'x/m')
  t.equal(record.routing.answerBytes, 7)
})

/** Returns the texts of an answer that was requested as JSON. */
async function answerTo (...pieces: string[]): Promise<Array<string | undefined>> {
  const { receive, opening } = open(jsonOrLines)
  receive(...pieces)
  return await textsOf(await opening)
}

t.test('comments before JSON are skipped', async t => {
  t.same(await answerTo(': processing\n\n', ': processing\n\n', '{"a":1}'), ['{"a":1}'])
  t.same(await answerTo(': ping\n\n: ping\r\n {"a":1}'), ['{"a":1}'])
  t.same(await answerTo(': ping\n[1]'), ['[1]'])
  t.same(await answerTo(' {"a":1}'), ['{"a":1}'])
})

t.test('a stream in place of JSON is read to its end', async t => {
  t.same(await answerTo('data: one\n\n', 'data: two\n\ndata: stop\n\n'), ['one', 'two'])
  await t.rejects(answerTo('data: one\n\n'), { code: 'upstream_stream_interrupted' })
})

t.test('a stream is recognised by its first line, after a mark and blanks', async t => {
  for (const line of ['\ufeffdata: one', '\n event: a', 'id: 1', 'retry: 1', ': ping\ndata: one', ': ping']) {
    const texts = await answerTo(`${line}\ndata: two\n\ndata: stop\n\n`)
    t.same(texts, [line.includes('one') ? 'one\ntwo' : 'two'], line)
  }
  for (const text of ['database: 1', ' text', ''] as const) {
    await t.rejects(answerTo(text), { code: 'upstream_invalid_response' }, text)
  }
})

t.test('text and bytes reach their readers unchanged', async t => {
  const text = open({ as: 'text', read: words => [{ type: 'text', text: words }] })
  text.receive('{"not": parsed')
  t.same(await textsOf(await text.opening), ['{"not": parsed'])
  const bytes = open({ as: 'bytes', read: given => [{ type: 'text', text: given.toString('hex') }] })
  bytes.receive(Buffer.from([1, 2]))
  t.same(await textsOf(await bytes.opening), ['0102'])
})

t.test('pieces are sent as they arrive, and their bytes are counted', async t => {
  const pieces: BodyFormat<Event> = {
    as: 'pieces',
    read: (piece, into) => { into.push({ type: 'piece', text: String(piece.length) }) }
  }
  const { body, opening, cancelled } = open(pieces)
  let isOpen = false
  void opening.then(() => { isOpen = true })
  await new Promise(setImmediate)
  t.notOk(isOpen, 'it waits for the first piece')
  body.push(Buffer.alloc(10))
  const response = await opening
  t.same(await response.next(), [{ type: 'piece', text: '10' }])
  body.push(Buffer.alloc(5))
  t.same(await response.next(), [{ type: 'piece', text: '5' }])
  t.equal(response.sizeBytes(), 15)
  response.close()
  t.ok(cancelled())
  const empty = open(pieces)
  empty.receive()
  await t.rejects(empty.opening, { code: 'upstream_invalid_response' })
})
