import fc from 'fast-check'
import t from 'tap'
import { printId } from '../../lib/json/print-id.ts'
import { holds } from '../support/property.ts'

t.test('ids and all other texts are printed as JSON', async t => {
  for (const text of ['', 'chatcmpl-0af_Z', '"', '\\', 'a\n', 'é', '\ud800', '\u2028']) t.equal(printId(text), JSON.stringify(text))
  holds(t, fc.property(fc.string({ unit: 'binary' }), text => printId(text) === JSON.stringify(text)))
})
