/**
 * Kinds of providers: where each is, what it can do, and how it deviates from the dialect it speaks.
 * The one place that declares a kind; its name is in `schemas/providers`. What holds for a kind holds
 * for every entry of that kind in the configuration, which may add to it.
 */

import {
  providerKinds,
  providerLabels,
  type ProviderKind,
  type ProviderLabel
} from '../../schemas/providers.ts'
import type { ProviderTraits } from '../core/provider-traits.ts'
import type { Quirks } from '../core/quirks.ts'
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
import { xaiAdapters } from './xai/index.ts'
import type { Credential } from './credential.ts'
import type { ModelList } from './model-list.ts'
import type { Adapters } from './provider.ts'

export type VariablePrefix =
  'OPENAI' | 'ANTHROPIC' | 'GEMINI' | 'GOOGLE' | 'XAI' | 'MISTRAL' | 'GROQ' | 'FIREWORKS' | 'DEEPSEEK'

export interface Kind {
  /**
   * Prefixes of the environment variables that switch it on (`OPENAI_API_KEY`, `OPENAI_BASE_URL`), best
   * first.
   */
  readonly variables?: readonly VariablePrefix[]
  /**
   * Public addresses are from the API references, local ones are default ports; absent where only the
   * operator can know.
   */
  readonly baseUrl?: string
  /** True for servers that run models of the operator's choice: the catalogue cannot know them. */
  readonly listModels?: true
  /** How the provider lists its models. Default: as in the chat-completions dialect. */
  readonly modelList?: ModelList
  /** `upstream_api` of models that the catalogue does not know. Default: `otherUpstreamApi`. */
  readonly upstreamApi?: string
  /** Names that only its models have: without a prefix they refer to it, known or not. Default: none. */
  readonly ownNames?: RegExp
  /** The value of `gen_ai.provider.name` in traces. Default: the name of the kind. */
  readonly traceName?: string
  /** Makes the credential of a key: headers, or what signs requests with it. */
  readonly credential: (key: string, options: Readonly<Record<string, unknown>>) => Credential
  readonly adapters: Adapters | ((options: Readonly<Record<string, unknown>>) => Adapters)
  readonly quirks?: Quirks
  /** Quirks of servers at another address than its own, over the others. */
  readonly otherQuirks?: Quirks
  readonly traits?: ProviderTraits
  /** Names of `options` that its adapters read, each a text. Default: none. */
  readonly options?: readonly string[]
  /** The part of the gateway that answers itself. Default: none, requests go to a server. */
  readonly inProcess?: 'simulator' | 'programs'
}

/** `upstream_api` of models whose provider does not say which API serves them. */
export const otherUpstreamApi = 'openai-compatible'

/** The simulator that answers when no other provider is enabled, by its id. */
export const simulatorId: ProviderKind = 'sandbox'

const { chat, embeddings, images, speech, transcription, translation, moderation } = openaiAdapters
const { ocr } = mistralAdapters

/** A server of the chat-completions dialect, of which only chat and embeddings are guaranteed. */
const compatible: Adapters = { chat, embeddings }

const textCompletion = textCompletionAt('/completions')

/** A server that completes texts as well as it chats. */
const completing: Adapters = { ...compatible, textCompletion }

/** OpenAI's API for sound, which others have copied as they did its chat. */
const audio: Adapters = { speech, transcription, translation }

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
    // They sign nothing, and some refuse a conversation without its thinking.
    otherQuirks: { unsignedThinking: true },
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
      automaticFunctionCalling: true
    }
  },
  xai: {
    traceName: 'x_ai',
    variables: ['XAI'],
    baseUrl: 'https://api.x.ai/v1',
    upstreamApi: 'xai/chat/completions',
    credential: bearer,
    adapters: { ...xaiAdapters, images },
    quirks: { omit: xaiUnsupportedFields, customTools: false },
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
      rename: { seed: 'random_seed' },
      // Its streams end with the usage anyway.
      streamUsage: false,
      toolCallIdLength: 9,
      toolImages: false,
      userAfterTool: false,
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
    adapters: completing,
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
    adapters: { ...openaiAdapters, textCompletion },
    // Gemini and what is in front of it want the signatures of its calls back.
    quirks: { tokenLimitField: 'max_tokens', keepInHistory: ['extra_content'], customTools: false },
    traits: { network: 'by_address' }
  },
  ollama: {
    baseUrl: 'http://127.0.0.1:11434/v1',
    listModels: true,
    credential: bearer,
    adapters: completing,
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
    adapters: { ...completing, ...audio },
    quirks: { ...selfHosted, extraFields: ['top_k'] },
    traits: { network: 'internal' }
  },
  sglang: {
    baseUrl: 'http://127.0.0.1:30000/v1',
    listModels: true,
    credential: bearer,
    adapters: completing,
    quirks: { ...selfHosted, extraFields: ['top_k'], base64Embeddings: false },
    traits: { network: 'internal' }
  },
  'llama.cpp': {
    baseUrl: 'http://127.0.0.1:8080/v1',
    listModels: true,
    credential: bearer,
    adapters: completing,
    quirks: { ...selfHosted, multipleChoices: false, extraFields: ['top_k'] },
    traits: { network: 'internal' }
  },
  'lm-studio': {
    baseUrl: 'http://127.0.0.1:1234/v1',
    listModels: true,
    credential: bearer,
    adapters: completing,
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
      // Some of its models refuse a conversation without the state of their reasoning.
      keepInHistory: ['reasoning_details'],
      customTools: false
    },
    traits: { cacheMarks: true }
  },
  together: {
    baseUrl: 'https://api.together.ai/v1',
    credential: bearer,
    adapters: { ...openaiAdapters, textCompletion },
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
    quirks: { tokenLimitField: 'max_completion_tokens', legacyFunctions: true },
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

/** Returns the kind of an entry; one that does not say has its name for a kind, where that is one. */
export function kindOf (id: string, kind: ProviderKind | undefined): ProviderKind {
  return kind ?? providerKinds.find(known => known === id) ?? 'openai-compatible'
}

/**
 * Returns the label of a kind, or of a provider that is not configured. The models API lists eight, and one
 * that is not among them makes a strict client refuse the entire list; so a server of another kind gets the
 * label of the dialect it speaks, which is OpenAI's. Who really serves the model is said in its id, in
 * `provider_info.provider_id` and, by `openai-compatible`, in `upstream_api`.
 */
export function labelOf (kind: string): ProviderLabel {
  return providerLabels.find(label => label === kind) ?? 'openai'
}
