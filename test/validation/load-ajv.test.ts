import t from 'tap'
import { loadAjv } from '../../lib/validation/load-ajv.ts'

t.test('the class is loaded once, and reports faults of a value', async t => {
  const Ajv = loadAjv()
  t.equal(loadAjv(), Ajv)
  const check = new Ajv().compile({ type: 'object', required: ['a'] })
  t.equal(check({}), false)
  t.match(check.errors, [{ keyword: 'required', params: { missingProperty: 'a' } }])
})
