import t from 'tap'
import { readUsageMetadata } from '../../../lib/providers/google/usage.ts'

t.test(
  'thoughts are part of the answer, results of tools part of the prompt, and odd counts are zero',
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

t.test('half a report is none, but for what its total says', async t => {
  t.equal(readUsageMetadata({}), undefined)
  t.equal(readUsageMetadata({ candidatesTokenCount: 3 }), undefined)
  t.equal(readUsageMetadata({ promptTokenCount: 5 }, true), undefined, 'something was written, and is not counted')
  t.match(readUsageMetadata({ promptTokenCount: 5, totalTokenCount: 9 }, true), {
    promptTokens: 5,
    completionTokens: 4
  })
})
