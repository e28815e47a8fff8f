/** Counts what a model may read of a request in any dialect: text tokens and media. */

import { addedFields } from '../chat/added-fields.ts'
import { charactersPerToken } from '../core/usage.ts'
import { isContainer, isObject } from '../json/guards.ts'
import { beginsAsMedia } from '../json/media-strings.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import { MessagesRequest } from '../../schemas/messages-request.ts'
import { ResponsesRequest } from '../../schemas/responses.ts'

/** Numbers of media in a prompt. */
export interface PromptMedia {
  /** Inline or by URL. */
  readonly images: number
  /** Inline only. */
  readonly recordings: number
  /**
   * Documents, videos, and files that a provider stores or fetches: a few bytes may stand for thousands of
   * pages.
   */
  readonly others: number
}

type Medium = keyof PromptMedia

export const noMedia: PromptMedia = { images: 0, recordings: 0, others: 0 }

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
  return name === 'file_id' || ((name === 'image_url' || name === 'file_url') && text.startsWith('http'))
}
