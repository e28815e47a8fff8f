/**
 * Runs all tests of chat completions with a plain generator between all stages of the pipeline: stages that
 * cannot be fused change nothing.
 */

import t from 'tap'
import { countGenerators } from '../support/generators-everywhere.ts'

await import('./chat.test.ts')

t.test('with a generator between all stages', async t => {
  t.ok(countGenerators() > 1000, `${countGenerators()} generators`)
})
