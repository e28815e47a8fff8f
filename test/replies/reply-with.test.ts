import t from 'tap'
import { jsonReply, replyWith } from '../../lib/replies/reply-with.ts'

async function * source<T> (...values: T[]): AsyncGenerator<T, void, undefined> {
  yield * values
}

t.test('the call gets its reply, and a failure is that of the answer', async t => {
  const reply = { status: 200, headers: {}, body: 'x' }
  t.equal(
    await replyWith(
      async (call: string) => await Promise.resolve({ ...reply, body: call }).then(() => reply)
    )(source('a')),
    reply
  )
  await t.rejects(replyWith(async () => await Promise.reject(new Error('broken')))(source('a')), {
    message: 'broken'
  })
})

t.test('the one value of a pipeline is its answer', async t => {
  t.strictSame(await jsonReply()(source({ a: 1 })), {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: '{"a":1}'
  })
  t.match(await jsonReply<object>({ status: value => ('a' in value ? 503 : 200) })(source({ a: 1 })), {
    status: 503
  })
})

t.test('the source is closed after the first value', async t => {
  let left = false
  const values = async function * (): AsyncGenerator<object, void, undefined> {
    try {
      yield {}
      yield {}
    } finally {
      left = true
    }
  }
  await jsonReply()(values())
  t.equal(left, true)
})

t.test('a pipeline without a call is an internal error', async t => {
  await t.rejects(replyWith(async () => await Promise.reject(new Error('never')))(source()), {
    code: 'internal_error'
  })
})
