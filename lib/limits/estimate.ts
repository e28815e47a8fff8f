/** Estimates the tokens of a request cheaply: for reservations, and for answers that were cut off. */

import { beginsAsMedia } from '../json/media-strings.ts'
import { hasMember, isContainer, isObject } from '../json/guards.ts'
import { addedFields } from '../chat/added-fields.ts'
import { generationBounds } from '../chat/generation-fields.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import { estimateTokens } from '../embeddings/measure-tokens.ts'
import { amountOf, charactersPerToken, usageOfTokens, type Units, type Usage } from '../core/usage.ts'
import { recordedNonTokenUnits, type NonTokenColumn } from '../../schemas/billed-units.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import { MessagesRequest } from '../../schemas/messages-request.ts'
import { ResponsesRequest } from '../../schemas/responses.ts'
import type { ChatInput, TextInput } from '../chat/input.ts'
import type { Route } from '../core/route.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import type { ModelEntry } from '../core/model.ts'
import type { Wanted } from './reservation.ts'

export interface Estimate {
  readonly prompt: number
  /** Tokens of the answer: the bound the request sets, else a usual length. */
  readonly completion: number
  /** The bound that the request sets to the answer; absent where the model alone does. */
  readonly maxCompletion?: number | undefined
  /** Tokens that a model may reason with beside an answer that the request does not bound. Default 0. */
  readonly reasoning?: number
  /** Answers the call may take: choices, and turns of a tool loop. Default 1. */
  readonly answers?: number
  /** Choices of one answer: a provider that gives one at a time reads the prompt for each. Default 1. */
  readonly choices?: number
  /** A bound of the prompt that real tokenizers keep, where no token must go unpaid. Default: `prompt`. */
  readonly maxPrompt?: number
  /** Media of the prompt, whose most tokens depend on the model and are not in `maxPrompt`. Default: none. */
  readonly media?: PromptMedia
  /** The shortest answer that is worth requesting. Default 1. */
  readonly minCompletion?: number
  /**
   * Units the call uses beside tokens, or in place of them: its tokens then count where a model is paid by
   * these and its provider does not report them, and in no limit of tokens per minute.
   */
  readonly units?: Units
  /** The most units the call can use. Default: `units`. */
  readonly maxUnits?: Units
  /** The fewest units worth reserving where less than the most is left. Default: `maxUnits`. */
  readonly minUnits?: Units
  /** True when a part of the prompt is marked for the provider's cache. */
  readonly writesCache?: boolean
  /**
   * The most searches of the web that a provider may make for one answer, where the request bounds them.
   * Default 0.
   */
  readonly searches?: number
  /**
   * The images that a call with a tool of its provider for them reserves beside its tokens. Default 0. What
   * it makes beyond that counts when it has ended: no request bounds it.
   */
  readonly toolImages?: number
  /** The field that changes what a provider bills in a way that no price covers. */
  readonly unpriced?: string | undefined
}

/** Estimates a request. What counts is the most that any of the routes may use with its settings. */
export type EstimateRequest<R> = (request: R, routes: readonly Route[]) => Estimate

/** How many media a prompt has. */
export interface PromptMedia {
  /** Inline, or by address. */
  readonly images: number
  /** Inline. */
  readonly recordings: number
  /** Documents, videos, and what a provider has stored or fetches: a few bytes may be thousands of pages. */
  readonly others: number
}

export type Medium = keyof PromptMedia

/** Media that a call sends. */
export interface SentMedia {
  readonly counts: PromptMedia
  /** Bytes of its body, and of what the store adds to it: its recordings are not longer. */
  readonly bodyBytes: number
  /** How often a provider may read them. */
  readonly prompts: number
}

export const noMedia: PromptMedia = { images: 0, recordings: 0, others: 0 }

/** Kinds of parts of messages whose media are no documents. */
export const mediumOfPart: Readonly<Record<string, Medium>> = {
  image: 'images', image_url: 'images', input_image: 'images', input_audio: 'recordings'
}

/**
 * The largest image at the models that take most for one:
 * https://developers.openai.com/api/docs/guides/images-vision
 */
const imageTokens = 40_000
/** The same at Anthropic: https://platform.claude.com/docs/en/build-with-claude/vision */
const anthropicImageTokens = 5000
/** The slowest encoding has 750 bytes a second, for which no provider counts more than 32 tokens. */
const recordingBytesPerToken = 23
/** Assumed for a model whose input limit is not known. */
const unknownInputTokens = 1_000_000

/** Shorter answers are of no use to anyone. */
const minAnswerTokens = 16
export const defaultTurns = 10
/** The tokens the format of a conversation adds to each message, at most. */
const messageTokens = 8
/** The roles of messages that other dialects leave out: of a text as the input, and of a system prompt. */
const roleTokens = 3
/**
 * Assumed for an image, a recording or a document, whose length says nothing about its tokens: also for one
 * that the provider has or fetches.
 */
