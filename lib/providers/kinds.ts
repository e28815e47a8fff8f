/**
 * Kinds of providers: where each is, what it can do, and how it deviates from the dialect it speaks.
 * The one place that declares a kind; its name is in `schemas/providers`. What holds for a kind holds
 * for every entry of that kind in the configuration, which may add to it.
 */

import { providerKinds, type ProviderKind } from '../../schemas/providers.ts'
import type { Quirks } from '../core/quirks.ts'
import { anthropicChat, anthropicHeaders } from './anthropic/index.ts'
import { anthropicModels } from './anthropic/model-list.ts'
import { azureOpenaiChat, azureOpenaiHeaders } from './azure-openai/index.ts'
import { rejectDocumentUrls } from './reject-document-urls.ts'
import { bearer, chatCompletions } from './chat-completions/index.ts'
import { googleEmbeddings } from './google/embeddings.ts'
import { googleImages } from './google/images.ts'
import { googleChat, googleHeaders } from './google/index.ts'
import { googleModels } from './google/model-list.ts'
import { mistralOcr } from './mistral/ocr.ts'
import { openaiEmbeddings } from './openai/embeddings.ts'
import { openaiImageEdits, openaiImageVariations } from './openai/image-edits.ts'
import { openaiImages } from './openai/images.ts'
import { openaiSpeech } from './openai/speech.ts'
import { openaiTranscription, openaiTranslation } from './openai/transcription.ts'
import { xaiDeferred } from './xai/deferred.ts'
import { xaiChat } from './xai/index.ts'
import type { ModelList } from './model-list.ts'
import type { Adapters } from './provider.ts'

export type VariablePrefix =
  'OPENAI' | 'ANTHROPIC' | 'GEMINI' | 'GOOGLE' | 'XAI' | 'MISTRAL' | 'GROQ' | 'FIREWORKS' | 'DEEPSEEK'

export interface Kind {
  /** Prefixes of the environment variables that switch it on (`OPENAI_API_KEY`, `OPENAI_BASE_URL`), best first. */
  readonly variables?: readonly VariablePrefix[]
  /** Public addresses are from the API references, local ones are default ports; absent where only the operator can know. */
  readonly baseUrl?: string
  /** True for servers that run models of the operator's choice: the catalogue cannot know them. */
  readonly listModels?: true
  /** Its own list of models. Default: that of the chat-completions dialect. */
  readonly modelList?: ModelList
  /** `upstream_api` of models that the catalogue does not know. Default `openai-compatible`. */
  readonly upstreamApi?: string
  /** Headers that carry a key. */
  readonly credential: (key: string) => Record<string, string>
  readonly adapters: Adapters | ((options: Readonly<Record<string, unknown>>) => Adapters)
  readonly quirks?: Quirks
}

/** A server of the chat-completions dialect, with nothing but chat and embeddings for sure. */
const compatible: Adapters = { chat: chatCompletions, embeddings: openaiEmbeddings }

/** The image API; a server that does not have it answers with an error. */
const imageApi: Adapters = { images: openaiImages, imageEdits: openaiImageEdits, imageVariations: openaiImageVariations }

/** OpenAI's API for sound, which others have copied as they did its chat. */
const audio: Adapters = { speech: openaiSpeech, transcription: openaiTranscription, translation: openaiTranslation }

/** Fields that servers without a notion of OpenAI's account features refuse or ignore. */
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
const xaiUnsupportedFields = [
  'metadata', 'store', 'verbosity', 'prediction', 'modalities', 'audio', 'safety_identifier',
  'prompt_cache_retention', 'logit_bias'
]

