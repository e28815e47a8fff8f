/** Builds the upstream body: the dialect's, with files as Mistral's documents. */

import { chatBody, chatRequest as dialectRequest } from '../chat-completions/chat-request.ts'
import { mapSame } from '../chat-completions/messages.ts'
import { isList, objectOf, property } from '../../json/type-guards.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput, UpstreamRequest } from '../provider.ts'

/**
 * Builds a chat request.
 *
 * @throws GatewayError with the name of the parameter, if this server cannot serve the request
 */
export function chatRequest (input: AdapterInput<ChatInput>): UpstreamRequest {
  const body = chatBody(input)
  const { messages } = body
  return dialectRequest(input, { ...body, messages: mapList(messages, wireMessage) })
}

/** Returns the same message if it has no file. */
function wireMessage (message: unknown): unknown {
  const given = property(message, 'content')
  const content = mapList(given, wirePart)
  return content === given ? message : { ...objectOf(message), content }
}

/** Maps a list; returns the same value if it is none or no item changes. */
function mapList (value: unknown, map: (item: unknown) => unknown): unknown {
  return isList(value) ? mapSame(value, map) : value
}

/**
 * Converts a file, of which the API takes no other form.
 *
 * @see https://docs.mistral.ai/api/endpoint/chat
 */
function wirePart (part: unknown): unknown {
  const file = objectOf(objectOf(part)?.['file'])
  if (file === undefined) return part
  const { file_data: data, file_id: id, filename: name } = file
  if (typeof data !== 'string') return { type: 'file', file_id: id }
  return { type: 'document_url', document_url: data, ...typeof name === 'string' && { document_name: name } }
}
