import t from 'tap'
import { bufferBody } from '../../lib/wire/buffer-body.ts'

t.test('a body in any form becomes one buffer', async t => {
  t.same(await bufferBody(undefined), Buffer.alloc(0))
  t.same(await bufferBody('café'), Buffer.from('café'))
  t.same(
    await bufferBody(new Uint8Array([0, 1, 2, 3]).subarray(1, 3)),
    Buffer.from([1, 2]),
    'a view is its part only'
  )
  t.same(
    await bufferBody(async function* () {
      yield Buffer.from('a')
      yield Buffer.from('b')
    }),
    Buffer.from('ab')
  )
})

t.test('an unreadable body fails', async t => {
  await t.rejects(bufferBody(async function * () {
    yield Buffer.from('a')
    throw new Error('file gone')
  }), { message: 'file gone' })
})
