import t from 'tap'
import { FieldText } from '../../lib/http/field-text.ts'

t.test('a text is the same however its bytes are split', async t => {
  const bytes = Buffer.from('ü € 🎵')
  const field = new FieldText('a', null)
  for (const byte of bytes) field.push(Buffer.of(byte))
  t.equal(field.end(), bytes.toString())
  t.equal(new FieldText('a', 'text/plain').end(), '')
})

t.test('an error quotes a short part of what the caller wrote', async t => {
  t.throws(() => new FieldText('n'.repeat(1000), `text/plain; charset=${'c'.repeat(1000)}`), {
    code: 'invalid_value',
    param: /^n{200}…$/,
    message: /^The charset `c{200}…` of the field `n{200}…` is not known/
  })
})
