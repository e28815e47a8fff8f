import t from 'tap'
import { once } from '../../lib/pipeline/stage.ts'
import { checkDirectScope } from '../../lib/stages/check-direct-scope.ts'
import { provider, settings } from '../support/settings.ts'
import { collect, route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { DirectScope } from '../../lib/core/direct-request.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Provider } from '../../lib/providers/provider.ts'

const directDialect = 'messages'
const other = provider('one')
const speaking: Provider = { ...other, adapters: { chat: { directDialects: [directDialect] } as never } } // no more of it is read

async function check (given: Provider, names: Partial<DirectScope>, key: Partial<ApiKey> = {}): Promise<boolean> {
  const call = routedCall<ChatInput>({ model: 'one/m', messages: [] }, { key: { id: 'k', name: 'k', ...key }, routes: [route] })
  const directScope = (): DirectScope => ({ models: [], toolServers: false, ...names })
  const stage = checkDirectScope({ providers: new Map([['one', given]]), settings: settings() }, { directDialect, directScope })
  const [out] = await collect(stage(once(call)))
  return out === call
}

t.test('other models that a request in the caller\'s words names must be among those of the key', async t => {
  t.ok(await check(speaking, { models: ['b'] }))
  t.ok(await check(speaking, { models: ['b'] }, { models: ['one/*'] }))
  await t.rejects(check(speaking, { models: ['a', 'b'] }, { models: ['one/a'] }), { code: 'insufficient_permissions', param: 'model', message: /`b`/ })
})

t.test('every provider that may get the words counts, not the first one only', async t => {
  const routes = [route, { ...route, providerId: 'two', modelId: 'two/m' }] as const
  const call = routedCall<ChatInput>({ model: 'one/m', messages: [] }, { key: { id: 'k', name: 'k', models: ['one/*', 'two/m'] }, routes })
  const providers = new Map([['one', speaking], ['two', { ...speaking, id: 'two' }]])
  const stage = checkDirectScope({ providers, settings: settings() }, { directDialect, directScope: () => ({ models: ['b'], toolServers: false }) })
  await t.rejects(collect(stage(once(call))), { code: 'insufficient_permissions', param: 'model', message: /`b`/ })
})

t.test('tool servers that the provider is to call need a key that may name any', async t => {
  t.ok(await check(speaking, { toolServers: true }))
  await t.rejects(check(speaking, { toolServers: true }, { mcpServers: [] }), { code: 'insufficient_permissions', param: 'mcp_servers' })
})

t.test('a field without a price needs a budget that allows it', async t => {
  const under = (unpriced?: 'allow' | 'refuse'): Partial<ApiKey> => ({ limits: { budget: { usd: 1, per: 'day', ...unpriced !== undefined && { unpriced } } } })
  t.ok(await check(speaking, { unpriced: 'speed' }))
  t.ok(await check(speaking, {}, under()))
  t.ok(await check(speaking, { unpriced: 'speed' }, under('allow')))
  t.ok(await check(other, { unpriced: 'speed' }, under()), 'a translation leaves the field out')
  await t.rejects(check(speaking, { unpriced: 'speed' }, under()), { code: 'insufficient_permissions', param: 'speed', message: /no price is known for `speed`/ })
})

t.test('a provider that gets a translation brings in neither, and a dialect may have nothing to check', async t => {
  t.ok(await check(other, { models: ['b'], toolServers: true }, { models: [], mcpServers: [] }))
  const call = routedCall<ChatInput>({ model: 'one/m', messages: [] })
  t.equal((await collect(checkDirectScope({ providers: new Map(), settings: settings() }, {})(once(call))))[0], call)
})
