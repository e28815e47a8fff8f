import t from 'tap'
import { stream } from '../../support/anthropic-answers.ts'

t.test('usage of the start and the end is not added up, nor that of the end lost', async t => {
  t.match(stream('text').at(-1), { usage: { promptTokens: 12, completionTokens: 9, totalTokens: 21 } })
  t.match(stream('late-usage').at(-1), { usage: { promptTokens: 17, completionTokens: 5 } })
})

t.test('cached tokens are part of the prompt', async t => {
  t.match(stream('cache-usage').at(-1), { usage: { promptTokens: 1203, cachedTokens: 1000, cacheWriteTokens: 200 } })
})
