import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { environmentKeys } from '../../lib/config/build-settings.ts'
import { openKeyStore, type KeyStore } from '../../lib/keys/key-store.ts'
import { databasePath } from '../../lib/stores/sqlite/database-file.ts'
import type { Database } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { migrations } from '../../lib/stores/migrations.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { noPostgres, postgresPlace, storeTest, type OpenStore } from '../support/stores.ts'
import type { KeySettings } from '../../lib/core/settings.ts'

interface Opened {
  readonly database: Database
  readonly keys: KeyStore
}

async function open (
  t: Test, openStore: OpenStore, configured: readonly KeySettings[] = [], everyMs = 60_000
): Promise<Opened> {
  const database = await openStore()
  const keys = await openKeyStore(database, configured, { pollMs: everyMs })
  t.teardown(async () => {
    keys.close()
    await database.close()
  })
  return { database, keys }
}

storeTest('a created key is valid, with its scopes', async (t, openStore) => {
  const { keys } = await open(t, openStore)
  const { id, key } = await keys.create({
    name: 'ci', endpoints: ['chat'], models: ['openai/*'], expiresAtMs: Date.now() + 60_000
  })
  t.match(key, /^hg_[\w-]{43}$/)
  t.match(keys.check(key), { id, name: 'ci', endpoints: ['chat'], models: ['openai/*'] })
  const all = await keys.create({ name: 'all' })
  t.same(keys.check(all.key), { id: all.id, name: 'all' }, 'no scope means everything')
  t.same(keys.find(all.id), keys.check(all.key))
  t.equal(keys.find('all'), undefined, 'a name is no id')
})

// SQLite has one connection, so its reads end in order.
t.test('a read that ends after a later one changes nothing', { skip: noPostgres }, async t => {
  const database = await openDatabase(await postgresPlace(t))
  t.teardown(database.close)
  const held = withResolvers<undefined>()
  const reading = withResolvers<undefined>()
  let isHeld = false
  const query = database.query.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (isHeld && result.rows.some(row => row['name'] === 'revoked')) {
        isHeld = false
        reading.resolve(undefined)
        await held.promise
      }
      return result
    }
  })
  const keys = await openKeyStore({ ...database, query }, [], { pollMs: 60_000 })
  t.teardown(keys.close)
  const revoked = await keys.create({ name: 'revoked' })
  isHeld = true
  const earlier = keys.refresh()
  await reading.promise
  const created = await keys.create({ name: 'created' })
  await keys.revoke(revoked.id)
  held.resolve(undefined)
  await earlier
  t.match(keys.check(created.key), { name: 'created' })
  t.equal(keys.check(revoked.key), undefined)
})

storeTest(
  'a key is found by its id as long as it is valid, also after another process or a reload has changed the keys',
  async (t, openStore) => {
    const { database, keys } = await open(t, openStore, [{ name: 'set', key: new Secret('first') }])
    const other = await openKeyStore(database, [], { pollMs: 60_000 })
    t.teardown(other.close)
    const made = await other.create({ name: 'made', expiresAtMs: Date.now() + 60_000 })
    const kept = await other.create({ name: 'kept' })
    t.equal(keys.find(made.id), undefined)
    await keys.refresh()
    t.match(
      [made.id, kept.id, 'configured:set'].map(id => keys.find(id)),
      [{ name: 'made' }, { name: 'kept' }, { name: 'set' }]
    )

    await other.revoke(made.id)
    keys.replaceConfigured([{ name: 'next', key: new Secret('second'), models: ['openai/*'] }])
    t.match(
      ['configured:set', 'configured:next'].map(id => keys.find(id)),
      [undefined, { name: 'next', models: ['openai/*'] }]
    )
    await keys.refresh()
    t.match(
      [made.id, kept.id, 'configured:next'].map(id => keys.find(id)),
      [undefined, { name: 'kept' }, { name: 'next' }]
    )
  }
)

