import t from 'tap'
import { isPacked, packFields, unpackFields } from '../../lib/json/packed-fields.ts'

t.test('packed fields are opened unchanged', async t => {
  const fields = { extra_content: { google: { thought_signature: 'AAAA+/=ü' } } }
  const packed = packFields(fields)
  t.ok(isPacked(packed))
  t.match(packed, /^hg1\.[\w-]+$/, 'no characters that a client would have to escape')
  t.strictSame(unpackFields(packed), fields)
})

t.test('the signature of a provider is not opened, and a damaged string gives nothing', async t => {
  t.notOk(isPacked('EqQBCkgIARABGAIiQ'))
  t.equal(unpackFields('EqQBCkgIARABGAIiQ'), undefined)
  for (const damaged of ['hg1.', 'hg1.not JSON', `hg1.${Buffer.from('[1]').toString('base64url')}`]) {
    t.equal(unpackFields(damaged), undefined, damaged)
  }
})
