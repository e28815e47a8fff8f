import { randomBytes } from 'node:crypto'
import { applyImport } from '../../lib/accounts/apply-import.ts'
import { openKeyStore } from '../../lib/keys/key-store.ts'
import { digestOf } from '../../lib/keys/key-text.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { storeTest } from '../support/stores.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { ImportedKey, ImportedOrganisation } from '../../lib/accounts/imported-organisation.ts'

const monthMs = Date.UTC(2026, 9)
const dayMs = Date.UTC(2026, 9, 5)
const nowMs = Date.UTC(2026, 9, 5, 12)

function keyOf (text: string, parts: Partial<ImportedKey> = {}): ImportedKey {
  return { digest: digestOf(text), name: text, createdAtMs: 1, spent: [], isBlocked: false, ...parts }
}

const organisation: ImportedOrganisation = {
  users: [
    { sourceId: 'u1', name: 'Ada', email: 'ada@example.com', role: 'admin', createdAtMs: 1 },
    { sourceId: 'u2', name: 'Bob', role: 'member', createdAtMs: 1 }
  ],
  projects: [
    {
      sourceId: 't1',
      name: 'Research',
      models: ['gpt'],
      limits: { budget: { usd: 10, per: 'month' } },
      createdAtMs: 1,
      members: ['u1', 'u2', 'unknown'],
      spent: [{ fromMs: monthMs, nanoUsd: 500 }]
    }
  ],
  keys: [
    keyOf('sk-one', {
      project: 't1',
      createdBy: 'u2',
      hint: 'sk-...one',
      limits: { requestsPerMinute: 5 },
      spent: [
        { fromMs: dayMs, nanoUsd: 70 },
        { fromMs: monthMs, nanoUsd: 30 }
      ]
    }),
    keyOf('sk-two', { models: ['a'], endpoints: ['chat'], mcpServers: [], expiresAtMs: 9e12 }),
    keyOf('sk-blocked', { isBlocked: true })
  ]
}

async function check (database: Database, text: string) {
  const keys = await openKeyStore(database, [])
  keys.close()
  return keys.check(text)
}

async function sums (database: Database): Promise<number[]> {
  const [project] = await database.query
    .selectFrom('projects')
    .select('id')
    .where('name', '=', 'Research')
    .execute()
  const key = await check(database, 'sk-one')
  return await Promise.all([
    usedBetween(database.query, 'nanoUsd', key?.id ?? '', dayMs, nowMs),
    usedBetween(database.query, 'nanoUsd', key?.id ?? '', monthMs, nowMs),
    usedBetween(database.query, 'nanoUsd', project?.id ?? '', monthMs, nowMs)
  ])
}

/** Returns the organisation with these keys in place of its own. */
function withKeys (...keys: ImportedKey[]): ImportedOrganisation {
  return { ...organisation, keys }
}

storeTest('imported keys work by their digests, in their projects, with their spending', async (t, open) => {
  const database = await open()
  t.match(await applyImport(database, 'litellm', organisation), {
    projects: 1,
    users: 2,
    added: 3,
    changed: 0,
    revoked: 0
  })
  t.match(await check(database, 'sk-one'), {
    name: 'sk-one',
    models: ['gpt'],
    limits: { requestsPerMinute: 5 },
    project: { name: 'Research', limits: { budget: { usd: 10 } } }
  })
  t.match(await check(database, 'sk-two'), {
    models: ['a'],
    endpoints: ['chat'],
    mcpServers: [],
    expiresAtMs: 9e12,
    project: undefined
  })
  t.equal(await check(database, 'sk-blocked'), undefined)
  t.equal(await check(database, 'sk-three'), undefined)
  t.same(await sums(database), [70, 100, 600])
  const { rows } = {
    rows: await database.query
      .selectFrom('members')
      .innerJoin('users', 'users.id', 'user_id')
      .select(['name', 'role', 'email'])
      .orderBy('name')
      .execute()
  }
  t.same(rows, [
    { name: 'Ada', role: 'admin', email: 'ada@example.com' },
    { name: 'Bob', role: 'member', email: null }
  ])
  const key = await database.query
    .selectFrom('keys')
    .select(['hint', 'created_by', 'set_by_admin'])
    .where('name', '=', 'sk-one')
    .executeTakeFirst()
  const bob = await database.query
    .selectFrom('users')
    .select('id')
    .where('name', '=', 'Bob')
    .executeTakeFirst()
  t.same(key, { hint: 'sk-...one', created_by: bob?.id, set_by_admin: '["limits"]' })
  t.match(await database.query.selectFrom('audit').select(['action', 'after']).execute(), [
    { action: 'import.litellm', after: /"added":3/ }
  ])
})

