import t from 'tap'
import { digestOf, hintOf, newKeyText } from '../../lib/keys/key-text.ts'

t.test('each new key is unique, and its hint reveals too little of it', async t => {
  const [key, other] = [newKeyText(), newKeyText()]
  t.not(key, other)
  t.match(key, /^hg_[\w-]{43}$/)
  t.equal(hintOf('hg_abcdefghijkl'), 'hg_abc…jkl')
})

t.test('a digest is the SHA-256 in base64', async t => {
  t.equal(digestOf('abc'), 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=')
})
