/**
 * Reads the result of a tool: text for the model, a value for the caller.
 *
 * In the shared format a tool message is text, so images are passed separately, and only to models with
 * vision; audio is only mentioned. Structured content becomes JSON. Tool output is never interpreted.
 */

import { parseBounded } from '../json/parse-bounded.ts'
import { imageKind } from '../images/files.ts'
import type { CallToolResult } from './session.ts'

type ContentBlock = CallToolResult['content'][number]

/** More than any provider accepts as images of one message, in base64 characters. */
const maxImageCharacters = 5_000_000

export interface ReadResult {
  /** The content of a tool message: at most `maxBytes`, plus a note if truncated. */
  readonly text: string
  /** Images as data URLs, in order; none for a model without vision. */
  readonly images: readonly string[]
  /** The value in `mcp_tool_results`: structured content, else the text. */
  readonly reported: unknown
}

/** Reads a result in linear time: the structured content is serialised once. */
export function readResult (result: CallToolResult, maxBytes: number, seesImages: boolean): ReadResult {
  const images: string[] = []
  let room = seesImages ? maxImageCharacters : 0
  const blocks = result.content.map(block => {
    const image = imageOf(block)
    if (image === undefined || image.length > room) return blockText(block)
    room -= image.length
    images.push(image)
    return `[image ${images.length}, shown after the results]`
  })
  const { structuredContent: structured } = result
  const printed = structured === undefined ? undefined : JSON.stringify(structured)
  // Servers should repeat it as text for clients without structured content. Only one text is compared:
  // parsing all of them could take seconds.
  const repeated = printed === undefined ? undefined : blocks.find(text => /^\s*\{/.test(text))
  if (printed !== undefined && (repeated === undefined || printedAgain(repeated) !== printed)) {
    blocks.push(printed)
  }
  const content = blocks.filter(block => block !== '').join('\n') || '(no content)'
  const text = cutText(
    result.isError === true ? `The tool reported an error:\n${content}` : content,
    maxBytes
  )
  const fits = printed !== undefined && Buffer.byteLength(printed) <= maxBytes
  return { text, images, reported: fits ? structured : text }
}

function blockText (block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return `[${block.type} ${block.mimeType}, ${sizeOf(block.data)} bytes, not shown]`
    case 'resource':
      return 'text' in block.resource
        ? `[resource ${block.resource.uri}]\n${block.resource.text}`
        : `[resource ${block.resource.uri}, ${block.resource.mimeType ?? 'binary'}, ${sizeOf(block.resource.blob)} bytes, not shown]`
    case 'resource_link':
      return `[resource ${block.uri}: ${block.name}${block.description === undefined ? '' : ` (${block.description})`}]`
    default:
      return '[content of an unknown type]'
  }
}

/**
 * Returns an image block as a data URL. The type is detected from the data, because a provider rejects the
 * entire request for an invalid image.
 */
function imageOf (block: ContentBlock): string | undefined {
  const data = dataOf(block)
  const kind = data === undefined ? undefined : imageKind(Buffer.from(data.slice(0, 16), 'base64'))
  return kind === undefined ? undefined : `data:${kind.mediaType};base64,${data}`
}

function dataOf (block: ContentBlock): string | undefined {
  if (block.type === 'image') return block.data
  return block.type === 'resource' && 'blob' in block.resource ? block.resource.blob : undefined
}

/** Returns the decoded size of base64. */
function sizeOf (base64: string): number {
  return Math.floor(base64.replace(/={1,2}$/, '').length * 3 / 4)
}

/** Reserialises JSON text with `JSON.stringify`; `undefined` for invalid JSON. */
function printedAgain (text: string): string | undefined {
  try {
    return JSON.stringify(parseBounded(text))
  } catch {
    return undefined
  }
}

/** Truncates text to `maxBytes` of UTF-8, never inside a character. */
export function cutText (text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  // In stream mode, the decoder drops an incomplete character.
  const kept = new TextDecoder('utf-8').decode(bytes.subarray(0, maxBytes), { stream: true })
  return `${kept}\n[cut: the first ${maxBytes} of ${bytes.length} bytes]`
}