storeTest(
  'a key keeps which tool servers it may use, and whether what is stored at providers',
  async (t, openStore) => {
    const { keys } = await open(t, openStore)
    for (const scope of [
      { mcpServers: ['acme/tickets'], mcpUrls: true },
      { mcpServers: [] },
      { mcpUrls: false },
      { providerObjects: true }
    ]) {
      const { id, key } = await keys.create({ name: JSON.stringify(scope), ...scope })
      t.same(keys.check(key), { id, name: JSON.stringify(scope), ...scope })
    }
  }
)

storeTest('missing, wrong, revoked and expired keys look alike', async (t, openStore) => {
  const { keys } = await open(t, openStore)
  const past = await keys.create({ name: 'past', expiresAtMs: Date.now() - 1 })
  const gone = await keys.create({ name: 'gone' })
  t.equal((await keys.revoke('gone'))?.id, gone.id)
  for (const { id } of [past, gone]) t.equal(keys.find(id), undefined)
  for (const text of [
    '',
    'hg_wrong',
    ' ',
    past.key,
    gone.key,
    `${gone.key} `,
    gone.id,
    'é\0💥'.repeat(4_000)
  ]) {
    t.equal(keys.check(text), undefined)
  }
})

storeTest('a key that is made while its project is being archived does not work', async (t, openStore) => {
  const { database, keys } = await open(t, openStore)
  const project = { name: 'p', models: null, limits: null, created_at_ms: 1 }
  await database.query
    .insertInto('projects')
    .values([
      { ...project, id: 'used', archived_at_ms: null },
      { ...project, id: 'archived', archived_at_ms: 2 }
    ])
    .execute()
  const [used, archived] = [
    await keys.create({ name: 'a', projectId: 'used' }),
    await keys.create({ name: 'b', projectId: 'archived' })
  ]
  t.match(keys.check(used.key), { id: used.id })
  t.same([keys.check(archived.key), keys.find(archived.id)], [undefined, undefined])
})

storeTest('a key ends at its moment, not when the store is read next', async (t, openStore) => {
  const { keys } = await open(t, openStore)
  const clock = t.intercept(Date, 'now', { value: () => 1_000 })
  t.teardown(() => clock.restore())
  const { key } = await keys.create({ name: 'short', expiresAtMs: 2_000 })
  t.ok(keys.check(key))
  t.intercept(Date, 'now', { value: () => 2_000 })
  t.equal(keys.check(key), undefined)
})

storeTest('configured keys hold as they are, spaces and all', async (t, openStore) => {
  const configured: KeySettings[] = [
    { name: 'team', key: new Secret('two words, ünïcode') },
    { name: 'old', key: new Secret('old'), expiresAtMs: 1 },
    { name: 'narrow', key: new Secret('narrow'), endpoints: [], models: ['sandbox/*'] }
  ]
  const { keys } = await open(t, openStore, configured)
  t.match(keys.check('two words, ünïcode'), { id: 'configured:team', name: 'team' })
  t.equal(keys.check('old'), undefined)
  t.same(keys.check('narrow')?.endpoints, [], 'an empty scope allows nothing, and is not "all"')
  await t.rejects(keys.create({ name: 'team' }), { name: 'DuplicateKeyNameError' })

  keys.replaceConfigured([{ name: 'new', key: new Secret('new') }])
  t.equal(keys.check('two words, ünïcode'), undefined, 'what the new configuration lacks is over')
  t.match(keys.check('new'), { name: 'new' })
})

