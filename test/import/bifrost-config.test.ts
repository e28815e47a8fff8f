import t from 'tap'
import { printDocument } from '../../lib/config/print-document.ts'
import { readSettings } from '../../lib/config/read-settings.ts'
import { importBifrostConfig, type ImportedBifrost } from '../../lib/import/bifrost-config.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const nowMs = Date.parse('2026-03-14T10:00:00Z')

function imported (file: JsonObject, env: Readonly<Record<string, string>> = {}): ImportedBifrost {
  return importBifrostConfig(file, env, nowMs)
}

/** Loads the imported configuration as the gateway does, with a value for every variable. */
function settingsOf (t: Test, { config }: ImportedBifrost): Settings {
  const text = printDocument(config)
  const cwd = t.testdir({ 'headgate.yaml': text })
  const env = Object.fromEntries(
    [...text.matchAll(/env:(\w+)/g)].map(([, name = '']) => [name, `value of ${name}`])
  )
  return readSettings({ env, cwd }).settings
}

function withVerdict ({ rows }: ImportedBifrost, wanted: string): string[] {
  return rows.filter(({ verdict }) => verdict === wanted).map(({ path }) => path)
}

function noteOf ({ rows }: ImportedBifrost, path: string): string {
  const row = rows.find(each => each.path === path)
  return row === undefined ? 'nothing' : `${row.verdict}: ${row.note}`
}

const key = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  value: `env.${name.toUpperCase()}`,
  models: ['*'],
  weight: 1,
  ...more
})

/** Modelled on files that teams run; each is imported completely. */
const complete: Readonly<Record<string, JsonObject>> = {
  'one provider': {
    $schema: 'https://www.getbifrost.ai/schema',
    encryption_key: 'env.BIFROST_ENCRYPTION_KEY',
    client: { enable_logging: true, drop_excess_requests: false, initial_pool_size: 300 },
    providers: { openai: { keys: [key('first')] } },
    config_store: { enabled: false }
  },
  'several providers with network settings': {
    version: 2,
    providers: {
      openai: {
        keys: [key('one', { weight: 0.7 }), key('two', { weight: 0.3 })],
        network_config: {
          default_request_timeout_in_seconds: 120,
          max_retries: 3,
          retry_backoff_initial: 500,
          retry_backoff_max: 5000,
          extra_headers: { 'X-Team': 'env.TEAM', 'X-Plain': 'clear' }
        },
        concurrency_and_buffer_size: { concurrency: 100, buffer_size: 500 }
      },
      anthropic: {
        keys: [key('claude')],
        prompt_cache: { auto_inject: true },
        network_config: {
          stream_idle_timeout_in_seconds: 60,
          insecure_skip_verify: false,
          max_conns_per_host: 50
        }
      },
      gemini: {
        keys: [key('google')],
        proxy_config: { type: 'http', url: 'http://proxy.example:3128', username: 'me', password: 'secret' }
      },
      cerebras: { keys: [key('fast')], proxy_config: { type: 'none' } },
      mistral: {
        keys: [key('mistral')],
        proxy_config: { type: 'environment' },
        send_back_raw_request: false,
        store_raw_request_response: false
      }
    }
  },
  "servers of one's own": {
    providers: {
      ollama: { keys: [key('local', { value: '', ollama_key_config: { url: 'http://ollama:11434' } })] },
      vllm: {
        keys: [
          key('llama', {
            value: '',
            models: ['llama'],
            vllm_key_config: { url: 'http://vllm-a:8000', model_name: 'meta-llama/Llama-3.3-70B' }
          }),
          key('mistral', {
            value: '',
            models: ['mistral-7b'],
            vllm_key_config: { url: 'http://vllm-b:8000/', model_name: 'mistralai/Mistral-7B' }
          })
        ]
      },
      sgl: { keys: [key('sgl', { value: '', sgl_key_config: { url: 'http://sgl:30000/v1' } })] },
      nim: {
        keys: [key('nim')],
        network_config: { base_url: 'https://integrate.api.example' },
        custom_provider_config: { base_provider_type: 'openai', allowed_requests: { chat_completion: true } }
      },
      'claude-proxy': {
        keys: [key('proxy')],
        network_config: { base_url: 'https://claude.example/anthropic/v1' },
        custom_provider_config: { base_provider_type: 'anthropic' }
      },
      open: {
        keys: [],
        network_config: { base_url: 'http://10.0.0.1:9000/v1' },
        custom_provider_config: { base_provider_type: 'openai', is_key_less: true }
      }
    }
  },
  'tool servers': {
    providers: { openai: { keys: [key('first')] } },
    mcp: {
      client_configs: [
        {
          name: 'weather',
          connection_type: 'http',
          connection_string: 'https://tools.example/mcp',
          auth_type: 'headers',
          headers: { Authorization: 'Bearer clear' },
          tools_to_execute: ['*'],
          tool_execution_timeout: '45s'
        },
        {
          name: 'files',
          client_id: 'f',
          connection_type: 'stdio',
          stdio_config: { command: 'npx', args: ['-y', 'files-server'], envs: ['FILES_ROOT', 'MODE=fast'] },
          tools_to_execute: ['read'],
          tools_to_auto_execute: ['read']
        },
        {
          name: 'old',
          connection_type: 'sse',
          connection_string: 'https://old.example/sse',
          tools_to_execute: []
        }
      ],
      tool_manager_config: { max_agent_depth: 10, tool_execution_timeout: 30 }
    }
  },
  'virtual keys': {
    client: { enforce_auth_on_inference: true },
    providers: { openai: { keys: [key('first')] } },
    governance: {
      auth_config: { is_enabled: true, admin_username: 'env.ADMIN', admin_password: 'env.PASSWORD' },
      budgets: [
        {
          id: 'b',
          max_limit: 10,
          reset_duration: '1d',
          last_reset: '2026-03-14T00:00:00Z',
          current_usage: 1,
          virtual_key_id: 'v'
        }
      ],
      rate_limits: [
        {
          id: 'r',
          request_max_limit: 60,
          request_reset_duration: '1m',
          token_max_limit: 1000,
          token_reset_duration: '1m'
        }
      ],
      teams: [{ id: 't', name: 'Team' }],
      virtual_keys: [
        {
          id: 'v',
          name: 'platform',
          value: 'sk-bf-1234567890',
          team_id: 't',
          rate_limit_id: 'r',
          provider_configs: [{ provider: 'openai', allowed_models: ['*'], key_ids: ['*'], weight: 1 }]
        }
      ]
    }
  }
}

