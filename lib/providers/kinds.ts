/**
 * Provider kinds: default address, capabilities, and deviations from the dialect. The only place that
 * declares a kind, except for its name in `schemas/providers`. An entry in the configuration inherits
 * everything from its kind and may add to it.
 */

import {
  providerKinds,
  providerLabels,
  type ProviderKind,
  type ProviderLabel
} from '../../schemas/providers.ts'
import type { ProviderTraits, Quirks } from '../core/provider-traits.ts'
import { anthropicAdapters, anthropicHeaders } from './anthropic/index.ts'
import { anthropicModels } from './anthropic/model-list.ts'
import { azureOpenaiAdapters, azureOpenaiHeaders } from './azure-openai/index.ts'
import { rejectDocumentUrls } from './reject-document-urls.ts'
import { bearer } from './chat-completions/index.ts'
import { textCompletionAt } from './chat-completions/text-completion.ts'
import { googleAdapters, googleHeaders } from './google/index.ts'
import { googleModels } from './google/model-list.ts'
import { mistralAdapters } from './mistral/index.ts'
import { openaiAdapters } from './openai/index.ts'
import { responsesTokenCount } from './responses/token-count.ts'
import { textCompletionOf } from './prompt-as-message.ts'
import { togetherAdapters } from './together/index.ts'
import { xaiAdapters } from './xai/index.ts'
import type { Credential } from './credential.ts'
import type { ModelList } from './model-list.ts'
import type { Adapters } from './provider.ts'

export type VariablePrefix =
  'OPENAI' | 'ANTHROPIC' | 'GEMINI' | 'GOOGLE' | 'XAI' | 'MISTRAL' | 'GROQ' | 'FIREWORKS' | 'DEEPSEEK'

export interface Kind {
  /**
   * Prefixes of the environment variables that enable it (`OPENAI_API_KEY`, `OPENAI_BASE_URL`), best first.
   */
  readonly variables?: readonly VariablePrefix[]
  /**
   * Public addresses come from the API references, local ones are default ports. Absent if only the operator
   * can know.
   */
  readonly baseUrl?: string
  /** True for servers that run models of the operator's choice, which the catalogue cannot know. */
  readonly listModels?: true
  /** How the provider lists its models. Default: the chat-completions format. */
  readonly modelList?: ModelList
  /** `upstream_api` of models missing from the catalogue. Default: `otherUpstreamApi`. */
  readonly upstreamApi?: string
  /** Model names unique to this provider: they need no prefix, even if unknown. Default: none. */
  readonly ownNames?: RegExp
  /** The value of `gen_ai.provider.name` in traces. Default: the name of the kind. */
  readonly traceName?: string
  /** Creates the credential for a key: headers or a signer. */
  readonly credential: (key: string, options: Readonly<Record<string, unknown>>) => Credential
  readonly adapters: Adapters | ((options: Readonly<Record<string, unknown>>) => Adapters)
  readonly quirks?: Quirks
  /** Additional quirks for servers at a custom address. */
  readonly customAddressQuirks?: Quirks
  readonly traits?: ProviderTraits
  /** Names of string `options` that its adapters or its credential read. Default: none. */
  readonly options?: readonly string[]
  /** The part of the gateway that answers itself. Default: none, requests go to a server. */
  readonly inProcess?: 'simulator' | 'programs'
}

/** `upstream_api` of models whose provider does not say which API serves them. */
export const otherUpstreamApi = 'openai-compatible'

/** Id of the simulator, which answers when no other provider is enabled. */
export const simulatorId: ProviderKind = 'sandbox'

const { chat, embeddings, images, speech, transcription, translation, moderation } = openaiAdapters
const { ocr } = mistralAdapters

/** A server of the chat-completions dialect; only chat and embeddings can be relied on. */
const compatible: Adapters = { chat, embeddings }

const textCompletion = textCompletionAt('/completions')

/** A server with both text completions and chat. */
const chatAndText: Adapters = { ...compatible, textCompletion }

/** OpenAI's audio API, which other servers have copied. */
const audio: Adapters = { speech, transcription, translation }

/** OpenAI account features; other servers reject or ignore these fields. */
const accountFields = [
  'metadata', 'store', 'service_tier', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention',
  'web_search_options', 'prediction', 'verbosity', 'modalities', 'audio'
]

