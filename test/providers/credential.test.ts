import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { accountDigest, credentialOf } from '../../lib/providers/credential.ts'

const authorize = (callerKey?: string, place = 0): Record<string, string> => ({
  authorization: callerKey ?? ['first', 'second'][place] ?? ''
})

t.test('each credential is an account, whose name does not reveal it', async t => {
  const accounts = [
    accountDigest({ authorize }),
    accountDigest({ authorize }, undefined, 1),
    accountDigest({ authorize }, new Secret('own'))
  ]
  t.equal(new Set(accounts).size, 3)
  t.equal(accountDigest({ authorize }, undefined, 0), accounts[0])
  for (const account of accounts) t.match(account, /^[0-9a-f]{16}$/)
})

t.test('an account that signs each request is identified by its id', async t => {
  let requests = 0
  const signer = (accountId: string) => ({
    authorize: () => ({ accountId, sign: () => ({ authorization: `${++requests}` }) })
  })
  const one = accountDigest(signer('a'))
  t.match(one, /^[0-9a-f]{16}$/)
  t.equal(accountDigest(signer('a')), one)
  t.not(accountDigest(signer('b')), one)
  t.match(credentialOf(signer('a'), one), { accountId: 'a' })
  t.equal(credentialOf(signer('b'), one), undefined)
  t.equal(requests, 0, 'nothing is signed for it')
})

t.test(
  'the credential of an account is found among those of a provider; an unknown account has none',
  async t => {
    const several = {
      authorize: (_: string | undefined, place = 0) => (place < 2 ? authorize(undefined, place) : {})
    }
    t.same(credentialOf(several, accountDigest(several, undefined, 1)), { authorization: 'second' })
    t.equal(credentialOf(several, 'another account'), undefined)
    const one = { authorize: () => ({ authorization: 'the same for every place' }) }
    t.equal(credentialOf(one, 'another account'), undefined, 'and the search ends')
    let calls = 0
    const endless = { authorize: () => ({ authorization: `${++calls}` }) }
    t.equal(credentialOf(endless, 'another account'), undefined, 'also where each call makes another account')
  }
)
