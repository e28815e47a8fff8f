import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { accountDigest } from '../../lib/providers/account-digest.ts'

const authorize = (callerKey?: string, place = 0): Record<string, string> => ({ authorization: callerKey ?? ['first', 'second'][place] ?? '' })

t.test('each credential is an account, whose name does not show it', async t => {
  const accounts = [accountDigest({ authorize }), accountDigest({ authorize }, undefined, 1), accountDigest({ authorize }, new Secret('own'))]
  t.equal(new Set(accounts).size, 3)
  t.equal(accountDigest({ authorize }, undefined, 0), accounts[0])
  for (const account of accounts) t.match(account, /^[0-9a-f]{16}$/)
})
