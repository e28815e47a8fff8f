import t from 'tap'
import { replyWith } from '../../lib/replies/reply-with.ts'

async function * source (...values: string[]): AsyncGenerator<string, void, undefined> {
  yield * values
}

t.test('the call that arrives gets its reply, and a failure is that of the answer', async t => {
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

t.test('a pipeline without a call is a fault of ours', async t => {
  await t.rejects(replyWith(async () => await Promise.reject(new Error('never')))(source()), {
    code: 'internal_error'
  })
})
