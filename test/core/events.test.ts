import t from 'tap'
import { isVisibleOutput } from '../../lib/core/events.ts'

t.test('a caller sees texts and ends, but no head, empty delta, usage or invisible event', async t => {
  const seen = [{ type: 'text-delta', text: 'a' }, { type: 'choice-end' }, { type: 'tool-call-start' }]
  const unseen = [
    { type: 'answer-start' },
    { type: 'text-delta', text: '' },
    { type: 'usage' },
    { type: 'direct-frame', isInvisible: true }
  ]
  t.same([...seen, ...unseen].map(isVisibleOutput), [true, true, true, false, false, false, false])
})
