import { createCipheriv, hkdfSync } from 'node:crypto'
import t from 'tap'
import { decryption, loadOpenBox, looksEncrypted } from '../../lib/import/litellm-decryption.ts'
import { ownFunctions, saltKey } from '../support/litellm-tables.ts'

/** Made by `encrypt_value_helper` of LiteLLM 1.106.2, with either algorithm. */
const recorded = [
  'ML3HsiCpUxH81G5gVwv5yL9KTI7KG5Pv3KBJ_wbL0Kqvy7pjhkAXAiWHFE2w3m21gx1EBEvBM96uXQ==',
  'v2:gcm:2hQoSNykZcM3XsgejsWp4jDL0lhXp7zUVxZtmgyF5Vi39urMV3WLHH6CnDeNuA=='
]

function sealedV3 (text: string): string {
  const nonce = Buffer.alloc(12, 7)
  const cipher = createCipheriv(
    'aes-256-gcm',
    Buffer.from(hkdfSync('sha256', saltKey, '', 'litellm-at-rest-v3', 32)),
    nonce
  )
  return `v3:gcm:${Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url')}`
}

t.test('each scheme decrypts with its own key only', async t => {
  const { open } = decryption(saltKey, await loadOpenBox())
  const other = decryption('another', await loadOpenBox())
  t.same(recorded.map(open), ['sk-provider-key ü', 'sk-provider-key ü'])
  for (const value of [...recorded, ownFunctions.encrypt('a'), ownFunctions.encryptGcm('a'), sealedV3('a')]) {
    t.type(open(value), 'string')
    t.equal(other.open(value), undefined)
    t.equal(open(value.replace(/....$/, 'AAAA')), undefined, 'a changed one')
    t.ok(looksEncrypted(value))
  }
  t.equal(open(sealedV3('newest')), 'newest')
})

t.test('text that is not encrypted is not decrypted', async t => {
  const { open } = decryption(saltKey, await loadOpenBox())
  for (const value of [
    '',
    'gpt-4o',
    'os.environ/KEY',
    'https://example.com/v1',
    'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789',
    'v2:gcm:'
  ]) {
    t.equal(open(value), undefined, value)
  }
  for (const value of ['', 'gpt-4o', 'os.environ/KEY', 'https://example.com/v1']) {
    t.notOk(looksEncrypted(value), value)
  }
})

t.test('the advice names what is missing: the key or the package', async t => {
  const [value = ''] = recorded
  t.same(
    [decryption('', await loadOpenBox()).open(value), decryption(saltKey, undefined).open(value)],
    [undefined, undefined]
  )
  t.match(decryption('', undefined).advice, /LITELLM_SALT_KEY/)
  t.match(decryption(saltKey, undefined).advice, /npm install tweetnacl/)
  t.equal(
    decryption(saltKey, undefined).open(recorded[1] ?? ''),
    'sk-provider-key ü',
    'which AES does not need'
  )
})
