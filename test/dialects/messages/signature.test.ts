import t from 'tap'
import { isSealed, openFields, sealFields } from '../../../lib/dialects/messages/signature.ts'

t.test('fields are encoded in a signature and decoded unchanged', async t => {
  const fields = { extra_content: { google: { thought_signature: 'AAAA+/=ü' } } }
  const signature = sealFields(fields)
  t.ok(isSealed(signature))
  t.match(signature, /^hg1\.[\w-]+$/, 'no characters that a client would have to escape')
  t.strictSame(openFields(signature), fields)
})

t.test('a signature of a provider is not decoded, and a damaged one gives nothing', async t => {
  t.notOk(isSealed('EqQBCkgIARABGAIiQ'))
  for (const damaged of ['hg1.', 'hg1.not JSON', `hg1.${Buffer.from('[1]').toString('base64url')}`]) {
    t.equal(openFields(damaged), undefined, damaged)
  }
})