storeTest(
  'keys of the configuration have the guards of the default project, from the next look at the store on',
  async (t, openStore) => {
    const { keys, database } = await open(t, openStore, [
      { name: 'team', key: new Secret('team-key'), guards: ['a'] }
    ])
    t.same(keys.check('team-key')?.guards, ['a'])
    await database.query
      .updateTable('projects')
      .set({ stages: '["b"]' })
      .where('id', '=', 'default')
      .execute()
    keys.poll()
    await until(() => keys.check('team-key')?.guards?.length === 2, 'the poll')
    t.same(keys.check('team-key')?.guards, ['a', 'b'])
    keys.replaceConfigured([{ name: 'next', key: new Secret('next-key') }])
    t.same(keys.check('next-key')?.guards, ['b'])
    t.same(
      keys.configured().map(({ guards }) => guards),
      [undefined],
      'the list says what the configuration says'
    )
  }
)

storeTest('the list describes every key, revoked ones too, and never contains one', async (t, openStore) => {
  const { keys } = await open(t, openStore, [{ name: 'team', key: new Secret('team-key') }])
  const a = await keys.create({ name: 'a' })
  await keys.create({ name: 'b', expiresAtMs: 1 })
  await keys.revoke(a.id)
  const again = await keys.create({ name: 'a' })
  const list = await keys.list()
  t.same(list.map(({ name, status, source }) => [name, status, source]), [
    ['team', 'active', 'configuration'], ['a', 'revoked', 'store'],
    ['b', 'expired', 'store'], ['a', 'active', 'store']
  ])
  t.notMatch(JSON.stringify(list), /team-key|hg_|digest/)
  t.equal((await keys.revoke('a'))?.id, again.id, 'by name: the one in use')
  t.equal(await keys.revoke('a'), undefined)
  t.equal(await keys.revoke('team'), undefined, 'a configured key is revoked in the configuration')
})

storeTest('the name of an active key cannot be used again', async (t, openStore) => {
  const { keys } = await open(t, openStore)
  const first = await keys.create({ name: 'ci' })
  await t.rejects(keys.create({ name: 'ci' }), { message: 'a key named "ci" already exists' })
  t.ok(keys.check(first.key), 'the first one is still good')
})

storeTest('nothing on disk holds a key', async (t, openStore) => {
  const {
    keys,
    database: { directory: dataDir }
  } = await open(t, openStore, [{ name: 'team', key: new Secret('canary-of-the-team') }])
  const { key } = await keys.create({ name: 'ci' })
  for (const file of readdirSync(dataDir)) {
    const bytes = readFileSync(join(dataDir, file))
    t.notOk(bytes.includes(key) || bytes.includes(key.slice(3)) || bytes.includes('canary'), file)
  }
})

storeTest('what another process makes and revokes is seen without a restart', async (t, openStore) => {
  const here = await open(t, openStore, [], 5)
  const there = await open(t, openStore)
  const { key } = await there.keys.create({ name: 'made elsewhere' })
  await until(() => here.keys.check(key) !== undefined, 'the new key to be known')
  await there.keys.revoke('made elsewhere')
  await until(() => here.keys.check(key) === undefined, 'the revoked key to be unknown')
})

storeTest(
  'keys of the store stay valid for a while when it cannot be read any more, and are refused for the moment after that',
  async (t, openStore) => {
    const database = await openStore()
    const keys = await openKeyStore(database, [{ name: 'team', key: new Secret('team-key') }], {
      pollMs: 5,
      staleMs: 50
    })
    t.teardown(keys.close)
    const { key } = await keys.create({ name: 'ci' })
    t.ok(keys.check(key))
    await database.close()
    await until(() => keys.isStale(), 'the store to be missed')
    await until(() => {
      try {
        return keys.check(key) === undefined
      } catch (error) {
        return error instanceof GatewayError && error.code === 'overloaded'
      }
    }, 'the key to be refused')
    t.ok(keys.check('team-key'), 'keys of the configuration are known in any case')
    t.equal(keys.check('wrong'), undefined)
  }
)

