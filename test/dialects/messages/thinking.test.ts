import t from 'tap'
import { thinkingOf } from '../../../lib/dialects/messages/thinking.ts'

t.test('a thinking budget implies an effort by its size, and a requested effort wins', async t => {
  const rows = [[1024, 'low'], [4095, 'low'], [4096, 'medium'], [16_383, 'medium'], [16_384, 'high']] as const
  for (const [budget, effort] of rows) {
    t.strictSame(thinkingOf({ thinking: { type: 'enabled', budget_tokens: budget } }), {
      thinking: { type: 'enabled', budget_tokens: budget },
      reasoning_effort: effort
    })
  }
  t.match(
    thinkingOf({ thinking: { type: 'enabled', budget_tokens: 1024 }, output_config: { effort: 'max' } }),
    { reasoning_effort: 'max' }
  )
})

t.test('adaptive and disabled thinking', async t => {
  t.strictSame(thinkingOf({}), {})
  t.strictSame(thinkingOf({ output_config: { effort: 'medium' } }), { reasoning_effort: 'medium' })
  t.strictSame(thinkingOf({ thinking: { type: 'disabled' } }), {
    thinking: { type: 'disabled' },
    reasoning_effort: 'none'
  })
  t.strictSame(thinkingOf({ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }), {
    thinking: { type: 'adaptive' },
    reasoning_effort: 'low'
  })
  for (const display of ['summarized', 'omitted'] as const) {
    t.match(thinkingOf({ thinking: { type: 'adaptive', display } }), {
      thinking: { type: 'adaptive', display }
    })
    t.match(thinkingOf({ thinking: { type: 'enabled', budget_tokens: 1024, display } }), {
      thinking: { type: 'enabled', display }
    })
  }
  t.strictSame(thinkingOf({ thinking: { type: 'adaptive', display: null } }), {
    thinking: { type: 'adaptive' }
  })
  t.strictSame(thinkingOf({ thinking: { type: 'of_the_future' } }), {})
})