const mediaTokens = 1000
/** A shorter one is counted as a text. */
const minMediaCharacters = 4096
/** Fields of messages that hold media in base64, or a state of the provider's that no one else can read. */
const mediaFields: ReadonlySet<string> = new Set([
  'url', 'image_url', 'data', 'file_data', 'file_url', 'encrypted_content', 'signature', 'thought_signature'
])
/** Those of them that a medium is in, or a reference to it. */
const sourceFields: ReadonlySet<string> = new Set([
  'url',
  'image_url',
  'data',
  'file_data',
  'file_url',
  'file_id'
])
/** Parts of messages that are media, however short they are. */
const mediaParts: ReadonlySet<string> = new Set([
  ...Object.keys(mediumOfPart),
  'document',
  'file',
  'input_file',
  'video_url'
])
/** Known fields beside the conversation that a model reads, or whose texts a provider may count. */
const readFields: ReadonlySet<string> = new Set([
  'tools',
  'functions',
  'response_format',
  'output_config',
  'prompt',
  'generation_config',
  'web_search_options',
  'search_parameters',
  'context_management'
])
/** Fields that hold messages, or items of them. */
const conversationFields: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'instructions',
  'system',
  'prediction'
])
/** Known fields that no model reads. Others may be passed on to one. */
const unreadFields: ReadonlySet<string> = new Set([
  ...[ChatRequest, MessagesRequest, ResponsesRequest]
    .flatMap(({ properties }) => Object.keys(properties))
    .filter(name => !readFields.has(name)),
  ...addedFields
])
/** Assumed for an answer whose length the caller does not bound. */
export const answerTokens = 1000

/** Tokens that models reason with at an effort: the most that is usual. */
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
 * Estimates the tokens of the prompt by the characters of all that a model may read, and the longest answer
 * the request allows.
 *
 * @param routes those that may answer: the most that any of them may use with its settings counts. Default:
 *   none has settings
 */
