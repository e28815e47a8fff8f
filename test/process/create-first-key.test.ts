import t from 'tap'
import { openKeyStore, type KeyStore } from '../../lib/keys/key-store.ts'
import { createFirstKey } from '../../lib/process/create-first-key.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { Test } from 'tap'

async function keyStore (t: Test, directory = t.testdir()): Promise<KeyStore> {
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const keys = await openKeyStore(database, [], { onFailure: error => { t.error(error) } })
  t.teardown(keys.close)
  return keys
}

t.test('a gateway that never had a key gets one, once', async t => {
  const keys = await keyStore(t)
  const key = await createFirstKey(keys, { interactive: true })
  t.match(key, /^hg_/)
  t.match(keys.check(key ?? ''), { name: 'first' })
  t.equal(await createFirstKey(keys, { interactive: true }), undefined)
})

t.test('no key is created if all keys have been revoked', async t => {
  const keys = await keyStore(t)
  await keys.create({ name: 'ci' })
  await keys.revoke('ci')
  t.equal(await createFirstKey(keys, { interactive: true }), undefined)
})

t.test('of two gateways that start at the same moment one prints the key', async t => {
  const directory = t.testdir()
  const [one, two] = [await keyStore(t, directory), await keyStore(t, directory)]
  const made = await Promise.all([
    createFirstKey(one, { interactive: true }),
    createFirstKey(two, { interactive: true })
  ])
  t.equal(made.filter(key => key !== undefined).length, 1)
})

t.test('a key that is not shown on a terminal has limits', async t => {
  for (const interactive of [true, false]) {
    const keys = await keyStore(t, t.testdir())
    const { limits } = keys.check((await createFirstKey(keys, { interactive })) ?? '') ?? {}
    t.same(
      limits,
      interactive ? undefined : { requestsPerMinute: 600, budget: { usd: 5, per: 'day', unpriced: 'allow' } }
    )
  }
})
