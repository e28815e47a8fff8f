/**
 * Estimates the tokens of a conversation or a text completion cheaply: those of everything that a model may
 * read, in any dialect, and those of the answers.
 */

import { addedFields } from '../chat/added-fields.ts'
import { generationBounds } from '../chat/generation-fields.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import { charactersPerToken } from '../core/usage.ts'
import { hasMember, isContainer, isObject } from '../json/type-guards.ts'
import { beginsAsMedia } from '../json/media-strings.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import { MessagesRequest } from '../../schemas/messages-request.ts'
import { ResponsesRequest } from '../../schemas/responses.ts'
import type { ChatInput, TextInput } from '../chat/input.ts'
import type { Route } from '../core/route.ts'
import { answerTokens, noMedia, type AnswerEstimate, type Estimate, type PromptMedia } from './estimate.ts'

/** A shorter answer is useless. */
const minAnswerTokens = 16
export const defaultTurns = 10
/** The most tokens that the conversation format adds to each message. */
const messageTokens = 8
/** Tokens of roles that other dialects leave out: for a plain text input and for a system prompt. */
const roleTokens = 3
/** Reasoning tokens by effort: the most that is usual. */
const effortTokens: Readonly<Record<NonNullable<ChatInput['reasoning_effort']>, number>> = {
  none: 0, minimal: 1024, low: 4096, medium: 8192, high: 24_576, xhigh: 49_152, max: 65_536
}

type Settings = NonNullable<Route['settings']>

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
  const prompt = promptOf(plain)
  const all = new Set(routes.map(({ settings }) => settings))
  const estimate = [...all].map(settings => settings === undefined
    ? estimateOne(plain, prompt)
    : estimateOne(withSettings(plain, settings), promptWith(prompt, plain, settings))).reduce(mostOf)
  return routes.some(({ minMarkedTokens }) => minMarkedTokens !== undefined)
    ? { ...estimate, prompt: { ...estimate.prompt, writesCache: true } }
    : estimate
}

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
  const { tokens, media } = measurePrompt(asWritten ?? request)
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
    tokens: prompt.tokens + measurePrompt(added).tokens,
    marksCache: prompt.marksCache || hasMember(added['tools'], 'cache_control')
  }
}

function mostOf (a: Estimate, b: Estimate): Estimate {
  const most = (name: Exclude<keyof AnswerEstimate, 'limit'>): number => (
    Math.max(a.answer[name], b.answer[name])
  )
  const [limit, other] = [a.answer.limit, b.answer.limit]
  return {
    prompt: {
      typical: Math.max(a.prompt.typical, b.prompt.typical),
      max: Math.max(a.prompt.max, b.prompt.max),
      media: a.prompt.media, // settings do not change the media of a request
      writesCache: a.prompt.writesCache || b.prompt.writesCache
    },
    answer: {
      typical: most('typical'),
      limit: limit === undefined || other === undefined ? undefined : Math.max(limit, other),
      min: most('min'),
      reasoning: most('reasoning'),
      choices: most('choices'),
      count: most('count'),
      searches: most('searches')
    },
    units: undefined,
    toolImages: Math.max(a.toolImages, b.toolImages),
    unpriced: a.unpriced ?? b.unpriced
  }
}

