import assert from 'node:assert/strict'
import { Ajv2019 } from 'ajv/dist/2019.js'
import fc from 'fast-check'
import t from 'tap'
import { Check } from 'typebox/schema'
import { fillDefaults } from '../../lib/validation/fill-defaults.ts'
import { Config } from '../../schemas/config.ts'
import { brokenValuesOf } from '../support/schema-values.ts'
import { rounds } from '../support/rounds.ts'

const ajv = new Ajv2019({
  useDefaults: true,
  allErrors: true,
  strict: true,
  strictTypes: false,
  validateSchema: false
})
ajv.addVocabulary(['patternErrorMessage'])
const isConfig = ajv.compile(Config)

t.test('a configuration gets the same defaults and result as from Ajv', async t => {
  const values = rounds(2000)
  let right = 0
  fc.assert(
    fc.property(brokenValuesOf(Config), value => {
      const [ours, theirs] = [JSON.parse(JSON.stringify(value)), JSON.parse(JSON.stringify(value))] as [
        unknown,
        unknown
      ]
      const expected = isConfig(theirs)
      right += Number(expected)
      fillDefaults(Config, ours)
      assert.equal(Check(Config, ours), expected)
      // In an invalid configuration it does not matter which defaults are filled in: the faulty part is cut
      // out, and the rest is filled again.
      if (expected) assert.deepEqual(ours, theirs)
    }),
    { numRuns: values }
  )
  t.ok(right > values / 100, `${right} of ${values} configurations are right`)
})

t.test('each value gets its own copy of a default', async t => {
  const one: Record<string, unknown> = {}
  const other: Record<string, unknown> = {}
  fillDefaults(Config, one)
  fillDefaults(Config, other)
  t.same(one, other)
  t.ok(Check(Config, one))
  t.not(one['server'], other['server'])
})
