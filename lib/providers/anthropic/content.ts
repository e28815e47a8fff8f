/** Converts the content of messages to blocks, part by part. */

import { answerParts } from '../../chat/turn-order.ts'
import { GatewayError } from '../../core/errors.ts'
import { standsForMedia } from '../../json/media-strings.ts'
import { cacheControlOf } from './cache-control.ts'
import type { AssistantMessage, FilePart, ImagePart, UserPart } from '../../../schemas/messages.ts'
import type { ContentBlock, DocumentBlock, ImageBlock, ImageMediaType, TextBlock } from './wire.ts'

/**
 * Returns the content of a message as blocks. Blank text is dropped, because the server rejects it.
 *
 * @param param location of the content: `messages[0].content`
 * @throws GatewayError for a part this provider cannot read
 */
export function contentBlocks (content: string | readonly UserPart[], param: string): ContentBlock[] {
  if (typeof content === 'string') return textBlocks(content)
  return content.flatMap((part, index) => {
    const block = contentBlock(part, `${param}[${index}]`)
    return block === undefined ? [] : [withCacheControl(block, part)]
  })
}

/** Returns the blocks of text-only content. */
export function textBlocks (content: AssistantMessage['content']): TextBlock[] {
  return answerParts(content).flatMap(part => {
    const text = part.type === 'refusal' ? part.refusal : part.text
    return text.trim() === '' ? [] : [withCacheControl({ type: 'text' as const, text }, part)]
  })
}

/** Returns content in its shortest form: a single plain text becomes a string. */
export function shortest<B extends { type: string }> (blocks: B[]): string | B[] {
  const [only] = blocks
  if (blocks.length !== 1 || only === undefined || !isPlainText(only)) return blocks
  return only.text
}

function isPlainText (block: { type: string }): block is TextBlock {
  return block.type === 'text' && !('cache_control' in block)
}

function withCacheControl<B extends ContentBlock> (block: B, part: object): B {
  const cache = cacheControlOf(part)
  return cache === undefined ? block : { ...block, cache_control: cache }
}

function contentBlock (part: UserPart, param: string): ContentBlock | undefined {
  switch (part.type) {
    case 'text': return part.text.trim() === '' ? undefined : { type: 'text', text: part.text }
    case 'image_url': return imageBlock(part, `${param}.image_url.url`)
    case 'file': return fileBlock(part, `${param}.file`)
    case 'input_audio':
  }
  throw new GatewayError('unsupported_parameter', {
    message: 'This provider does not support audio input.',
    param
  })
}

const imageTypes: ReadonlyMap<string, ImageMediaType> = new Map([
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp']
])

function imageBlock ({ image_url: { url } }: ImagePart, param: string): ImageBlock {
  if (/^https?:\/\//i.test(url)) return { type: 'image', source: { type: 'url', url } }
  const image = inlineData(url)
  const mediaType = imageTypes.get(image?.mediaType ?? '')
  if (image === undefined || mediaType === undefined) {
    throw new GatewayError('invalid_value', {
      message: 'An image must be an http(s) URL, or a base64 data URL of a JPEG, PNG, GIF or WebP image.',
      param
    })
  }
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: image.data } }
}

function fileBlock ({ file }: FilePart, param: string): ImageBlock | DocumentBlock {
  const { file_data: data, file_id: id, filename } = file
  if (typeof id === 'string' && typeof data !== 'string') {
    throw new GatewayError('unsupported_parameter', {
      message: 'Files stored at a provider cannot be read here. Send `file_data`.', param: `${param}.file_id`
    })
  }
  const title = typeof filename === 'string' && filename !== '' ? { title: filename } : {}
  if (typeof data === 'string' && /^https?:\/\//i.test(data)) {
    return { type: 'document', source: { type: 'url', url: data }, ...title }
  }
  const given = inlineData(data ?? '') ?? bareData(data, filename)
  const image = imageTypes.get(given?.mediaType ?? '')
  if (given !== undefined && image !== undefined) {
    return { type: 'image', source: { type: 'base64', media_type: image, data: given.data } }
  }
  const source = given === undefined ? undefined : documentSource(given)
  if (source === undefined) {
    throw new GatewayError('invalid_value', {
      message: 'A file must be a PDF, a text or an image, in base64 or as a base64 data URL, or the address of a PDF.',
      param: `${param}.file_data`
    })
  }
  return { type: 'document', source, ...title }
}

function documentSource ({ mediaType, data }: InlineData): DocumentBlock['source'] | undefined {
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data }
  if (!mediaType.startsWith('text/') || standsForMedia(data)) return undefined
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString() }
}

interface InlineData { readonly mediaType: string, readonly data: string }

/** Parses a base64 data URL. Only the prefix is matched, because the data may be megabytes. */
function inlineData (url: string): InlineData | undefined {
  const comma = url.indexOf(',')
  const head = /^data:([^;,]*)(?:;[^,]*)?;base64$/i.exec(url.slice(0, Math.max(0, Math.min(comma, 200))))
  if (head?.[1] === undefined) return undefined
  return { mediaType: head[1].trim().toLowerCase(), data: url.slice(comma + 1) }
}

/** Reads base64 without a media type: inferred from the file name, else PDF. */
function bareData (
  data: string | null | undefined,
  filename: string | null | undefined
): InlineData | undefined {
  if (typeof data !== 'string' || data === '' || /^data:/i.test(data)) return undefined
  const isText = /\.(?:txt|md|csv|json|xml|html?)$/i.test(filename ?? '')
  return { mediaType: isText ? 'text/plain' : 'application/pdf', data }
}
