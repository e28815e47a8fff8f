import t from 'tap'
import { readUsageMetadata } from '../../../lib/providers/google/usage.ts'

t.test(
  'thoughts count as answer, tool results as prompt, and invalid counts as zero',
  async t => {
    t.same(
      readUsageMetadata({
        promptTokenCount: 5,
        toolUsePromptTokenCount: 2,
        candidatesTokenCount: 3,
        thoughtsTokenCount: 4,
        cachedContentTokenCount: 1
      }),
      {
        promptTokens: 7,
        completionTokens: 7,
        totalTokens: 14,
        cachedTokens: 1,
        reasoningTokens: 4
      }
    )
    t.same(readUsageMetadata({ promptTokenCount: -5, candidatesTokenCount: 3 }), {
      promptTokens: 0,
      completionTokens: 3,
      totalTokens: 3
    })
  }
)

t.test('partial usage is none, except for what its total implies', async t => {
  t.equal(readUsageMetadata({}), undefined)
  t.equal(readUsageMetadata({ candidatesTokenCount: 3 }), undefined)
  t.equal(readUsageMetadata({ promptTokenCount: 5 }, true), undefined, 'something was written, and is not counted')
  t.match(readUsageMetadata({ promptTokenCount: 5, totalTokenCount: 9 }, true), {
    promptTokens: 5,
    completionTokens: 4
  })
})
