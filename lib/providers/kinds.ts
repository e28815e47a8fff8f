/**
 * Kinds of servers that speak the chat-completions dialect, and how each deviates from it. Data
 * only: what holds for a kind holds for every entry of that kind in the configuration, which may
 * add to it.
 */

import type { ProviderKind } from '../core/settings.ts'
import type { Quirks } from '../core/quirks.ts'

/** What servers without a notion of OpenAI's account features refuse or ignore. */
const accountFields = [
  'metadata', 'store', 'service_tier', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention',
  'web_search_options', 'prediction', 'verbosity', 'modalities', 'audio'
]

const selfHosted: Quirks = {
  tokenLimitField: 'max_tokens',
  omit: accountFields,
  customTools: false
}

/** Not in the API of xAI, which documents `logit_bias` as unsupported. */
const unknownToXai = [
  'metadata', 'store', 'verbosity', 'prediction', 'modalities', 'audio', 'safety_identifier',
  'prompt_cache_retention', 'logit_bias'
]

export const kindQuirks: Readonly<Partial<Record<ProviderKind, Quirks>>> = {
  openai: { tokenLimitField: 'max_completion_tokens', obfuscation: true, legacyFunctions: true },
  'azure-openai': {
    tokenLimitField: 'max_completion_tokens',
    omit: ['service_tier', 'safety_identifier'],
    legacyFunctions: true
  },
  sandbox: { tokenLimitField: 'max_completion_tokens', legacyFunctions: true },
  xai: { omit: unknownToXai, customTools: false },
  mistral: {
    tokenLimitField: 'max_tokens',
    omit: [...accountFields, 'logit_bias', 'logprobs', 'top_logprobs', 'user'],
    forward: ['safe_prompt', 'prompt_mode'],
    rename: { seed: 'random_seed' },
    // Its streams end with the usage anyway.
    streamUsage: false,
    toolCallIdLength: 9,
    toolImages: false,
    customTools: false,
    base64Embeddings: false
  },
  groq: {
    omit: [...accountFields.filter(field => field !== 'service_tier'), 'logit_bias', 'logprobs', 'top_logprobs'],
    choices: false,
    customTools: false
  },
  fireworks: {
    tokenLimitField: 'max_tokens',
    omit: accountFields,
    forward: ['top_k'],
    customTools: false,
    base64Embeddings: false
  },
  deepseek: {
    tokenLimitField: 'max_tokens',
    omit: [...accountFields, 'logit_bias', 'seed', 'user', 'parallel_tool_calls'],
    choices: false,
    echo: ['reasoning_content'],
    customTools: false
  },
  together: { ...selfHosted, forward: ['top_k'], base64Embeddings: false },
  openrouter: {
    omit: ['store', 'service_tier'],
    forward: ['top_k'],
    choices: false,
    reasoningEffort: 'object',
    customTools: false
  },
  ollama: {
    ...selfHosted,
    omit: [...accountFields, 'logprobs', 'top_logprobs', 'logit_bias', 'parallel_tool_calls'],
    choices: false,
    lenientFinish: true,
    base64Embeddings: false
  },
  vllm: { ...selfHosted, forward: ['top_k'] },
  sglang: { ...selfHosted, forward: ['top_k'], base64Embeddings: false },
  'llama.cpp': { ...selfHosted, choices: false, forward: ['top_k'] },
  'lm-studio': { ...selfHosted, choices: false, base64Embeddings: false },
  'openai-compatible': { tokenLimitField: 'max_tokens', customTools: false }
}
