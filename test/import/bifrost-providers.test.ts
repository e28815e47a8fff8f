import t from 'tap'
import { BifrostProviders, bifrostReferences } from '../../lib/import/bifrost-providers.ts'
import { ImportPlan, type PlanRow } from '../../lib/import/plan.ts'
import { ImportedSecrets } from '../../lib/import/secrets.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

interface Read { readonly read: BifrostProviders, readonly rows: () => readonly PlanRow[] }

function providersOf (
  providers: JsonObject,
  { env = {}, version }: { readonly env?: Readonly<Record<string, string>>, readonly version?: number } = {}
): Read {
  const file = { providers, ...version !== undefined && { version } }
  const plan = new ImportPlan(file)
  const read = new BifrostProviders(file, {
    plan,
    secrets: new ImportedSecrets(file, plan, bifrostReferences),
    env
  })
  plan.noteOthers()
  return { read, rows: () => plan.rows }
}

const noteOf = ({ rows }: Read, path: string): string => {
  const row = rows().find(each => each.path === path)
  return row === undefined ? 'nothing' : `${row.verdict}: ${row.note}`
}

t.test('keys with the same address and models become one provider with weighted credentials', async t => {
  const { read } = providersOf({
    openai: {
      keys: [
        { name: 'a', value: 'env.A', models: ['*'], weight: 2 },
        { name: 'b', value: 'env.B', models: ['*'], weight: 1 },
        { name: 'c', value: 'env.C', models: ['gpt-5-mini'], weight: 1 }
      ]
    }
  })
  t.same(
    [...read.providers],
    [
      [
        'openai-a',
        {
          kind: 'openai',
          api_keys: [
            { key: 'env:A', weight: 2 },
            { key: 'env:B', weight: 1 }
          ]
        }
      ],
      ['openai-c', { kind: 'openai', api_key: 'env:C' }]
    ]
  )
  t.match(read.accounts.get('openai'), [
    { id: 'openai-a', weight: 3, models: undefined },
    { id: 'openai-c', weight: 1, models: ['gpt-5-mini'] }
  ])
})

t.test(
  'Azure regions become providers with the deployments of their keys, and addresses may be variables',
  async t => {
    const azure = {
      azure: {
        keys: [
          {
            name: 'EU West',
            value: 'env.EU',
            models: ['gpt-4o'],
            weight: 1,
            aliases: { 'gpt-4o': 'gpt4o-eu' },
            azure_key_config: { endpoint: 'https://eu.openai.azure.com/', api_version: '2024-10-21' }
          },
          {
            name: 'us',
            value: 'env.US',
            models: ['gpt-4o'],
            weight: 1,
            aliases: { 'gpt-4o': { model_id: 'gpt4o-us', model_name: 'gpt-4o' } },
            azure_key_config: { endpoint: 'env.US_ADDRESS' }
          }
        ]
      }
    }
    const known = providersOf(azure, { env: { US_ADDRESS: 'https://us.openai.azure.com' } })
    t.same(
      [...known.read.providers],
      [
        [
          'azure-eu-west',
          {
            kind: 'azure-openai',
            base_url: 'https://eu.openai.azure.com',
            options: { api_version: '2024-10-21' },
            api_key: 'env:EU'
          }
        ],
        ['azure-us', { kind: 'azure-openai', base_url: 'https://us.openai.azure.com', api_key: 'env:US' }]
      ]
    )
    t.same(
      known.read.accounts.get('azure')?.map(({ aliases }) => [...aliases]),
      [[['gpt-4o', 'gpt4o-eu']], [['gpt-4o', 'gpt4o-us']]]
    )
    t.match(noteOf(known, 'providers.azure.keys[1].aliases.gpt-4o.model_name'), /^approximate/)
    const unknown = providersOf(azure)
    t.equal(
      unknown.read.providers.get('azure-us')?.base_url,
      'https://base-url.invalid',
      'no key goes anywhere'
    )
    t.match(noteOf(unknown, 'providers.azure.keys[1].azure_key_config.endpoint'), /^manual: .*US_ADDRESS/)
  }
)

