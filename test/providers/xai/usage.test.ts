import t from 'tap'
import { xaiChat } from '../../../lib/providers/xai/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { xaiAsk } from '../../support/xai.ts'

t.test('reasoning counted beside the completion is added, and only then', async t => {
  const usageOf = (prompt: number, completion: number, total: number, reasoning?: number): unknown => {
    const events = readResponse(
      xaiChat,
      {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: '303', reasoning_content: 'hm' },
            finish_reason: 'stop'
          }
        ],
        usage: {
          prompt_tokens: prompt,
          completion_tokens: completion,
          total_tokens: total,
          completion_tokens_details: { reasoning_tokens: reasoning }
        }
      },
      xaiAsk()
    )
    return events.at(-1)
  }
  t.match(usageOf(32, 9, 135, 94), {
    usage: { completionTokens: 103, totalTokens: 135, reasoningTokens: 94 }
  })
  t.match(usageOf(32, 103, 135, 94), { usage: { completionTokens: 103 } }, 'already counted in')
  t.match(usageOf(32, 9, 41), { usage: { completionTokens: 9 } })
  t.match(
    usageOf(32, 9, 40, 3),
    { usage: { completionTokens: 9 } },
    'a total that fits neither is left alone'
  )
})