storeTest('importing again changes nothing; later changes at the source are imported', async (t, open) => {
  const database = await open()
  await applyImport(database, 'litellm', organisation)
  const tables = ['keys', 'projects', 'users', 'members', 'usage', 'spending', 'imported'] as const
  const state = async (): Promise<unknown[]> =>
    await Promise.all(
      tables.map(async table => await database.query.selectFrom(table).selectAll().execute())
    )
  const before = await state()
  t.match(await applyImport(database, 'litellm', organisation), {
    projects: 0,
    users: 0,
    added: 0,
    changed: 0,
    revoked: 0
  })
  t.same(await state(), before)
  const later: ImportedOrganisation = {
    users: organisation.users,
    projects: organisation.projects.map(project => ({
      ...project,
      models: ['gpt', 'other'],
      members: ['u1'],
      spent: [{ fromMs: monthMs, nanoUsd: 450 }]
    })),
    keys: [
      keyOf('sk-one', {
        project: 't1',
        endpoints: ['chat'],
        spent: [
          { fromMs: dayMs, nanoUsd: 90 },
          { fromMs: monthMs, nanoUsd: 30 }
        ]
      }),
      keyOf('sk-two', { isBlocked: true }),
      keyOf('sk-blocked')
    ]
  }
  t.match(await applyImport(database, 'litellm', later), { added: 0, changed: 2, revoked: 1 })
  t.match(await check(database, 'sk-one'), {
    endpoints: ['chat'],
    models: ['gpt', 'other'],
    limits: undefined
  })
  t.equal(await check(database, 'sk-two'), undefined)
  t.match(await check(database, 'sk-blocked'), { name: 'sk-blocked' })
  t.same(await sums(database), [90, 120, 570])
  t.equal((await database.query.selectFrom('members').selectAll().execute()).length, 1)
  t.match(await applyImport(database, 'litellm', organisation), { revoked: 1, changed: 2 }, 'and back again')
  t.match(await check(database, 'sk-two'), { models: ['a'] })
  t.same(await sums(database), [70, 100, 600])
})

storeTest(
  'a key deleted at the source is revoked here, and its spending counts for its project alone',
  async (t, open) => {
    const database = await open()
    await applyImport(database, 'litellm', organisation)
    const one = await check(database, 'sk-one')
    t.match(await applyImport(database, 'litellm', withKeys(keyOf('sk-new'))), { added: 1, revoked: 2 })
    t.equal(await check(database, 'sk-one'), undefined)
    t.equal(await usedBetween(database.query, 'nanoUsd', one?.id ?? '', monthMs, nowMs), 0)
  }
)

storeTest('a user deleted here does not return, and everything else is imported again', async (t, open) => {
  const database = await open()
  await applyImport(database, 'litellm', organisation)
  await database.query.deleteFrom('users').where('name', '=', 'Bob').execute()
  const more = [...organisation.keys, keyOf('sk-three', { project: 't1', createdBy: 'u2' })]
  t.match(await applyImport(database, 'litellm', withKeys(...more)), { users: 0, added: 1 })
  t.match(await check(database, 'sk-three'), { name: 'sk-three' })
  t.same(await database.query.selectFrom('users').select('name').execute(), [{ name: 'Ada' }])
})

storeTest('a key revoked or rotated here is not restored by a later import', async (t, open) => {
  const database = await open()
  await applyImport(database, 'litellm', organisation)
  const digest = digestOf('hg_rotated')
  await database.query.updateTable('keys').set({ revoked_at_ms: 5 }).where('name', '=', 'sk-one').execute()
  await database.query
    .updateTable('keys')
    .set({ digest, previous_digest: null, previous_until_ms: null })
    .where('name', '=', 'sk-two')
    .execute()
  t.match(await applyImport(database, 'litellm', organisation), { added: 0, changed: 0, left: 1 })
  t.equal(await check(database, 'sk-one'), undefined)
  t.equal(await check(database, 'sk-two'), undefined)
  t.match(await check(database, 'hg_rotated'), { name: 'sk-two' })
})

