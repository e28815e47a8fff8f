/** Users that several processes change at the same moment. */

import { sql } from 'kysely'
import t from 'tap'
import { Accounts } from '../../lib/accounts/accounts.ts'
import { asGatewayError } from '../../lib/core/errors.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { Database } from '../../lib/stores/database.ts'
import { storeTest } from '../support/stores.ts'

/** Returns `done` for each success and the error code of each failure. */
async function outcomes (acts: ReadonlyArray<Promise<unknown>>): Promise<string[]> {
  return (await Promise.allSettled(acts))
    .map(result => (result.status === 'fulfilled' ? 'done' : asGatewayError(result.reason).code))
    .toSorted()
}

const departures = [
  ['without the role', async ({ users }: Accounts, id: string) => await users.update(id, { role: 'viewer' })],
  ['disabled', async ({ users }: Accounts, id: string) => await users.update(id, { disabled: true })],
  ['deleted', async ({ users }: Accounts, id: string) => await users.remove(id)]
] as const

storeTest('when all owners are removed at the same moment, one remains', async (t, open) => {
  const [here, there] = [new Accounts(await open()), new Accounts(await open())]
  const database = await open()
  for (const [how, depart] of departures) {
    for (let round = 0; round < 5; round++) {
      for (const name of ['a', 'b', 'c']) await here.users.create({ name, role: 'owner' })
      const owners = await database.query
        .selectFrom('users')
        .select('id')
        .where('role', '=', 'owner')
        .where('disabled_at_ms', 'is', null)
        .execute()
      const ended = await outcomes(
        owners.map(async ({ id }, index) => await depart(index % 2 === 0 ? here : there, id))
      )
      t.same(ended, ['conflict', ...owners.slice(1).map(() => 'done')], `${how}, round ${round}`)
      t.not(await here.users.firstOwner(), undefined)
    }
  }
})

storeTest('an update is refused if the role of the user has changed meanwhile', async (t, open) => {
  const { users } = new Accounts(await open())
  const { id } = await users.create({ name: 'Ada', role: 'admin' })
  await t.rejects(users.update(id, { disabled: true }, 'member'), { code: 'conflict' })
  await t.rejects(users.remove(id, 'member'), { code: 'conflict' })
  t.match(await users.find(id), { role: 'admin', disabled_at_ms: null })
  t.match(await users.update(id, { role: 'viewer' }, 'admin'), { role: 'viewer' })
  t.same(
    [
      await users.remove(id, 'viewer'),
      await users.remove(id, 'viewer'),
      await users.update(id, { name: 'Ada' })
    ],
    [true, false, undefined]
  )
})

/** Options of gateways, which wait for locks without blocking their process: here they share one. */
const waitless = { busyTimeoutMs: 0 }

/** Makes each write of a kind fail, until the returned function is called. */
async function failing ({ query }: Database, write: string): Promise<() => Promise<void>> {
  await sql.raw(`create trigger failing before ${write} begin select raise(abort, 'down'); end`).execute(query)
  return async () => {
    await sql`drop trigger failing`.execute(query)
  }
}

t.test('an invitation is not used up by a user who cannot be created', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const accounts = new Accounts(database)
  const { users, links } = accounts
  const [ada, bob] = [{ name: 'Ada', email: 'ada@example.com' }, { name: 'Bob', email: 'bob@example.com' }]
  await users.create({ ...ada, role: 'viewer' })
  const { token } = await links.createInvitation({ role: 'member', projects: ['default'], invitedBy: 'Eve' })
  await t.rejects(accounts.acceptInvitation(token, ada), { code: 'conflict' })
  const repair = await failing(database, 'insert on members')
  await t.rejects(accounts.acceptInvitation(token, bob), { code: 'overloaded' })
  await repair()
  t.equal(await users.findByEmail(bob.email), undefined)
  t.match(await links.findInvitation(token), { role: 'member' })
  t.match(await accounts.acceptInvitation(token, bob), { user: { name: 'Bob', role: 'member' } })
  t.equal(await accounts.acceptInvitation(token, { name: 'Cyd' }), undefined, 'it works once')
})

storeTest('an invitation that several accept at the same moment has one user', async (t, open) => {
  const [here, there] = [new Accounts(await open(waitless)), new Accounts(await open(waitless))]
  const { token } = await here.links.createInvitation({ role: 'member', invitedBy: 'Eve' })
  const accepted = await Promise.all([here, there].map(
    async (accounts, index) => await accounts.acceptInvitation(token, { name: `user ${index}` })
  ))
  t.equal(accepted.filter(one => one !== undefined).length, 1)
})

storeTest('a person who signs in twice at the same moment is one user', async (t, open) => {
  const [here, there] = [new Accounts(await open(waitless)), new Accounts(await open(waitless))]
  const person = { name: 'Ada', role: 'viewer' } as const
  const ended = await outcomes([here, there].map(
    async accounts => await accounts.createPerson(person, 'https://id.example.com', 'ada')
  ))
  t.same(ended, ['conflict', 'done'])
  t.equal((await (await open()).query.selectFrom('users').select('id').execute()).length, 1)
})

t.test('a member or a session does not end without the keys of its playgrounds', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const accounts = new Accounts(database)
  const { id } = await accounts.users.create({ name: 'Ada', role: 'member', projects: ['default'] })
  const device = { address: '127.0.0.1', userAgent: null }
  const { row: session } = await accounts.sessions.create(id, device, false)
  await database.query.insertInto('keys').values({
    id: 'key-1', name: 'playground', digest: 'x', endpoints: null, models: null, expires_at_ms: null,
    revoked_at_ms: null, created_at_ms: 1, owner_id: id, temporary: 1, project_id: 'default'
  }).execute()
  const isRevoked = async (): Promise<boolean> => (await database.query
    .selectFrom('keys').select('revoked_at_ms').executeTakeFirstOrThrow()).revoked_at_ms !== null
  const repair = await failing(database, 'update of revoked_at_ms on keys')
  await t.rejects(accounts.leaveProject(id, 'default'), { code: 'overloaded' })
  await t.rejects(accounts.endSession(id, session.id), { code: 'overloaded' })
  await repair()
  t.equal(await isRevoked(), false)
  t.equal(await accounts.leaveProject(id, 'default'), true, 'the request can be repeated')
  t.equal(await isRevoked(), true)
  t.equal(await accounts.endSession(id, session.id), true)
})
