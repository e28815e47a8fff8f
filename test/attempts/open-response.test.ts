import t from 'tap'
import { bufferedResponse } from '../../lib/attempts/open-response.ts'
import { route } from '../support/routes.ts'

t.test('a buffered response is a single read', async t => {
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  const events = [{ type: 'text-delta' }, { type: 'usage', usage }]
  const attempt = bufferedResponse(route('one/a'), events)
  t.same(
    [await attempt.next(), await attempt.next(), await attempt.next()],
    [events, undefined, undefined]
  )
  t.same(attempt.reported(), { requests: [usage], unreported: 0 })
  t.equal(attempt.sizeBytes(), 0)
  t.doesNotThrow(() => attempt.close())
})
