import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { streamOf } from '../../support/adapters.ts'
import { googleAsk } from '../../support/google.ts'
import { readEvents } from '../../support/read-events.ts'
import { sse } from '../../support/google-answers.ts'

t.test('a stream that ends before a candidate it began is an error', async t => {
  const one = { candidates: [{ index: 0, content: { parts: [{ text: 'half' }] }, finishReason: 'STOP' }] }
  const half = { candidates: [{ index: 0, content: { parts: [{ text: 'half' }] } }] }
  const interrupted = { code: 'upstream_stream_interrupted', fault: 'transient' }
  t.throws(() => readEvents([sse(half)], streamOf(googleChat, googleAsk())), interrupted)
  t.throws(() => readEvents([], streamOf(googleChat, googleAsk())), interrupted, 'nothing at all')
  t.throws(() => readEvents([sse({ usageMetadata: {} })], streamOf(googleChat, googleAsk())), interrupted)
  const second = { candidates: [{ index: 1, content: { parts: [{ text: 'half' }] } }] }
  t.throws(() => readEvents([sse(one, second)], streamOf(googleChat, googleAsk({ n: 2 }))), interrupted, 'one of two')
  t.doesNotThrow(() => readEvents([sse(one)], streamOf(googleChat, googleAsk({ n: 2 }))), 'as in a complete answer, there may be fewer')
  t.doesNotThrow(() => readEvents([sse(one)], streamOf(googleChat, googleAsk())))
  t.throws(
    () => readEvents([sse(half), Buffer.from('data: {"candidates":[{"ind')], streamOf(googleChat, googleAsk())),
    { code: 'upstream_invalid_response' }
  )
})
