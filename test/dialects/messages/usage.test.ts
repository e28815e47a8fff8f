import t from 'tap'
import { estimatedUsage, messagesUsage } from '../../../lib/dialects/messages/usage.ts'

t.test('tokens read from and written to a cache are counted separately from the prompt', async t => {
  t.strictSame(
    messagesUsage({
      promptTokens: 100,
      completionTokens: 7,
      totalTokens: 107,
      cachedTokens: 60,
      cacheWriteTokens: 30,
      reasoningTokens: 5
    }),
    {
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 60,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 5 }
    }
  )
  t.equal(
    messagesUsage({ promptTokens: 10, completionTokens: 0, totalTokens: 10, cachedTokens: 20 }).input_tokens,
    0,
    'even if a provider reports wrong numbers'
  )
})

t.test('an estimate has no cached tokens', async t => {
  t.strictSame(estimatedUsage(3, 4), {
    input_tokens: 3,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 4
  })
})