function estimateOne (request: ChatInput, { tokens, media, marksCache }: Prompt): Estimate {
  const {
    messages,
    asWritten,
    max_completion_tokens: maxCompletionTokens,
    max_tokens: maxTokens,
    generation_config: config,
    thinking
  } = request
  // Which limit applies depends on the provider.
  const fieldLimit = maxCompletionTokens ?? maxTokens
  const own = config === undefined ? {} : generationBounds(config)
  const { maxTokens: ownLimit, choices: ownChoices = 1 } = own
  const limit =
    fieldLimit === undefined || ownLimit === Infinity ? undefined : Math.max(fieldLimit, ownLimit ?? 0)
  const choices = Math.max(request.n ?? 1, ownChoices)
  const runsTools = request.mcp_servers !== undefined && request.automatic_tool_execution !== false
  const thinkingTokens = thinking?.type === 'enabled' ? thinking.budget_tokens : 0
  const prompt = Math.ceil(tokens)
  return {
    prompt: {
      typical: prompt,
      max: 2 * prompt + messageTokens * (messages.length + 1),
      media,
      writesCache: marksCache
    },
    answer: {
      typical:
        choices *
        Math.max(fieldLimit ?? answerTokens, ownLimit === undefined || ownLimit === Infinity ? 0 : ownLimit),
      limit,
      min: Math.min(limit ?? Infinity, thinkingTokens + minAnswerTokens),
      reasoning: Math.max(thinkingTokens, effortTokens[request.reasoning_effort ?? 'none']),
      choices,
      count: runsTools ? (request.max_turns ?? defaultTurns) : choices,
      searches: asWritten === undefined ? 0 : maxSearches(asWritten)
    },
    units: undefined,
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

type Medium = keyof PromptMedia

/** Types of message parts whose media are not documents. */
const mediumOfPart: Readonly<Record<string, Medium>> = {
  image: 'images', image_url: 'images', input_image: 'images', input_audio: 'recordings'
}

/**
 * Assumed for an image, recording or document, including those that the provider stores or fetches: its
 * length in the request does not tell its tokens.
 */
const mediaTokens = 1000
/** A shorter value is counted as text. */
const minMediaCharacters = 4096
/** Message fields with base64 media, or with provider state that only the provider can read. */
const mediaFields: ReadonlySet<string> = new Set([
  'url', 'image_url', 'data', 'file_data', 'file_url', 'encrypted_content', 'signature', 'thought_signature'
])
/** Fields that may have the address of a medium. */
const addressFields: ReadonlySet<string> = new Set(['image_url', 'file_url', 'file_data'])
/** Fields with a medium or a reference to one. */
const sourceFields: ReadonlySet<string> = new Set([
  'url',
  'image_url',
  'data',
  'file_data',
  'file_url',
  'file_id'
])
/** Message parts that are media, however short. */
const mediaParts: ReadonlySet<string> = new Set([
  ...Object.keys(mediumOfPart),
  'document',
  'file',
  'input_file',
  'video_url'
])
/** Known fields outside the conversation that a model reads, or whose texts a provider may count. */
const readFields: ReadonlySet<string> = new Set([
  'tools',
  'functions',
  'response_format',
  'output_config',
  'output_format',
  'prompt',
  'generation_config',
  'web_search_options',
  'search_parameters',
  'context_management'
])
/** Fields with messages or conversation items. */
const conversationFields: ReadonlySet<string> = new Set([
  'messages',
  'input',
  'previous_response_id', // with the items that it stands for
  'instructions',
  'system',
  'prediction'
])
/** Known fields that no model reads. Unknown fields may be passed on to a model. */
const unreadFields: ReadonlySet<string> = new Set([
  ...[ChatRequest, MessagesRequest, ResponsesRequest]
    .flatMap(({ properties }) => Object.keys(properties))
    .filter(name => !readFields.has(name)),
  ...addedFields
])

/** What a model may read of a request. */
export interface PromptCount {
  /** A medium counts as a typical number. */
  readonly tokens: number
  readonly media: PromptMedia
}

/** Counts all that a model may read of a request. */
export function measurePrompt (request: object): PromptCount {
  const counter = new PromptCounter()
  for (const name in request) { // faster than Object.entries
    const value: unknown = Reflect.get(request, name)
    if (conversationFields.has(name)) counter.addConversation(value, name)
    else if (!unreadFields.has(name)) counter.tokens += jsonTokens(value)
    else if (name === 'model' && typeof value !== 'string') counter.tokens += settingsTokens(value)
  }
  return counter
}

class PromptCounter implements PromptCount {
  tokens = 0
  readonly media: { -readonly [M in Medium]: number } = { ...noMedia }

  /**
   * Adds all strings of a conversation; field names belong to the format and do not count.
   *
   * @param name the field they are in
   * @param part the type of the message part they are in
   */
  addConversation (value: unknown, name: string, part = ''): void {
    if (typeof value === 'string') this.#addText(value, name, part)
    else if (Array.isArray(value)) for (const each of value) this.addConversation(each, name, part)
    else if (isObject(value)) {
      const { type } = value
      // A document may be plain text.
      const isText = type === 'text'
      const own = typeof type === 'string' && mediaParts.has(type) ? type : part
      const isReferred = name === 'image_url' || name === 'source'
      for (const field in value) {
        const each = value[field]
        // Tool arguments, and tools defined by an item.
        if (field === 'tools' || (field === 'input' && isObject(each))) this.tokens += jsonTokens(each)
        else this.addConversation(each, isText ? '' : isReferred && field === 'url' ? 'file_url' : field, own)
      }
    }
  }

  #addText (text: string, name: string, part: string): void {
    const isLong = isMedia(text, name)
    if (sourceFields.has(name) && (isLong || part !== '') && !/^data:text\//i.test(text)) {
      this.media[mediumOfPart[part] ?? 'others']++
    }
    this.tokens += isLong ? mediaTokens : textTokens(text)
  }
}

/** Sums the tokens of JSON that a model reads unchanged, such as a schema, including names and numbers. */
function jsonTokens (value: unknown): number {
  if (typeof value === 'string') return textTokens(value)
  if (!isContainer(value)) return value === undefined ? 0 : 1
  let tokens = 0
  if (Array.isArray(value)) for (const part of value) tokens += jsonTokens(part)
  else if (isObject(value)) for (const name in value) tokens += textTokens(name) + jsonTokens(value[name])
  return tokens
}

/** Sums the tokens of configured defaults, such as tools; for a choice of defaults, the largest. */
function settingsTokens (choice: unknown): number {
  if (Array.isArray(choice)) return Math.max(0, ...choice.map(settingsTokens))
  return isObject(choice) && isObject(choice['settings'])
    ? measurePrompt(choice['settings']).tokens
    : 0
}

/**
 * Estimates the tokens of a text: one for four letters of most languages, or one per character of Chinese,
 * Japanese or Korean.
 */
export function textTokens (text: string): number {
  const wide = (Buffer.byteLength(text) - text.length) / 2 // three bytes each
  return (text.length - wide) / charactersPerToken + wide
}

/** Recognises media, and references to media, by field name and characters. */
function isMedia (text: string, name: string): boolean {
  if (text.length > minMediaCharacters) return mediaFields.has(name) && beginsAsMedia(text)
  return name === 'file_id' || (addressFields.has(name) && text.startsWith('http'))
}
