import { splitContent, toReasoningItem } from '../chat/reasoning-item.ts'
import { thoughtSignature } from '../chat/thought-signature.ts'
import { needsResponses } from './responses/index.ts'
import type { ChatInput } from '../chat/input.ts'
import type { DirectDialect } from '../core/events.ts'
import type { Route } from '../core/route.ts'
import type { Provider } from './provider.ts'

/** Fields that hold encrypted or signed reasoning. */
export type ReasoningField = 'encrypted_content' | 'signature' | 'thought_signature' | 'reasoning_details'

/** The provider that a conversation is sent to. */
export interface ReasoningReader {
  readonly provider: Pick<Provider, 'traits' | 'quirks'>
  readonly route: Route
  /** The dialect in which it receives the caller's request unchanged. Absent: the request is translated. */
  readonly direct?: DirectDialect | undefined
  /** Returns true if the digest belongs to an account that may serve this call. */
  readonly hasAccount: (digest: string) => boolean
}

/**
 * Lists the fields of a conversation with reasoning that this provider cannot read, because another provider
 * or account made it. The listed fields are not sent. Reasoning of unknown origin is.
 */
export function lostReasoning (
  request: ChatInput,
  { provider: { traits, quirks }, route, direct, hasAccount }: ReasoningReader
): ReadonlySet<ReasoningField> {
  const marks = traits.historyMarks ?? []
  const kept = direct === undefined ? quirks.keepInHistory ?? [] : []
  const readsItems = direct === 'responses' || (direct === undefined && needsResponses(request, route))
  const readsSigned =
    direct === 'messages' || marks.includes('signed_thinking') || kept.includes('thinking_blocks')
  const readsThoughts = marks.includes('thought_signature') || kept.includes('extra_content')
  const lost = new Set<ReasoningField>()
  for (const message of request.messages) {
    if (message.role !== 'assistant') continue
    for (const block of message.thinking_blocks ?? []) {
      const item = toReasoningItem(block)
      if (item === undefined) {
        if (!readsSigned) lost.add('signature')
        continue
      }
      const { account } = splitContent(item.encrypted_content)
      if (!readsItems || (account !== undefined && !hasAccount(account))) lost.add('encrypted_content')
    }
    if (!readsThoughts && message.tool_calls?.some(call => thoughtSignature(call) !== undefined) === true) {
      lost.add('thought_signature')
    }
    if ('reasoning_details' in message && !kept.includes('reasoning_details')) lost.add('reasoning_details')
  }
  return lost
}
