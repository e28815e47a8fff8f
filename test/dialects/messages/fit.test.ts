import t from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { fitRequest } from '../../../lib/dialects/messages/fit.ts'
import { kinds } from '../../../lib/providers/kinds.ts'
import { callWith } from './answer.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { FitTarget } from '../../../lib/dialects/dialect.ts'
import type { MessagesContext } from '../../../lib/dialects/messages/input.ts'

const route = { providerId: 'one', model: 'm', modelId: 'one/m' }

function fit (
  request: Partial<ChatInput>,
  target: Partial<FitTarget> = {},
  context: Partial<MessagesContext> = {}
): ChatInput {
  const full = callWith(context).context as MessagesContext // as `callWith` makes it
  return fitRequest(
    { model: 'one/m', messages: [], ...request },
    { route, provider: {}, model: undefined, account: () => '', ...target },
    full
  )
}

/** A model of the catalogue with these abilities. */
// nothing else is read
const able = (capabilities: Readonly<Record<string, boolean | number>>): FitTarget['model'] =>
  ({ capabilities }) as never

const mark = { cache_control: { type: 'ephemeral' } }

t.test('without a limit the answer may have the maximum output of the model', async t => {
  t.equal(fit({}, { model: able({ output_token_limit: 4096 }) }).max_completion_tokens, 4096)
  t.equal(
    fit({ max_completion_tokens: 9 }, { model: able({ output_token_limit: 4096 }) }).max_completion_tokens,
    9
  )
  t.equal(fit({}).max_completion_tokens, undefined, 'if that is not known')
})

t.test('thinking is sent to providers that support it, and efforts to models that think', async t => {
  const given: Partial<ChatInput> = { thinking: { type: 'adaptive' }, reasoning_effort: 'xhigh' }
  const rows: ReadonlyArray<
    readonly [Partial<FitTarget>, Pick<ChatInput, 'thinking' | 'reasoning_effort'>]
  > = [
    [{ provider: { thinking: true } }, { thinking: { type: 'adaptive' }, reasoning_effort: 'xhigh' }],
    [{ provider: { thinking: true }, model: able({ thinking: false }) }, {}],
    [{ model: able({ thinking: true }) }, { reasoning_effort: 'high' }],
    [
      { model: able({ thinking: true }), route: { ...route, traits: { efforts: ['none', 'xhigh'] } } },
      { reasoning_effort: 'xhigh' }
    ],
    [{}, {}]
  ]
  for (const [target, { thinking, reasoning_effort: effort }] of rows) {
    const fitted = fit(given, target)
    t.strictSame([fitted.thinking, fitted.reasoning_effort], [thinking, effort], JSON.stringify(target))
  }
})

t.test('a caller who wants to see thinking gets summaries from other providers', async t => {
  const target = { model: able({ thinking: true }) }
  const shown = (thinking: NonNullable<ChatInput['thinking']>) => fit({ thinking }, target).showsThinking
  t.equal(shown({ type: 'enabled', budget_tokens: 8000 }), true)
  t.equal(shown({ type: 'adaptive', display: 'summarized' }), true)
  t.equal(shown({ type: 'adaptive', display: 'omitted' }), undefined)
  t.equal(shown({ type: 'disabled' }), undefined)
  t.equal(fit({ thinking: { type: 'adaptive' } }).showsThinking, undefined, 'a model that may not think')
})

t.test('stop sequences that a provider has no room for are reported', async t => {
  const ignored: string[] = []
  const stop = ['1', '2', '3', '4', '5']
  const onIgnored = (field: string): void => { ignored.push(field) }
  t.same(fit({ stop }, { provider: kinds.google.traits ?? {}, onIgnored }).stop, stop)
  t.same(ignored, [])
  t.same(fit({ stop }, { onIgnored }).stop, stop.slice(0, 4))
  t.same(ignored, ['stop_sequences'])
})

t.test('stop sequences are left out, and reported, for a model that refuses them', async t => {
  const ignored: string[] = []
  const target = {
    route: { ...route, traits: { stop: false } },
    onIgnored: (field: string): void => { ignored.push(field) }
  }
  t.equal(fit({ stop: ['</block>'] }, target).stop, undefined)
  t.same(ignored, ['stop_sequences'])
  fit({ stop: [] }, target)
  fit({}, target)
  t.equal(ignored.length, 1, 'a request without any has nothing to report')
})

t.test('fields that a provider rejects are left out', async t => {
  const given: Partial<ChatInput> = { temperature: 1, stop: ['1', '2', '3', '4', '5'] }
  const plain = fit(given)
  t.notOk('prompt_cache_key' in plain || 'safety_identifier' in plain)
  t.strictSame(plain.stop, ['1', '2', '3', '4'])
  t.match(fit(given, { provider: { callerFields: true, maxStops: 2 } }), {
    prompt_cache_key: String,
    temperature: 1,
    stop: ['1', '2']
  })
})

t.test(
  'later system messages become user reminders if a provider allows system messages only first',
  async t => {
    const messages: ChatInput['messages'] = [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'b' },
      { role: 'system', content: 'c' }
    ]
    t.strictSame(fit({ messages }).messages, [
      messages[0],
      { role: 'user', content: 'b\n\n<system-reminder>\nc\n</system-reminder>' }
    ])
    t.strictSame(fit({ messages }, { provider: { systemAnywhere: true } }).messages, messages)
  }
)

t.test('cache marks are sent only to providers with such a cache', async t => {
  const content = [{ type: 'text' as const, text: 'a', ...mark }, { type: 'text' as const, text: 'b' }]
  const given: Partial<ChatInput> = {
    // not a field of the shared type
    messages: [
      { role: 'system', content },
      { role: 'user', content }
    ],
    tools: [{ type: 'function', function: { name: 'look' }, ...mark }] as never
  }
  t.match(fit(given, { provider: { cacheMarks: true } }), { messages: given.messages, tools: given.tools })
  const plain = fit(given)
  t.notMatch(JSON.stringify([plain.messages, plain.tools]), /cache_control/)
  t.strictSame(plain.messages[0], { role: 'system', content: 'a\n\nb' })
  const results: ChatInput['messages'] = [{ role: 'tool', tool_call_id: 'a', content: content.slice(0, 1) }]
  t.strictSame(fit({ messages: results }, { provider: { cacheMarks: true } }).messages, results)
  t.strictSame(fit({ messages: results }).messages, [{ role: 'tool', tool_call_id: 'a', content: 'a' }])
})

t.test('requests that the provider cannot handle are refused', async t => {
  const begun: Partial<ChatInput> = { messages: [{ role: 'assistant', content: 'Well,' }] }
  t.throws(() => fit(begun, { provider: { prefill: false } }), {
    code: 'unsupported_parameter',
    param: 'messages'
  })
  t.strictSame(fit(begun).messages, begun.messages)
  const untranslatable = new GatewayError('unsupported_parameter', { message: 'mcp_servers' })
  t.throws(() => fit({}, {}, { untranslatable }), { message: 'mcp_servers' })
})
