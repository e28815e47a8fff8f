import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { AnswerMemory } from '../../lib/attempts/answer-memory.ts'
import { StreamResponse, type StreamOptions } from '../../lib/attempts/stream-response.ts'
import { route } from '../support/routes.ts'
import { until } from '../support/until.ts'
import type { EventStreamFormat, StreamReader } from '../../lib/providers/provider.ts'

interface Event { readonly type: string, readonly text?: string }

/** Gives one event per message; `[DONE]` ends the answer, `bad` cannot be read. */
function reader (): StreamReader<Event> {
  let done = false
  return {
    get isDone () { return done },
    read: ({ data }, into) => {
      if (data === 'bad') throw new Error('cannot be read')
      if (data === '[DONE]') done = true
      else into.push(data === 'head' ? { type: 'answer-start' } : { type: 'text-delta', text: data })
    },
    end: () => { throw new GatewayError('upstream_stream_interrupted') }
  }
}

function start ({
  decoder, reader: given = reader(), ...options
}: Partial<StreamOptions & EventStreamFormat<Event>> = {}) {
  let cancelled = false
  const body: BodyQueue = new BodyQueue({
    pause: () => undefined,
    resume: () => undefined,
    cancel: () => {
      cancelled = true
    }
  })
  const format: EventStreamFormat<Event> = {
    as: 'events', reader: given, json: value => [{ type: 'json', text: JSON.stringify(value) }], decoder
  }
  const response = new StreamResponse<Event>(body, format, {
    route: route('one/m'),
    jsonBytes: 100,
    eventBytes: 1000,
    memory: new AnswerMemory(undefined),
    idleEventsMs: 60_000,
    ...options
  })
  const texts = async (): Promise<unknown> => (await response.next())?.map(({ type, text }) => text ?? type)
  return {
    response,
    texts,
    send: (text: string) => body.push(Buffer.from(text)),
    body,
    cancelled: () => cancelled
  }
}

const data = (...words: string[]): string => words.map(word => `data: ${word}\n\n`).join('')

t.test('events before the first visible output are sent with it, then each read until the end', async t => {
  const { response, texts, send, body } = start()
  send(data('head'))
  const open = response.untilVisible(60_000)
  send(data('a'))
  await open
  t.same(await texts(), ['answer-start', 'a'])
  send(data('b', 'c'))
  t.same(await texts(), ['b', 'c'])
  send(data('[DONE]', 'ignored'))
  body.end()
  t.same(await texts(), [])
  t.equal(await texts(), undefined)
  t.ok(response.sizeBytes() > 30)
})

t.test('after the hold one read may be empty', async t => {
  const { response, texts, send } = start()
  await response.untilVisible(1)
  t.same(await texts(), [])
  send(data('a'))
  t.same(await texts(), ['a'])
})

t.test('the hold ends after too many events or bytes without visible output', async t => {
  const heads = data(...Array<string>(1001).fill('head'))
  for (const flood of [heads, data('head') + ': comment\n\n'.repeat(100)]) {
    const { response, texts, send } = start()
    send(flood)
    await response.untilVisible(60_000)
    t.match(await texts(), ['answer-start'])
    send(data('a'))
    t.same(await texts(), ['a'])
  }
  const { response, texts, send } = start()
  send(data(...Array<string>(50).fill('head')))
  const open = response.untilVisible(60_000)
  send(data('a'))
  await open
  t.equal(Array(await texts()).flat().length, 51, 'an ordinary beginning waits for the first output')
})

t.test('a failure after events is thrown by the next read', async t => {
  const { response, texts, send } = start()
  send(data('a', 'bad', 'b'))
  await response.untilVisible(60_000)
  t.same(await texts(), ['a'])
  await t.rejects(texts(), { code: 'upstream_invalid_response' })
})

t.test('a failure before any visible output is thrown while opening', async t => {
  const { response, send } = start()
  send(data('head', 'bad'))
  await t.rejects(response.untilVisible(60_000), { code: 'upstream_invalid_response' })
})

