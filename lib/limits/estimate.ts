/** Estimates the tokens of a request cheaply, for reservations and for answers that were cut off. */

import { hasMember, isObject } from '../json/guards.ts'
import { generationBounds } from '../chat/generation-fields.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import { inputsOf } from '../embeddings/input.ts'
import { amountOf, charactersPerToken, usageOfTokens, type Units, type Usage } from '../core/usage.ts'
import { recordedNonTokenUnits, type NonTokenColumn } from '../../schemas/billed-units.ts'
import type { ChatInput, TextInput } from '../chat/input.ts'
import type { Route } from '../core/route.ts'
import type { EmbeddingInput, EmbeddingsRequest } from '../../schemas/embeddings.ts'
import type { ModelEntry } from '../core/model.ts'
import { countPrompt, type PromptCount, type PromptMedia } from './prompt-tokens.ts'
import type { RequestedAmount } from './reservation.ts'

export interface Estimate {
  readonly prompt: number
  /** Tokens of the answer: the request's limit, or a typical length. */
  readonly completion: number
  /** The request's limit on the answer; absent if only the model limits it. */
  readonly maxCompletion?: number | undefined
  /** Reasoning tokens a model may add to an answer without a limit. Default 0. */
  readonly reasoning?: number
  /** Answers the call may take: choices, and turns of a tool loop. Default 1. */
  readonly answers?: number
  /** Choices per answer. A provider that returns one at a time reads the prompt for each. Default 1. */
  readonly choices?: number
  /**
   * Upper bound of the prompt tokens for any real tokenizer, for budgets that must not be exceeded. Default:
   * `prompt`.
   */
  readonly maxPrompt?: number
  /**
   * Media of the prompt. Their maximum tokens depend on the model and are not in `maxPrompt`. Default: none.
   */
  readonly media?: PromptMedia
  /** The shortest answer that is worth requesting. Default 1. */
  readonly minCompletion?: number
  /**
   * Units used in addition to tokens or instead of them. Token estimates of such a call are used only if the
   * model is billed by tokens and the provider reports none, and never count in limits of tokens per minute.
   */
  readonly units?: Units
  /** The most units the call can use. Default: `units`. */
  readonly maxUnits?: Units
  /** The fewest units worth reserving if the maximum does not fit. Default: `maxUnits`. */
  readonly minUnits?: Units
  /** True if part of the prompt is marked for the provider's cache. */
  readonly writesCache?: boolean
  /** The most web searches a provider may make for one answer, if the request limits them. Default 0. */
  readonly searches?: number
  /**
   * Images reserved for a call with an image generation tool. Default 0. Further images count when the call
   * ends, because no request limits them.
   */
  readonly toolImages?: number
  /** The field that changes the bill in a way that no price covers. */
  readonly unpriced?: string | undefined
}

/** Estimates a request: the most that any of the routes may use with its settings. */
export type EstimateRequest<R> = (request: R, routes: readonly Route[]) => Estimate

/** Media that a call sends. */
export interface SentMedia {
  readonly counts: PromptMedia
  /** Bytes of the body and of what the store adds to it. No recording is longer. */
  readonly bodyBytes: number
  /** How often a provider may read them. */
  readonly prompts: number
}

/**
 * The largest image, at the models that count the most tokens for one:
 * https://developers.openai.com/api/docs/guides/images-vision
 */
const imageTokens = 40_000
/** The same at Anthropic: https://platform.claude.com/docs/en/build-with-claude/vision */
const anthropicImageTokens = 5000
/** The slowest encoding has 750 bytes per second, and no provider counts more than 32 tokens for a second. */
const recordingBytesPerToken = 23
/** Assumed if the input limit of a model is unknown. */
const unknownInputTokens = 1_000_000

/** A shorter answer is useless. */
const minAnswerTokens = 16
export const defaultTurns = 10
/** The most tokens that the conversation format adds to each message. */
const messageTokens = 8
/** Tokens of roles that other dialects leave out: for a plain text input and for a system prompt. */
const roleTokens = 3
/** Assumed if the caller does not limit the answer. */
export const answerTokens = 1000

/** Reasoning tokens by effort: the most that is usual. */
const effortTokens: Readonly<Record<NonNullable<ChatInput['reasoning_effort']>, number>> = {
  none: 0, minimal: 1024, low: 4096, medium: 8192, high: 24_576, xhigh: 49_152, max: 65_536
}

type Settings = NonNullable<Route['settings']>

/** An estimate without units. */
type ChatEstimate = Required<
  Omit<Estimate, 'maxCompletion' | 'unpriced' | 'units' | 'maxUnits' | 'minUnits'>
> &
  Pick<Estimate, 'maxCompletion' | 'unpriced'>

