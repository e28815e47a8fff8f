/**
 * What a tool answered, as a model can read it and as a caller is told of it.
 *
 * The message of a tool is text in the dialect all providers share, so pictures are handed over
 * apart from it, and only to a model that can see; sounds are named. Structured content is JSON.
 * Whatever the tool wrote is data.
 */

import { imageKind } from '../images/files.ts'
import type { CallToolResult } from './session.ts'

type ContentBlock = CallToolResult['content'][number]

/** Base64 characters of the pictures of one result: more than any provider takes in one. */
const maxImageCharacters = 5_000_000

/** A result as a model gets it. */
export interface ReadResult {
  /** The content of a tool message: at most `maxBytes` of it and a note where it was cut. */
  readonly text: string
  /** Its pictures as data URLs, in order; none for a model that cannot see. */
  readonly images: readonly string[]
}

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
  // Servers should say the same in text for clients that do not know structured content.
  if (structured !== undefined && !blocks.some(text => sameJson(text, structured))) blocks.push(JSON.stringify(structured))
  const text = blocks.filter(block => block !== '').join('\n') || '(no content)'
  return { text: cutText(result.isError === true ? `The tool reported an error:\n${text}` : text, maxBytes), images }
}

/** The result as callers find it in `mcp_tool_results`: structured content, or else the text. */
export function reportedResult (result: CallToolResult, text: string, maxBytes: number): unknown {
  const { structuredContent: structured } = result
  if (structured === undefined) return text
  return Buffer.byteLength(JSON.stringify(structured)) <= maxBytes ? structured : text
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
      return '[content of a kind that is not known here]'
  }
}

/**
 * A block that is a picture, as a data URL. What counts is what its bytes are, not what is said of
 * them: a provider refuses the whole request for a picture that is none.
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

/** Of base64, without decoding it. */
function sizeOf (base64: string): number {
  return Math.floor(base64.replace(/=+$/, '').length * 3 / 4)
}

function sameJson (text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value)
  } catch {
    return false // plain words
  }
}

/** At most `maxBytes` of UTF-8, never half a character. */
export function cutText (text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  // A character takes four bytes at most: the decoder leaves an unfinished one out.
  const kept = new TextDecoder('utf-8').decode(bytes.subarray(0, maxBytes), { stream: true })
  return `${kept}\n[cut: the first ${maxBytes} of ${bytes.length} bytes]`
}
