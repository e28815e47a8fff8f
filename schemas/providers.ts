/** Names of provider kinds. `lib/providers/kinds` has a row for each: its address, adapters and quirks. */

/**
 * Public services to which callers may bring their own key (`X-Provider-Key`). Clients with generated types
 * accept no other values in the field `provider` of answers.
 */
export const providerLabels = [
  'openai', 'anthropic', 'google', 'xai', 'mistral', 'groq', 'fireworks', 'deepseek'
] as const
export type ProviderLabel = typeof providerLabels[number]

/** In the order of the documentation. */
export const providerKinds = [
  ...providerLabels,
  'openai-compatible', 'ollama', 'vllm', 'sglang', 'llama.cpp', 'lm-studio', 'openrouter',
  'together', 'azure-openai', 'sandbox', 'local'
] as const
export type ProviderKind = typeof providerKinds[number]
