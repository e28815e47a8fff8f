import t from 'tap'
import { estimatedUsage, messagesUsage } from '../../../lib/dialects/messages/usage.ts'

t.test('what a cache gave or took is counted beside the prompt', async t => {
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
    'a provider may count wrongly'
  )
})

t.test('an estimate knows of no cache', async t => {
  t.strictSame(estimatedUsage(3, 4), {
    input_tokens: 3,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 4
  })
})