t.test('addresses get the version path of their kind', async t => {
  const at = (kind: string, address: string): JsonObject => ({
    keys: [{ name: 'k', value: 'env.K', models: ['*'], weight: 1 }],
    network_config: { base_url: address },
    custom_provider_config: { base_provider_type: kind }
  })
  const { read } = providersOf({
    a: at('openai', 'https://a.example/'),
    b: at('openai', 'https://b.example/v1'),
    c: at('anthropic', 'https://c.example/v1'),
    d: at('gemini', 'https://d.example/v1beta'),
    e: at('openai', 'https://api.openai.com'),
    f: at('perplexity', 'https://f.example')
  })
  t.same(
    [...read.providers.values()].map(({ kind, base_url: address }) => [kind, address]),
    [
      ['openai-compatible', 'https://a.example/v1'],
      ['openai-compatible', 'https://b.example/v1'],
      ['anthropic', 'https://c.example'],
      ['google', 'https://d.example'],
      ['openai', 'https://api.openai.com/v1'],
      ['openai-compatible', 'https://f.example']
    ]
  )
})

t.test('unsupported provider settings are reported', async t => {
  const read = providersOf({
    bedrock: { keys: [{ name: 'x', value: '', weight: 1 }] },
    azure: {
      keys: [
        {
          name: 'identity',
          value: '',
          models: ['*'],
          weight: 1,
          azure_key_config: { endpoint: 'https://a.openai.azure.com' }
        }
      ]
    },
    groq: {
      keys: [
        { name: 'none', value: 'env.G', models: [], weight: 1 },
        { name: 'off', value: 'env.H', enabled: false, weight: 1 }
      ]
    },
    xai: {
      keys: [{ name: 'x', value: 'env.X', models: ['*'], weight: 1, use_for_batch_api: true }],
      network_config: { insecure_skip_verify: true, ca_cert_pem: '-----BEGIN' },
      proxy_config: { type: 'socks5', url: 'socks5://p' },
      send_back_raw_response: true
    }
  })
  const notes = Object.fromEntries(
    read.rows().map(({ path, verdict, note }) => [path, `${verdict}: ${note}`])
  )
  t.match(notes, {
    'providers.bedrock': /^unsupported: no provider here serves bedrock/,
    'providers.azure.keys[0]': /^manual: has no key/,
    'providers.groq': /^manual: none of its keys serves a model/,
    'providers.xai.keys[0].use_for_batch_api': /^approximate/,
    'providers.xai.network_config.insecure_skip_verify': /^manual/,
    'providers.xai.network_config.ca_cert_pem': /^manual/,
    'providers.xai.proxy_config': /^unsupported: no proxies of kind socks5/,
    'providers.xai.send_back_raw_response': /^unsupported/
  })
  t.same([...read.read.providers.keys()], ['azure', 'xai'])
})

t.test('network settings, proxies and certificates are imported', async t => {
  const { read } = providersOf({
    anthropic: {
      keys: [{ name: 'a', value: 'env.A', models: ['*'], weight: 1 }],
      network_config: {
        default_request_timeout_in_seconds: 30,
        stream_idle_timeout_in_seconds: 60,
        max_retries: 99,
        max_conns_per_host: 200,
        ca_cert_pem: 'env.CA',
        enforce_http2: true,
        extra_headers: { 'X-A': 'env.H' }
      },
      concurrency_and_buffer_size: { concurrency: 20, buffer_size: 40 },
      proxy_config: { type: 'http', url: 'http://proxy.example:3128/', username: 'me', password: 'pw' },
      prompt_cache: { auto_inject: true }
    }
  })
  t.same(read.providers.get('anthropic'), {
    kind: 'anthropic',
    api_key: 'env:A',
    headers: { 'X-A': 'env:H' },
    timeouts: { response_ms: 30_000, idle_bytes_ms: 60_000 },
    retries: 10,
    max_connections: 20,
    max_waiting_calls: 40,
    tls: { ca: 'env:CA' },
    http2: true,
    proxy: 'http://proxy.example:3128',
    proxy_credentials: 'env:BIFROST_ANTHROPIC_PROXY',
    cache_marks: 'auto'
  })
})

t.test('an empty list allows nothing, and everything in files of version 1', async t => {
  t.same(
    [
      providersOf({}).read.allowed([]),
      providersOf({}).read.allowed(['*', 'a']),
      providersOf({}, { version: 1 }).read.allowed([])
    ],
    [[], undefined, undefined]
  )
})
