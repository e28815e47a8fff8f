import t, { type Test } from 'tap'
import { Idempotency } from '../../lib/accounts/idempotency.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'

async function open (t: Test): Promise<Idempotency> {
  const { query, close } = await openSqlite(t.testdir())
  t.teardown(close)
  return new Idempotency(query, async work => await work())
}

const given = { caller: 'user', credential: 'secret', key: 'k', request: 'create' }

t.test('a request in flight is not executed twice', async t => {
  const idempotency = await open(t)
  let finish = (): void => undefined
  const first = idempotency.run(
    given,
    async () =>
      await new Promise(resolve => {
        finish = () => resolve('done')
      })
  )
  await new Promise(setImmediate)
  await t.rejects(idempotency.run(given, async () => 'twice'), { code: 'conflict' })
  finish()
  t.equal(await first, 'done')
  t.equal(await idempotency.run(given, async () => 'twice'), 'done')
})

t.test('a stored answer is returned only to the credential that created it', async t => {
  const idempotency = await open(t)
  await idempotency.run(given, async () => 'the new key')
  await t.rejects(
    idempotency.run({ ...given, credential: 'another session' }, async () => 'x'),
    { code: 'conflict' }
  )
  t.equal(
    await idempotency.run({ ...given, caller: 'other' }, async () => 'x'),
    'x',
    'keys are scoped to the caller'
  )
})

t.test('a key must be 1 to 255 characters long', async t => {
  const idempotency = await open(t)
  for (const key of ['', 'x'.repeat(256)]) {
    await t.rejects(
      idempotency.run({ ...given, key }, async () => 'x'),
      { code: 'invalid_value' }
    )
  }
})

t.test('work that was done is not repeated if its answer could not be stored', async t => {
  const { query, close } = await openSqlite(t.testdir())
  t.teardown(close)
  let failsNext = false
  const idempotency = new Idempotency(query, async work => {
    if (!failsNext) return await work()
    failsNext = false
    throw new Error('locked')
  })
  const done = async (): Promise<string> => {
    failsNext = true
    return 'done'
  }
  await t.rejects(idempotency.run(given, done), { message: 'locked' })
  await t.rejects(idempotency.run(given, async () => 'twice'), { code: 'conflict' })
})

t.test('work that failed may be repeated', async t => {
  const idempotency = await open(t)
  await t.rejects(idempotency.run(given, async () => { throw new Error('failed') }), { message: 'failed' })
  t.equal(await idempotency.run(given, async () => 'done'), 'done')
})
