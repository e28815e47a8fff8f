/** A price map in LiteLLM's format as the catalogue of a gateway. */

import t from 'tap'
import { readSettings } from '../../lib/config/read-settings.ts'
import { directory } from '../support/config.ts'
import { testGateway } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

t.test('calls are priced by the price map, to a billionth of a dollar', async t => {
  const usage = { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 }
  const upstream = await fakeUpstream(() => {
    const { prompt_tokens, cached_tokens, completion_tokens } = usage
    return {
      headers: { 'content-type': 'application/json' },
      pieces: [chatAnswer('Hello.', {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
        prompt_tokens_details: { cached_tokens }
      })]
    }
  })
  t.teardown(upstream.close)
  const cwd = directory(t, {
    'headgate.yaml': `
catalogue: prices.json
providers:
  openai: {base_url: ${upstream.url}/v1, api_key: env:KEY, quirks: {responses_api: false}}
  kimi: {kind: openai-compatible, base_url: ${upstream.url}/v1, api_key: env:KEY}
models:
  kimi/own: {price: {input: 1, output: 1}}
`,
    'prices.json': JSON.stringify({
      sample_spec: { litellm_provider: 'one of the providers', input_cost_per_token: 0 },
      'model-of-the-map': {
        litellm_provider: 'openai',
        mode: 'chat',
        input_cost_per_token: 1.37e-7,
        output_cost_per_token: 9.11e-7,
        cache_read_input_token_cost: 1.1e-8,
        input_cost_per_token_above_200k_tokens: 2.74e-7,
        output_cost_per_token_above_200k_tokens: 1.2e-6,
        cache_read_input_token_cost_above_200k_tokens: 2.2e-8
      },
      'gpt-4o': {
        litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1e-8, output_cost_per_token: 1e-9
      }
    })
  })
  const api = await testGateway(t, readSettings({ env: { KEY: 'key' }, cwd }).settings)
  const cost = async (model: string, amounts: typeof usage): Promise<string | null> => {
    Object.assign(usage, amounts)
    const response = await api.post('/v1/chat/completions', {
      model, messages: [{ role: 'user', content: 'Hi' }]
    })
    t.equal(response.status, 200, await response.text())
    return response.headers.get('x-headgate-cost-usd')
  }
  const mapped = 'openai/model-of-the-map'
  t.equal(
    await cost(mapped, { prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1 }),
    '0.000001048',
    '137 + 911'
  )
  t.equal(
    await cost(mapped, { prompt_tokens: 1234, cached_tokens: 1000, completion_tokens: 57 }),
    '0.000094985',
    '234 x 137 + 1000 x 11 + 57 x 911'
  )
  t.equal(
    await cost(mapped, { prompt_tokens: 200_001, cached_tokens: 200_000, completion_tokens: 3 }),
    '0.004403874',
    '274 + 200,000 x 22 + 3 x 1200: the prices of long prompts'
  )
  t.equal(
    await cost('openai/gpt-4o', { prompt_tokens: 7, cached_tokens: 0, completion_tokens: 3 }),
    '0.000000073',
    'the map overrides the built-in price'
  )
  t.equal(
    await cost('kimi/own', { prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1 }),
    '0.000002',
    'and the configuration overrides the map'
  )
})
