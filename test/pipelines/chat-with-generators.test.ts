/**
 * All tests of chat completions with a generator at every place of the pipeline: it costs its neighbours
 * nothing they need, and loses nothing.
 */

import t from 'tap'
import { countGenerators } from '../support/generators-everywhere.ts'

await import('./chat.test.ts')

t.test('generators stood everywhere', async t => {
  t.ok(countGenerators() > 1000, `${countGenerators()} generators`)
})