for (const [what, file] of Object.entries(complete)) {
  t.test(`${what}: everything has a counterpart, and the result is a valid configuration`, async t => {
    const result = imported(file)
    t.same(withVerdict(result, 'unsupported'), [])
    settingsOf(t, result)
    t.notMatch(JSON.stringify([result.config, result.rows]), /Bearer clear|me:secret|sk-bf-/)
  })
}

t.test(
  'variable references are kept, also as objects, and plain-text secrets go to the secrets file',
  async t => {
    const { config, secrets, rows } = imported({
      providers: {
        openai: {
          keys: [
            key('a', { value: { env_var: 'KEY_A', from_env: true } }),
            key('b', { value: 'sk-clear' }),
            key('c', { value: { value: 'env.KEY_C' } }),
            key('d', { value: 'vault.secret/d' })
          ]
        }
      }
    })
    t.match(config, {
      providers: { openai: { api_keys: ['env:KEY_A', 'env:BIFROST_OPENAI_B', 'env:KEY_C'] } }
    })
    t.same([...secrets], [['BIFROST_OPENAI_B', 'sk-clear']])
    t.match(
      rows.find(({ path }) => path === 'providers.openai.keys[3].value'),
      { verdict: 'unsupported' }
    )
    t.notMatch(JSON.stringify([config, rows]), /sk-clear/)
  }
)

