import t from 'tap'
import {
  hasMaxTokens, mayHaveMaxTokens, withMaxTokens, withMaxTokensInConfig
} from '../../lib/chat/max-tokens.ts'

t.test('fields that limit the length of an answer are recognised', async t => {
  t.same(
    [{ max_tokens: 1 }, { max_completion_tokens: 1 }, { generation_config: { maxOutputTokens: 1 } }, {}].map(
      hasMaxTokens
    ),
    [true, true, false, false]
  )
  t.same(
    [
      { max_tokens: 1 },
      { generation_config: { max_output_tokens: 1 } },
      { generation_config: { topP: 1 } },
      {}
    ].map(mayHaveMaxTokens),
    [true, true, false, false]
  )
})

t.test('the length is limited by a single field, and a lower limit is kept', async t => {
  t.strictSame(withMaxTokens({}, 20), { max_completion_tokens: 20 })
  t.strictSame(withMaxTokens({ max_tokens: 50, seed: 1 }, 20), { seed: 1, max_completion_tokens: 20 })
  t.strictSame(withMaxTokens({ max_tokens: 5 }, 20), { max_completion_tokens: 5 })
  t.strictSame(
    withMaxTokens({ max_tokens: 5, max_completion_tokens: 50 }, 20),
    { max_completion_tokens: 20 },
    'max_completion_tokens takes precedence'
  )
  t.strictSame(withMaxTokens({ max_completion_tokens: 'many' }, 20), { max_completion_tokens: 20 })
})

t.test('a limit in `generation_config` is lowered too, and the request is not modified', async t => {
  const request = { max_tokens: 5, generation_config: { maxOutputTokens: 50 } }
  t.strictSame(withMaxTokens(request, 20), {
    generation_config: { maxOutputTokens: 20 },
    max_completion_tokens: 5
  })
  t.strictSame(withMaxTokensInConfig(request, 20), {
    max_tokens: 5, generation_config: { maxOutputTokens: 20 }
  })
  t.strictSame(request, { max_tokens: 5, generation_config: { maxOutputTokens: 50 } })
  const without = { max_tokens: 5 }
  t.equal(withMaxTokensInConfig(without, 20), without)
})
