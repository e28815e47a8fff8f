/** What is known of each kind of provider before anything is asked of it. */

import type { ProviderKind } from '../core/settings.ts'

interface Kind {
  /** Where it is unless the operator says otherwise; absent where only the operator can know. */
  readonly baseUrl?: string
  /** True for servers that run whatever models were put there: the catalogue cannot know them. */
  readonly listModels: boolean
}

/** Public addresses from each provider's API reference; local ones are each server's default port. */
export const kinds: Readonly<Record<ProviderKind, Kind>> = {
  openai: { baseUrl: 'https://api.openai.com/v1', listModels: false },
  anthropic: { baseUrl: 'https://api.anthropic.com', listModels: false },
  google: { baseUrl: 'https://generativelanguage.googleapis.com', listModels: false },
  xai: { baseUrl: 'https://api.x.ai/v1', listModels: false },
  mistral: { baseUrl: 'https://api.mistral.ai/v1', listModels: false },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', listModels: false },
  fireworks: { baseUrl: 'https://api.fireworks.ai/inference/v1', listModels: false },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', listModels: false },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', listModels: false },
  together: { baseUrl: 'https://api.together.ai/v1', listModels: false },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', listModels: true },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1', listModels: true },
  sglang: { baseUrl: 'http://127.0.0.1:30000/v1', listModels: true },
  'llama.cpp': { baseUrl: 'http://127.0.0.1:8080/v1', listModels: true },
  'lm-studio': { baseUrl: 'http://127.0.0.1:1234/v1', listModels: true },
  'openai-compatible': { listModels: true },
  'azure-openai': { listModels: false },
  sandbox: { baseUrl: 'sandbox:', listModels: false },
  local: { baseUrl: 'local:', listModels: false }
}

/** The kind of an entry that does not say: its name where that is one. */
export function kindOf (id: string, kind: ProviderKind | undefined): ProviderKind {
  if (kind !== undefined) return kind
  return isKind(id) ? id : 'openai-compatible'
}

function isKind (id: string): id is ProviderKind {
  return Object.hasOwn(kinds, id)
}
