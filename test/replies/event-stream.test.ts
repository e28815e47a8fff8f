import t from 'tap'
import { eventStream } from '../../lib/replies/event-stream.ts'

t.test('an event stream is neither cached, changed nor buffered on its way, and stays alive', async t => {
  const body = (async function * () { yield 'data: a\n\n' })()
  t.strictSame(eventStream(body), {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' },
    body,
    keepAlive: { text: ': ping\n', everyMs: 15_000 }
  })
})
