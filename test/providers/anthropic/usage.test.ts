import t from 'tap'
import { eventsOf, stop, stream } from '../../support/anthropic-answers.ts'

t.test('usage from start and end of a stream is not added up, and that of the end is kept', async t => {
  t.match(stream('text').at(-1), { usage: { promptTokens: 12, completionTokens: 9, totalTokens: 21 } })
  t.match(stream('late-usage').at(-1), { usage: { promptTokens: 17, completionTokens: 5 } })
})

t.test('partial usage is none: the initial output count of a stream is not the final one', async t => {
  const usage = { input_tokens: 12, output_tokens: 1 }
  const began = { type: 'message_start', message: { id: 'm', usage } }
  const ended = (usage: object): object => ({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage
  })
  const last = (...events: object[]): unknown => eventsOf(...events, stop).at(-1)
  t.match(last(began, ended({ output_tokens: 9 })), { usage: { promptTokens: 12, completionTokens: 9 } })
  t.match(last(began, ended({})), { type: 'choice-end' })
  t.match(last({ type: 'message_start', message: { id: 'm' } }, ended({ output_tokens: 9 })), {
    type: 'choice-end'
  })
})

t.test('cached tokens are part of the prompt', async t => {
  t.match(stream('cache-usage').at(-1), {
    usage: { promptTokens: 1203, cachedTokens: 1000, cacheWriteTokens: 200 }
  })
})
