/**
 * Bounds the tokens of images, recordings and documents in a prompt: the text that stands for one does not
 * say how many it takes. A provider reads no more than the input limit of the model in any case.
 */

import type { ModelEntry } from '../core/model.ts'

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

/** Returns the most tokens that media can take at a model; 0 without media. */
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
