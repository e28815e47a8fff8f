import t from 'tap'
import { kindNamed, unsupportedService } from '../../lib/models/kind-names.ts'
import { providerKinds } from '../../schemas/providers.ts'

t.test('other names of a provider lead to its kind', async t => {
  const rows = {
    azure: 'azure-openai',
    Azure_AI: 'azure-openai',
    gemini: 'google',
    'google-genai': 'google',
    claude: 'anthropic',
    grok: 'xai',
    'x.ai': 'xai',
    together_ai: 'together',
    llamacpp: 'llama.cpp',
    openai_like: 'openai-compatible',
    cohere: 'openai-compatible'
  }
  for (const [name, kind] of Object.entries(rows)) t.equal(kindNamed(name), kind, name)
  for (const name of ['mine', 'constructor', '']) t.equal(kindNamed(name), undefined, name)
})

t.test('a service without a kind is named', async t => {
  t.equal(unsupportedService('aws_bedrock'), 'Amazon Bedrock')
  t.equal(unsupportedService('vertex_ai'), 'Google Vertex AI')
  for (const name of [...providerKinds, 'mine']) t.equal(unsupportedService(name), undefined, name)
})
