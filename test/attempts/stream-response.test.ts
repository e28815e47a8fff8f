import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { AnswerMemory } from '../../lib/attempts/open-response.ts'
import { StreamResponse, type StreamOptions } from '../../lib/attempts/stream-response.ts'
import { until } from '../support/until.ts'
import type { StreamReader } from '../../lib/providers/provider.ts'

interface Event { readonly type: string, readonly text?: string }

/** One event for each message; `[DONE]` ends the answer, `bad` cannot be read. */
function reader (): StreamReader<Event> {
  let done = false
  return {
    get done () { return done },
    read: ({ data }, into) => {
      if (data === 'bad') throw new Error('cannot be read')
      if (data === '[DONE]') done = true
      else into.push(data === 'head' ? { type: 'response-start' } : { type: 'text-delta', text: data })
    },
    end: () => { throw new GatewayError('upstream_stream_interrupted') }
  }
}

function start (options: Partial<StreamOptions<Event>> = {}) {
  let cancelled = false
  const body: BodyQueue = new BodyQueue({
    pause: () => undefined,
    resume: () => undefined,
    cancel: () => {
      cancelled = true
    }
  })
  const response = new StreamResponse<Event>(body, reader(), {
    json: async bytes => [{ type: 'json', text: bytes.toString() }],
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

t.test('what came before the first visible output goes out with it, then read by read to the end', async t => {
  const { response, texts, send, body } = start()
  send(data('head'))
  const open = response.untilVisible(60_000)
  send(data('a'))
  await open
  t.same(await texts(), ['response-start', 'a'])
  send(data('b', 'c'))
  t.same(await texts(), ['b', 'c'])
  send(data('[DONE]', 'ignored'))
  body.end()
  t.same(await texts(), [])
  t.equal(await texts(), undefined)
  t.ok(response.sizeBytes() > 30)
})

t.test('when the hold is over one read may be empty', async t => {
  const { response, texts, send } = start()
  await response.untilVisible(1)
  t.same(await texts(), [])
  send(data('a'))
  t.same(await texts(), ['a'])
})

t.test('a flood without visible output is held no longer, by its number and by its bytes', async t => {
  const heads = data(...Array<string>(1001).fill('head'))
  for (const flood of [heads, data('head') + ': comment\n\n'.repeat(100)]) {
    const { response, texts, send } = start()
    send(flood)
    await response.untilVisible(60_000)
    t.match(await texts(), ['response-start'])
    send(data('a'))
    t.same(await texts(), ['a'])
  }
  const { response, texts, send } = start()
  send(data(...Array<string>(50).fill('head')))
  const open = response.untilVisible(60_000)
  send(data('a'))
  await open
  t.equal(Array(await texts()).flat().length, 51, 'a usual beginning waits for the first output')
})

t.test('a failure after events is thrown by the read that follows', async t => {
  const { response, texts, send } = start()
  send(data('a', 'bad', 'b'))
  await response.untilVisible(60_000)
  t.same(await texts(), ['a'])
  await t.rejects(texts(), { code: 'upstream_invalid_response' })
})

t.test('a failure before any visible output is thrown while it is opened', async t => {
  const { response, send } = start()
  send(data('head', 'bad'))
  await t.rejects(response.untilVisible(60_000), { code: 'upstream_invalid_response' })
})

t.test('an end or a break without the last message is an interruption', async t => {
  for (const cut of [true, false]) {
    const { texts, send, body } = start()
    send(data('a'))
    t.same(await texts(), ['a'])
    if (cut) body.fail(new GatewayError('upstream_stream_interrupted'))
    else body.end()
    await t.rejects(texts(), { code: 'upstream_stream_interrupted' })
  }
})

t.test('one JSON text is read as such, HTML and nothing at all are refused', async t => {
  const json = start()
  json.send(' {"a":')
  json.send('1}')
  json.body.end()
  t.same(await json.texts(), [' {"a":1}'])
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

t.test('a flood of bytes without events ends as well, although none of them is waited for', async t => {
  const busy = (): [] => {
    const overMs = performance.now() + 5
    while (performance.now() < overMs) { /* as a decoder of large reads is */ }
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

t.test('bytes without events are waited for only so long', async t => {
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

t.test('so are those before the first visible output, however long it is held', async t => {
  const { response, send, body } = start({ idleEventsMs: 20 })
  const beganMs = performance.now()
  const opening = t.rejects(response.untilVisible(60_000), { code: 'upstream_timeout' })
  await until(() => performance.now() - beganMs > 40, 'the wait to be too long')
  send(': ping\n\n')
  body.end()
  await opening
})

t.test('closing gives up a body that has not ended', async t => {
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
  'an event that is not complete yet is counted in the memory of its call, and refused where there is no room',
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
