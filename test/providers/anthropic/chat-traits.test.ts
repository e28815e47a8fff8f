import t from 'tap'
import { body } from '../../support/anthropic-answers.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

t.test('no model gets options that it does not accept', async t => {
  const everything: Partial<ChatInput> = { reasoning_effort: 'low', temperature: 0.5, max_tokens: 200_000 }
  const row = (
    models: string[],
    maxTokens: number,
    thinks: 'adaptive' | 'enabled' | 'not',
    samples: boolean
  ): void => {
    for (const model of models) {
      const { max_tokens: limit, thinking } = body(everything, model)
      const { temperature } = body({ temperature: 0.5 }, model)
      t.strictSame(
        [limit, thinking?.type ?? 'not', temperature],
        [maxTokens, thinks, samples ? 0.5 : undefined],
        model
      )
    }
  }
  row(
    ['claude-sonnet-5-5', 'claude-opus-5', 'claude-fable-5-1', 'claude-opus-4-7', 'claude-next'],
    128_000,
    'adaptive',
    false
  )
  row(['claude-opus-4-6', 'claude-sonnet-4-6-20260101'], 128_000, 'adaptive', true)
  row(
    ['claude-haiku-4-5-20251001', 'claude-sonnet-4-20250514', 'claude-3-7-sonnet-latest'],
    64_000,
    'enabled',
    true
  )
  row(['claude-opus-4-20250514', 'claude-opus-4-1-20250805'], 32_000, 'enabled', true)
  row(['claude-3-5-sonnet-20241022'], 8192, 'not', true)
  row(['claude-3-opus-20240229', 'claude-instant-1.2'], 4096, 'not', true)
  row(['another-vendors-model'], 200_000, 'enabled', true)
})
