import t from 'tap'
import { isSealed, openSealed, seal } from '../../lib/json/sealed.ts'

t.test('sealed fields are opened unchanged', async t => {
  const fields = { extra_content: { google: { thought_signature: 'AAAA+/=ü' } } }
  const sealed = seal(fields)
  t.ok(isSealed(sealed))
  t.match(sealed, /^hg1\.[\w-]+$/, 'no characters that a client would have to escape')
  t.strictSame(openSealed(sealed), fields)
})

t.test('the signature of a provider is not opened, and a damaged string gives nothing', async t => {
  t.notOk(isSealed('EqQBCkgIARABGAIiQ'))
  t.equal(openSealed('EqQBCkgIARABGAIiQ'), undefined)
  for (const damaged of ['hg1.', 'hg1.not JSON', `hg1.${Buffer.from('[1]').toString('base64url')}`]) {
    t.equal(openSealed(damaged), undefined, damaged)
  }
})
