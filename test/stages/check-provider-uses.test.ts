import t from 'tap'
import { chatUses } from '../../lib/chat/provider-uses.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { NamedBudgets } from '../../lib/limits/named-budgets.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { checkProviderUses } from '../../lib/stages/check-provider-uses.ts'
import { provider, providerSettings, settings } from '../support/settings.ts'
import { collect, directRequests, route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { StoredAnswers } from '../../lib/dialects/dialect.ts'
import type { ProviderUse } from '../../lib/core/provider-use.ts'
import type { Provider } from '../../lib/providers/provider.ts'

const other = provider('one')
// nothing else of it is read
const speaking: Provider = { ...other, adapters: { chat: { directDialects: ['messages'] } as never } }
const everyUse: readonly ProviderUse[] = [
  { kind: 'model', name: 'b', param: 'tools' },
  { kind: 'default_model', param: 'tools[0]' },
  { kind: 'tool_server', param: 'mcp_servers' },
  { kind: 'unpriced', param: 'speed' },
  { kind: 'unknown_tool', name: 'teleport', param: 'tools[1]' },
  { kind: 'router_field', param: 'models' }
]

/** Runs the stage on one call with these uses. */
async function check (
  given: Provider,
  uses: readonly ProviderUse[],
  key: Partial<ApiKey> = {},
  parts: Partial<RoutedCall<ChatInput>> = {},
  namedBudgets?: NamedBudgets,
  stored?: StoredAnswers<unknown>
): Promise<boolean> {
  const call = routedCall<ChatInput>(
    { model: 'one/m', messages: [] },
    { key: { id: 'k', name: 'k', ...key }, routes: [route], ...parts }
  )
  const known = settings({
    providers: [{ ...providerSettings('one', 'google'), baseUrl: 'https://proxy.example/v1' }]
  })
  const stage = checkProviderUses(
    {
      providers: new Map([
        ['one', given],
        ['two', { ...given, id: 'two' }]
      ]),
      settings: known,
      namedBudgets
    },
    chatUses,
    { direct: directRequests({ uses: () => uses }), ...stored !== undefined && { stored } }
  )
  const [out] = await collect(stage(once(call)))
  return out === call
}

const refusal = (param: string, message?: RegExp): { code: string, param: string, message?: RegExp } => ({
  code: 'insufficient_permissions',
  param,
  ...message !== undefined && { message }
})
const budget = (unpriced?: 'allow'): Partial<ApiKey> => ({
  limits: { budget: { usd: 1, per: 'day', ...unpriced !== undefined && { unpriced } } }
})

t.test("other models must be in the key's scope at every provider that may get the request", async t => {
  const uses: readonly ProviderUse[] = [{ kind: 'model', name: 'b', param: 'tools' }]
  t.ok(await check(speaking, uses))
  t.ok(await check(speaking, uses, { models: ['one/*'] }))
  await t.rejects(check(speaking, uses, { models: ['one/a'] }), refusal('tools', /`b`/))
  const routes = [route, { ...route, providerId: 'two', modelId: 'two/m' }] as const
  await t.rejects(check(speaking, uses, { models: ['one/*', 'two/m'] }, { routes }), refusal('tools', /`b`/))
})

t.test('a model chosen by the provider needs a key that may use any of its models', async t => {
  const uses: readonly ProviderUse[] = [{ kind: 'default_model', param: 'tools[0]' }]
  t.ok(await check(speaking, uses, { models: ['one/*'] }))
  await t.rejects(
    check(speaking, uses, { models: ['one/a', 'one/m'] }),
    refusal('tools[0]', /default model.*Name a model/)
  )
})

t.test('tool servers called by the provider need a key that may name any', async t => {
  const uses: readonly ProviderUse[] = [{ kind: 'tool_server', param: 'mcp_servers' }]
  t.ok(await check(speaking, uses))
  await t.rejects(check(speaking, uses, { mcpServers: [] }), refusal('mcp_servers'))
})

t.test(
  'a field with which a server may choose another model needs a key for all models and a permissive budget',
  async t => {
    const use: ProviderUse = { kind: 'router_field', param: 'models' }
    t.ok(await check(speaking, [use]))
    t.ok(await check(speaking, [use], budget('allow')))
    await t.rejects(check(speaking, [use], { models: ['one/*'] }), refusal('models', /may choose another/))
    await t.rejects(check(speaking, [use], budget()), refusal('models'))
    t.ok(await check(other, [use], { models: ['one/*'] }), 'a translation leaves it out')
    const passing: Provider = { ...other, quirks: { extraFields: ['models'] } } // nothing else of it is read
    const chat = { request: { model: 'one/m', messages: [], models: ['one/b'] } as ChatInput }
    await t.rejects(check(passing, [], { models: ['one/m'] }, chat), refusal('models'))
    t.ok(await check(other, [], { models: ['one/m'] }, chat), 'the same of a chat completion')
  }
)

t.test('uses without a price need a budget that allows them', async t => {
  for (const use of [
    { kind: 'unpriced', param: 'speed' },
    { kind: 'unknown_tool', name: 'teleport', param: 'speed' }
  ] as const) {
    t.ok(await check(speaking, [use]), use.kind)
    t.ok(await check(speaking, [use], budget('allow')), use.kind)
    await t.rejects(
      check(speaking, [use], budget()),
      refusal('speed', /No price is known for `speed`/),
      use.kind
    )
  }
})

t.test('a tool of an unknown type needs a key without a list of models', async t => {
  const uses: readonly ProviderUse[] = [{ kind: 'unknown_tool', name: 'teleport', param: 'tools[1]' }]
  await t.rejects(
    check(speaking, uses, { models: ['one/m'] }),
    refusal('tools[1]', /a tool of the type `teleport`/)
  )
  t.ok(await check(speaking, uses, { models: ['*'] }))
})

t.test('stored objects need a permitted key or a caller with their own account', async t => {
  const uses: readonly ProviderUse[] = [{ kind: 'object', param: 'file_id' }]
  await t.rejects(
    check(speaking, uses),
    refusal('file_id', /^file_id: this API key may not use what is stored((?!store: false).)*$/)
  )
  t.ok(await check(speaking, uses, { providerObjects: true }))
  t.ok(await check(speaking, uses, {}, { providerKey: 'sk-mine' as never })) // only its presence counts
  t.ok(await check(other, uses), 'a translation leaves them out')
  const parts = { request: { model: 'one/m', messages: [], cached_content: 'c' } as ChatInput }
  await t.rejects(check(other, [], {}, parts), refusal('cached_content'), 'but not those of the conversation')
})

t.test('objects of a request that is stored are refused, whoever answers', async t => {
  const uses: readonly ProviderUse[] = [{ kind: 'object', param: 'file_id' }]
  const stored = { continues: () => undefined, isStored: () => true }
  await t.rejects(check(other, uses, {}, {}, undefined, stored), refusal('file_id', /Send .*`store: false`/))
  t.ok(await check(other, uses, { providerObjects: true }, {}, undefined, stored))
})

t.test('an address at the provider, or in storage that only it can read, is an object', async t => {
  const at = (url: string): Partial<RoutedCall<ChatInput>> => ({
    request: {
      model: 'one/m', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
    }
  })
  t.ok(await check(other, [], {}, at('https://example.com/a.png')))
  t.ok(await check(other, [], {}, at('not a url')), 'the provider judges it')
  for (const url of [
    'https://generativelanguage.googleapis.com/v1beta/files/a',
    'https://GENERATIVELANGUAGE.googleapis.com./v1beta/files/a',
    'https://proxy.example/files/a',
    'gs://bucket/a'
  ]) {
    await t.rejects(check(other, [], {}, at(url)), refusal('messages[0].content[0].image_url.url'), url)
  }
})

t.test('a translation leaves out other models, servers and tools', async t => {
  t.ok(await check(other, everyUse, { models: [], mcpServers: [], ...budget() }))
})

t.test('an overlong address is not parsed, and counts as an object', async t => {
  const messages: ChatInput['messages'] = [
    {
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: `https://${'a'.repeat(8_000_000)}.example/` } }]
    }
  ]
  await t.rejects(check(other, [], {}, { request: { model: 'one/m', messages } }), {
    code: 'insufficient_permissions',
    param: 'messages[0].content[0].image_url.url'
  })
})