storeTest(
  'keys stay valid while the store cannot be read, and the failure is reported',
  async (t, openStore) => {
    const database = await openStore()
    const failures: unknown[] = []
    const keys = await openKeyStore(database, [], { pollMs: 5, onFailure: error => failures.push(error) })
    const { key } = await keys.create({ name: 'ci' })
    t.notOk(keys.isStale())
    await database.close()
    await until(() => failures.length > 0, 'a failure to be reported')
    t.ok(keys.check(key))
    t.ok(keys.isStale())
    keys.close()
  }
)

t.test('the database is readable by its owner only and kept between openings', async t => {
  const dataDir = join(t.testdir(), 'deep', 'data')
  const first = await openDatabase(dataDir)
  const { key } = await (await openKeyStore(first, [])).create({ name: 'ci' })
  t.equal(statSync(dataDir).mode & 0o777, 0o700)
  for (const file of readdirSync(dataDir)) t.equal(statSync(join(dataDir, file)).mode & 0o777, 0o600, file)
  first.checkWritable()
  await first.close()
  const { keys } = await open(t, async () => await openDatabase(dataDir))
  t.ok(keys.check(key))
})

t.test('an unusable database is refused with its path and a reason', async t => {
  const dataDir = t.testdir({ 'headgate.db': 'not a database, and long enough to be sure of it'.repeat(99) })
  const reason = {
    name: 'StoreError',
    message: `The store ${databasePath(dataDir)} cannot be used: file is not a database.`
  }
  await t.rejects(openDatabase(dataDir), reason)
  const file = join(t.testdir({ file: '' }), 'file')
  await t.rejects(openDatabase(file), { name: 'StoreError', message: /EEXIST|ENOTDIR/ })
  await t.rejects(
    openDatabase('/proc/headgate/store'),
    { name: 'StoreError' },
    'a place where nothing can be made'
  )
})

storeTest('a store that a newer version has changed is left alone', async (t, openStore) => {
  const database = await openStore()
  const { sql } = await import('kysely')
  const newest = migrations.at(-1)?.number ?? 0
  await sql`insert into migrations (number, applied_at_ms) values (${newest + 1}, 0)`.execute(database.query)
  await database.close()
  await t.rejects(openStore(), {
    message: new RegExp(`created by a newer version \\(step ${newest + 1} of ${newest}\\)`)
  })
})

t.test('values without a column type are refused instead of being stored as null', async t => {
  const { database } = await open(t, async () => await openDatabase(t.testdir()))
  const { sql } = await import('kysely')
  await t.rejects(sql`select ${new Date()} as moment`.execute(database.query), TypeError)
  await t.rejects(sql`select ${NaN} as number`.execute(database.query), TypeError)
  const { rows } = await sql`select ${true} as claim, ${null} as empty`.execute(database.query)
  t.same(rows, [{ claim: 1, empty: null }])
})

t.test('several processes may create the database at the same moment', async t => {
  const directory = t.testdir({
    'open.mjs': `import { openDatabase } from ${JSON.stringify(String(new URL('../../lib/stores/open-database.js', import.meta.url)))}
      process.once('message', async dataDir => {
        const database = await openDatabase(dataDir)
        await database.close()
        process.disconnect()
      })
      process.send('ready')`
  })
  const children = Array.from({ length: 3 }, (): ChildProcess =>
    fork(join(directory, 'open.mjs'), { execArgv: [] })
  )
  await Promise.all(children.map(async child => await once(child, 'message')))
  const ends = children.map(async child => await once(child, 'exit'))
  for (const child of children) child.send(join(directory, 'data'))
  t.same((await Promise.all(ends)).map(([code]: unknown[]) => code), [0, 0, 0])
})

storeTest('a key of the environment keeps its identity when another one is removed', async (t, openStore) => {
  const idOf = async (list: string, presented: string): Promise<string | undefined> => {
    const { keys } = await open(t, openStore, environmentKeys(list))
    return keys.check(presented)?.id
  }
  const bob = await idOf('alice,bob', 'bob')
  t.equal(await idOf('bob', 'bob'), bob)
  t.not(await idOf('alice,bob', 'alice'), bob)
})
