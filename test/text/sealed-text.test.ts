import { randomBytes } from 'node:crypto'
import t from 'tap'
import { openText, sealText } from '../../lib/text/sealed-text.ts'

const key = randomBytes(32)

t.test('a text can be opened only with its key and name, and is different each time', t => {
  const sealed = sealText('a text, größer', key, 'one')
  t.equal(openText(sealed, key, 'one'), 'a text, größer')
  t.equal(openText(sealed, key, 'two'), undefined)
  t.equal(openText(sealed, randomBytes(32), 'one'), undefined)
  t.not(sealText('a text, größer', key, 'one'), sealed)
  t.notOk(Buffer.from(sealed, 'base64').toString('latin1').includes('text'))
  t.end()
})

t.test('altered or cut text cannot be opened', t => {
  const bytes = Buffer.from(sealText('a text', key, 'one'), 'base64')
  for (let at = 0; at < bytes.length; at++) {
    const other = Buffer.from(bytes)
    other[at] = (other[at] ?? 0) ^ 1
    t.equal(openText(other.toString('base64'), key, 'one'), undefined)
    t.equal(openText(bytes.subarray(0, at).toString('base64'), key, 'one'), undefined)
  }
  t.end()
})
