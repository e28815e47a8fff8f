import t from 'tap'
import { banner, keyNotice } from '../../lib/process/banner.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { providerSettings } from '../support/settings.ts'

const address = { host: '127.0.0.1', port: 8080 }
const none = { list: () => [] }

t.test('a gateway with the simulator shows how to try it with the new key', async t => {
  const lines = banner({
    address,
    providers: [providerSettings('sandbox', 'sandbox')],
    models: none,
    key: 'hg_1'
  }).split('\n')
  t.same(lines.slice(0, 6), [
    'Headgate listens on http://127.0.0.1:8080',
    '  sandbox: a simulator; answers are simulated and cost nothing',
    '',
    'API key (created because none existed; not shown again): hg_1',
    '',
    'Try it:'
  ])
  const commands = lines.filter(line => line.includes('curl'))
  t.equal(commands.length, 3)
  for (const command of commands) {
    t.match(
      command,
      /^ {2}curl (?:-N )?http:\/\/127\.0\.0\.1:8080\/v1\/chat\/completions -H "Authorization: Bearer hg_1" -H "Content-Type: application\/json" -d '\{"model":"sandbox\/echo"/
    )
    t.doesNotThrow(() => JSON.parse(/-d '(.*)'$/.exec(command)?.[1] ?? '') as unknown)
  }
})

t.test(
  "without a new key it says how to create one, and the examples use the environment's",
  async t => {
    const text = banner({ address, providers: [providerSettings('sandbox', 'sandbox')], models: none })
    t.match(text, '  npx headgate keys create --name NAME')
    t.match(text, 'Try it with one of your keys in HEADGATE_API_KEY:')
    t.match(text, 'Bearer $HEADGATE_API_KEY"')
  }
)

t.test('the example uses a model that chats and calls tools, if one is known', async t => {
  const providers = [providerSettings('one', 'openai')]
  const entry = (model: string, capabilities: Record<string, boolean>) => ({
    ...unknownModelEntry('one', model, 'openai'),
    capabilities
  })
  const models = { list: () => [entry('plain', { text: true }), entry('able', { text: true, tools: true })] }
  t.match(banner({ address, providers, models }), '"model":"one/able"')
  const able = (model: string, output?: number) => ({
    ...entry(model, { text: true, tools: true }),
    ...output !== undefined && { price: { input: 1, output, asOf: '2026-01-01' } }
  })
  t.match(
    banner({
      address,
      providers,
      models: { list: () => [able('unknown'), able('expensive', 50), able('cheap', 2)] }
    }),
    '"model":"one/cheap"',
    'the cheapest one'
  )
  t.match(banner({ address, providers, models: none }), '"model":"one/MODEL"')
})

t.test('without a provider there is no example', async t => {
  const text = banner({ address: { host: '0.0.0.0', port: 80 }, providers: [], models: none })
  t.match(
    text,
    /^Headgate listens on http:\/\/localhost:80 and all other addresses of this machine\nNo provider is enabled: set OPENAI_API_KEY/
  )
  t.notMatch(text, 'curl')
  t.equal(keyNotice('hg_1'), 'API key (created because none existed; not shown again): hg_1')
})