/**
 * Estimates the prompt tokens from the number of characters a model may read, and the longest answer that the
 * request allows.
 *
 * @param routes the candidates; the most that any of them may use with its settings counts. Default: no
 *   settings
 */
export function estimateChat (request: ChatInput, routes: readonly Route[] = []): Estimate {
  const isPlain = routes.every(
    ({ settings, minMarkedTokens }) => settings === undefined && minMarkedTokens === undefined
  )
  if (isPlain) return estimateOne(request, promptOf(request))
  // Settings that name a model are counted with its routes.
  const plain = { ...request, model: '' }
  const prompt = prompts.get(request) ?? promptOf(plain)
  prompts.set(request, prompt)
  const all = new Set(routes.map(({ settings }) => settings))
  const estimate = [...all].map(settings => settings === undefined
    ? estimateOne(plain, prompt)
    : estimateOne(withSettings(plain, settings), promptWith(prompt, plain, settings))).reduce(mostOf)
  return routes.some(({ minMarkedTokens }) => minMarkedTokens !== undefined)
    ? { ...estimate, writesCache: true }
    : estimate
}

/** Prompts of requests to routes with settings. They are estimated several times, for different routes. */
const prompts = new WeakMap<ChatInput, Prompt>()

/** Returns the request as sent with settings, in the caller's dialect too. */
function withSettings (request: ChatInput, settings: Settings): ChatInput {
  const { asWritten } = request
  return {
    ...mergeSettings(request, settings),
    ...asWritten !== undefined && { asWritten: mergeSettings(asWritten, settings) }
  }
}

interface Prompt extends PromptCount {
  /** True if part of the prompt is marked for the provider's cache. */
  readonly marksCache: boolean
}

/** Reads all texts of a request. */
function promptOf (request: ChatInput): Prompt {
  const { messages, tools, asWritten } = request
  const { tokens, media } = countPrompt(asWritten ?? request)
  return {
    tokens: asWritten === undefined ? tokens : tokens + roleTokens,
    media,
    marksCache: hasMember(messages, 'cache_control') || hasMember(tools, 'cache_control')
  }
}

/**
 * Adds the settings to a counted prompt, so that the request's own texts, which may be long, are not read
 * again.
 */
function promptWith (prompt: Prompt, { asWritten, ...request }: ChatInput, settings: Settings): Prompt {
  const given = asWritten ?? request
  const added = Object.fromEntries(
    Object.entries(mergeSettings(given, settings)).filter(([name]) => !Object.hasOwn(given, name))
  )
  return {
    ...prompt,
    tokens: prompt.tokens + countPrompt(added).tokens,
    marksCache: prompt.marksCache || hasMember(added['tools'], 'cache_control')
  }
}

function mostOf (a: ChatEstimate, b: ChatEstimate): ChatEstimate {
  return {
    prompt: Math.max(a.prompt, b.prompt),
    maxPrompt: Math.max(a.maxPrompt, b.maxPrompt),
    media: a.media, // settings do not change the media of a request
    completion: Math.max(a.completion, b.completion),
    maxCompletion:
      a.maxCompletion === undefined || b.maxCompletion === undefined
        ? undefined
        : Math.max(a.maxCompletion, b.maxCompletion),
    reasoning: Math.max(a.reasoning, b.reasoning),
    answers: Math.max(a.answers, b.answers),
    choices: Math.max(a.choices, b.choices),
    minCompletion: Math.max(a.minCompletion, b.minCompletion),
    writesCache: a.writesCache || b.writesCache,
    searches: Math.max(a.searches, b.searches),
    toolImages: Math.max(a.toolImages, b.toolImages),
    unpriced: a.unpriced ?? b.unpriced
  }
}

function estimateOne (request: ChatInput, { tokens, media, marksCache }: Prompt): ChatEstimate {
  const {
    messages,
    asWritten,
    max_completion_tokens: maxCompletionTokens,
    max_tokens: maxTokens,
    generation_config: config,
    thinking
  } = request
  // Which limit applies depends on the provider.
  const limit = maxCompletionTokens ?? maxTokens
  const own = config === undefined ? {} : generationBounds(config)
  const { maxTokens: ownLimit, choices: ownChoices = 1 } = own
  const maxCompletion =
    limit === undefined || ownLimit === Infinity ? undefined : Math.max(limit, ownLimit ?? 0)
  const choices = Math.max(request.n ?? 1, ownChoices)
  const runsTools = request.mcp_servers !== undefined && request.automatic_tool_execution !== false
  const thinkingTokens = thinking?.type === 'enabled' ? thinking.budget_tokens : 0
  const prompt = Math.ceil(tokens)
  return {
    prompt,
    maxPrompt: 2 * prompt + messageTokens * (messages.length + 1),
    media,
    completion:
      choices *
      Math.max(limit ?? answerTokens, ownLimit === undefined || ownLimit === Infinity ? 0 : ownLimit),
    maxCompletion,
    reasoning: Math.max(thinkingTokens, effortTokens[request.reasoning_effort ?? 'none']),
    answers: runsTools ? (request.max_turns ?? defaultTurns) : choices,
    choices,
    minCompletion: Math.min(maxCompletion ?? Infinity, thinkingTokens + minAnswerTokens),
    writesCache: marksCache,
    searches: asWritten === undefined ? 0 : maxSearches(asWritten),
    toolImages: asWritten === undefined ? 0 : imagesOfTools(asWritten),
    unpriced: request.service_tier === 'priority' ? 'service_tier' : undefined
  }
}

