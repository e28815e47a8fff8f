import { createHmac, randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import t from 'tap'
import { KeyedPlaceholders } from '../../lib/guards/keyed-placeholders.ts'
import { sealText } from '../../lib/text/sealed-text.ts'

const secret = randomBytes(32)
const owner = { keyId: 'one', projectId: 'default' }
const sealingKey = createHmac('sha256', secret)
  .update(JSON.stringify(['sealed placeholders', owner.keyId]))
  .digest()
const value = 'ada@example.com'

t.test(
  'a value has one placeholder per key, project and secret',
  t => {
    const name = new KeyedPlaceholders(secret, owner).nameOf('email', value)
    t.match(name, /^<EMAIL_[a-z2-7]{8}>$/)
    t.equal(new KeyedPlaceholders(secret, owner).nameOf('email', value), name)
    const others = [
      new KeyedPlaceholders(secret, { ...owner, keyId: 'two' }).nameOf('email', value),
      new KeyedPlaceholders(secret, { ...owner, projectId: 'other' }).nameOf('email', value),
      new KeyedPlaceholders(randomBytes(32), owner).nameOf('email', value),
      new KeyedPlaceholders(secret, owner).nameOf('email', 'bob@example.com')
    ]
    t.equal(new Set([name, ...others]).size, 5)
    t.match(new KeyedPlaceholders(secret, owner).nameOf('card-number', '4'), /^<CARD_NUMBER_/)
    t.end()
  }
)

t.test('a placeholder that another value has becomes longer', t => {
  const name = new KeyedPlaceholders(secret, owner).nameOf('email', value)
  const placeholders = new KeyedPlaceholders(secret, owner)
  placeholders.join(sealText(JSON.stringify([[name, 'someone else']]), sealingKey, owner.keyId))
  t.match(placeholders.nameOf('email', value), new RegExp(`^${name.slice(0, -1)}[a-z2-7]>$`))
  t.equal(placeholders.valueOf(name), 'someone else')
  t.end()
})

t.test('values are sealed for their key, and can be restored', t => {
  const before = new KeyedPlaceholders(secret, owner)
  t.equal(before.sealed(), undefined, 'nothing to seal')
  const name = before.nameOf('email', value)
  const sealed = before.sealed() ?? ''
  t.notOk(Buffer.from(sealed, 'base64').toString('latin1').includes('ada'))
  const after = new KeyedPlaceholders(secret, owner)
  after.join(sealed)
  t.same([after.valueOf(name), after.isJoined(name), after.size], [value, true, 1])
  t.equal(after.nameOf('email', value), name)
  const other = new KeyedPlaceholders(secret, { ...owner, keyId: 'two' })
  other.join(sealed)
  t.equal(other.size, 0, 'another key cannot open them')
  t.end()
})

t.test('no value is printed', t => {
  const placeholders = new KeyedPlaceholders(secret, owner)
  placeholders.nameOf('email', value)
  t.equal(JSON.stringify(placeholders), '{}')
  t.notOk(inspect(placeholders, { depth: 9, showHidden: true }).includes('ada'))
  t.end()
})

t.test('a call has at most ten thousand values', t => {
  const placeholders = new KeyedPlaceholders(secret, owner)
  for (let count = 0; count < 10_000; count++) placeholders.nameOf('email', `${count}@b.co`)
  t.match(placeholders.nameOf('email', '0@b.co'), /^<EMAIL_/, 'one that exists does not count again')
  t.throws(() => placeholders.nameOf('email', 'one@more.co'), { code: 'too_many_values' })
  t.end()
})
