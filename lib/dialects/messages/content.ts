/** Converts request blocks to parts of chat messages. */

import { GatewayError } from '../../core/errors.ts'
import { isObject } from '../../json/type-guards.ts'
import type { TextPart, ToolCall, UserPart } from '../../../schemas/messages.ts'
import type {
  MessagesBlock,
  MessagesDocumentBlock,
  MessagesImageBlock,
  MessagesOtherBlock,
  MessagesResultBlock,
  MessagesTextBlock
} from '../../../schemas/messages-request.ts'

/** Records that the request cannot be translated and can only be sent to Anthropic unchanged. */
export type Refuse = (error: GatewayError) => void

/**
 * Converts a block of a user message to parts; blocks of Anthropic's server tools give the text they contain.
 *
 * @param param location of the block: `messages[0].content[1]`
 * @param refuse called for what cannot be translated, such as files stored at Anthropic
 */
export function partsOf (
  block: MessagesBlock | MessagesResultBlock,
  param: string,
  refuse: Refuse
): UserPart[] {
  switch (block.type) {
    case 'text': return textPart(block)
    case 'image': return withMark(imageParts(block, param, refuse), block)
    case 'document': return withMark(documentParts(block, param, refuse), block)
    case 'tool_reference': return [{ type: 'text', text: `Tool ${block.tool_name} is now available.` }]
    case 'tool_result':
    case 'tool_use':
    case 'thinking':
    case 'redacted_thinking': return []
    case '*':
    default: return otherText(block)
  }
}

/** Returns a text part; none for empty text, which most providers reject. */
export function textPart (block: MessagesTextBlock): TextPart[] {
  return block.text === '' ? [] : [marked({ type: 'text', text: block.text }, block)]
}

/** Copies the `cache_control` of a block; only providers with such a cache receive it (`fit`). */
export function marked<P extends UserPart | ToolCall> (
  part: P,
  { cache_control: mark }: { readonly cache_control?: unknown }
): P {
  return mark === undefined || mark === null ? part : { ...part, cache_control: mark }
}

/** Marks the last part of a block: a request may have only a few marks. */
function withMark (parts: UserPart[], block: MessagesImageBlock | MessagesDocumentBlock): UserPart[] {
  return parts.map((part, index) => index === parts.length - 1 ? marked(part, block) : part)
}

function imageParts ({ source }: MessagesImageBlock, param: string, refuse: Refuse): UserPart[] {
  switch (source.type) {
    case 'base64':
      return [{ type: 'image_url', image_url: { url: `data:${source.media_type};base64,${source.data}` } }]
    case 'url':
      return [{ type: 'image_url', image_url: { url: source.url } }]
    case 'file':
      refuse(storedFile(param))
      return []
  }
}

function documentParts (
  { source, title, context }: MessagesDocumentBlock,
  param: string,
  refuse: Refuse
): UserPart[] {
  const isNamed = typeof title === 'string' && title !== ''
  // A file has a name, so that only its context is left to say.
  const about = [source.type === 'base64' || source.type === 'url' ? '' : title, context]
    .filter(text => typeof text === 'string' && text !== '')
    .join('\n')
  const introduced = (parts: UserPart[]): UserPart[] =>
    about === '' ? parts : [{ type: 'text', text: about }, ...parts]
  switch (source.type) {
    case 'base64': return introduced([{
      type: 'file',
      file: {
        file_data: `data:${source.media_type};base64,${source.data}`,
        filename: isNamed ? title : 'document.pdf'
      }
    }])
    case 'text': return introduced(source.data === '' ? [] : [{ type: 'text', text: source.data }])
    case 'content': return introduced(typeof source.content === 'string'
      ? [{ type: 'text', text: source.content }]
      : source.content.flatMap((block, index) => partsOf(block, `${param}.source.content[${index}]`, refuse)))
    case 'url': return introduced([{
      type: 'file',
      file: { file_data: source.url, filename: isNamed ? title : 'document.pdf' }
    }])
    case 'file':
      refuse(storedFile(param))
      return []
  }
}

function storedFile (param: string): GatewayError {
  return new GatewayError('unsupported_parameter', {
    message: 'This model cannot read files stored at Anthropic. Send the file in base64.',
    param: `${param}.source.file_id`
  })
}

/** Returns the text of another kind of block: its own, or that of its content. */
export function otherText (block: MessagesOtherBlock): TextPart[] {
  const texts = [block['title'], block['text'], ...textsIn(block['content'])].filter(
    text => typeof text === 'string' && text !== ''
  )
  return texts.length === 0 ? [] : [{ type: 'text', text: texts.join('\n') }]
}

function textsIn (content: unknown): unknown[] {
  if (typeof content === 'string') return [content]
  return Array.isArray(content) ? content.map(block => isObject(block) ? block['text'] : undefined) : []
}