t.test('tool servers keep the tools, headers and variables of the file', async t => {
  const { config, secrets } = imported(complete['tool servers'] ?? {})
  t.same(config['mcp_servers'], {
    'bifrost/weather': {
      url: 'https://tools.example/mcp',
      headers: { Authorization: 'env:BIFROST_MCP_WEATHER_AUTHORIZATION' },
      timeout_ms: 45_000
    },
    'bifrost/files': {
      command: 'npx',
      args: ['-y', 'files-server'],
      env: { FILES_ROOT: 'env:FILES_ROOT', MODE: 'env:BIFROST_MCP_FILES_MODE' },
      allowed_tools: ['read']
    }
  })
  t.same(
    [...secrets],
    [
      ['BIFROST_MCP_WEATHER_AUTHORIZATION', 'Bearer clear'],
      ['BIFROST_MCP_FILES_MODE', 'fast']
    ]
  )
})

t.test(
  'a tool server that is disabled, signs in by itself or has a hidden address is left out and reported',
  async t => {
    const server = (more: JsonObject): JsonObject => ({
      name: 's',
      connection_type: 'http',
      connection_string: 'https://a.example',
      tools_to_execute: ['*'],
      ...more
    })
    const result = imported({
      mcp: {
        client_configs: [
          server({ disabled: true }),
          server({ auth_type: 'oauth' }),
          server({ connection_string: 'https://a.example?key=sk-1' }),
          server({ connection_string: 'env.ADDRESS' })
        ]
      }
    })
    t.notOk(result.config['mcp_servers'])
    t.match(
      [0, 1, 2, 3].map(index => noteOf(result, `mcp.client_configs[${index}]`)),
      [
        /^exact: off/,
        /^manual: left out: its sign-in is oauth/,
        /^manual: add it by hand/,
        /^manual: add it by hand/
      ]
    )
    t.notMatch(JSON.stringify(result.rows), /sk-1/)
  }
)

t.test('plugins become configuration sections where one exists, and are reported otherwise', async t => {
  const result = imported({
    plugins: [
      { enabled: true, name: 'telemetry', config: {} },
      {
        enabled: true,
        name: 'otel',
        config: {
          profiles: [
            {
              collector_url: 'http://otel:4318/v1/traces',
              protocol: 'http',
              trace_type: 'genai_extension',
              headers: { 'X-Key': 'env.OTEL_KEY' }
            }
          ]
        }
      },
      { enabled: true, name: 'semantic_cache', config: { ttl: '5m' } },
      { enabled: false, name: 'maxim', config: {} },
      { enabled: true, name: 'mine', path: '/plugins/mine.so' }
    ]
  })
  t.same(result.config, {
    providers: {},
    metrics: {},
    telemetry: {
      otlp: {
        endpoint: 'http://otel:4318',
        protocol: 'http/protobuf',
        headers: { 'X-Key': 'env:OTEL_KEY' },
        sample: 1
      }
    }
  })
  t.match(
    [0, 1, 2, 3, 4].map(index => noteOf(result, `plugins[${index}]`)),
    [
      /^exact: `metrics`/,
      /^approximate: `telemetry.otlp`/,
      /^manual: .*caching/,
      'exact: off',
      /^unsupported: custom plugins/
    ]
  )
  const grpc = imported({
    plugins: [
      {
        enabled: true,
        name: 'otel',
        config: { collector_url: 'otel:4317', protocol: 'grpc', trace_type: 'vercel' }
      }
    ]
  })
  t.match(noteOf(grpc, 'plugins[0]'), /^manual: set `telemetry.otlp.endpoint`/)
})

t.test('every entry has a row, also unknown and disabled ones', async t => {
  const result = imported({
    client: {
      allow_direct_keys: false,
      required_headers: ['x-tenant'],
      compat: { should_drop_params: true },
      something_new: 1
    },
    vector_store: { enabled: false, type: 'redis', config: { addr: 'redis:6379' } },
    config_store: { enabled: true, type: 'sqlite', config: { path: './config.db' } },
    large: { unknown: { deep: true } }
  })
  t.match(Object.fromEntries(result.rows.map(({ path, verdict }) => [path, verdict])), {
    'client.allow_direct_keys': 'exact',
    'client.required_headers': 'unsupported',
    'client.compat.should_drop_params': 'exact',
    'client.something_new': 'unsupported',
    'large.unknown.deep': 'unsupported',
    vector_store: 'exact',
    config_store: 'manual'
  })
  t.notOk(result.organisation, 'a file without virtual keys brings no organisation')
})