const selfHosted: Quirks = {
  tokenLimitField: 'max_tokens',
  omit: accountFields,
  customTools: false
}

/** Missing from xAI's API, which documents `logit_bias` as unsupported. */
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
    adapters: {
      ...openaiAdapters,
      tokenCount: responsesTokenCount,
      textCompletion: textCompletionOf(
        /^(?:gpt-3\.5-turbo-instruct|davinci-002|babbage-002)/,
        textCompletion,
        chat
      )
    },
    quirks: {
      tokenLimitField: 'max_completion_tokens',
      obfuscation: true,
      legacyFunctions: true,
      developerRole: true,
      responsesApi: true,
      maxToolCallIdLength: 40
    },
    traits: {
      historyMarks: ['stored_audio', 'reasoning_item'],
      systemAnywhere: true,
      prefill: false,
      callerFields: true
    }
  },
  anthropic: {
    variables: ['ANTHROPIC'],
    baseUrl: 'https://api.anthropic.com',
    upstreamApi: 'anthropic/messages',
    ownNames: /^claude-[\w.-]+$/,
    modelList: anthropicModels,
    credential: anthropicHeaders,
    adapters: anthropicAdapters,
    // Compatible servers sign nothing, and some reject a conversation without its thinking.
    customAddressQuirks: { unsignedThinking: true },
    traits: {
      historyMarks: ['signed_thinking'],
      callerFields: true,
      cacheMarks: true,
      marksPrompts: true,
      thinking: true,
      maxStops: Infinity
    }
  },
  google: {
    traceName: 'gcp.gemini',
    variables: ['GEMINI', 'GOOGLE'],
    baseUrl: 'https://generativelanguage.googleapis.com',
    upstreamApi: 'google/generateContent',
    modelList: googleModels,
    credential: googleHeaders,
    adapters: googleAdapters,
    traits: {
      historyMarks: ['thought_signature'],
      systemParts: true,
      thinking: true,
      answerFormat: 'generation_config',
      automaticFunctionCalling: true,
      maxStops: 5
    }
  },
  xai: {
    traceName: 'x_ai',
    variables: ['XAI'],
    baseUrl: 'https://api.x.ai/v1',
    upstreamApi: 'xai/chat/completions',
    credential: bearer,
    adapters: { ...xaiAdapters, images },
    quirks: { omit: xaiUnsupportedFields, messageNames: 'user', refusals: false, customTools: false },
    traits: { systemAnywhere: true, prefill: false }
  },
  mistral: {
    traceName: 'mistral_ai',
    variables: ['MISTRAL'],
    baseUrl: 'https://api.mistral.ai/v1',
    credential: bearer,
    adapters: {
      ...mistralAdapters,
      embeddings,
      moderation,
      textCompletion: textCompletionOf(
        /^codestral/,
        textCompletionAt('/fim/completions'),
        mistralAdapters.chat
      )
    },
    quirks: {
      tokenLimitField: 'max_tokens',
      omit: [...accountFields, 'logit_bias', 'logprobs', 'top_logprobs', 'user'],
      extraFields: ['safe_prompt', 'prompt_mode'],
      rename: { seed: 'random_seed', dimensions: 'output_dimension' },
      // Streams end with the usage anyway.
      streamUsage: false,
      messageNames: 'none',
      refusals: false,
      toolCallIdLength: 9,
      toolImages: false,
      userAfterTool: false,
      fileUrls: true,
      customTools: false,
      base64Embeddings: false
    },
    traits: { systemAnywhere: true, prefill: false }
  },
  groq: {
    variables: ['GROQ'],
    baseUrl: 'https://api.groq.com/openai/v1',
    credential: bearer,
    adapters: { ...compatible, ...audio },
    quirks: {
      omit: [
        ...accountFields.filter(field => field !== 'service_tier'),
        'logit_bias',
        'logprobs',
        'top_logprobs'
      ],
      multipleChoices: false,
      customTools: false
    },
    traits: { systemAnywhere: true }
  },
  fireworks: {
    variables: ['FIREWORKS'],
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    credential: bearer,
    adapters: chatAndText,
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
      contentLists: false,
      jsonSchema: false,
      customTools: false
    }
  },
  'openai-compatible': {
    listModels: true,
    credential: bearer,
    adapters: { ...openaiAdapters, textCompletion },
    // Gemini, and proxies in front of it, require the signatures of its tool calls in later turns.
    quirks: {
      tokenLimitField: 'max_tokens',
      keepInHistory: ['extra_content'],
      fileUrls: true,
      customTools: false
    },
    traits: { network: 'anywhere', cacheMarks: 'in_chat' }
  },
  ollama: {
    baseUrl: 'http://127.0.0.1:11434/v1',
    listModels: true,
    credential: bearer,
    adapters: chatAndText,
    quirks: {
      ...selfHosted,
      omit: [...accountFields, 'logprobs', 'top_logprobs', 'logit_bias', 'parallel_tool_calls'],
      multipleChoices: false,
      lenientFinish: true,
      base64Embeddings: false
    },
    traits: { network: 'internal' }
  },
  vllm: {
    baseUrl: 'http://127.0.0.1:8000/v1',
    listModels: true,
    credential: bearer,
    adapters: { ...chatAndText, ...audio },
    quirks: { ...selfHosted, extraFields: ['top_k'] },
    traits: { network: 'internal' }
  },
  sglang: {
    baseUrl: 'http://127.0.0.1:30000/v1',
    listModels: true,
    credential: bearer,
    adapters: chatAndText,
    quirks: { ...selfHosted, extraFields: ['top_k'], base64Embeddings: false },
    traits: { network: 'internal' }
  },
  'llama.cpp': {
    baseUrl: 'http://127.0.0.1:8080/v1',
    listModels: true,
    credential: bearer,
    adapters: chatAndText,
    quirks: { ...selfHosted, multipleChoices: false, extraFields: ['top_k'] },
    traits: { network: 'internal' }
  },
  'lm-studio': {
    baseUrl: 'http://127.0.0.1:1234/v1',
    listModels: true,
    credential: bearer,
    adapters: chatAndText,
    quirks: { ...selfHosted, multipleChoices: false, base64Embeddings: false },
    traits: { network: 'internal' }
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
      // Some models reject a conversation without their reasoning state.
      keepInHistory: ['reasoning_details'],
      fileUrls: true,
      customTools: false
    },
    traits: { cacheMarks: true }
  },
  together: {
    baseUrl: 'https://api.together.ai/v1',
    credential: bearer,
    adapters: { ...togetherAdapters(openaiAdapters), textCompletion },
    quirks: { ...selfHosted, extraFields: ['top_k'], base64Embeddings: false }
  },
  'azure-openai': {
    traceName: 'azure.ai.openai',
    credential: azureOpenaiHeaders,
    adapters: options => azureOpenaiAdapters(openaiAdapters, options),
    quirks: {
      tokenLimitField: 'max_completion_tokens',
      omit: ['service_tier', 'safety_identifier'],
      legacyFunctions: true,
      developerRole: true,
      responsesApi: true,
      maxToolCallIdLength: 40
    },
    traits: {
      network: 'internet', // Microsoft's servers fetch, also behind a private address of the operator
      historyMarks: ['stored_audio', 'reasoning_item'],
      systemAnywhere: true,
      prefill: false,
      callerFields: true
    },
    options: ['api_version']
  },
  sandbox: {
    baseUrl: 'sandbox:',
    credential: bearer,
    adapters: { ...openaiAdapters, ocr },
    quirks: { tokenLimitField: 'max_completion_tokens', legacyFunctions: true, fileUrls: true },
    traits: { systemAnywhere: true },
    inProcess: 'simulator'
  },
  local: {
    baseUrl: 'local:',
    credential: () => ({}),
    adapters: { speech, ocr: { ...ocr, request: input => ocr.request(rejectDocumentUrls(input)) } },
    inProcess: 'programs'
  }
}

/** Returns the kind of an entry. Default: the kind with the name of the entry, if there is one. */
export function kindOf (id: string, kind: ProviderKind | undefined): ProviderKind {
  return kind ?? providerKinds.find(known => known === id) ?? 'openai-compatible'
}

/**
 * Returns the label of a kind, or of a provider that is not configured. The models API lists eight labels,
 * and strict clients reject the entire list for any other. Other kinds therefore get OpenAI's, whose dialect
 * they speak. The actual provider is in the model id and in `provider_info.provider_id`; `upstream_api` is
 * then `openai-compatible`.
 */
export function labelOf (kind: string): ProviderLabel {
  return providerLabels.find(label => label === kind) ?? 'openai'
}
