import t from 'tap'
import { CallRecord, type RecordedAttempt } from '../../lib/core/record.ts'
import { noteUsage } from '../../lib/core/usage-facts.ts'
import { operationOf, providerNameOf, requestUsage } from '../../lib/telemetry/gen-ai.ts'
import { route } from '../support/routes.ts'

const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
const sent = (reason?: string): RecordedAttempt => ({
  route: route('one/a'),
  startedAtMs: 1,
  outcomeAtMs: 2,
  endedAtMs: 2,
  reason,
  status: undefined
})

t.test(
  'operations and providers have the names of the conventions, or their own where none exists',
  async t => {
    t.strictSame(['chat', 'responses', 'completions', 'embeddings', 'speech'].map(operationOf), [
      'chat',
      'chat',
      'text_completion',
      'embeddings',
      'speech'
    ])
    t.equal(
      providerNameOf('mine', () => 'google'),
      'gcp.gemini'
    )
    t.equal(
      providerNameOf('mine', () => 'groq'),
      'groq'
    )
    t.equal(
      providerNameOf('gone', () => undefined),
      'gone'
    )
  }
)

t.test('the usage of an answer is on its request, unless several requests could be meant', async t => {
  const record = new CallRecord('chat')
  const [failed, answered] = [sent('upstream_error'), sent()]
  record.routing.attempts = [failed, answered]
  t.equal(requestUsage(record, answered), undefined)
  noteUsage(record.usage, usage, undefined)
  t.strictSame(requestUsage(record, answered), usage)
  t.equal(requestUsage(record, failed), undefined)
  record.routing.attempts.push(sent())
  t.equal(requestUsage(record, answered), undefined, 'two answers, and one was reported')
})
