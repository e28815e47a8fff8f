import t from 'tap'
import { shorten } from '../../lib/text/shorten.ts'

t.test('a text of more than 200 characters is cut, with a mark', async t => {
  t.equal(shorten('x'.repeat(200)), 'x'.repeat(200))
  t.equal(shorten('x'.repeat(201)), `${'x'.repeat(200)}…`)
})
