import t from 'tap'
import { streamOrJson } from '../../lib/replies/stream-or-json.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'

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

t.test('every other caller gets all of it in one piece', async t => {
  for (const request of [{}, { stream: false }]) {
    t.strictSame(await sink(batchesOf(routedCall(request), [['a'], ['b', 'c']])), {
      status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{"all":["a","b","c"]}'
    })
  }
})

t.test('the value may be written otherwise', async t => {
  const text = streamOrJson({
    streamed: async function * () {}, complete: () => 7, write: value => ({ status: 200, headers: {}, body: `${value}` })
  })
  t.strictSame(await text(batchesOf(routedCall({}), [['a']])), { status: 200, headers: {}, body: '7' })
})

t.test('a failure before the first batch is a status; later it is one only of a complete answer', async t => {
  const broken = new Error('broken')
  await t.rejects(sink(batchesOf(routedCall({ stream: true }), [], broken)), broken)
  await t.rejects(sink(batchesOf(routedCall({}), [['a']], broken)), broken)
  const { body } = await sink(batchesOf(routedCall({ stream: true }), [['a']], broken))
  await t.rejects(collect(body as AsyncIterable<string>), broken)
})
