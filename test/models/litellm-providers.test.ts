import t from 'tap'
import { providerKinds } from '../../schemas/providers.ts'
import { litellmProviders, splitModel } from '../../lib/models/litellm-providers.ts'

t.test(
  'every provider maps to an existing kind, and OpenAI-compatible ones to an address',
  async t => {
    for (const [name, { kind, baseUrl }] of litellmProviders) {
      t.ok(providerKinds.includes(kind), name)
      if (baseUrl !== undefined) t.ok(URL.canParse(baseUrl), name)
    }
  }
)

t.test('a model name is split as by LiteLLM', async t => {
  const rows: ReadonlyArray<
    readonly [model: string, provider: string | undefined, expected: [string, string]]
  > = [
    ['openai/gpt-4o', undefined, ['openai', 'gpt-4o']],
    ['openrouter/anthropic/claude', undefined, ['openrouter', 'anthropic/claude']],
    ['gpt-4o', undefined, ['openai', 'gpt-4o']],
    ['claude-3', undefined, ['anthropic', 'claude-3']],
    ['my-model', undefined, ['', 'my-model']],
    ['my-model', 'hosted_vllm', ['hosted_vllm', 'my-model']],
    ['openai/gpt-4o', 'openai', ['openai', 'gpt-4o']]
  ]
  for (const [model, provider, expected] of rows) t.same(splitModel(model, provider), expected, model)
})
