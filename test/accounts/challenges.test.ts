/** Pending sign-ins: which of them are dropped when there are too many. */

import { Accounts } from '../../lib/accounts/accounts.ts'
import { storeTest } from '../support/stores.ts'

storeTest('a client that begins many sign-ins evicts only those of its own network', async (t, open) => {
  const { challenges } = new Accounts(await open())
  const begin = async (address: string | null): Promise<string> =>
    await challenges.create({ purpose: 'oidc_sign_in', holder: 'h', address, content: 'c' })
  const [other, signedIn, first] = [await begin('192.0.2.1'), await begin(null), await begin('2001:db8::1')]
  for (let index = 0; index < 100; index++) await begin(`2001:db8::${index.toString(16)}:2`)
  const last = await begin('2001:db8::ffff')
  const take = async (id: string): Promise<string | undefined> =>
    await challenges.take('oidc_sign_in', id, 'h')
  t.same(
    [await take(first), await take(last), await take(other), await take(signedIn)],
    [undefined, 'c', 'c', 'c']
  )
})

storeTest('a user who begins many passkeys evicts only those of their own session', async (t, open) => {
  const { challenges } = new Accounts(await open())
  const begin = async (holder: string): Promise<string> =>
    await challenges.create({ purpose: 'add_passkey', holder, address: null, content: 'c' })
  const [other, first] = [await begin('session-1'), await begin('session-2')]
  for (let index = 0; index < 150; index++) await begin('session-2')
  const last = await begin('session-2')
  const take = async (id: string, holder: string): Promise<string | undefined> =>
    await challenges.take('add_passkey', id, holder)
  t.same(
    [await take(first, 'session-2'), await take(last, 'session-2'), await take(other, 'session-1')],
    [undefined, 'c', 'c']
  )
})
