/** The request of the next message, which is sent and shown as code. */

import { parameters, servers, system, type Pane, type Turn } from './conversation.ts'
import type { Attachment, Part } from './attachments.ts'

export interface ChatBody extends Readonly<Record<string, unknown>> {
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string, readonly content: string | readonly Part[] }>
}

export function chatBody (pane: Pane, text: string, attachments: readonly Attachment[]): ChatBody {
  return {
    model: pane.model.value,
    messages: [
      ...(system.value.trim() === '' ? [] : [{ role: 'system', content: system.value }]),
      ...pane.turns.value.flatMap(exchange),
      ...(text === '' && attachments.length === 0
        ? []
        : [{ role: 'user', content: content(text, attachments) }])
    ],
    ...parameters.value,
    ...servers.value.length > 0 && { mcp_servers: [...servers.value] }
  }
}

function exchange ({ text, attachments, answer }: Turn): ChatBody['messages'] {
  const user = { role: 'user', content: content(text, attachments) }
  return answer.value.text === '' ? [user] : [user, { role: 'assistant', content: answer.value.text }]
}

function content (text: string, attachments: readonly Attachment[]): string | readonly Part[] {
  if (attachments.length === 0) return text
  return [...attachments.map(({ part }) => part), ...text === '' ? [] : [{ type: 'text' as const, text }]]
}
