import { diag } from '@opentelemetry/api'
import t from 'tap'
import { takePartialSuccess, watchPartialSuccess } from '../../lib/telemetry/partial-success.ts'

const report = (answer: unknown, message = 'Received Partial Success response:'): void => {
  diag.warn(message, JSON.stringify(answer))
}

t.test('what was rejected is read once, for every signal', async t => {
  watchPartialSuccess()
  for (const name of ['rejectedSpans', 'rejectedDataPoints', 'rejectedLogRecords']) {
    for (const rejected of [3, '3']) {
      report({ [name]: rejected, errorMessage: 'too old' })
      t.strictSame(takePartialSuccess(), { rejected: 3, reason: 'too old' }, name)
      t.equal(takePartialSuccess(), undefined)
    }
  }
  report({ rejectedSpans: 1 })
  t.strictSame(takePartialSuccess(), { rejected: 1, reason: '' })
  report({ rejectedSpans: 1, errorMessage: 'x'.repeat(100_000) })
  t.equal(takePartialSuccess()?.reason.length, 300)
})

t.test('a warning alone, and other diagnostics, are no rejection', async t => {
  watchPartialSuccess()
  for (const answer of [
    { errorMessage: 'use another endpoint' },
    { rejectedSpans: 0, errorMessage: 'use another endpoint' },
    { rejectedSpans: '-1' },
    { rejectedSpans: 'many' },
    'text'
  ]) {
    report(answer)
    t.equal(takePartialSuccess(), undefined, JSON.stringify(answer))
  }
  report({ rejectedSpans: 3 }, 'Something else:')
  diag.error('Received Partial Success response:', '{"rejectedSpans":3}')
  t.equal(takePartialSuccess(), undefined)
})
