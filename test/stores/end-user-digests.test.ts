import t from 'tap'
import { keptName } from '../../lib/validation/attribution.ts'
import { endUserDigest, recordedNames } from '../../lib/stores/end-user-digests.ts'
import { storeSecret } from '../../lib/stores/store-secret.ts'
import { storeTest } from '../support/stores.ts'

t.test('a digest depends on the name, the project and the secret, and is short', t => {
  const digest = endUserDigest(Buffer.alloc(32, 1))
  const digests = [
    digest('a', 'ada'), digest('b', 'ada'), digest('a', 'bob'), endUserDigest(Buffer.alloc(32, 2))('a', 'ada')
  ]
  t.equal(new Set(digests).size, 4)
  for (const text of digests) t.match(text, /^[\w-]{22}$/)
  t.equal(digest('a', 'ada'), digests[0])
  t.end()
})

storeTest('a record may match by name, or by its digest in each project', async (t, open) => {
  const { query } = await open()
  await query.insertInto('projects').values({ id: 'p', name: 'P', created_at_ms: 0 }).execute()
  const digest = endUserDigest(await storeSecret(query))
  t.same(
    new Set(await recordedNames(query, 'ada')),
    new Set(['ada', digest('default', 'ada'), digest('p', 'ada')])
  )
})

storeTest("a name that is stored in part is found by the caller's full name", async (t, open) => {
  const { query } = await open()
  const digest = endUserDigest(await storeSecret(query))
  for (const [given, kept] of [
    ['user_ab_account__session_0f3c9c1e-0000-4000-8000-1234567890ab', 'user_ab_account_'],
    ['ada\u0007', 'ada'],
    ['a'.repeat(300), keptName('a'.repeat(300))]
  ] as const) {
    const names = await recordedNames(query, given)
    t.ok(names.includes(digest('default', kept)), kept)
    t.ok(names.includes(kept) && names.includes(given), given)
  }
  t.same(await recordedNames(query, ''), [digest('default', '')], 'no name finds no records that have none')
})