storeTest(
  'rotated digests with an expiry, taken names and existing users are imported',
  async (t, open) => {
    const database = await open()
    const user = {
      id: 'user_here',
      name: 'Ada here',
      email: 'ada@example.com',
      role: 'viewer' as const,
      created_at_ms: 1,
      last_seen_at_ms: null,
      disabled_at_ms: null,
      password: null,
      email_by_other: null
    }
    await database.query.insertInto('users').values(user).execute()
    await applyImport(database, 'other', {
      users: [],
      projects: [],
      keys: [keyOf('sk-one', { digest: randomBytes(32).toString('base64') })]
    })
    const previous = { digest: digestOf('sk-before'), untilMs: 9e12 }
    await applyImport(database, 'litellm', {
      ...organisation,
      keys: [keyOf('sk-one', { previous }), keyOf('x'.repeat(200))]
    })
    t.match(await check(database, 'sk-before'), { name: 'sk-one (2)' })
    t.match(await check(database, 'x'.repeat(200)), { name: 'x'.repeat(94) })
    t.match(
      await database.query
        .selectFrom('members')
        .select('user_id')
        .where('user_id', '=', 'user_here')
        .execute(),
      [{}]
    )
    t.match(
      await database.query
        .selectFrom('users')
        .select(['name', 'role'])
        .where('id', '=', 'user_here')
        .execute(),
      [{ name: 'Ada here', role: 'viewer' }]
    )
  }
)

storeTest('an import that fails changes nothing', async (t, open) => {
  const database = await open()
  const same = keyOf('sk-twice', { spent: [{ fromMs: monthMs, nanoUsd: 5 }] })
  await t.rejects(applyImport(database, 'litellm', { ...organisation, keys: [same, same] }))
  for (const table of ['keys', 'users', 'usage', 'spending', 'imported', 'audit'] as const) {
    t.same(await database.query.selectFrom(table).selectAll().execute(), [], table)
  }
  await applyImport(database, 'litellm', organisation)
  t.match(await check(database, 'sk-one'), { name: 'sk-one' })
})

storeTest(
  'guards of keys and projects are imported; where the source names none, those set here stay',
  async (t, open) => {
    const database = await open()
    const [project] = organisation.projects
    const wanted = {
      ...organisation,
      projects: project === undefined ? [] : [{ ...project, stages: ['mask'] }],
      keys: [keyOf('sk-one', { project: 't1', stages: ['pii'] }), keyOf('sk-two')]
    }
    const stagesOf = async (text: string): Promise<unknown> =>
      (await check(database, text))?.guards?.toSorted()
    await applyImport(database, 'litellm', wanted)
    t.same([await stagesOf('sk-one'), await stagesOf('sk-two')], [['mask', 'pii'], undefined])
    await database.query.updateTable('keys').set({ stages: '["here"]' }).execute()
    await database.query
      .updateTable('projects')
      .set({ stages: '["there"]' })
      .where('name', '=', 'Research')
      .execute()
    const less = {
      ...organisation,
      keys: [keyOf('sk-one', { project: 't1', stages: ['pii'] }), keyOf('sk-two')]
    }
    t.match(await applyImport(database, 'litellm', less), { changed: 1 })
    t.same([await stagesOf('sk-one'), await stagesOf('sk-two')], [['pii', 'there'], ['here']])
    t.same(
      await database.query.selectFrom('keys').select('set_by_admin').where('name', '=', 'sk-one').execute(),
      [{ set_by_admin: '["stages"]' }]
    )
  }
)

storeTest(
  'a user gets the limits of the source, the spending of their keys, and owns those keys',
  async (t, open) => {
    const database = await open()
    const digest = 'b'.repeat(43) + '='
    const budgetOf = (usd: number) => ({ budgets: [{ usd, per: 'total' }] as const })
    const organisationOf = (usd: number) => ({
      projects: [],
      users: [
        {
          sourceId: 'ada',
          name: 'Ada',
          role: 'member' as const,
          createdAtMs: 1000,
          limits: budgetOf(usd),
          spent: [{ fromMs: 1000, nanoUsd: 5e8 }]
        }
      ],
      keys: [
        {
          digest,
          name: 'k',
          createdAtMs: 1000,
          isBlocked: false,
          createdBy: 'ada',
          spent: [{ fromMs: 2000, nanoUsd: 2e9 }]
        }
      ]
    })
    for (const usd of [10, 3]) {
      await applyImport(database, 'litellm', organisationOf(usd))
      const user = await database.query
        .selectFrom('users')
        .select(['id', 'limits'])
        .executeTakeFirstOrThrow()
      t.equal(user.limits, JSON.stringify(budgetOf(usd)))
      t.match(await database.query.selectFrom('keys').select(['owner_id', 'created_by']).execute(), [
        { owner_id: user.id, created_by: user.id }
      ])
      t.equal(await usedBetween(database.query, 'nanoUsd', `member:${user.id}`, 0, Date.now()), 25e8, 'once')
    }
  }
)