t.test('named budgets allow no use without a price either', async t => {
  const all = settings({
    endUsers: { store: 'as_given', required: false, defaultBudget: { usd: 1 } },
    usage: { ...settings().usage, keys: [{ key: 'k', tags: ['nightly'] }] }
  })
  const budget = { usd: 1 }
  const secret = Buffer.alloc(32, 1)
  const without = { ...all, endUsers: settings().endUsers }
  const of = (limits: Partial<typeof all.limits>): NamedBudgets =>
    new NamedBudgets({ ...without, limits: { ...all.limits, ...limits } }, { secret })
  const ofTag = of({ tags: [{ tag: 'nightly', budget }] })
  const ofModel = of({ models: [{ model: 'one/m', budget }] })
  const ofEndUser = new NamedBudgets(all, { secret })
  const record = new CallRecord('chat_completions')
  record.caller.endUser = 'ada'
  for (const use of everyUse.filter(({ kind }) => /unpriced|unknown_tool|router_field/.test(kind))) {
    for (const named of [ofTag, ofModel, ofEndUser]) {
      const parts = { record, requestedNames: ['one/m'] }
      await t.rejects(check(speaking, [use], {}, parts, named), refusal(use.param, /has a budget/))
    }
    t.ok(await check(speaking, [use], {}, {}, ofEndUser), 'a call without an end user')
  }
})
