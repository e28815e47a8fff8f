import t from 'tap'
import { isSealed, openFields, sealFields } from '../../../lib/dialects/messages/signature.ts'

t.test('fields come out of a signature as they went in', async t => {
  const fields = { extra_content: { google: { thought_signature: 'AAAA+/=ü' } } }
  const signature = sealFields(fields)
  t.ok(isSealed(signature))
  t.match(signature, /^hg1\.[\w-]+$/, 'no letters that a client would have to escape')
  t.strictSame(openFields(signature), fields)
})

t.test('a signature of a provider is not ours, and a damaged one holds nothing', async t => {
  t.notOk(isSealed('EqQBCkgIARABGAIiQ'))
  for (const damaged of ['hg1.', 'hg1.not JSON', `hg1.${Buffer.from('[1]').toString('base64url')}`]) {
    t.equal(openFields(damaged), undefined, damaged)
  }
})