/** Estimates a text completion; the suffix is counted like the prompt. */
export function estimateText (request: TextInput, routes?: readonly Route[]): Estimate {
  const {
    messages,
    text: { suffix }
  } = request
  return estimateChat(
    suffix === undefined
      ? request
      : { ...request, messages: [...messages, { role: 'user', content: suffix }] },
    routes
  )
}

export function estimateEmbeddings ({ input }: EmbeddingsRequest): Estimate {
  return { prompt: embeddingTokens(input), completion: 0, maxCompletion: 0 }
}

function embeddingTokens (input: EmbeddingInput): number {
  let tokens = 0
  for (const one of inputsOf(input)) {
    tokens += typeof one === 'string' ? Math.ceil(Buffer.byteLength(one) / charactersPerToken) : one.length
  }
  return tokens
}

/**
 * Sums the web searches that a request allows: `max_uses` of each tool for Anthropic, `max_tool_calls` for
 * OpenAI. Without them there is no limit.
 */
function maxSearches (request: { readonly tools?: unknown, readonly max_tool_calls?: unknown }): number {
  const { tools, max_tool_calls: maxToolCalls } = request
  if (!Array.isArray(tools)) return 0
  const bounds = tools
    .filter(isObject)
    .filter(({ type }) => typeof type === 'string' && type.startsWith('web_search'))
    .map(({ max_uses: maxUses }) => maxUses)
  const most = sumOfCounts(bounds)
  return bounds.length === 0 || most > 0 ? most : sumOfCounts([maxToolCalls])
}

/** Returns one image for a request whose provider may generate images with a tool. */
function imagesOfTools ({ tools }: { readonly tools?: unknown }): number {
  return Array.isArray(tools) && tools.some(tool => isObject(tool) && tool['type'] === 'image_generation')
    ? 1
    : 0
}

function sumOfCounts (values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => typeof value === 'number' && value > 0 ? sum + value : sum, 0)
}

/** Estimates the usage of an answer for which the provider reports none. */
export function embeddingsUsage ({ input }: EmbeddingsRequest): Usage {
  return usageOfTokens(embeddingTokens(input), 0)
}

/**
 * Returns the most tokens that media can take at a model; 0 without media. Placeholder text does not tell
 * their size. A provider never reads more than the model's input limit.
 */
export function maxMediaTokens (media: SentMedia | undefined, model: ModelEntry | undefined): number {
  if (media === undefined) return 0
  const { counts: { images, recordings, others }, bodyBytes, prompts } = media
  const limit = model?.capabilities['input_token_limit']
  const most = typeof limit === 'number' ? limit : unknownInputTokens
  if (others > 0) return prompts * most
  const each = model?.upstreamApi.startsWith('anthropic/') === true ? anthropicImageTokens : imageTokens
  return (
    prompts *
    Math.min(most, images * each + (recordings > 0 ? Math.ceil(bodyBytes / recordingBytesPerToken) : 0))
  )
}

/**
 * Returns the wanted amounts of units billed instead of tokens or made by a tool. Unused units are absent.
 */
export function requestedUnits ({
  units,
  maxUnits = units,
  minUnits = maxUnits,
  toolImages = 0
}: Estimate): Partial<Record<NonTokenColumn, RequestedAmount>> {
  const wanted: Partial<Record<NonTokenColumn, RequestedAmount>> = {}
  if (toolImages > 0) wanted.images = { most: toolImages }
  if (units === undefined) return wanted
  for (const { name, column, perUnit } of recordedNonTokenUnits) {
    const amountIn = (of: Units | undefined): number =>
      Math.ceil((amountOf(name, undefined, of) ?? 0) * perUnit)
    const most = amountIn(maxUnits)
    if (most > 0) wanted[column] = { most, least: amountIn(minUnits), usual: amountIn(units) }
  }
  return wanted
}
