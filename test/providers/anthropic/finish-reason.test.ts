import t from 'tap'
import { stream } from '../../support/anthropic-answers.ts'

t.test('every stop reason maps to a finish reason, including unknown ones', async t => {
  const reasons = [
    'pause-turn',
    'refusal',
    'stop-sequence',
    'context-window',
    'unknown-stop',
    'null-stop'
  ].map(name => {
    const end = stream(name).find(event => event.type === 'choice-end')
    return end?.type === 'choice-end' ? end.reason : undefined
  })
  t.strictSame(reasons, ['stop', 'content_filter', 'stop', 'length', 'stop', 'stop'])
})
