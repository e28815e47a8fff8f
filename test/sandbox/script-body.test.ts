import t from 'tap'
import { user, send, timers } from '../support/sandbox.ts'

t.test('a caller who disconnects early ends the pause and the answer', async t => {
  const before = timers()
  const { body } = await send({ messages: user('[sandbox: pace=0.001]'), stream: true })
  const reader = body[Symbol.asyncIterator]()
  await reader.next()
  const pending = reader.next()
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(timers(), before + 1)
  body.cancel()
  t.equal(timers(), before)
  await t.rejects(pending, { code: 'upstream_stream_interrupted' })

  const { body: second } = await send({ messages: user('Hi'), stream: true })
  for await (const bytes of second) {
    t.ok(bytes.length > 0)
    break
  }
  t.same(await second[Symbol.asyncIterator]().next(), { done: true, value: undefined })
})

t.test('a body over the limit is not read to its end', async t => {
  const { body } = await send({ messages: user('Hi') })
  await t.rejects(async () => await body.buffer(10), { code: 'upstream_invalid_response' })
})
