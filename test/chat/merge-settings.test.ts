import t from 'tap'
import { mergeSettings } from '../../lib/chat/merge-settings.ts'

t.test('a request without settings is returned unchanged', async t => {
  const request = { temperature: 1 }
  t.equal(mergeSettings(request, undefined), request)
})

t.test('settings apply where the request has no value', async t => {
  const settings = { temperature: 0, seed: 7 }
  t.strictSame(mergeSettings({ temperature: 1 }, settings), { temperature: 1, seed: 7 })
  t.strictSame(settings, { temperature: 0, seed: 7 }, 'the settings are not modified')
})

t.test('a field under another name counts as the same field', async t => {
  t.strictSame(mergeSettings({ max_tokens: 5 }, { max_completion_tokens: 9, seed: 7 }), {
    max_tokens: 5,
    seed: 7
  })
  t.strictSame(mergeSettings({ max_completion_tokens: 5 }, { max_tokens: 9 }), { max_completion_tokens: 5 })
  t.strictSame(mergeSettings({}, { max_tokens: 9, max_completion_tokens: 8 }), {
    max_tokens: 9,
    max_completion_tokens: 8
  })
  t.strictSame(
    mergeSettings({ functions: [], function_call: 'none' }, { tools: [1], tool_choice: 'auto' }),
    { functions: [], function_call: 'none' }
  )
  t.strictSame(mergeSettings({ functions: undefined }, { tools: [1] }), { tools: [1], functions: undefined })
})

t.test('a generation_config setting yields to request fields and to a generation_config there', async t => {
  const settings = { generation_config: { maxOutputTokens: 9, topP: 1 }, max_tokens: 8 }
  t.strictSame(mergeSettings({ max_tokens: 5 }, settings), { max_tokens: 5, generation_config: { topP: 1 } })
  t.strictSame(mergeSettings({}, settings), settings)
  t.strictSame(mergeSettings({ generation_config: { topK: 1 } }, settings), {
    max_tokens: 8,
    generation_config: { topK: 1 }
  })
})