export function estimateChat (request: ChatInput, routes: readonly Route[] = []): Estimate {
  const isPlain = routes.every(
    ({ settings, minMarkedTokens }) => settings === undefined && minMarkedTokens === undefined
  )
  if (isPlain) return estimateOne(request, promptOf(request))
  // Settings that its model names count with their routes.
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

/**
 * The prompts of requests to routes with settings, whose estimates are made several times, for other routes.
 */
const prompts = new WeakMap<ChatInput, Prompt>()

/** Returns the request as it is sent with settings, also in the words of its caller. */
function withSettings (request: ChatInput, settings: Settings): ChatInput {
  const { asWritten } = request
  return {
    ...mergeSettings(request, settings),
    ...asWritten !== undefined && { asWritten: mergeSettings(asWritten, settings) }
  }
}

interface Prompt {
  readonly tokens: number
  readonly media: PromptMedia
  /** True when a part of it is marked for the provider's cache. */
  readonly marksCache: boolean
}

/** Reads all texts of a request. */
function promptOf (request: ChatInput): Prompt {
  const { messages, tools, asWritten } = request
  const media = { ...noMedia }
  return {
    tokens:
      asWritten === undefined ? promptTokens(request, media) : promptTokens(asWritten, media) + roleTokens,
    media,
    marksCache: hasMember(messages, 'cache_control') || hasMember(tools, 'cache_control')
  }
}

/** Adds what settings add to a request, whose own texts may be long and are not read again. */
function promptWith (prompt: Prompt, { asWritten, ...request }: ChatInput, settings: Settings): Prompt {
  const given = asWritten ?? request
  const added = Object.fromEntries(
    Object.entries(mergeSettings(given, settings)).filter(([name]) => !Object.hasOwn(given, name))
  )
  return {
    ...prompt,
    tokens: prompt.tokens + promptTokens(added, { ...noMedia }),
    marksCache: prompt.marksCache || hasMember(added['tools'], 'cache_control')
  }
}

function mostOf (a: ChatEstimate, b: ChatEstimate): ChatEstimate {
  return {
    prompt: Math.max(a.prompt, b.prompt),
    maxPrompt: Math.max(a.maxPrompt, b.maxPrompt),
    media: a.media, // of the request, whatever the settings
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
  // Which of them counts depends on the provider.
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

/** Estimates a text completion: the text after the gap is read as the prompt is. */
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
  return { prompt: estimateTokens(input), completion: 0, maxCompletion: 0 }
}

/** The media that were seen so far. */
type SeenMedia = { -readonly [M in Medium]: number }

/** Sums the tokens of all that a model may read of a request in any dialect. */
function promptTokens (request: object, media: SeenMedia): number {
  let tokens = 0
  for (const name in request) { // a list of its entries takes longer than what is done with them
    const value: unknown = Reflect.get(request, name)
    if (conversationFields.has(name)) tokens += conversationTokens(value, name, media)
    else if (!unreadFields.has(name)) tokens += jsonTokens(value)
    else if (name === 'model' && typeof value !== 'string') tokens += settingsTokens(value)
  }
  return tokens
}

/**
 * Sums the tokens of all strings of a conversation; names of its fields are its format.
 *
 * @param name that of the field they are in
 * @param part the type of the part of a message they are in
 */
function conversationTokens (value: unknown, name: string, media: SeenMedia, part = ''): number {
  if (typeof value === 'string') {
    const isLong = isMedia(value, name)
    if (sourceFields.has(name) && (isLong || part !== '') && !/^data:text\//i.test(value)) {
      media[mediumOfPart[part] ?? 'others']++
    }
    return isLong ? mediaTokens : textTokens(value)
  }
  let tokens = 0
  if (Array.isArray(value)) for (const each of value) tokens += conversationTokens(each, name, media, part)
  else if (isObject(value)) {
    const { type } = value
    // A document may be a text.
    const isText = type === 'text'
    const own = typeof type === 'string' && mediaParts.has(type) ? type : part
    const isReferred = name === 'image_url' || name === 'source'
    for (const field in value) {
      const each = value[field]
      // What a tool was called with, and tools that an item brings along.
      if (field === 'tools' || (field === 'input' && isObject(each))) tokens += jsonTokens(each)
      else
        tokens += conversationTokens(
          each,
          isText ? '' : isReferred && field === 'url' ? 'file_url' : field,
          media,
          own
        )
    }
  }
  return tokens
}

/**
 * Sums the tokens of JSON that a model reads as it is, such as a schema: those of names and numbers as well.
 */
function jsonTokens (value: unknown): number {
  if (typeof value === 'string') return textTokens(value)
  if (!isContainer(value)) return value === undefined ? 0 : 1
  let tokens = 0
  if (Array.isArray(value)) for (const part of value) tokens += jsonTokens(part)
  else if (isObject(value)) for (const name in value) tokens += textTokens(name) + jsonTokens(value[name])
  return tokens
}

/** Sums the tokens of what models are given as defaults, such as tools; of the one with the most of them. */
function settingsTokens (choice: unknown): number {
  if (Array.isArray(choice)) return Math.max(0, ...choice.map(settingsTokens))
  return isObject(choice) && isObject(choice['settings'])
    ? promptTokens(choice['settings'], { ...noMedia })
    : 0
}

/**
 * Estimates the tokens of a text: four letters of most languages, or one character of Chinese, Japanese or
 * Korean.
 */
export function textTokens (text: string): number {
  const wide = (Buffer.byteLength(text) - text.length) / 2 // three bytes each
  return (text.length - wide) / charactersPerToken + wide
}

/**
 * Sums the searches of the web that a request allows its provider: Anthropic by `max_uses` of each tool,
 * OpenAI by `max_tool_calls`. A request that names none has no bound.
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

/** Returns an image for a request whose provider may make some with a tool. */
function imagesOfTools ({ tools }: { readonly tools?: unknown }): number {
  return Array.isArray(tools) && tools.some(tool => isObject(tool) && tool['type'] === 'image_generation')
    ? 1
    : 0
}

function sumOfCounts (values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => typeof value === 'number' && value > 0 ? sum + value : sum, 0)
}

/** Recognises media by the name of their field and by their letters, and references to them. */
function isMedia (text: string, name: string): boolean {
  if (text.length > minMediaCharacters) return mediaFields.has(name) && beginsAsMedia(text)
  return name === 'file_id' || ((name === 'image_url' || name === 'file_url') && text.startsWith('http'))
}

/** Estimates what an answer used whose provider does not say. */
export function embeddingsUsage ({ input }: EmbeddingsRequest): Usage {
  return usageOfTokens(estimateTokens(input), 0)
}

/**
 * Returns the most tokens that media can take at a model, 0 without media: the text that stands for one does
 * not say how many. A provider reads no more than the input limit of the model in any case.
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
 * Returns what a request wants of the units that are billed in place of tokens, or that a tool makes beside
 * them; nothing of those that it does not use.
 */
export function wantedUnits ({
  units,
  maxUnits = units,
  minUnits = maxUnits,
  toolImages = 0
}: Estimate): Partial<Record<NonTokenColumn, Wanted>> {
  const wanted: Partial<Record<NonTokenColumn, Wanted>> = {}
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
