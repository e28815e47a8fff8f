import t from 'tap'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import {
  chatRequirements,
  preferHistoryOrigin,
  skipUnfit,
  type HistoryOrigins,
  type Requirements
} from '../../lib/routing/requirements.ts'
import { route } from '../support/routes.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ModelEntry } from '../../lib/core/model.ts'

type Message = ChatInput['messages'][number]

const capabilitiesOf = (parts: object): string[] => [
  ...chatRequirements({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...parts }).capabilities
]
const sees: Message = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }
const hears: Message = {
  role: 'user',
  content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }]
}
const tool = { type: 'function', function: { name: 'f' } } as const

t.test('the requirements of a request follow from its content', async t => {
  t.same(capabilitiesOf({}), [])
  t.same(capabilitiesOf({ messages: [sees] }), ['vision'])
  t.same(capabilitiesOf({ messages: [hears] }), ['audio'])
  t.same(capabilitiesOf({ modalities: ['text', 'audio'] }), ['audio'])
  t.same(capabilitiesOf({ tools: [tool] }), ['tools'])
  t.same(capabilitiesOf({ functions: [{ name: 'f' }] }), ['tools'])
  t.same(capabilitiesOf({ tools: [], functions: [] }), [])
  t.same(capabilitiesOf({ response_format: { type: 'json_object' } }), [], 'plain JSON can be had of any')
  t.same(
    capabilitiesOf({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } }),
    ['structured_output']
  )
})

t.test('a signature in the history identifies the provider that wrote it', async t => {
  // one of each provider
  const wrote = (message: object): string[] => [
    ...chatRequirements({ model: 'm', messages: [message as Message] }).history
  ]
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  t.same(wrote({ role: 'assistant', content: 'hi' }), [])
  t.same(
    wrote({ role: 'assistant', thinking_blocks: [{ type: 'thinking', thinking: 'a' }] }),
    [],
    'unsigned thinking binds no one'
  )
  t.same(
    wrote({ role: 'assistant', thinking_blocks: [{ type: 'thinking', thinking: 'a', signature: 's' }] }),
    ['signed_thinking']
  )
  t.same(wrote({ role: 'assistant', thinking_blocks: [{ type: 'redacted_thinking', data: 'x' }] }), [
    'signed_thinking'
  ])
  t.same(
    wrote({
      role: 'assistant',
      tool_calls: [{ ...call, extra_content: { google: { thought_signature: 's' } } }]
    }),
    ['thought_signature']
  )
  t.same(wrote({ role: 'assistant', tool_calls: [call, { ...call, extra_content: 'none' }] }), [])
})

const needs = (parts: Partial<Requirements>): Requirements => ({
  capabilities: new Set(),
  history: new Set(),
  toolCallIds: [],
  ...parts
})

function find (id: string): ModelEntry | undefined {
  const [providerId = '', model = ''] = id.split('/')
  const capabilities: Record<string, ModelEntry['capabilities']> = {
    'one/blind': { vision: false }, 'one/sees': { vision: true }, 'one/small': { input_token_limit: 100 }
  }
  const known = capabilities[id]
  return known === undefined
    ? undefined
    : { ...unknownModelEntry(providerId, model, 'openai'), capabilities: known }
}

t.test('models known to lack a feature are skipped, naming it', async t => {
  const routes = ['one/blind', 'one/sees', 'one/unknown', 'one/small'].map(id => route(id))
  const { routes: left, skipped } = skipUnfit(
    routes,
    needs({ capabilities: new Set(['vision']), promptTokens: 101 }),
    find
  )
  t.same(
    left.map(({ modelId }) => modelId),
    ['one/sees', 'one/unknown']
  )
  t.same(
    skipped.map(({ route, reason }) => [route.modelId, reason]),
    [
      ['one/blind', 'lacks_vision'],
      ['one/small', 'prompt_too_long']
    ]
  )
  t.same(
    skipUnfit(routes, needs({ promptTokens: 100 }), find).skipped,
    [],
    'a prompt of just that length fits'
  )
})

t.test('if no model would be left, all are tried', async t => {
  const routes = [route('one/blind')]
  t.strictSame(skipUnfit(routes, needs({ capabilities: new Set(['vision']) }), find), { routes, skipped: [] })
})

t.test('the author of the history comes first; the order is otherwise kept', async t => {
  const routes = ['a/1', 'b/2', 'c/3', 'b/4'].map(id => route(id))
  const origins: HistoryOrigins = {
    marksOf: id => (id === 'b' ? ['signed_thinking'] : []),
    accountsOf: id => (id === 'a' ? ['a1', 'a2'] : []),
    providerOf: id => (id === 'call_c' ? 'c' : undefined)
  }
  t.equal(preferHistoryOrigin(routes, needs({}), origins), routes)
  t.equal(
    preferHistoryOrigin(routes, needs({ history: new Set(['thought_signature']) }), origins),
    routes,
    'none of them wrote it'
  )
  t.strictSame(preferHistoryOrigin(routes, needs({ history: new Set(['signed_thinking']) }), origins), [
    { ...route('b/2'), preferred: 'wrote_history' },
    { ...route('b/4'), preferred: 'wrote_history' },
    route('a/1'),
    route('c/3')
  ])
  t.strictSame(
    preferHistoryOrigin(
      routes,
      needs({ history: new Set(['signed_thinking']), toolCallIds: ['call_x', 'call_c'] }),
      origins
    ),
    [{ ...route('c/3'), preferred: 'wrote_history' }, route('a/1'), route('b/2'), route('b/4')],
    'the provider that made a call knows more than the kind of one that signed'
  )
  t.equal(preferHistoryOrigin(routes, needs({ toolCallIds: ['call_x'] }), origins), routes)
  t.strictSame(
    preferHistoryOrigin(
      routes,
      needs({ account: 'a2', history: new Set(['signed_thinking']), toolCallIds: ['call_c'] }),
      origins
    ),
    [{ ...route('a/1'), preferred: 'wrote_history' }, route('b/2'), route('c/3'), route('b/4')],
    'and an account that encrypted its reasoning more than that'
  )
  t.same(
    preferHistoryOrigin(routes, needs({ account: 'a3', toolCallIds: ['call_c'] }), origins)[0]?.modelId,
    'c/3',
    'one that is gone says nothing'
  )
})
