/**
 * The providers of LiteLLM, by the prefix of `litellm_params.model`, with the provider that serves each here.
 */

import type { ProviderKind } from '../../schemas/providers.ts'

export interface ProviderRow {
  readonly kind: ProviderKind
  /** The variable from which LiteLLM reads the key of an entry without one. */
  readonly variable?: string
  /** The variable from which LiteLLM reads the address of an entry without one. */
  readonly addressVariable?: string
  /** For a service with OpenAI's API and no kind of its own. */
  readonly baseUrl?: string
}

const compatible = 'openai-compatible'

const rows: Readonly<Record<string, ProviderRow>> = {
  openai: { kind: 'openai', variable: 'OPENAI_API_KEY' },
  'text-completion-openai': { kind: 'openai', variable: 'OPENAI_API_KEY' },
  azure: { kind: 'azure-openai', variable: 'AZURE_API_KEY', addressVariable: 'AZURE_API_BASE' },
  azure_text: { kind: 'azure-openai', variable: 'AZURE_API_KEY', addressVariable: 'AZURE_API_BASE' },
  anthropic: { kind: 'anthropic', variable: 'ANTHROPIC_API_KEY' },
  gemini: { kind: 'google', variable: 'GEMINI_API_KEY' },
  xai: { kind: 'xai', variable: 'XAI_API_KEY' },
  mistral: { kind: 'mistral', variable: 'MISTRAL_API_KEY' },
  groq: { kind: 'groq', variable: 'GROQ_API_KEY' },
  fireworks_ai: { kind: 'fireworks', variable: 'FIREWORKS_API_KEY' },
  deepseek: { kind: 'deepseek', variable: 'DEEPSEEK_API_KEY' },
  together_ai: { kind: 'together', variable: 'TOGETHERAI_API_KEY' },
  openrouter: { kind: 'openrouter', variable: 'OPENROUTER_API_KEY' },
  ollama: { kind: 'ollama', addressVariable: 'OLLAMA_API_BASE' },
  ollama_chat: { kind: 'ollama', addressVariable: 'OLLAMA_API_BASE' },
  hosted_vllm: { kind: 'vllm', variable: 'HOSTED_VLLM_API_KEY', addressVariable: 'HOSTED_VLLM_API_BASE' },
  vllm: { kind: 'vllm' },
  lm_studio: { kind: 'lm-studio', variable: 'LM_STUDIO_API_KEY', addressVariable: 'LM_STUDIO_API_BASE' },
  llamafile: { kind: 'llama.cpp' },
  custom_openai: { kind: compatible },
  openai_like: { kind: compatible },
  litellm_proxy: {
    kind: compatible,
    variable: 'LITELLM_PROXY_API_KEY',
    addressVariable: 'LITELLM_PROXY_API_BASE'
  },
  perplexity: { kind: compatible, variable: 'PERPLEXITYAI_API_KEY', baseUrl: 'https://api.perplexity.ai' },
  cerebras: { kind: compatible, variable: 'CEREBRAS_API_KEY', baseUrl: 'https://api.cerebras.ai/v1' },
  nvidia_nim: {
    kind: compatible,
    variable: 'NVIDIA_NIM_API_KEY',
    baseUrl: 'https://integrate.api.nvidia.com/v1'
  },
  sambanova: { kind: compatible, variable: 'SAMBANOVA_API_KEY', baseUrl: 'https://api.sambanova.ai/v1' },
  deepinfra: {
    kind: compatible,
    variable: 'DEEPINFRA_API_KEY',
    baseUrl: 'https://api.deepinfra.com/v1/openai'
  },
  moonshot: { kind: compatible, variable: 'MOONSHOT_API_KEY', baseUrl: 'https://api.moonshot.ai/v1' },
  dashscope: {
    kind: compatible,
    variable: 'DASHSCOPE_API_KEY',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1'
  },
  nebius: { kind: compatible, variable: 'NEBIUS_API_KEY', baseUrl: 'https://api.studio.nebius.ai/v1' },
  hyperbolic: { kind: compatible, variable: 'HYPERBOLIC_API_KEY', baseUrl: 'https://api.hyperbolic.xyz/v1' },
  novita: { kind: compatible, variable: 'NOVITA_API_KEY', baseUrl: 'https://api.novita.ai/v3/openai' },
  ai21: { kind: compatible, variable: 'AI21_API_KEY', baseUrl: 'https://api.ai21.com/studio/v1' },
  cohere: {
    kind: compatible,
    variable: 'COHERE_API_KEY',
    baseUrl: 'https://api.cohere.ai/compatibility/v1'
  },
  cohere_chat: {
    kind: compatible,
    variable: 'COHERE_API_KEY',
    baseUrl: 'https://api.cohere.ai/compatibility/v1'
  }
}

export const litellmProviders: ReadonlyMap<string, ProviderRow> = new Map(Object.entries(rows))

/** Returns the service at an address, among those without their own kind. */
export function serviceAt (baseUrl: string): string | undefined {
  return [...litellmProviders].find(([, row]) => row.baseUrl === baseUrl)?.[0]
}

/** Names without a prefix, as LiteLLM interprets them. */
const bareNames: ReadonlyArray<readonly [name: RegExp, provider: string]> = [
  [/^(?:gpt-|chatgpt-|o\d|text-embedding-|whisper|tts-|dall-e|davinci|babbage|omni-moderation)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^command/, 'cohere_chat'],
  [/^deepseek-/, 'deepseek']
]

/** Parts of a name that choose an API of the provider, and that the provider itself does not know. */
const apiPrefixes = /^(?:responses|o_series|gpt5_series)\//

/** Splits `azure/my-deployment` into its provider and the provider's name of the model. */
export function splitModel (model: string, provider?: string): readonly [provider: string, model: string] {
  const slash = model.indexOf('/')
  const prefix = model.slice(0, Math.max(0, slash))
  if (provider !== undefined && provider !== prefix) return [provider, model.replace(apiPrefixes, '')]
  if (slash !== -1) return [prefix, model.slice(slash + 1).replace(apiPrefixes, '')]
  return [bareNames.find(([name]) => name.test(model))?.[1] ?? '', model]
}
