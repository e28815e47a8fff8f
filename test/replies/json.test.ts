import t from 'tap'
import { jsonReply } from '../../lib/replies/json.ts'

async function * source (...values: object[]): AsyncGenerator<object, void, undefined> {
  yield * values
}

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

t.test('the source is left after the first value', async t => {
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

t.test('a pipeline without a value is a fault of ours', async t => {
  await t.rejects(jsonReply()(source()), { code: 'internal_error' })
})
