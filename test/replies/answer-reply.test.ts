import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { map } from '../../lib/pipeline/stage.ts'
import {
  answerReply,
  answerStart,
  eventStream,
  streamOrJson,
  toAnswerReply
} from '../../lib/replies/answer-reply.ts'
import { normalise } from '../../lib/stages/normalise.ts'
import { batchesOf, collect, route, routedCall } from '../support/stages.ts'
import type { AnswerDialect } from '../../lib/dialects/dialect.ts'
import type { Batch } from '../../lib/core/call.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Reply } from '../../lib/core/reply.ts'
import { countTurns } from '../support/turns.ts'

/** A dialect that prints what it receives. */
const plain: AnswerDialect<string> = {
  encode: ({ head, context }) => ({
    print: events => events.map(({ type }) => `${type} `).join(''),
    end: () => `end of ${head.model} for ${context}`,
    fail: ({ code }, { id }) => `${code} in ${id}`,
    keepAlive: () => 'still here'
  }),
  complete: ({ context }, batches) => [
    context,
    ...batches.flatMap(({ events }) => events.map(({ type }) => type))
  ],
  headers: ({ id }) => ({ 'request-id': id })
}

const text: ChatEvent = { type: 'text-delta', choice: 0, text: 'a' }

async function replyTo (
  stream: boolean,
  failure?: unknown,
  lists: ChatEvent[][] = [[text], [text]]
): Promise<Reply> {
  const call = routedCall<ChatInput>({ model: 'one/m', messages: [], stream }, { context: 'you' })
  return await answerReply(plain)(normalise()(batchesOf(call, lists, failure)))
}

async function textOf ({ body }: Reply): Promise<string> {
  return typeof body === 'string' || body instanceof Uint8Array
    ? body.toString()
    : (await collect(body)).join('')
}

t.test('a stream is printed, kept alive and ended by the dialect', async t => {
  const reply = await replyTo(true)
  t.match(reply.headers, { 'content-type': /^text\/event-stream/, 'request-id': 'call-1' })
  t.equal(typeof reply.keepAlive?.text === 'function' && reply.keepAlive.text(), 'still here')
  t.equal(await textOf(reply), 'answer-start text-delta text-delta end of one/m for you')
})

t.test('an error thrown synchronously by a stage becomes a rejection', async t => {
  const failing = map((): Batch<ChatInput, ChatEvent> => { throw new GatewayError('overloaded') })
  await t.rejects(answerReply(plain)(normalise()(failing(once(1)))), { code: 'overloaded' })
})

t.test('a printer may do asynchronous work before its last text', async t => {
  const pings = { text: 'ping' }
  class Slow {
    readonly #pings = pings
    readonly last = async function * () { yield * ['last ', 'words'] }
    print (): string { return 'a ' }
    end (): string { return 'end ' }
    keepAlive (): string { return this.#pings.text }
  }
  const call = routedCall<ChatInput>({ model: 'one/m', messages: [], stream: true }, {})
  const reply = await answerReply({ ...plain, encode: () => new Slow() })(
    normalise()(batchesOf(call, [[text]]))
  )
  t.equal(
    typeof reply.keepAlive?.text === 'function' && reply.keepAlive.text(),
    'ping',
    'as a method of the printer'
  )
  t.equal(await textOf(reply), 'a a end last words')
})

t.test('a complete answer is made of the same events', async t => {
  const reply = await replyTo(false)
  t.match(reply.headers, { 'content-type': /^application\/json/, 'request-id': 'call-1' })
  t.same(JSON.parse(await textOf(reply)), ['you', 'answer-start', 'text-delta', 'text-delta'])
})

t.test('an error after the first event ends the stream in the dialect; an earlier one is thrown', async t => {
  const failure = new GatewayError('upstream_error')
  t.equal(
    await textOf(await replyTo(true, failure)),
    'answer-start text-delta text-delta upstream_error in call-1'
  )
  await t.rejects(replyTo(true, failure, []), { code: 'upstream_error' })
  await t.rejects(replyTo(false, failure), { code: 'upstream_error' })
})

t.test('an answer is printed at once, a large one in parts', async t => {
  t.same(await toAnswerReply({ a: 1 }, { routing: { answerBytes: 100 } }), {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: '{"a":1}'
  })
  const value = { a: 'x'.repeat(3_000_000), b: [1] }
  const turns = countTurns(t)
  const { status, body } = await toAnswerReply(value, { routing: { answerBytes: 3_000_000 } })
  t.equal(status, 200)
  t.ok(turns() > 10)
  t.ok(body instanceof Uint8Array && Buffer.from(body).toString() === JSON.stringify(value))
})

t.test('an event stream is neither cached, changed nor buffered on its way, and is kept alive', async t => {
  const body = (async function * () { yield 'data: a\n\n' })()
  t.strictSame(eventStream(body), {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no'
    },
    body,
    keepAlive: { text: ': ping\n', everyMs: 15_000 }
  })
})

t.test(
  'an answer starts with the first event of its first batch, and with the context that `input` kept',
  async t => {
    const call = routedCall<ChatInput>({ model: 'one/m', messages: [] }, { context: { echo: true } })
    const head: ChatEvent = { type: 'answer-start', id: 'chatcmpl-1', model: 'one/m', createdSeconds: 7 }
    const start = answerStart({
      call,
      route,
      events: [head, { type: 'choice-end', choice: 0, reason: 'stop' }]
    })
    t.strictSame(start, { head, call, route, context: { echo: true } })
  }
)

const sink = streamOrJson({
  streamed: async function * (source) {
    for await (const { events } of source) yield `${events.join()};`
  },
  complete: batches => ({ all: batches.flatMap(({ events }) => events) })
})

t.test('a caller who requested a stream gets one, from the first batch on', async t => {
  const reply = await sink(batchesOf(routedCall({ stream: true }), [['a'], ['b', 'c']]))
  t.equal(reply.headers['content-type'], 'text/event-stream; charset=utf-8')
  t.same(await collect(reply.body as AsyncIterable<string>), ['a;', 'b,c;'])
})

t.test('every other caller gets a complete answer', async t => {
  for (const request of [{}, { stream: false }]) {
    t.strictSame(await sink(batchesOf(routedCall(request), [['a'], ['b', 'c']])), {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: '{"all":["a","b","c"]}'
    })
  }
})

t.test('the value may be written in another format', async t => {
  const text = streamOrJson({
    streamed: async function* () {},
    complete: () => 7,
    write: value => ({ status: 200, headers: {}, body: `${value}` })
  })
  t.strictSame(await text(batchesOf(routedCall({}), [['a']])), { status: 200, headers: {}, body: '7' })
})

t.test('a failure before the first batch is a status; later only a complete answer can have one', async t => {
  const broken = new Error('broken')
  await t.rejects(sink(batchesOf(routedCall({ stream: true }), [], broken)), broken)
  await t.rejects(sink(batchesOf(routedCall({}), [['a']], broken)), broken)
  const { body } = await sink(batchesOf(routedCall({ stream: true }), [['a']], broken))
  await t.rejects(collect(body as AsyncIterable<string>), broken)
})
