import t from 'tap'
import { chatSettings } from '../../lib/chat/model-settings.ts'

t.test('settings of a model are request fields in one spelling', async t => {
  t.same(
    chatSettings({
      temperature: 0,
      top_p: null,
      stop_sequences: ['END'],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      reasoning: { effort: 'low', summary: 'auto' },
      attributes: { cost: 1 },
      unknown: 3
    }),
    {
      temperature: 0,
      stop: ['END'],
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning_effort: 'low'
    }
  )
  t.same(chatSettings({ reasoning_effort: 'high', reasoning: { effort: 'low' } }), {
    reasoning_effort: 'high'
  })
})

t.test('fields stored with a call may be set per model', async t => {
  const settings = {
    metadata: { a: 'b' },
    store: true,
    user: 'u',
    safety_identifier: 's',
    prompt_cache_key: 'p',
    service_tier: 'flex'
  }
  t.same(chatSettings(settings), settings)
})

t.test('settings for an entire call are refused, not dropped', async t => {
  for (const name of [
    'messages',
    'system_instruction',
    'stream',
    'max_turns',
    'mcp_servers',
    'model_attributes'
  ]) {
    t.throws(
      () => chatSettings({ [name]: 1 }),
      {
        code: 'unsupported_parameter',
        param: `model.settings.${name}`,
        message: `\`${name}\` cannot be set per model. Send it at the top level, next to \`model\`.`
      },
      name
    )
  }
})

t.test('alternatives without log probabilities are refused, as in a request', async t => {
  t.throws(() => chatSettings({ top_logprobs: 2 }), {
    code: 'invalid_value',
    param: 'model.settings.top_logprobs'
  })
  t.same(chatSettings({ top_logprobs: 2, logprobs: true }), { top_logprobs: 2, logprobs: true })
})