export const kinds: Readonly<Record<ProviderKind, Kind>> = {
  openai: {
    variables: ['OPENAI'],
    baseUrl: 'https://api.openai.com/v1',
    upstreamApi: 'openai/chat/completions',
    credential: bearer,
    adapters: { ...compatible, ...audio, ...imageApi },
    quirks: { tokenLimitField: 'max_completion_tokens', obfuscation: true, legacyFunctions: true }
  },
  anthropic: {
    variables: ['ANTHROPIC'],
    baseUrl: 'https://api.anthropic.com',
    upstreamApi: 'anthropic/messages',
    modelList: anthropicModels,
    credential: anthropicHeaders,
    adapters: { chat: anthropicChat }
  },
  google: {
    variables: ['GEMINI', 'GOOGLE'],
    baseUrl: 'https://generativelanguage.googleapis.com',
    upstreamApi: 'google/generateContent',
    modelList: googleModels,
    credential: googleHeaders,
    adapters: { chat: googleChat, embeddings: googleEmbeddings, images: googleImages }
  },
  xai: {
    variables: ['XAI'],
    baseUrl: 'https://api.x.ai/v1',
    upstreamApi: 'xai/chat/completions',
    credential: bearer,
    adapters: { chat: xaiChat, deferred: xaiDeferred, images: openaiImages },
    quirks: { omit: xaiUnsupportedFields, customTools: false }
  },
  mistral: {
    variables: ['MISTRAL'],
    baseUrl: 'https://api.mistral.ai/v1',
    credential: bearer,
    adapters: { ...compatible, ocr: mistralOcr },
    quirks: {
      tokenLimitField: 'max_tokens',
      omit: [...accountFields, 'logit_bias', 'logprobs', 'top_logprobs', 'user'],
      extraFields: ['safe_prompt', 'prompt_mode'],
      rename: { seed: 'random_seed' },
      // Its streams end with the usage anyway.
      streamUsage: false,
      toolCallIdLength: 9,
      toolImages: false,
      customTools: false,
      base64Embeddings: false
    }
  },
  groq: {
    variables: ['GROQ'],
    baseUrl: 'https://api.groq.com/openai/v1',
    credential: bearer,
    adapters: { ...compatible, ...audio },
    quirks: {
      omit: [...accountFields.filter(field => field !== 'service_tier'), 'logit_bias', 'logprobs', 'top_logprobs'],
      multipleChoices: false,
      customTools: false
    }
  },
  fireworks: {
    variables: ['FIREWORKS'],
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    credential: bearer,
    adapters: compatible,
    quirks: {
      tokenLimitField: 'max_tokens',
      omit: accountFields,
      extraFields: ['top_k'],
      customTools: false,
      base64Embeddings: false
    }
  },
  deepseek: {
    variables: ['DEEPSEEK'],
    baseUrl: 'https://api.deepseek.com/v1',
    credential: bearer,
    adapters: compatible,
    quirks: {
      tokenLimitField: 'max_tokens',
      omit: [...accountFields, 'logit_bias', 'seed', 'user', 'parallel_tool_calls'],
      multipleChoices: false,
      keepInHistory: ['reasoning_content'],
      customTools: false
    }
  },
  'openai-compatible': {
    listModels: true,
    credential: bearer,
    adapters: { ...compatible, ...audio, ...imageApi },
    quirks: { tokenLimitField: 'max_tokens', customTools: false }
  },
  ollama: {
    baseUrl: 'http://127.0.0.1:11434/v1',
    listModels: true,
    credential: bearer,
    adapters: compatible,
    quirks: {
      ...selfHosted,
      omit: [...accountFields, 'logprobs', 'top_logprobs', 'logit_bias', 'parallel_tool_calls'],
      multipleChoices: false,
      lenientFinish: true,
      base64Embeddings: false
    }
  },
  vllm: {
    baseUrl: 'http://127.0.0.1:8000/v1',
    listModels: true,
    credential: bearer,
    adapters: { ...compatible, ...audio },
    quirks: { ...selfHosted, extraFields: ['top_k'] }
  },
  sglang: {
    baseUrl: 'http://127.0.0.1:30000/v1',
    listModels: true,
    credential: bearer,
    adapters: compatible,
    quirks: { ...selfHosted, extraFields: ['top_k'], base64Embeddings: false }
  },
  'llama.cpp': {
    baseUrl: 'http://127.0.0.1:8080/v1',
    listModels: true,
    credential: bearer,
    adapters: compatible,
    quirks: { ...selfHosted, multipleChoices: false, extraFields: ['top_k'] }
  },
  'lm-studio': {
    baseUrl: 'http://127.0.0.1:1234/v1',
    listModels: true,
    credential: bearer,
    adapters: compatible,
    quirks: { ...selfHosted, multipleChoices: false, base64Embeddings: false }
  },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    credential: bearer,
    adapters: compatible,
    quirks: {
      omit: ['store', 'service_tier'],
      extraFields: ['top_k'],
      multipleChoices: false,
      reasoningEffort: 'object',
      customTools: false
    }
  },
  together: {
    baseUrl: 'https://api.together.ai/v1',
    credential: bearer,
    adapters: { ...compatible, ...audio, ...imageApi },
    quirks: { ...selfHosted, extraFields: ['top_k'], base64Embeddings: false }
  },
  'azure-openai': {
    credential: azureOpenaiHeaders,
    adapters: ({ api_version: version }) => ({ chat: azureOpenaiChat(typeof version === 'string' ? version : undefined) }),
    quirks: {
      tokenLimitField: 'max_completion_tokens',
      omit: ['service_tier', 'safety_identifier'],
      legacyFunctions: true
    }
  },
  sandbox: {
    baseUrl: 'sandbox:',
    credential: bearer,
    adapters: { ...compatible, ...audio, ...imageApi, ocr: mistralOcr },
    quirks: { tokenLimitField: 'max_completion_tokens', legacyFunctions: true }
  },
  local: {
    baseUrl: 'local:',
    credential: () => ({}),
    adapters: { speech: openaiSpeech, ocr: { ...mistralOcr, request: ask => mistralOcr.request(rejectDocumentUrls(ask)) } }
  }
}

/** Servers that an operator runs, which may reach addresses that are closed to the internet. */
export const selfHostedKinds: ReadonlySet<ProviderKind> = new Set(['ollama', 'vllm', 'sglang', 'llama.cpp', 'lm-studio'])

/** Returns the kind of an entry; one that does not say has its name for a kind, where that is one. */
export function kindOf (id: string, kind: ProviderKind | undefined): ProviderKind {
  return kind ?? providerKinds.find(known => known === id) ?? 'openai-compatible'
}
