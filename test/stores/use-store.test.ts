import t from 'tap'
import { statementRunner } from '../../lib/stores/use-store.ts'

const failing =
  (code: string, message = 'no') =>
  async () => {
    throw Object.assign(new Error(message), { code })
  }

t.test(
  'an unusable store is a 503 that says what is missing; an internal error stays one',
  async t => {
    const use = statementRunner({ storeFileIntact: () => true }, 'Things')
    t.equal(await use(async () => 1), 1)
    await t.rejects(use(failing('ERR_SQLITE_ERROR', 'disk is full')), {
      code: 'overloaded',
      status: 503,
      retryAfterSeconds: 5,
      message: 'Things are temporarily unavailable. Try again later.',
      cause: { message: 'disk is full' }
    })
    await t.rejects(use(failing('ERR_OTHER')), { message: 'no', code: 'ERR_OTHER' })
  }
)

t.test('a locked store is retried', async t => {
  let tries = 0
  const use = statementRunner({ storeFileIntact: () => true }, 'Things')
  t.equal(await use(async () => {
    if (++tries === 1) throw Object.assign(new Error('database is locked'), { code: 'ERR_SQLITE_ERROR' })
    return tries
  }), 2)
})

t.test('nothing is written to a deleted file', async t => {
  const use = statementRunner({ storeFileIntact: () => false }, 'Things')
  await t.rejects(use(async () => t.fail('was run')), { code: 'overloaded' })
})