t.test('a stream that breaks before any output has the usage reported so far', async t => {
  const usage = { promptTokens: 9, completionTokens: 0, totalTokens: 9 }
  const opened = async (cut: (given: ReturnType<typeof start>) => void): Promise<unknown> => {
    const given = start({ reader: Object.assign(reader(), { usageSoFar: () => usage }) })
    given.send(data('head'))
    cut(given)
    return await given.response.untilVisible(60_000).catch((error: unknown) => error)
  }
  t.match(await opened(({ body }) => body.end()), { code: 'upstream_stream_interrupted', usage })
  t.match(
    await opened(({ body }) => body.fail(new GatewayError('upstream_stream_interrupted'))),
    { code: 'upstream_stream_interrupted', usage }
  )
  const failed = await opened(({ send }) => send(data('bad')))
  t.match(failed, { code: 'upstream_invalid_response', usage: undefined })
})

t.test('a stream that ends or breaks without its last message is interrupted', async t => {
  for (const cut of [true, false]) {
    const { texts, send, body } = start()
    send(data('a'))
    t.same(await texts(), ['a'])
    if (cut) body.fail(new GatewayError('upstream_stream_interrupted'))
    else body.end()
    await t.rejects(texts(), { code: 'upstream_stream_interrupted' })
  }
})

t.test('a JSON body is read; HTML and an empty body are refused', async t => {
  const json = start()
  json.send(' {"a":')
  json.send('1}')
  json.body.end()
  t.same(await json.texts(), ['{"a":1}'])
  t.equal(await json.texts(), undefined)
  const long = start({ jsonBytes: 3 })
  long.send('{"a":1}')
  await t.rejects(long.texts(), { code: 'upstream_invalid_response' })
  const html = start()
  html.send('<!doctype html>')
  await t.rejects(html.texts(), { code: 'upstream_invalid_response' })
  const empty = start()
  empty.body.end()
  await t.rejects(empty.texts(), { code: 'upstream_invalid_response' })
})

t.test('an endless flow of bytes without events times out even if it never pauses', async t => {
  const busy = (): [] => {
    const overMs = performance.now() + 5
    while (performance.now() < overMs) { /** busy, like the decoder of a large read */ }
    return []
  }
  const { texts, send } = start({ idleEventsMs: 100, decoder: () => ({ push: busy, end: () => [] }) })
  const read = async (): Promise<void> => {
    send('x')
    await texts()
  }
  await t.rejects(async () => { for (let reads = 0; reads < 50; reads++) await read() }, {
    code: 'upstream_timeout'
  })
})

t.test('a stream that sends bytes without events times out', async t => {
  const { texts, send } = start({ idleEventsMs: 1 })
  send(data('a'))
  t.same(await texts(), ['a'])
  const waiting = t.rejects(async () => { for (;;) await texts() }, { code: 'upstream_timeout' })
  let over = false
  void waiting.then(() => { over = true })
  await until(() => {
    send(': ping\n\n')
    return over
  }, 'the pings to be enough')
  await waiting
})

t.test('so does one that sends them before the first visible output', async t => {
  const { response, send, body } = start({ idleEventsMs: 20 })
  const beganMs = performance.now()
  const opening = t.rejects(response.untilVisible(60_000), { code: 'upstream_timeout' })
  await until(() => performance.now() - beganMs > 40, 'the wait to be too long')
  send(': ping\n\n')
  body.end()
  await opening
})

t.test('closing cancels a body that has not ended', async t => {
  const open = start()
  open.response.close()
  t.equal(open.cancelled(), true)
  const ended = start()
  ended.send(data('a', '[DONE]'))
  ended.body.end()
  await ended.texts()
  ended.response.close()
  t.equal(ended.cancelled(), false)
})

t.test(
  'an incomplete event counts towards the memory of its call, and is refused when there is none left',
  async t => {
    let held = 0
    const memory = new AnswerMemory(bytes => {
      held += bytes
      if (held > 200_000) throw new GatewayError('overloaded')
    })
    const { texts, send, cancelled, response } = start({ eventBytes: 1_000_000, memory })
    send(data('a'))
    t.same(await texts(), ['a'])
    send(`data: ${'x'.repeat(100_000)}`)
    t.same(await texts(), [])
    t.equal(held, 2 * (100_006 - 64 * 1024))
    send('x'.repeat(100_000))
    await t.rejects(texts(), { code: 'overloaded' })
    response.close()
    t.ok(cancelled())
  }
)
