/** Counts what a model may read of a request, in any dialect: the tokens of its texts, and its media. */

import { addedFields } from '../chat/added-fields.ts'
import { charactersPerToken } from '../core/usage.ts'
import { isContainer, isObject } from '../json/guards.ts'
import { beginsAsMedia } from '../json/media-strings.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import { MessagesRequest } from '../../schemas/messages-request.ts'
import { ResponsesRequest } from '../../schemas/responses.ts'

/** How many media a prompt has. */
export interface PromptMedia {
  /** Inline, or by address. */
  readonly images: number
  /** Inline. */
  readonly recordings: number
  /** Documents, videos, and what a provider has stored or fetches: a few bytes may be thousands of pages. */
  readonly others: number
}

type Medium = keyof PromptMedia

export const noMedia: PromptMedia = { images: 0, recordings: 0, others: 0 }

/** Kinds of parts of messages whose media are no documents. */
const mediumOfPart: Readonly<Record<string, Medium>> = {
  image: 'images', image_url: 'images', input_image: 'images', input_audio: 'recordings'
}

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

/** What a model may read of a request. */
export interface PromptCount {
  /** Of a medium a usual number, as its length says nothing. */
  readonly tokens: number
  readonly media: PromptMedia
}

/** Counts all that a model may read of a request. */
export function countPrompt (request: object): PromptCount {
  const counter = new PromptCounter()
  for (const name in request) { // a list of its entries takes longer than what is done with them
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
   * Adds all strings of a conversation; names of its fields are its format.
   *
   * @param name that of the field they are in
   * @param part the type of the part of a message they are in
   */
  addConversation (value: unknown, name: string, part = ''): void {
    if (typeof value === 'string') this.#addText(value, name, part)
    else if (Array.isArray(value)) for (const each of value) this.addConversation(each, name, part)
    else if (isObject(value)) {
      const { type } = value
      // A document may be a text.
      const isText = type === 'text'
      const own = typeof type === 'string' && mediaParts.has(type) ? type : part
      const isReferred = name === 'image_url' || name === 'source'
      for (const field in value) {
        const each = value[field]
        // What a tool was called with, and tools that an item brings along.
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
    ? countPrompt(choice['settings']).tokens
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

/** Recognises media by the name of their field and by their letters, and references to them. */
function isMedia (text: string, name: string): boolean {
  if (text.length > minMediaCharacters) return mediaFields.has(name) && beginsAsMedia(text)
  return name === 'file_id' || ((name === 'image_url' || name === 'file_url') && text.startsWith('http'))
}
