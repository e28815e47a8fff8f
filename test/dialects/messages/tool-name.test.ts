import t from 'tap'
import { shortToolName } from '../../../lib/dialects/messages/tool-name.ts'

t.test('a name of up to 64 characters is unchanged, a longer one ends with a hash', async t => {
  t.equal(shortToolName('a'.repeat(64)), 'a'.repeat(64))
  const [one, other] = [shortToolName('a'.repeat(65)), shortToolName(`${'a'.repeat(64)}b`)]
  t.match(one, /^a{55}_[0-9a-f]{8}$/)
  t.not(one, other, 'names that differ only at the end stay different')
})
