import t from 'tap'
import { labelContent, toThinkingBlock } from '../../lib/chat/reasoning-item.ts'
import { lostReasoning, type ReasoningField } from '../../lib/providers/lost-reasoning.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { route } from '../support/routes.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { AssistantMessage } from '../../schemas/messages.ts'
import type { DirectDialect } from '../../lib/core/events.ts'

const toolCall = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
const parts: Readonly<Record<string, Partial<AssistantMessage> & { readonly reasoning_details?: object }>> = {
  ofAccount: { thinking_blocks: [{ ...toThinkingBlock('rs_1', labelContent('gAAA', 'here'), 'Hm.') }] },
  ofNone: { thinking_blocks: [{ ...toThinkingBlock('rs_1', 'gAAA', '') }] },
  signed: { thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'EqQB' }] },
  redacted: { thinking_blocks: [{ type: 'redacted_thinking', data: 'EmwK' }] },
  thought: { tool_calls: [{ ...toolCall, extra_content: { google: { thought_signature: 'x' } } }] },
  details: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] },
  plain: { content: 'hi', reasoning_content: 'Hm.', tool_calls: [toolCall] }
}

interface Case {
  readonly kind: ProviderKind
  readonly direct?: DirectDialect
  readonly responsesOnly?: boolean
  readonly account?: string
  readonly lost: Readonly<Partial<Record<ReasoningField, readonly string[]>>>
}

const items = ['ofAccount', 'ofNone']
const signatures = ['signed', 'redacted']
const rest = { thought_signature: ['thought'], reasoning_details: ['details'] }
const cases: Readonly<Record<string, Case>> = {
  'OpenAI by the Responses API': {
    kind: 'openai',
    responsesOnly: true,
    lost: { signature: signatures, ...rest }
  },
  'the same in the words of the caller': {
    kind: 'openai',
    direct: 'responses',
    lost: { signature: signatures, ...rest }
  },
  'another account there': {
    kind: 'openai',
    responsesOnly: true,
    account: 'elsewhere',
    lost: { encrypted_content: ['ofAccount'], signature: signatures, ...rest }
  },
  'OpenAI by chat completions': {
    kind: 'openai',
    lost: { encrypted_content: items, signature: signatures, ...rest }
  },
  'Anthropic': { kind: 'anthropic', lost: { encrypted_content: items, ...rest } },
  'a server of the Messages API': {
    kind: 'anthropic',
    direct: 'messages',
    lost: { encrypted_content: items, ...rest }
  },
  'Gemini': {
    kind: 'google',
    lost: { encrypted_content: items, signature: signatures, reasoning_details: ['details'] }
  },
  'OpenRouter': {
    kind: 'openrouter',
    lost: { encrypted_content: items, signature: signatures, thought_signature: ['thought'] }
  }
}

for (const [name, { kind, direct, responsesOnly = false, account = 'here', lost }] of Object.entries(cases)) {
  t.test(`${name}: exactly the fields that it cannot read are listed`, async t => {
    const { traits = {}, quirks = {} } = kinds[kind]
    for (const [part, message] of Object.entries(parts)) {
      const fields = lostReasoning(
        {
          model: 'm',
          messages: [{ role: 'user', content: 'hi' }, { role: 'assistant', content: null, ...message }]
        },
        {
          provider: { traits, quirks },
          route: { ...route('p/m'), traits: { responsesOnly } },
          direct,
          hasAccount: digest => digest === account
        }
      )
      const expected = Object.entries(lost).flatMap(([field, of]) => (of.includes(part) ? [field] : []))
      t.same([...fields], expected, part)
    }
  })
}
