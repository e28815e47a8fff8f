/** Other names of providers, so that an error of a configuration can suggest the name here. */

import type { ProviderKind } from '../../schemas/providers.ts'
import { litellmProviders } from './litellm-providers.ts'

/** By kind: names of the company, its models, its products, and of packages of clients. */
const otherNames: Partial<Readonly<Record<ProviderKind, readonly string[]>>> = {
  openai: ['chatgpt', 'gpt', 'open-ai'],
  anthropic: ['claude'],
  google: ['gemini', 'googleai', 'google-genai', 'google-ai-studio', 'aistudio', 'google-gemini', 'palm'],
  xai: ['x.ai', 'grok'],
  mistral: ['mistralai', 'la-plateforme'],
  groq: ['groqcloud'],
  fireworks: ['fireworksai'],
  deepseek: ['deepseekai'],
  together: ['togetherai'],
  openrouter: ['openrouterai'],
  ollama: ['ollama-cloud'],
  vllm: ['hosted-vllm', 'v-llm'],
  'llama.cpp': ['llamacpp', 'llama-server', 'llamafile', 'gguf'],
  'lm-studio': ['lms'],
  'azure-openai': ['azure', 'azureai', 'azure-ai', 'azure-foundry', 'ai-foundry', 'microsoft', 'foundry'],
  'openai-compatible': [
    'openai-like', 'compatible', 'custom', 'custom-openai', 'generic', 'litellm', 'litellm-proxy', 'localai',
    'tgi', 'huggingface', 'cohere', 'perplexity', 'cerebras', 'nvidia', 'nim', 'moonshot', 'kimi', 'qwen',
    'dashscope', 'zai', 'zhipu', 'glm', 'minimax'
  ],
  sandbox: ['mock', 'fake', 'simulator', 'echo']
}

/** Services without a kind. */
const unsupported: Readonly<Record<string, readonly string[]>> = {
  'Amazon Bedrock': ['bedrock', 'aws', 'amazon', 'aws-bedrock', 'amazon-bedrock', 'bedrock-converse'],
  'Amazon SageMaker': ['sagemaker', 'sagemaker-chat'],
  'Google Vertex AI': ['vertex', 'vertexai', 'vertex-ai', 'google-vertex', 'gcp', 'vertex-ai-beta'],
  watsonx: ['watsonx', 'watson', 'ibm']
}

const kindByName = new Map<string, ProviderKind>([
  ...[...litellmProviders].map(([name, { kind }]) => [plain(name), kind] as const),
  ...Object.entries(otherNames).flatMap(([kind, names]) =>
    names.map(name => [plain(name), kind as ProviderKind] as const) // its own keys
  )
])
const serviceByName = new Map(
  Object.entries(unsupported).flatMap(([service, names]) =>
    names.map(name => [plain(name), service] as const)
  )
)

/** Returns the kind that a name from elsewhere means; `undefined` for a name that no service is known by. */
export function kindNamed (name: string): ProviderKind | undefined {
  return kindByName.get(plain(name))
}

/** Returns the service of a name if no kind serves it. */
export function unsupportedService (name: string): string | undefined {
  return serviceByName.get(plain(name))
}

function plain (name: string): string {
  return name.toLowerCase().replace(/[-_.\s]/g, '')
}
