/** Users that several processes change at the same moment. */

import { Accounts } from '../../lib/accounts/accounts.ts'
import { asGatewayError } from '../../lib/core/errors.ts'
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
