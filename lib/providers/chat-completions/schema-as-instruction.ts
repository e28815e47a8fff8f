import type { ChatInput } from '../../chat/input.ts'
import type { Message, SystemMessage } from '../../../schemas/messages.ts'

/**
 * Asks for any JSON instead of JSON of a schema, for servers that know no schemas, and adds the schema to the
 * first system message. Returns the same request if it has no schema.
 */
export function schemaAsInstruction (request: ChatInput): ChatInput {
  const { messages, response_format: format } = request
  if (format?.type !== 'json_schema') return request
  const { schema, description } = format.json_schema
  const described = typeof description === 'string' ? { description, ...schema } : schema
  const instruction = described === undefined || described === null
    ? 'Your answer must be JSON.'
    : `Your answer must be JSON that matches this JSON schema:\n${JSON.stringify(described)}`
  return {
    ...request,
    messages: withInstruction(messages, instruction),
    response_format: { type: 'json_object' }
  }
}

function withInstruction (messages: readonly Message[], text: string): readonly Message[] {
  const first = messages.find(
    (message): message is SystemMessage => message.role === 'system' || message.role === 'developer'
  )
  if (first === undefined) return [{ role: 'system', content: text }, ...messages]
  const { content } = first
  const instructed: SystemMessage = {
    ...first,
    content: typeof content === 'string' ? `${content}\n\n${text}` : [...content, { type: 'text', text }]
  }
  return messages.map(message => message === first ? instructed : message)
}
